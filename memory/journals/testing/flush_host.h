// For tests: journals over a log that the test steps, with an owner for each of them.
#pragma once

#include <catch2/catch.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/reactor/testing/manual_executor.h"
#include "memory/journals/journals.h"
#include "memory/journals/testing/journal_owner.h"
#include "memory/log/testing/run_task.h"
#include "memory/peers/peers.h"

namespace namdb::memory::testing {

using Flushed = Result<calls::FlushReply>;

inline Peer flushing_peer(char fill) {
  Peer peer;
  peer.compute_id = std::string(Peers::kComputeId_bytes, fill);
  return peer;
}

// Journals with slots 20, 21, ... each opened by a peer of its own, 1, 2, ...
struct FlushHost {
  explicit FlushHost(std::uint32_t slots, bool logged = true)
      : log(executor), journals(executor, *memory.region, memory.options, peers) {
    if (logged) journals.log_to(log);
    for (std::uint32_t i = 0; i < slots; ++i) {
      const fabric::PeerId peer = i + 1;
      peers.add(peer, flushing_peer(static_cast<char>('a' + i)));
      const auto opened = run(journals.open(peer, 20 + i));
      REQUIRE(opened.ok());
      owners.push_back(
          std::make_unique<JournalOwner>(*memory.region, 20 + i, opened->ring_offset, opened->ring_bytes));
    }
  }
  ~FlushHost() {
    log.at_once = true;
    journals.stop();
    while (log.complete_flush()) executor.run_ready();
    executor.run_until([this] { return gate.count() == 0; });
  }

  // To its end; only for what needs no step of the test.
  template <typename T>
  T run(reactor::Task<T> task) {
    std::optional<T> result;
    executor.spawn(gate, keep_result(std::move(task), &result));
    executor.run_until([&result] { return result.has_value(); });
    REQUIRE(result.has_value());
    return std::move(*result);
  }
  // The flush of the log that is under way ends, and all that waited for it goes on.
  void complete_flush() {
    REQUIRE(log.complete_flush());
    executor.run_ready();
  }
  // Goes on beside the test.
  std::optional<Flushed>& flush(std::uint32_t slot, std::uint64_t position, std::uint32_t through = 0) {
    results.push_back(std::make_unique<std::optional<Flushed>>());
    const calls::FlushRequest request{slot, position, through};
    executor.spawn(gate, keep_result(journals.flush(slot - 19, request), results.back().get()));
    return *results.back();
  }

  reactor::testing::ManualExecutor executor;
  JournalRegion memory;
  Peers peers;
  StepLog log;
  Journals journals;
  reactor::Gate gate;
  std::vector<std::unique_ptr<JournalOwner>> owners;
  std::vector<std::unique_ptr<std::optional<Flushed>>> results;
};

}  // namespace namdb::memory::testing
