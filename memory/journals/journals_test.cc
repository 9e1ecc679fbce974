// The ends of streams: opening, closing, rooms, owners that are gone; and the facts for deciders and redo.
#include "memory/journals/journals.h"

#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "common/layout/words.h"
#include "common/reactor/testing/manual_executor.h"
#include "memory/journals/journal_record.h"
#include "memory/journals/testing/journal_owner.h"
#include "memory/log/testing/run_task.h"

namespace namdb::memory {
namespace journals_test {

using reactor::testing::ManualExecutor;
using testing::JournalOwner;
using testing::JournalRegion;
using testing::StepLog;

std::string journal_compute(char fill) {
  return std::string(Peers::kComputeId_bytes, fill);
}

struct JournalHost {
  explicit JournalHost(bool logged = true)
      : log(executor), journals(executor, *memory.region, memory.options, peers) {
    log.at_once = true;
    if (logged) journals.log_to(log);
    for (fabric::PeerId peer = 1; peer <= 3; ++peer) connect(peer, static_cast<char>('a' + peer - 1));
  }
  void connect(fabric::PeerId id, char compute) {
    Peer peer;
    peer.compute_id = journal_compute(compute);
    peers.add(id, std::move(peer));
  }
  void disconnect(fabric::PeerId id) {
    peers.remove(id);
    journals.disconnected(id);
  }

  template <typename T>
  T run(reactor::Task<T> task) {
    return testing::run_task(executor, std::move(task));
  }
  JournalOwner open(fabric::PeerId peer, std::uint32_t slot) {
    const auto opened = run(journals.open(peer, slot));
    REQUIRE(opened.ok());
    return JournalOwner(*memory.region, slot, opened->ring_offset, opened->ring_bytes);
  }
  std::uint64_t free_bytes() const { return memory.region->blocks().free_bytes(); }

  ManualExecutor executor;
  JournalRegion memory;
  Peers peers;
  StepLog log;
  Journals journals;
};

TEST_CASE("an opened journal is zero, charged, and the same when it is opened again", "[journals]") {
  JournalHost host;
  const std::uint64_t free_bytes = host.free_bytes();
  // Memory that others have used.
  const Block used = *host.memory.region->blocks().allocate(64U << 10);
  for (std::uint64_t i = 0; i < used.bytes; i += 8)
    host.memory.region->store(used.offset + i, ~std::uint64_t{0});
  host.memory.region->blocks().free(used.offset, used.bytes);
  const auto opened = host.run(host.journals.open(1, 20));
  REQUIRE(opened.ok());
  CHECK(opened->ring_bytes == 4096);
  CHECK(opened->position == 0);
  for (std::uint64_t i = 0; i < opened->ring_bytes; i += 8)
    REQUIRE(host.memory.region->load(opened->ring_offset + i) == 0);
  CHECK(host.journals.bytes() == 4096);
  CHECK(host.free_bytes() == free_bytes - 4096);
  JournalOwner owner(*host.memory.region, 20, opened->ring_offset, opened->ring_bytes);
  const auto part = owner.place(1, 64);
  owner.write(part);
  REQUIRE(host.run(host.journals.flush(1, {20, part.end, 0})).ok());
  const auto again = host.run(host.journals.open(1, 20));
  REQUIRE(again.ok());
  CHECK(again->ring_offset == opened->ring_offset);
  CHECK(again->position == part.end);
  CHECK(host.journals.bytes() == 4096);
}

TEST_CASE("a slot has one journal here, and a channel a bounded number", "[journals]") {
  JournalHost host;
  (void)host.open(1, 20);
  CHECK(host.run(host.journals.open(2, 20)).status().code() == ErrorCode::undefined_object);
  for (std::uint32_t slot = 21; slot < 24; ++slot) (void)host.open(1, slot);
  const auto one_more = host.run(host.journals.open(1, 24));
  CHECK(one_more.status().code() == ErrorCode::limit_exceeded);
  (void)host.open(2, 24);
  CHECK(host.run(host.journals.open(9, 25)).status().code() == ErrorCode::fenced);
}

TEST_CASE("two calls that open a slot at once get one journal", "[journals]") {
  JournalHost host;
  const Block used = *host.memory.region->blocks().allocate(4096);
  host.memory.region->blocks().free(used.offset, used.bytes);  // dirty: opening it suspends
  reactor::Gate gate;
  std::optional<Result<calls::OpenJournalReply>> first;
  std::optional<Result<calls::OpenJournalReply>> second;
  const std::uint64_t free_bytes = host.free_bytes();
  host.executor.spawn(gate, testing::keep_result(host.journals.open(1, 20), &first));
  host.executor.spawn(gate, testing::keep_result(host.journals.open(1, 20), &second));
  host.executor.run_until([&gate] { return gate.count() == 0; });
  CHECK((*first).ok());
  CHECK(host.journals.all().size() == 1);
  CHECK(host.journals.bytes() == 4096);
  CHECK(host.free_bytes() == free_bytes - 4096);
}

TEST_CASE("a journal closes when all of it is decided, and that is recorded", "[journals]") {
  JournalHost host;
  const std::uint64_t free_bytes = host.free_bytes();
  JournalOwner owner = host.open(1, 20);
  owner.write(owner.place(1, 64));
  owner.write(owner.place(3, 64));
  CHECK(host.run(host.journals.close(2, 20, 3)).code() == ErrorCode::undefined_object);
  CHECK(host.run(host.journals.close(1, 20, 2)).code() == ErrorCode::protocol_violation);
  CHECK(host.journals.find(20) != nullptr);
  REQUIRE(host.run(host.journals.close(1, 20, 3)).ok());
  CHECK(host.journals.find(20) == nullptr);
  CHECK(host.free_bytes() == free_bytes);
  CHECK(host.journals.bytes() == 0);
  REQUIRE(host.log.records.size() == 3);  // entries without a FLUSH are in the log before
  const StepLog::Record& last = host.log.records.back();
  CHECK(last.kind == RecordKind::through);
  REQUIRE(last.bytes.size() == 8);
  CHECK(layout::load_word(last.bytes.data()) == ((std::uint64_t{20} << 32) | 3));
  CHECK(host.log.durable == last.end);
  CHECK(host.run(host.journals.close(1, 20, 3)).code() == ErrorCode::undefined_object);
}

TEST_CASE("a room holds the items of an entry until its place is free", "[journals]") {
  for (const bool logged : {true, false}) {
    JournalHost host(logged);
    JournalOwner owner = host.open(1, 20);
    CHECK(host.journals.lend_room(2, 20, 64).status().code() == ErrorCode::undefined_object);
    CHECK(host.journals.lend_room(1, 20, 0).status().code() == ErrorCode::limit_exceeded);
    CHECK(host.journals.lend_room(1, 20, (512U << 10) + 1).status().code() == ErrorCode::limit_exceeded);
    const auto room = host.journals.lend_room(1, 20, 400U << 10);
    REQUIRE(room.ok());
    CHECK(host.journals.bytes() > (400U << 10));
    std::vector<std::byte> items;
    const auto part = owner.place_with_room(1, *room, 399U << 10, items);
    owner.write(part);
    // The room's bytes come after the entry: it is not complete before.
    const auto early = host.run(host.journals.flush(1, {20, part.end, 0}));
    REQUIRE(early.ok());
    CHECK(early->durable_position == 0);
    host.memory.region->write(*room, items);
    const auto reply = host.run(host.journals.flush(1, {20, part.end, 0}));
    REQUIRE(reply.ok());
    CHECK(reply->durable_position == part.end);
    if (logged) {
      REQUIRE(host.log.records.size() == 1);
      const auto record = read_journal_record(host.log.records[0].bytes, 0);
      REQUIRE(record.has_value());
      CHECK(record->entry.items.size() == 1);
    }
    CHECK(host.journals.give_back_room(1, 20, *room).code() == ErrorCode::undefined_object);
    const auto freed = host.run(host.journals.flush(1, {20, part.end, 1}));
    REQUIRE(freed.ok());
    CHECK(freed->freed_position == part.end);
    CHECK(host.journals.bytes() == 4096);
    const auto unused = host.journals.lend_room(1, 20, 8192);
    REQUIRE(unused.ok());
    CHECK(host.journals.give_back_room(1, 20, *unused).ok());
    CHECK(host.journals.bytes() == 4096);
  }
}

TEST_CASE("a room is no longer than an entry that the log can hold", "[journals]") {
  JournalHost host;
  (void)host.open(1, 20);
  CHECK(host.journals.max_room_bytes() == host.memory.options.max_journal_room_bytes);
  host.log.longest_entry_bytes = 64U << 10;
  CHECK(host.journals.max_room_bytes() == 64U << 10);
  CHECK(host.journals.lend_room(1, 20, (64U << 10) + 1).status().code() == ErrorCode::limit_exceeded);
  CHECK(host.journals.lend_room(1, 20, 64U << 10).ok());
}

TEST_CASE("an entry with another's room is an error of its owner", "[journals]") {
  JournalHost host;
  JournalOwner owner = host.open(1, 20);
  (void)host.open(2, 21);
  const auto room = host.journals.lend_room(2, 21, 8192);
  REQUIRE(room.ok());
  std::vector<std::byte> items;
  const auto part = owner.place_with_room(1, *room, 4096, items);
  host.memory.region->write(*room, items);
  owner.write(part);
  const auto reply = host.run(host.journals.flush(1, {20, part.end, 0}));
  CHECK(reply.status().code() == ErrorCode::protocol_violation);
  CHECK(host.log.records.empty());
}

TEST_CASE("the journal of a lost channel stays until its compute server has ended", "[journals]") {
  JournalHost host;
  JournalOwner owner = host.open(1, 20);
  (void)host.open(2, 21);
  owner.write(owner.place(1, 64));
  CHECK(host.journals.holds(journal_compute('a')));
  host.journals.settle({journal_compute('a')});  // it is connected: this cannot be
  CHECK(host.journals.find(20) != nullptr);
  host.disconnect(1);
  CHECK(host.journals.abandoned_bytes() == 4096);
  host.journals.settle({journal_compute('b'), journal_compute('c')});
  CHECK(host.journals.find(20) != nullptr);
  host.journals.settle({journal_compute('a')});
  CHECK(host.journals.find(20) == nullptr);
  CHECK_FALSE(host.journals.holds(journal_compute('a')));
  CHECK(host.journals.bytes() == 4096);
}

TEST_CASE("journals of lost channels take an eighth of the region at most", "[journals]") {
  JournalHost host;
  std::uint32_t slot = 20;
  fabric::PeerId peer = 10;
  std::uint64_t opened = 0;
  while (true) {
    host.connect(peer, 'x');
    const auto journal = host.run(host.journals.open(peer, slot++));
    host.disconnect(peer++);
    if (!journal.ok()) {
      CHECK(journal.status().code() == ErrorCode::out_of_memory);
      break;
    }
    ++opened;
    REQUIRE(opened * 4096 <= (2U << 20) / 8 + 4096);
  }
  CHECK(opened == (2U << 20) / 8 / 4096 + 1);
  host.journals.settle({journal_compute('x')});
  CHECK(host.journals.bytes() == 0);
  (void)host.open(1, slot);
}

TEST_CASE(
    "entries that a lost channel left are read to their end, and durable, before anything is said of them",
    "[journals]") {
  JournalHost host;
  JournalOwner owner = host.open(1, 20);
  const auto first = owner.place(1, 64);
  const auto torn = owner.place(2, 64);
  const auto last = owner.place(3, 64, 1);
  owner.write(first);
  owner.write_word(torn, 0);
  owner.write(last);
  host.disconnect(1);
  REQUIRE(host.run(host.journals.read_rest(20)).ok());
  const JournalStream* stream = host.journals.find(20);
  REQUIRE(stream != nullptr);
  CHECK(stream->through() == 1);
  REQUIRE(host.log.records.size() == 2);
  CHECK(host.log.durable == host.log.records.back().end);
  REQUIRE(stream->entries().size() == 1);  // 1 is finished and its place free
  CHECK(stream->entries()[0].stamp == layout::Stamp{20, 3});
  CHECK(stream->entries()[0].regions == layout::RegionIds{0});
  CHECK(host.journals.redo_start() == host.log.records[0].end);
  CHECK(host.run(host.journals.close_decided(20, 1)).code() == ErrorCode::protocol_violation);
  REQUIRE(host.run(host.journals.record(RecordKind::voided, {})).ok());
  CHECK(host.log.durable == host.log.records.back().end);
  host.journals.decide(20, 3, Verdict::voided);
  CHECK(host.journals.redo_start() == ~std::uint64_t{0});
  CHECK(host.journals.find(20)->verdicts().at(3) == Verdict::voided);
  REQUIRE(host.run(host.journals.close_decided(20, 3)).ok());
  CHECK(host.journals.find(20) == nullptr);
  CHECK(host.run(host.journals.close_decided(20, 3)).ok());
}

TEST_CASE("an owner that has left a slot can do nothing more with its journal", "[journals]") {
  JournalHost host;
  JournalOwner owner = host.open(1, 20);
  owner.write(owner.place(1, 64));
  host.journals.left(20);
  CHECK(host.run(host.journals.flush(1, {20, owner.position(), 1})).status().code() ==
        ErrorCode::undefined_object);
  CHECK(host.run(host.journals.open(1, 20)).status().code() == ErrorCode::undefined_object);
  CHECK(host.run(host.journals.close(1, 20, 1)).code() == ErrorCode::undefined_object);
  REQUIRE(host.run(host.journals.read_rest(20)).ok());
  CHECK(host.journals.find(20)->entries().size() == 1);
  host.journals.decide(20, 1, Verdict::committed);
  CHECK(host.run(host.journals.close_decided(20, 1)).ok());
}

TEST_CASE("a noted record lies before the entries that are read later, however long appends take",
          "[journals]") {
  JournalHost host;
  host.log.append_yields = 2;
  JournalOwner first = host.open(1, 20);
  JournalOwner second = host.open(2, 21);
  for (std::uint32_t counter = 1; counter <= 10; ++counter) {
    reactor::Gate gate;
    std::vector<std::optional<Result<calls::FlushReply>>> replies(4);
    std::size_t next = 0;
    for (JournalOwner* owner : {&first, &second}) {
      host.journals.note(RecordKind::block,
                         {static_cast<std::byte>(owner->slot()), static_cast<std::byte>(counter)});
      owner->write(owner->place(counter, 8));
      const calls::FlushRequest request{owner->slot(), owner->position(), counter - 1};
      host.executor.spawn(
          gate, testing::keep_result(host.journals.flush(owner->slot() - 19, request), &replies[next++]));
      host.executor.turn();
    }
    host.executor.run_until([&gate] { return gate.count() == 0; });
  }
  std::set<std::pair<std::uint32_t, std::uint32_t>> noted;
  std::size_t entries = 0;
  for (const StepLog::Record& record : host.log.records) {
    if (record.kind == RecordKind::block) {
      noted.emplace(static_cast<std::uint32_t>(record.bytes[0]), static_cast<std::uint32_t>(record.bytes[1]));
    } else {
      const auto entry = read_journal_record(record.bytes, 0);
      REQUIRE(entry.has_value());
      CHECK(noted.contains({entry->entry.stamp.slot, entry->entry.stamp.counter}));
      ++entries;
    }
  }
  CHECK(entries == 20);
  CHECK(noted.size() == 20);
  host.journals.note(RecordKind::grants, {std::byte{1}});
  REQUIRE(host.run(host.journals.flush_noted()).ok());
  CHECK(host.log.records.back().kind == RecordKind::grants);
  CHECK(host.log.durable == host.log.records.back().end);
}

TEST_CASE("redo begins at the oldest entry that is not known to be finished", "[journals]") {
  JournalHost host;
  CHECK(host.journals.redo_start() == ~std::uint64_t{0});
  JournalOwner first = host.open(1, 20);
  JournalOwner second = host.open(2, 21);
  const auto a = first.place(1, 64);
  first.write(a);
  REQUIRE(host.run(host.journals.flush(1, {20, a.end, 0})).ok());
  const auto b = second.place(1, 64);
  second.write(b);
  REQUIRE(host.run(host.journals.flush(2, {21, b.end, 0})).ok());
  const auto c = first.place(2, 64);
  first.write(c);
  REQUIRE(host.run(host.journals.flush(1, {20, c.end, 0})).ok());
  CHECK(host.journals.redo_start() == 0);
  host.journals.learn_through(20, 1);
  CHECK(host.journals.redo_start() == host.log.records[0].end);  // b's record
  host.journals.learn_through(21, 1);
  CHECK(host.journals.redo_start() == host.log.records[1].end);  // c's
  host.journals.learn_through(20, 2);
  CHECK(host.journals.redo_start() == ~std::uint64_t{0});
}

TEST_CASE("a stream that broke ends with its decider", "[journals]") {
  JournalHost host;
  JournalOwner owner = host.open(1, 20);
  (void)host.open(2, 21);
  const auto sound = owner.place(1, 64);
  owner.write(sound);
  REQUIRE(host.run(host.journals.flush(1, {20, sound.end, 0})).ok());
  std::vector<std::byte> items;
  const auto room = host.journals.lend_room(2, 21, 8192);
  REQUIRE(room.ok());
  const auto part = owner.place_with_room(2, *room, 4096, items);
  owner.write(part);
  CHECK(host.run(host.journals.flush(1, {20, part.end, 0})).status().code() == ErrorCode::protocol_violation);
  CHECK(host.journals.refused() == 1);
  host.disconnect(1);
  REQUIRE(host.run(host.journals.read_rest(20)).ok());
  REQUIRE(host.journals.find(20)->entries().size() == 1);
  host.journals.decide(20, 1, Verdict::committed);
  CHECK(host.run(host.journals.close_decided(20, 1)).ok());
  CHECK(host.journals.find(20) == nullptr);
  CHECK(host.journals.refused() == 1);
}

TEST_CASE("entries that a lost channel left count as never written where the log has no room for them",
          "[journals]") {
  JournalHost host;
  JournalOwner owner = host.open(1, 20);
  const auto first = owner.place(1, 64);
  owner.write(first);
  REQUIRE(host.run(host.journals.flush(1, {20, first.end, 0})).ok());
  host.log.full_for_entries = true;
  const auto second = owner.place(2, 64);
  owner.write(second);
  CHECK(host.run(host.journals.flush(1, {20, second.end, 0})).status().code() == ErrorCode::disk_full);
  host.disconnect(1);
  REQUIRE(host.run(host.journals.read_rest(20)).ok());
  CHECK(host.journals.find(20)->entries().size() == 1);
  host.log.full_for_entries = false;
  // The decider was told so: it stays so.
  REQUIRE(host.run(host.journals.read_rest(20)).ok());
  CHECK(host.journals.find(20)->entries().size() == 1);
  CHECK(host.log.records.size() == 1);
  host.journals.decide(20, 1, Verdict::committed);
  CHECK(host.run(host.journals.close_decided(20, 1)).ok());
  CHECK(host.log.records.back().kind == RecordKind::closed);
}

TEST_CASE("entries mark the extents of their records as long as they are not decided", "[journals]") {
  JournalHost host;
  JournalOwner owner = host.open(1, 20);
  const auto part = owner.place_update(1, 3 * host.memory.options.extent_bytes + 64);
  owner.write(part);
  REQUIRE(host.run(host.journals.flush(1, {20, part.end, 0})).ok());
  const std::vector<std::uint64_t> extents{3 * host.memory.options.extent_bytes};
  CHECK(host.memory.region->changed().take() == extents);
  // The owner writes over its entry.
  host.memory.region->zero(host.journals.find(20)->ring().offset, 4096);
  host.journals.mark_undecided(host.memory.region->changed());
  CHECK(host.memory.region->changed().take() == extents);
  host.journals.learn_through(20, 1);
  host.journals.mark_undecided(host.memory.region->changed());
  CHECK(host.memory.region->changed().take().empty());
}

}  // namespace journals_test
}  // namespace namdb::memory
