// FLUSH over a log whose writes the test ends by hand.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>

#include "memory/journals/journal_record.h"
#include "memory/journals/testing/flush_host.h"

namespace namdb::memory {
namespace flush_test {

using testing::FlushHost;
using testing::flushing_peer;
using testing::JournalOwner;

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
  host.complete_flush();
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
  host.complete_flush();
  REQUIRE(early.has_value());
  CHECK((**early).freed_position == first.end);
  const auto second = host.owners[0]->place(2, 64);
  host.owners[0]->write(second);
  const auto& undecided = host.flush(20, second.end);
  host.executor.run_ready();
  host.complete_flush();
  CHECK((**undecided).freed_position == second.begin);
  const auto third = host.owners[0]->place(3, 64, 2);  // says that 2 is finished
  host.owners[0]->write(third);
  const auto& later = host.flush(20, third.end);
  host.executor.run_ready();
  host.complete_flush();
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
  host.complete_flush();
  CHECK(first.has_value());
  CHECK_FALSE(second.has_value());
  CHECK_FALSE(third.has_value());
  CHECK(host.log.flushes == 2);
  host.complete_flush();
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
  host.complete_flush();
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
  CHECK(refused.status().code() == ErrorCode::disk_full);
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

}  // namespace flush_test
}  // namespace namdb::memory
