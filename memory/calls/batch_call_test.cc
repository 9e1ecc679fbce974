// The operations of BATCH_CALL that go by name. Journal entries are installed: the outcome is that of their
// owner's WRITEs, only for the owner of a complete entry, and all or nothing whenever the owner dies. Records
// are locked as they are found.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <optional>

#include "common/calls/batch_calls.h"
#include "common/layout/journal.h"
#include "common/layout/version_image.h"
#include "memory/testing/test_cluster.h"

namespace namdb::memory {
namespace {

using calls::BatchOperation;
using layout::HeaderWord;
using layout::Stamp;
using Bytes = std::vector<std::byte>;

constexpr Stamp kOld{30, 4};
constexpr std::uint32_t kCounter = 1;
constexpr std::uint32_t kLockCounter = 900;
constexpr std::uint64_t kValue_offset = layout::kBodyPrefix_bytes + 16;

// An owner that has locked some rows of a table for one commit.
struct Owner {
  explicit Owner(std::uint32_t rows, std::string_view protocol = protocol::kDefaultProtocol)
      : cluster(options_of(protocol)), client(cluster.client("c")) {
    REQUIRE(client->connect(testing::hello('a')).ok());
    const auto leased = client->lease();
    REQUIRE(leased.ok());
    slot = leased->slot();
    const auto opened = client->open_journal(slot);
    REQUIRE(opened.ok());
    ring_offset = opened->ring_offset;
    const auto created = client->create(testing::accounts("accounts", 4, 4));
    REQUIRE(created.ok());
    table = *created;
    shape = testing::TestCluster::layout_of(table);
    const auto places = client->allocate(table.id(), rows, false, shape.ring_slots);
    REQUIRE(places.ok());
    records = *places;
    for (std::size_t i = 0; i < records.size(); ++i) {
      // The buckets need not name them.
      Bytes bytes(shape.locked_bytes());
      layout::seal_body(std::span(bytes).subspan(8, shape.body_bytes()), {0, records[i]},
                        {.stamp = kOld, .table = table.id(), .incarnation = 1, .ring_slot = 3});
      layout::frame_new_record(bytes, shape);
      std::ranges::copy(bytes, cluster.bytes(records[i], bytes.size()).begin());
      lock(i);
    }
  }

  static Options options_of(std::string_view protocol) {
    Options options = testing::small_options();
    options.protocol = protocol;
    return options;
  }
  void lock(std::size_t row) {
    cluster.store(records[row], HeaderWord(Stamp{slot, kLockCounter}, false, true).value());
  }
  Bytes body(std::size_t row) {
    const auto bytes = cluster.bytes(records[row] + 8, shape.body_bytes());
    return {bytes.begin(), bytes.end()};
  }
  // The entry of the commit, sealed for that position.
  Bytes entry(std::uint64_t position) {
    Bytes bytes(256U << 10);
    const layout::ServerId regions[] = {0};
    layout::JournalWriter writer(bytes, {slot, kCounter}, {slot, kLockCounter}, {1, 0, 0, regions});
    for (std::size_t i = 0; i < records.size(); ++i) {
      const Bytes before = body(i);
      Bytes after = before;
      after[kValue_offset] ^= std::byte{0x5a};
      layout::seal_body(after, {0, records[i]},
                        {.stamp = {slot, kCounter},
                         .displaced = HeaderWord(kOld),
                         .table = table.id(),
                         .incarnation = 1,
                         .ring_slot = 0});
      writer.update({0, records[i]}, 0, before, after);
    }
    bytes.resize(writer.finish({slot, 0, position}));
    return bytes;
  }
  static std::string write(std::uint64_t offset, std::span<const std::byte> bytes) {
    std::string request;
    calls::append(request, {.kind = BatchOperation::Kind::write,
                            .length_bytes = static_cast<std::uint32_t>(bytes.size()),
                            .offset = offset,
                            .bytes = {reinterpret_cast<const char*>(bytes.data()), bytes.size()}});
    return request;
  }
  static std::string install(std::uint64_t offset, std::size_t length_bytes) {
    std::string request;
    calls::append(request, {.kind = BatchOperation::Kind::install,
                            .length_bytes = static_cast<std::uint32_t>(length_bytes),
                            .offset = offset,
                            .bytes = {}});
    return request;
  }
  std::string log_and_install() {
    const Bytes bytes = entry(0);
    return write(ring_offset, bytes) + install(ring_offset, bytes.size());
  }
  Status call(const std::string& request) { return client->call(calls::kBatchCallMethod, request).status(); }

  bool installed(std::size_t row) {
    const std::uint64_t ring_word = cluster.load(records[row] + shape.ring_header_offset(0));
    return cluster.load(records[row]) == HeaderWord(Stamp{slot, kCounter}).value() &&
           layout::certify_body(body(row), {0, records[row]}) &&
           layout::decode_body_header(body(row).data()).stamp == Stamp{slot, kCounter} &&
           HeaderWord(ring_word).stamp() == kOld;
  }
  bool untouched(std::size_t row) {
    return HeaderWord(cluster.load(records[row])).locked() &&
           layout::decode_body_header(body(row).data()).stamp == kOld;
  }

  testing::TestCluster cluster;
  std::unique_ptr<testing::TestClient> client;
  std::uint32_t slot = 0;
  std::uint64_t ring_offset = 0;
  control::TableDescriptor table;
  layout::RecordLayout shape;
  std::vector<std::uint64_t> records;
};

reactor::Task<void> post(fabric::Channel* channel, fabric::Call* call) {
  channel->post(*call);
  co_return;
}

}  // namespace

TEST_CASE("one call logs a commit, installs it, and does what stands behind that", "[batch_call]") {
  Owner owner(2);
  const std::uint64_t word = 7;
  const std::string behind =
      Owner::write(owner.records[1] + owner.shape.trailer_offset(), std::as_bytes(std::span(&word, 1)));
  CHECK(owner.call(owner.log_and_install() + behind).ok());
  for (const std::size_t row : {0, 1}) CHECK(owner.installed(row));
  CHECK(owner.cluster.load(owner.records[1] + owner.shape.trailer_offset()) == word);
}

TEST_CASE("an entry that was logged before is installed by name, and once", "[batch_call]") {
  Owner owner(1);
  const Bytes entry = owner.entry(0);
  REQUIRE(owner.call(Owner::write(owner.ring_offset, entry)).ok());
  CHECK(owner.untouched(0));
  CHECK(owner.call(Owner::install(owner.ring_offset, entry.size())).ok());
  REQUIRE(owner.installed(0));
  // Another transaction holds the record by now.
  const std::uint64_t others = HeaderWord(Stamp{50, 3}, false, true).value();
  owner.cluster.store(owner.records[0], others);
  CHECK(owner.call(Owner::install(owner.ring_offset, entry.size())).ok());
  CHECK(owner.cluster.load(owner.records[0]) == others);
}

TEST_CASE("only a complete entry in its place is installed, for its owner, or nothing behind it is done",
          "[batch_call]") {
  Owner owner(1);
  const Bytes entry = owner.entry(0);
  const std::uint64_t word = 7;
  const std::string behind =
      Owner::write(owner.records[0] + owner.shape.trailer_offset(), std::as_bytes(std::span(&word, 1)));
  const auto refused = [&](testing::TestClient& client, const std::string& request) {
    const auto reply = client.call(calls::kBatchCallMethod, request + behind);
    CHECK(reply.status().code() == ErrorCode::protocol_violation);
    CHECK(owner.untouched(0));
    CHECK(owner.cluster.load(owner.records[0] + owner.shape.trailer_offset()) == 0);
  };
  refused(*owner.client, Owner::install(owner.ring_offset, entry.size()));  // nothing stands there
  Bytes torn = entry;
  torn[torn.size() / 2] ^= std::byte{1};
  refused(*owner.client,
          Owner::write(owner.ring_offset, torn) + Owner::install(owner.ring_offset, torn.size()));
  // Another place of the ring, and outside of it.
  for (const std::uint64_t offset : {owner.ring_offset + 64, owner.cluster.server->region().bytes() - 4096}) {
    refused(*owner.client, Owner::write(offset, entry) + Owner::install(offset, entry.size()));
  }
  refused(*owner.client, Owner::write(owner.ring_offset, entry) +
                             Owner::install(owner.ring_offset, entry.size() - 8));  // without its end
  const auto other = owner.cluster.client("d");
  REQUIRE(other->connect(testing::hello('b')).ok());
  refused(*other, Owner::install(owner.ring_offset, entry.size()));
  CHECK(owner.call(Owner::install(owner.ring_offset, entry.size())).ok());
  CHECK(owner.installed(0));
}

// More rows than the memory server installs in one go.
TEST_CASE("a commit is installed whole or not at all, whenever its owner dies in the call", "[batch_call]") {
  constexpr std::uint32_t kManyRows = 100;
  int committed = 0;
  int undone = 0;
  for (std::uint64_t moment_ns = 0; moment_ns < 30'000; moment_ns += 600) {
    Owner owner(kManyRows);
    fabric::Call call;
    call.method = calls::kBatchCallMethod;
    call.request = owner.log_and_install();
    owner.cluster.world.run(owner.client->node(), post(&owner.client->channel(), &call));
    owner.cluster.run_for(moment_ns);
    owner.client->disconnect();
    const Slots& slots = *owner.cluster.server->slots();
    REQUIRE(owner.cluster.world.run_until([&] { return slots.decided_count() == 1; }, 60 * kSecond_ns));
    const bool commits = slots.find(owner.slot)->final_counter == kCounter;
    ++(commits ? committed : undone);
    for (std::size_t row = 0; row < kManyRows; ++row) {
      INFO("row " << row << ", moment " << moment_ns);
      REQUIRE((commits ? owner.installed(row) : owner.untouched(row)));
    }
  }
  CHECK(committed > 0);
  CHECK(undone > 0);
}

namespace {

// The record of that name in the owner's table, of which `length_bytes` are read.
struct Locked {
  HeaderWord from;
  HeaderWord seen;
};

Locked lock_by_name(Owner& owner, std::uint64_t record, std::uint32_t counter, std::size_t length_bytes) {
  std::string request;
  calls::append(request, {.kind = BatchOperation::Kind::lock,
                          .length_bytes = static_cast<std::uint32_t>(length_bytes),
                          .offset = owner.records[0],
                          .bytes = {},
                          .expected = record,
                          .desired = HeaderWord(Stamp{owner.slot, counter}, false, true).value()});
  const auto reply = owner.client->call(calls::kBatchCallMethod, request);
  REQUIRE(reply.ok());
  REQUIRE(reply->size() == length_bytes);
  const HeaderWord seen(layout::load_word(reinterpret_cast<const std::byte*>(reply->data())));
  if (!seen.moved()) return {HeaderWord(), seen};
  return {HeaderWord(seen.stamp(), seen.deleted()), HeaderWord(owner.cluster.load(owner.records[0]))};
}

}  // namespace

TEST_CASE("a record that is named is locked from the version that is there, and read behind that",
          "[batch_call]") {
  Owner owner(1);
  const HeaderWord old(kOld);
  const std::uint32_t counter = 77;
  const HeaderWord own(Stamp{owner.slot, counter}, false, true);
  const std::size_t length_bytes = owner.shape.current_bytes();
  const auto name = [&owner](std::uint16_t incarnation, std::uint16_t mask) {
    return BatchOperation::record_of(owner.table.id(), incarnation, mask);
  };
  const auto unlocked = [&] {
    owner.cluster.store(owner.records[0], old.value());
    return owner.records[0];
  };
  unlocked();
  const Locked locked = lock_by_name(owner, name(1, 0xffff), counter, length_bytes);
  CHECK(locked.from == old);
  CHECK(locked.seen == own);
  CHECK(owner.cluster.load(owner.records[0]) == own.value());
  // Held by now.
  const Locked again = lock_by_name(owner, name(1, 0xffff), counter + 1, length_bytes);
  CHECK(again.from.value() == 0);
  CHECK(again.seen == own);
  // The low bits decide, as far as they are known.
  unlocked();
  CHECK(lock_by_name(owner, name(0x101, 0xff), counter, length_bytes).from == old);

  // Nothing is locked: another incarnation, another table, less than a record.
  unlocked();
  for (const std::uint64_t record : {name(2, 0xff), BatchOperation::record_of(owner.table.id() + 1, 1, 0xff)})
    CHECK(lock_by_name(owner, record, counter, length_bytes).from.value() == 0);
  CHECK(lock_by_name(owner, name(1, 0xffff), counter, length_bytes - 8).from.value() == 0);
  // Its body is being written.
  owner.cluster.bytes(owner.records[0] + 8 + kValue_offset, 1)[0] ^= std::byte{1};
  CHECK(lock_by_name(owner, name(1, 0xffff), counter, length_bytes).from.value() == 0);
  CHECK(owner.cluster.load(owner.records[0]) == old.value());
}

TEST_CASE("a record that is named is left to an older transaction that waits for it, where any wait",
          "[batch_call]") {
  const std::string_view protocol = GENERATE("waitdie", "drtm");
  CAPTURE(protocol);
  Owner owner(1, protocol);
  const std::uint32_t counter = 77;
  const auto locks = [&owner](Stamp waiter) {
    owner.cluster.store(owner.records[0], HeaderWord(kOld).value());
    owner.cluster.store(owner.records[0] + owner.shape.trailer_offset(),
                        HeaderWord(waiter, false, true).value());
    const std::uint64_t name = BatchOperation::record_of(owner.table.id(), 1, 0xffff);
    return lock_by_name(owner, name, counter, owner.shape.current_bytes() + 8).from == HeaderWord(kOld);
  };
  CHECK(locks({30, counter - 1}) == (protocol == "drtm"));  // the word is a lease
  CHECK(locks({30, counter + 1}));
  CHECK(locks({owner.slot, counter}));
}

}  // namespace namdb::memory
