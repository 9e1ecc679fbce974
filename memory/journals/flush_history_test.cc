// FLUSH in histories that a seed decides.
#include <algorithm>
#include <catch2/catch.hpp>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "common/base/random.h"
#include "memory/journals/journal_record.h"
#include "memory/journals/testing/flush_host.h"

namespace namdb::memory {
namespace flush_history_test {

using testing::Flushed;
using testing::FlushHost;
using testing::JournalOwner;
using testing::StepLog;

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

TEST_CASE("in any history answered entries are in the log, and free ones are finished", "[journals]") {
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

}  // namespace flush_history_test
}  // namespace namdb::memory
