// FLUSH over a log whose writes the test ends by hand, and histories that a seed decides.
#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "common/base/random.h"
#include "common/reactor/testing/manual_executor.h"
#include "memory/journals/journal_record.h"
#include "memory/journals/journals.h"
#include "memory/journals/testing/journal_owner.h"

namespace namdb::memory {
namespace {

using reactor::testing::ManualExecutor;
using testing::JournalOwner;
using testing::JournalRegion;
using testing::StepLog;
using Flushed = Result<calls::FlushReply>;

Peer flushing_peer(char fill) {
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

  template <typename T>
  static reactor::Task<void> keep(reactor::Task<T> task, std::optional<T>* result) {
    result->emplace(co_await task);
  }
  // To its end; only for what needs no step of the test.
  template <typename T>
  T run(reactor::Task<T> task) {
    std::optional<T> result;
    executor.spawn(gate, keep(std::move(task), &result));
    executor.run_until([&result] { return result.has_value(); });
    REQUIRE(result.has_value());
    return std::move(*result);
  }
  // Goes on beside the test.
  std::optional<Flushed>& flush(std::uint32_t slot, std::uint64_t position, std::uint32_t through = 0) {
    results.push_back(std::make_unique<std::optional<Flushed>>());
    const calls::FlushRequest request{slot, position, through};
    executor.spawn(gate, keep(journals.flush(slot - 19, request), results.back().get()));
    return *results.back();
  }

  ManualExecutor executor;
  JournalRegion memory;
  Peers peers;
  StepLog log;
  Journals journals;
  reactor::Gate gate;
  std::vector<std::unique_ptr<JournalOwner>> owners;
  std::vector<std::unique_ptr<std::optional<Flushed>>> results;
};

}  // namespace

TEST_CASE("a FLUSH is answered when the entry is in the log and the log is flushed", "[journals]") {
  FlushHost host(1);
  const auto part = host.owners[0]->place(1, 64);
  host.owners[0]->write(part);
  const auto& answer = host.flush(20, part.end);
  host.executor.run_ready();
  REQUIRE(host.log.records.size() == 1);
  CHECK(host.log.records[0].kind == RecordKind::entry);
  const auto record = read_journal_record(host.log.records[0].bytes, 0);
  REQUIRE(record.has_value());
  CHECK(record->entry.stamp == layout::Stamp{20, 1});
  CHECK(record->entry.position == part.begin);
  CHECK_FALSE(answer.has_value());
  REQUIRE(host.log.complete_flush());
  host.executor.run_ready();
  REQUIRE(answer.has_value());
  REQUIRE(answer->ok());
  CHECK((*answer)->durable_position == part.end);
  CHECK((*answer)->freed_position == 0);  // not decided
  CHECK_FALSE((*answer)->log_full);
}

TEST_CASE("a place is free once its entry is durable and finished", "[journals]") {
  FlushHost host(1);
  const auto first = host.owners[0]->place(1, 64);
  host.owners[0]->write(first);
  const auto& early = host.flush(20, first.end, 1);  // finished, as a liar would say, and not in the log
  host.executor.run_ready();
  CHECK(host.journals.find(20)->freed() == 0);
  REQUIRE(host.log.complete_flush());
  host.executor.run_ready();
  REQUIRE(early.has_value());
  CHECK((**early).freed_position == first.end);
  const auto second = host.owners[0]->place(2, 64);
  host.owners[0]->write(second);
  const auto& undecided = host.flush(20, second.end);
  host.executor.run_ready();
  REQUIRE(host.log.complete_flush());
  host.executor.run_ready();
  CHECK((**undecided).freed_position == second.begin);
  const auto third = host.owners[0]->place(3, 64, 2);  // says that 2 is finished
  host.owners[0]->write(third);
  const auto& later = host.flush(20, third.end);
  host.executor.run_ready();
  REQUIRE(host.log.complete_flush());
  host.executor.run_ready();
  CHECK((**later).freed_position == third.begin);
}

TEST_CASE("one flush of the log is under way, and the next has what came meanwhile", "[journals]") {
  FlushHost host(3);
  std::vector<JournalOwner::Part> parts;
  for (const auto& owner : host.owners) parts.push_back(owner->place(1, 64));
  host.owners[0]->write(parts[0]);
  const auto& first = host.flush(20, parts[0].end);
  host.executor.run_ready();
  host.owners[1]->write(parts[1]);
  host.owners[2]->write(parts[2]);
  const auto& second = host.flush(21, parts[1].end);
  const auto& third = host.flush(22, parts[2].end);
  host.executor.run_ready();
  CHECK(host.log.flushes == 1);
  REQUIRE(host.log.complete_flush());
  host.executor.run_ready();
  CHECK(first.has_value());
  CHECK_FALSE(second.has_value());
  CHECK_FALSE(third.has_value());
  CHECK(host.log.flushes == 2);
  REQUIRE(host.log.complete_flush());
  host.executor.run_ready();
  CHECK(second.has_value());
  CHECK(third.has_value());
  CHECK(host.log.flushes == 2);
  CHECK(host.log.most_flushes_at_once == 1);
}

TEST_CASE("a flush takes along what is complete in all other rings", "[journals]") {
  FlushHost host(3);
  const auto asked = host.owners[0]->place(1, 64);
  const auto complete = host.owners[1]->place(1, 64);
  const auto torn = host.owners[2]->place(1, 64);
  host.owners[0]->write(asked);
  host.owners[1]->write(complete);
  for (std::size_t word = 0; word < 6; ++word) host.owners[2]->write_word(torn, word);
  const auto& answer = host.flush(20, asked.end);
  host.executor.run_ready();
  CHECK(host.log.records.size() == 2);
  REQUIRE(host.log.complete_flush());
  host.executor.run_ready();
  CHECK(answer.has_value());  // the torn entry of another slot holds up nothing
  const auto& other = host.flush(21, complete.end);
  host.executor.run_ready();
  REQUIRE(other.has_value());
  CHECK((**other).durable_position == complete.end);
  CHECK(host.log.flushes == 1);
}

TEST_CASE("a FLUSH waits for an entry that is missing or torn, and no other slot does", "[journals]") {
  FlushHost host(2);
  host.log.at_once = true;
  const auto whole = host.owners[0]->place(1, 64);
  const auto torn = host.owners[0]->place(2, 64);
  host.owners[0]->write(whole);
  for (std::size_t word = 0; word + 1 < torn.bytes.size() / 8; ++word) host.owners[0]->write_word(torn, word);
  const auto& waiting = host.flush(20, torn.end);
  host.executor.run_ready();
  CHECK_FALSE(waiting.has_value());
  const auto other = host.owners[1]->place(1, 64);
  host.owners[1]->write(other);
  const auto& answered = host.flush(21, other.end);
  host.executor.run_ready();
  CHECK(answered.has_value());
  CHECK_FALSE(waiting.has_value());
  host.owners[0]->write(torn);
  host.executor.advance(Journals::kReread_ns);
  host.executor.run_ready();
  REQUIRE(waiting.has_value());
  CHECK((**waiting).durable_position == torn.end);
}

TEST_CASE("the end of a two-sided stage wakes a FLUSH that waits", "[journals]") {
  FlushHost host(1);
  host.log.at_once = true;
  const auto part = host.owners[0]->place(1, 64);
  const auto& waiting = host.flush(20, part.end);
  host.executor.run_ready();
  host.owners[0]->write(part);
  host.executor.run_ready();
  CHECK_FALSE(waiting.has_value());
  host.journals.stage_ended();
  host.executor.run_ready();
  CHECK(waiting.has_value());
}

TEST_CASE("a FLUSH whose entry never comes says after a while how far the stream is durable", "[journals]") {
  FlushHost host(1);
  host.log.at_once = true;
  const auto there = host.owners[0]->place(1, 64);
  const auto missing = host.owners[0]->place(2, 64);
  host.owners[0]->write(there);
  // Several at once: they end, each.
  for (int i = 0; i < 3; ++i) (void)host.flush(20, missing.end);
  host.executor.run_until([&] { return host.gate.count() == 0; });
  CHECK(host.executor.now_ns() >= Journals::kPatience_ns);
  CHECK(host.executor.now_ns() < 2 * Journals::kPatience_ns);
  for (const auto& result : host.results) {
    REQUIRE(result->has_value());
    REQUIRE((**result).ok());
    CHECK((***result).durable_position == there.end);
  }
}

TEST_CASE("a peer that is fenced or gone ends the wait of its FLUSH", "[journals]") {
  for (const bool fenced : {true, false}) {
    FlushHost host(1);
    const auto missing = host.owners[0]->place(1, 64);
    const auto& waiting = host.flush(20, missing.end);
    host.executor.run_ready();
    CHECK_FALSE(waiting.has_value());
    if (fenced) {
      host.peers.remember_fenced(flushing_peer('a').compute_id);
    } else {
      host.peers.remove(1);
    }
    host.executor.advance(Journals::kReread_ns);
    host.executor.run_ready();
    REQUIRE(waiting.has_value());
    CHECK(waiting->status().code() == ErrorCode::fenced);
  }
}

TEST_CASE("a server that stops ends the wait of a FLUSH", "[journals]") {
  FlushHost host(1);
  const auto missing = host.owners[0]->place(1, 64);
  const auto& waiting = host.flush(20, missing.end);
  host.executor.run_ready();
  host.journals.stop();
  host.executor.run_ready();
  REQUIRE(waiting.has_value());
  CHECK(waiting->status().code() == ErrorCode::fenced);
}

TEST_CASE("without a log a FLUSH is answered when its entries are complete", "[journals]") {
  FlushHost host(1, /*logged=*/false);
  const auto first = host.owners[0]->place(1, 64);
  const auto second = host.owners[0]->place(2, 64);
  host.owners[0]->write(first);
  host.owners[0]->write(second);
  const auto reply = host.run(host.journals.flush(1, {20, second.end, 1}));
  REQUIRE(reply.ok());
  CHECK(reply->durable_position == second.end);
  CHECK(reply->freed_position == second.begin);
  CHECK(host.log.records.empty());
  CHECK(host.log.flushes == 0);
}

TEST_CASE("a FLUSH of another's slot or beyond what is free is refused", "[journals]") {
  FlushHost host(2);
  const auto another = host.run(host.journals.flush(2, {20, 0, 0}));
  CHECK(another.status().code() == ErrorCode::undefined_object);
  const auto unknown = host.run(host.journals.flush(1, {77, 0, 0}));
  CHECK(unknown.status().code() == ErrorCode::undefined_object);
  const auto beyond = host.run(host.journals.flush(1, {20, 4096 + 64, 0}));
  CHECK(beyond.status().code() == ErrorCode::protocol_violation);
}

TEST_CASE("an entry that the full log refuses stays, and the next FLUSH brings it in", "[journals]") {
  FlushHost host(1);
  host.log.at_once = true;
  const auto part = host.owners[0]->place(1, 64);
  host.owners[0]->write(part);
  host.log.full_now = true;
  const auto refused = host.run(host.journals.flush(1, {20, part.end, 0}));
  CHECK(refused.status().code() == ErrorCode::limit_exceeded);
  CHECK(host.journals.find(20)->certified() == 0);
  const auto full = host.run(host.journals.flush(1, {20, 0, 0}));
  REQUIRE(full.ok());
  CHECK(full->log_full);
  host.log.full_now = false;
  const auto reply = host.run(host.journals.flush(1, {20, part.end, 0}));
  REQUIRE(reply.ok());
  CHECK(reply->durable_position == part.end);
  CHECK_FALSE(reply->log_full);
}

TEST_CASE("after a flush of the log has failed no FLUSH succeeds", "[journals]") {
  FlushHost host(2);
  host.log.at_once = true;
  host.log.fail_flush = true;
  const auto part = host.owners[0]->place(1, 64);
  host.owners[0]->write(part);
  const auto failed = host.run(host.journals.flush(1, {20, part.end, 0}));
  CHECK_FALSE(failed.ok());
  host.log.fail_flush = false;
  const auto again = host.run(host.journals.flush(1, {20, part.end, 0}));
  CHECK_FALSE(again.ok());
  const auto other = host.owners[1]->place(1, 64);
  host.owners[1]->write(other);
  CHECK_FALSE(host.run(host.journals.flush(2, {21, other.end, 0})).ok());
}

namespace {

// Owners that log, tear their WRITEs, FLUSH, finish commits out of order and use every place again as soon as
// they are told that it is free; a log whose appends and flushes take long.
struct RandomHistory {
  explicit RandomHistory(std::uint64_t seed) : random(seed), host(kSlots) {
    host.log.append_yields = static_cast<int>(random.below(3));
  }

  static constexpr std::uint32_t kSlots = 3;
  struct Written {
    std::uint32_t counter = 0;
    JournalOwner::Part part;
    std::set<std::size_t> missing;  // words
  };
  struct Slot {
    std::vector<Written> all;
    std::set<std::uint32_t> finished;
    std::uint32_t next_counter = 1;
    std::uint64_t freed = 0;
    std::uint64_t asked = 0;
    std::uint64_t asked_ns = 0;
    std::uint64_t durable = 0;
    std::optional<Flushed>* flush = nullptr;
  };

  std::uint32_t through(const Slot& slot) const {
    std::uint32_t counter = 0;
    while (slot.finished.contains(counter + 1)) ++counter;
    return counter;
  }

  // Takes note of the entries that have become durable since.
  void see_durable() {
    for (; seen < host.log.records.size() && host.log.records[seen].end <= host.log.durable; ++seen) {
      const auto record = read_journal_record(host.log.records[seen].bytes, 0);
      REQUIRE(record.has_value());
      durable.emplace(record->entry.stamp.slot, record->entry.position);
    }
  }

  void answered(std::uint32_t index) {
    Slot& slot = slots[index];
    const Flushed answer = std::move(**slot.flush);
    slot.flush = nullptr;
    REQUIRE(answer.ok());
    REQUIRE((answer->durable_position >= slot.asked ||
             host.executor.now_ns() >= slot.asked_ns + Journals::kPatience_ns));
    REQUIRE(answer->freed_position >= slot.freed);
    see_durable();
    bool all_durable = true;
    bool all_finished = true;
    for (const Written& written : slot.all) {
      const bool is_durable = durable.contains({20 + index, written.part.begin});
      if (written.part.end <= answer->durable_position) all_durable = all_durable && is_durable;
      if (written.part.end <= answer->freed_position)
        all_finished = all_finished && is_durable && slot.finished.contains(written.counter);
    }
    REQUIRE(all_durable);
    REQUIRE(all_finished);
    slot.freed = answer->freed_position;
    slot.durable = answer->durable_position;
  }

  void step() {
    const auto index = static_cast<std::uint32_t>(random.below(kSlots));
    Slot& slot = slots[index];
    JournalOwner& owner = *host.owners[index];
    switch (random.below(6)) {
      case 0: {
        const std::uint64_t payload = 8 * random.below(60);
        if (owner.position() + owner.needs_bytes(payload) > slot.freed + 4096) break;
        const std::uint32_t counter = slot.next_counter++;
        Written written{counter, owner.place(counter, payload, random.chance(0.5) ? through(slot) : 0), {}};
        owner.write_pad(written.part);
        for (std::size_t word = 0; word < written.part.bytes.size() / 8; ++word) {
          if (random.chance(0.2)) {
            written.missing.insert(word);
          } else {
            owner.write_word(written.part, word);
          }
        }
        slot.all.push_back(std::move(written));
        break;
      }
      case 1:
        for (Written& written : slot.all) {
          for (const std::size_t word : written.missing) owner.write_word(written.part, word);
          written.missing.clear();
        }
        break;
      case 2:
        if (slot.flush != nullptr) break;
        slot.asked = owner.position();
        slot.asked_ns = host.executor.now_ns();
        slot.flush = &host.flush(20 + index, slot.asked, through(slot));
        break;
      case 3:  // a commit finishes only after its entry is durable
        for (const Written& written : slot.all) {
          if (written.part.end <= slot.durable && random.chance(0.5)) slot.finished.insert(written.counter);
        }
        break;
      case 4:
        (void)host.log.complete_flush();
        break;
      default:
        if (random.chance(0.3)) host.executor.advance(Journals::kReread_ns / 2);
        host.executor.turn();
    }
  }

  // Also of counters that aborted without an entry: here every counter has one.
  void finish() {
    host.log.at_once = true;
    for (std::uint32_t index = 0; index < kSlots; ++index) {
      for (Written& written : slots[index].all) {
        for (const std::size_t word : written.missing) host.owners[index]->write_word(written.part, word);
      }
    }
    while (host.log.complete_flush()) host.executor.run_ready();
    for (std::uint32_t index = 0; index < kSlots; ++index) {
      Slot& slot = slots[index];
      if (slot.flush != nullptr) {
        host.executor.run_until([&] { return slot.flush->has_value(); });
        answered(index);
      }
      const auto last =
          host.run(host.journals.flush(index + 1, {20 + index, host.owners[index]->position(), 0}));
      REQUIRE(last.ok());
      REQUIRE(last->durable_position == host.owners[index]->position());
      // The log has each entry once, in the order of the stream, as it was written.
      std::size_t next = 0;
      for (const StepLog::Record& record : host.log.records) {
        const auto entry = read_journal_record(record.bytes, 0);
        if (entry->entry.stamp.slot != 20 + index) continue;
        REQUIRE(next < slot.all.size());
        REQUIRE(std::ranges::equal(std::span(record.bytes).subspan(kJournalRecordHead_bytes),
                                   slot.all[next].part.bytes));
        ++next;
      }
      REQUIRE(next == slot.all.size());
    }
    REQUIRE(host.log.most_flushes_at_once <= 1);
  }

  void run(int steps) {
    for (int i = 0; i < steps; ++i) {
      step();
      for (std::uint32_t index = 0; index < kSlots; ++index) {
        if (slots[index].flush != nullptr && slots[index].flush->has_value()) answered(index);
      }
    }
    finish();
  }

  Random random;
  FlushHost host;
  Slot slots[kSlots];
  std::size_t seen = 0;                                       // records of the log
  std::set<std::pair<std::uint32_t, std::uint64_t>> durable;  // slot and position
};

}  // namespace

TEST_CASE("in any history what is answered is in the log, and what is free is finished", "[journals]") {
  std::size_t entries = 0;
  std::uint64_t laps = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    INFO("seed " << seed);
    RandomHistory history(seed);
    history.run(1'500);
    entries += history.host.log.records.size();
    for (const auto& owner : history.host.owners) laps += owner->position() / 4096;
  }
  // The histories are worth their name.
  CHECK(entries > 5'000);
  CHECK(laps > 150);
}

}  // namespace namdb::memory
