// A compute server's process as memory server 0 knows it, so that people can list it and end it (`namctl
// compute`). Shared by the workers; any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace namdb::compute {

struct ComputeFacts {
  std::uint64_t process = 0;  // random, not 0
  std::string address;        // for SQL clients
  std::string version;
  std::uint64_t started_us = 0;  // since 1970
  std::uint32_t sessions = 0;
};

class ComputeIdentity {
 public:
  ComputeIdentity(std::uint64_t process, std::string version, std::uint64_t started_us) {
    facts_.process = process;
    facts_.version = std::move(version);
    facts_.started_us = started_us;
  }
  ComputeIdentity(const ComputeIdentity&) = delete;
  ComputeIdentity& operator=(const ComputeIdentity&) = delete;

  // Once: clients may come there from now on.
  void serves_at(std::string address) {
    facts_.address = std::move(address);
    serves_.store(true, std::memory_order_release);
  }
  // None before that.
  std::optional<ComputeFacts> facts(std::uint32_t sessions) const {
    if (!serves_.load(std::memory_order_acquire)) return std::nullopt;
    ComputeFacts facts = facts_;
    facts.sessions = sessions;
    return facts;
  }
  // True the first time.
  bool begin_drain() { return !drains_.exchange(true); }

 private:
  ComputeFacts facts_;
  std::atomic<bool> serves_{false};
  std::atomic<bool> drains_{false};
};

}  // namespace namdb::compute
