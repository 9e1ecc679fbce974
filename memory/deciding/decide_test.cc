// LOOK, VOID and VERDICT on a host: the right to call them, their answers, and their records, which are in
// the log before they answer.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>

#include "common/calls/decider_calls.h"
#include "common/calls/journal_calls.h"
#include "common/layout/journal.h"
#include "common/layout/version_image.h"
#include "memory/journals/testing/journal_owner.h"
#include "memory/testing/test_cluster.h"

namespace namdb::memory {
namespace {

using layout::HeaderWord;
using layout::Stamp;
using testing::StepLog;
using testing::TestClient;
using testing::TestCluster;

constexpr std::uint64_t kEntryRoom_bytes = 4096;
constexpr std::uint32_t kTable = 100;

constexpr std::uint16_t kHost = 1;

// Memory server 1 with a table of three records, a compute server whose slot has a journal there, and server
// 0, which decides.
struct Deciding {
  Deciding()
      : cluster(options()),
        owner(cluster.client("owner")),
        decider(cluster.client("decider")),
        log(cluster.node) {
    log.at_once = true;
    cluster.server->log_to(log);
    REQUIRE(owner->connect(testing::hello('a')).ok());
    REQUIRE(decider->connect(testing::hello_of_memory_server('m')).ok());
    table = testing::accounts("accounts");
    table.set_id(kTable);
    table.set_generation(1);
    control::PrepareTableRequest prepare;
    *prepare.mutable_table() = table;
    const auto prepared = owner->call<control::PrepareTableReply>(control::PREPARE_TABLE, prepare);
    REQUIRE(prepared.ok());
    table.add_bucket_base(prepared->bucket_base());
    const auto places = owner->allocate(table.id(), 3);
    REQUIRE(places.ok());
    records = *places;
    for (std::size_t i = 0; i < records.size(); ++i)
      cluster.insert(table, records[i], static_cast<std::int64_t>(i), Stamp{17, 1});
    const auto reply = owner->call(calls::kOpenJournalMethod, calls::encode(calls::OpenJournalRequest{slot}));
    REQUIRE(reply.ok());
    journal = *calls::decode_open_journal_reply(*reply, 8U << 20);
  }

  static Options options() {
    Options options = testing::small_options();
    options.server_id = kHost;
    options.server_count = 4;
    return options;
  }
  // Locks the record and writes a complete entry that changes it.
  void begin_commit(std::uint32_t counter, std::uint64_t record, std::vector<layout::ServerId> regions,
                    bool in_a_room = false) {
    const layout::RecordLayout shape = TestCluster::layout_of(table);
    const auto displaced = cluster.bytes(record + 8, shape.body_bytes());
    const layout::BodyHeader before = layout::decode_body_header(displaced.data());
    std::vector<std::byte> body(displaced.begin(), displaced.end());
    body[layout::kBodyPrefix_bytes + 16] = static_cast<std::byte>(counter);
    const Stamp stamp{slot, counter};
    layout::seal_body(body, layout::GlobalAddress(kHost, record),
                      {.stamp = stamp,
                       .displaced = before.header_word(),
                       .table = table.id(),
                       .incarnation = before.incarnation});
    cluster.store(record, HeaderWord(stamp, false, true).value());
    std::vector<std::byte> bytes(kEntryRoom_bytes);
    const layout::EntryHead head{1, 0, 0, regions};
    const layout::StreamPlace place{slot, kHost, position};
    layout::JournalWriter writer(bytes, stamp, stamp, head);
    if (in_a_room) {
      const auto room = owner->lease_room(slot, kEntryRoom_bytes);
      REQUIRE(room.ok());
      std::vector<std::byte> items_bytes(kEntryRoom_bytes);
      layout::JournalItems items(items_bytes);
      items.update(layout::GlobalAddress(kHost, record), 0, displaced, body);
      items_bytes.resize(items.used_bytes());
      std::ranges::copy(items_bytes, cluster.bytes(*room, items_bytes.size()).begin());
      writer.room(layout::GlobalAddress(kHost, *room), items.used_bytes(),
                  layout::journal_room_checksum(items_bytes, place));
    } else {
      writer.update(layout::GlobalAddress(kHost, record), 0, displaced, body);
    }
    const std::uint32_t length = writer.finish(place);
    std::ranges::copy(std::span(bytes).first(length),
                      cluster.bytes(journal.ring_offset + position, length).begin());
    position += layout::journal_stream_bytes(length);
  }
  void owner_dies() {
    owner->disconnect();
    cluster.run_for(10 * kMillisecond_ns);
  }

  Result<calls::LookReply> look(TestClient& client) {
    const auto reply = client.call(calls::kLookMethod, calls::encode(calls::LookRequest{slot}));
    if (!reply.ok()) return reply.status();
    const auto seen = calls::decode_look_reply(*reply);
    REQUIRE(seen.has_value());
    return *seen;
  }
  Result<calls::LookReply> look() { return look(*decider); }
  Status make_void(std::vector<std::uint32_t> counters) {
    const calls::VoidRequest request{slot, std::move(counters)};
    const auto reply = decider->call(calls::kVoidMethod, calls::encode(request));
    return reply.ok() ? Status() : reply.status();
  }
  Status record(std::vector<std::uint32_t> commits,
                std::optional<std::uint32_t> final_counter = std::nullopt) {
    const calls::VerdictRequest request{slot, final_counter, std::move(commits)};
    const auto reply = decider->call(calls::kVerdictMethod, calls::encode(request));
    return reply.ok() ? Status() : reply.status();
  }
  std::size_t logged(RecordKind kind) const {
    return static_cast<std::size_t>(std::ranges::count(log.records, kind, &StepLog::Record::kind));
  }
  bool installed(std::uint64_t at, std::uint32_t counter) {
    return cluster.load(at) == HeaderWord(Stamp{slot, counter}).value() &&
           cluster.body_header(at).stamp == Stamp{slot, counter} && cluster.body_certified(table, at);
  }
  bool locked(std::uint64_t at, std::uint32_t counter) {
    return cluster.load(at) == HeaderWord(Stamp{slot, counter}, false, true).value();
  }

  TestCluster cluster;
  std::unique_ptr<TestClient> owner;
  std::unique_ptr<TestClient> decider;
  StepLog log;
  control::TableDescriptor table;
  std::vector<std::uint64_t> records;
  std::uint32_t slot = 20;
  calls::OpenJournalReply journal;
  std::uint64_t position = 0;
};

ErrorCode code_of(const Status& status) {
  REQUIRE_FALSE(status.ok());
  return status.code();
}

}  // namespace

TEST_CASE("only memory servers decide, and only once the owner is gone") {
  Deciding deciding;
  deciding.begin_commit(1, deciding.records[0], {kHost});
  const auto tool = deciding.cluster.client("tool");
  REQUIRE(tool->connect(testing::hello('t', true)).ok());
  for (const std::uint16_t method : {calls::kLookMethod, calls::kVoidMethod, calls::kVerdictMethod}) {
    const auto by_tool = tool->call(method, calls::encode(calls::LookRequest{deciding.slot}));
    CHECK(code_of(by_tool.status()) == ErrorCode::insufficient_privilege);
    const auto by_owner = deciding.owner->call(method, calls::encode(calls::LookRequest{deciding.slot}));
    CHECK(code_of(by_owner.status()) == ErrorCode::insufficient_privilege);
    CHECK(code_of(deciding.decider->call(method, "abc").status()) == ErrorCode::protocol_violation);
  }
  CHECK(code_of(deciding.look().status()) == ErrorCode::protocol_violation);
  CHECK(code_of(deciding.make_void({1})) == ErrorCode::protocol_violation);
  CHECK(code_of(deciding.record({1})) == ErrorCode::protocol_violation);
  CHECK(deciding.locked(deciding.records[0], 1));
  deciding.owner_dies();
  CHECK(deciding.look().ok());
}

TEST_CASE("a host tells its entries once they are in the log, installs commits, and ends the journal") {
  Deciding deciding;
  deciding.begin_commit(1, deciding.records[0], {kHost});
  deciding.begin_commit(2, deciding.records[1], {kHost, 3});
  deciding.begin_commit(3, deciding.records[2], {kHost}, true);
  deciding.owner_dies();
  CHECK(deciding.logged(RecordKind::entry) == 0);  // it did not flush
  const auto seen = deciding.look();
  REQUIRE(seen.ok());
  CHECK(deciding.logged(RecordKind::entry) == 3);
  CHECK(deciding.log.durable >= deciding.log.appended());
  CHECK(seen->through == 0);
  CHECK_FALSE(seen->final_counter);
  CHECK(seen->entries == std::vector<calls::SeenEntry>{{1, 1, {kHost}}, {2, 1, {kHost, 3}}, {3, 1, {kHost}}});

  REQUIRE(deciding.make_void({2}).ok());
  CHECK(deciding.logged(RecordKind::voided) == 1);
  REQUIRE(deciding.record({1, 3}).ok());
  CHECK(deciding.logged(RecordKind::verdict) == 1);
  CHECK(deciding.installed(deciding.records[0], 1));
  CHECK(deciding.locked(deciding.records[1], 2));
  CHECK(deciding.installed(deciding.records[2], 3));
  const auto decided = deciding.look();
  REQUIRE(decided.ok());
  CHECK(decided->voids == std::vector<std::uint32_t>{2});
  CHECK(decided->commits == std::vector<std::uint32_t>{1, 3});
  // Again: nothing more is recorded. The opposite is refused.
  CHECK(deciding.make_void({2}).ok());
  CHECK(deciding.record({1, 3}).ok());
  CHECK(deciding.logged(RecordKind::voided) + deciding.logged(RecordKind::verdict) == 2);
  CHECK(code_of(deciding.make_void({1})) == ErrorCode::corrupt_data);
  CHECK(code_of(deciding.record({2})) == ErrorCode::corrupt_data);

  REQUIRE(deciding.record({}, 3).ok());
  CHECK(deciding.logged(RecordKind::closed) == 1);
  CHECK(deciding.cluster.server->journals().find(deciding.slot) == nullptr);
  const auto last = deciding.look();
  REQUIRE(last.ok());
  CHECK(last->final_counter == 3);
  CHECK(last->entries.empty());
  CHECK(deciding.record({}, 3).ok());
}

TEST_CASE(
    "a commit of which the host has no part is not recorded, nor a last counter before all is decided") {
  Deciding deciding;
  deciding.begin_commit(1, deciding.records[0], {kHost});
  deciding.owner_dies();
  REQUIRE(deciding.look().ok());
  CHECK(code_of(deciding.record({1, 2})) == ErrorCode::corrupt_data);
  CHECK(deciding.logged(RecordKind::verdict) == 0);
  CHECK(code_of(deciding.record({}, 0)) == ErrorCode::protocol_violation);
  CHECK(code_of(deciding.record({}, 5)) == ErrorCode::protocol_violation);
  CHECK(deciding.cluster.server->journals().find(deciding.slot) != nullptr);
  REQUIRE(deciding.record({1}).ok());
  CHECK(deciding.record({}, 1).ok());
}

TEST_CASE(
    "a host tells how a journal ended that its owner has closed, and nothing of one that it never had") {
  Deciding deciding;
  deciding.begin_commit(1, deciding.records[0], {kHost});
  const calls::CloseJournalRequest request{deciding.slot, 1};
  REQUIRE(deciding.owner->call(calls::kCloseJournalMethod, calls::encode(request)).ok());
  deciding.owner_dies();
  const auto closed = deciding.look();
  REQUIRE(closed.ok());
  CHECK(*closed == calls::LookReply{.through = 1});
  ++deciding.slot;
  const auto unknown = deciding.look();
  REQUIRE(unknown.ok());
  CHECK(*unknown == calls::LookReply());
}

TEST_CASE("a full log leaves a commit undecided, and its lock") {
  Deciding deciding;
  deciding.begin_commit(1, deciding.records[0], {kHost});
  deciding.owner_dies();
  REQUIRE(deciding.look().ok());
  deciding.log.full_now = true;
  CHECK_FALSE(deciding.make_void({1}).ok());
  const auto seen = deciding.look();
  REQUIRE(seen.ok());
  CHECK(seen->voids.empty());
  CHECK(seen->entries.size() == 1);
}

TEST_CASE("of a commit that a full log did not take the decider learns nothing, then and later") {
  Deciding deciding;
  deciding.begin_commit(1, deciding.records[0], {kHost});
  deciding.owner_dies();
  for (const bool full : {true, false}) {
    deciding.log.full_now = full;
    const auto seen = deciding.look();
    REQUIRE(seen.ok());
    CHECK(*seen == calls::LookReply());
  }
}

}  // namespace namdb::memory
