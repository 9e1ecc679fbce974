// Commits of dead owners that the memory server installs: whichever prefix of the owner's WRITEs has landed,
// the outcome is that of all of them.
#include "memory/apply/applier.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>

#include "common/layout/bucket.h"
#include "common/layout/version_image.h"
#include "memory/testing/test_cluster.h"

namespace namdb::memory {
namespace {

using layout::GlobalAddress;
using layout::HeaderWord;
using layout::Stamp;
using Bytes = std::vector<std::byte>;

constexpr Stamp kOld{30, 4};
constexpr Stamp kDead{40, 7};
constexpr Stamp kDeadLock{40, 900};  // in the lock words of its records
constexpr std::uint32_t kIncarnation = 1;

// A WRITE of the dead owner.
struct Write {
  std::uint64_t offset;
  Bytes bytes;
};

// A table with one record, and an owner that dies in the middle of its commit.
struct DeadCommit {
  explicit DeadCommit(std::uint32_t ring_slots = 4)
      : cluster(options_of(ring_slots)), client(cluster.client("c")), ring(ring_slots) {
    REQUIRE(client->connect(testing::hello('a')).ok());
    const auto created = client->create(testing::accounts("accounts", 4, std::max(ring_slots, 1U)));
    REQUIRE(created.ok());
    table = *created;
    shape = testing::TestCluster::layout_of(table);
    REQUIRE(shape.ring_slots == ring_slots);
    const auto places = client->allocate(table.id(), 2, false, ring_slots);
    REQUIRE(places.ok());
    record = (*places)[0];
    fresh = (*places)[1];
    cluster.insert(table, record, 1, kOld, kIncarnation);
    chain = table.bucket_base(0) + layout::bucket_index(hash_of(2), 4) * layout::kBucket_bytes;
  }

  // Records have no ring under a protocol of single versions.
  static Options options_of(std::uint32_t ring_slots) {
    Options options = testing::small_options();
    if (ring_slots == 0) options.protocol = "nowait";
    return options;
  }
  GlobalAddress address(std::uint64_t offset) const { return {0, offset}; }
  std::uint64_t hash_of(std::int64_t key) const {
    return layout::hash_key(table.id(), std::as_bytes(std::span(&key, 1)));
  }
  Bytes read(std::uint64_t offset, std::uint64_t length) {
    const auto bytes = cluster.bytes(offset, length);
    return {bytes.begin(), bytes.end()};
  }
  void write(const Write& write) {
    std::ranges::copy(write.bytes, cluster.bytes(write.offset, write.bytes.size()).begin());
  }
  static Bytes word(std::uint64_t value) {
    Bytes bytes(8);
    layout::store_word(bytes.data(), value);
    return bytes;
  }

  Status roll_forward(const layout::JournalEntry& entry) {
    return cluster.world.run(cluster.node, Applier(cluster.server->region(), cluster.server->tables())
                                               .roll_forward(entry, cluster.fabric->loopback()));
  }

  // The new body of the record, and what its owner WRITEs in this order.
  std::vector<Write> begin_update(layout::JournalEntry& entry, layout::ImageForm form, bool deleted = false) {
    const Bytes old = read(record + 8, shape.body_bytes());
    new_body = old;
    new_body[layout::kBodyPrefix_bytes + 16] ^= std::byte{0x5a};
    layout::seal_body(new_body, address(record),
                      {.stamp = kDead,
                       .deleted = deleted,
                       .displaced = HeaderWord(kOld),
                       .table = table.id(),
                       .incarnation = kIncarnation,
                       .ring_slot = 0});
    image.resize(new_body.size());
    image.resize(layout::encode_image(new_body, old, address(record), image, form));
    layout::JournalItem item;
    item.lock = address(record);
    item.displaced = HeaderWord(kOld);
    item.image = image;
    entry.stamp = kDead;
    entry.lock = kDeadLock;
    entry.items.push_back(item);
    cluster.store(record, HeaderWord(kDeadLock, false, true).value());
    std::vector<Write> writes;
    if (ring != 0) {
      Bytes ring_image(old.size());
      ring_image.resize(layout::encode_image(old, new_body, address(record), ring_image));
      writes.push_back({record + shape.ring_payload_offset(0), ring_image});
      writes.push_back({record + shape.ring_header_offset(0), word(HeaderWord(kOld).value())});
    }
    writes.push_back({record + 8, new_body});
    writes.push_back({record, word(HeaderWord(kDead, deleted).value())});
    return writes;
  }
  void check_updated(bool deleted = false) {
    CHECK(cluster.load(record) == HeaderWord(kDead, deleted).value());
    CHECK(read(record + 8, shape.body_bytes()) == new_body);
    if (ring == 0) return;
    CHECK(HeaderWord(cluster.load(record + shape.ring_header_offset(0))).stamp() == kOld);
    Bytes older = new_body;
    CHECK(layout::restore_body(read(record + shape.ring_payload_offset(0), shape.body_bytes()),
                               address(record), older));
    CHECK(layout::decode_body_header(older.data()).stamp == kOld);
  }

  // An insert of key 2.
  std::vector<Write> begin_insert(layout::JournalEntry& entry) {
    new_record.assign(shape.locked_bytes(), std::byte{0});
    const std::int64_t key = 2;
    std::memcpy(new_record.data() + 8 + layout::kBodyPrefix_bytes + 8, &key, 8);
    layout::seal_body(std::span(new_record).subspan(8, shape.body_bytes()), address(fresh),
                      {.stamp = kDead, .table = table.id(), .incarnation = kIncarnation});
    layout::frame_new_record(new_record, shape);
    layout::Bucket bucket;
    std::memcpy(&bucket, cluster.bytes(chain, sizeof bucket).data(), sizeof bucket);
    for (layout::BucketEntry& place : bucket.entries) {
      if (!place.free()) continue;
      place = layout::BucketEntry::make(hash_of(2), fresh, kIncarnation);
      break;
    }
    bucket.seal(address(chain));
    const auto bytes = std::as_bytes(std::span(&bucket, 1)).subspan(layout::kBucketBody_offset);
    new_bucket.assign(bytes.begin(), bytes.end());
    layout::JournalItem item;
    item.kind = layout::JournalItem::Kind::chain;
    item.lock = address(chain);
    item.new_records = 1;
    item.writes.push_back({.address = address(fresh), .bytes = new_record, .grant = 3});
    item.writes.push_back({.address = address(chain + layout::kBucketBody_offset), .bytes = new_bucket});
    entry.stamp = kDead;
    entry.lock = kDeadLock;
    entry.items.push_back(item);
    cluster.store(chain, HeaderWord(kDead, false, true).value());
    return {{fresh, new_record},
            {chain + layout::kBucketBody_offset, new_bucket},
            {chain, word(HeaderWord(kDead).value())}};
  }
  void check_inserted() {
    CHECK(cluster.load(chain) == HeaderWord(kDead).value());
    CHECK(cluster.lookup(table, 2) == fresh);
    CHECK(read(fresh, shape.locked_bytes()) == new_record);
  }

  testing::TestCluster cluster;
  std::unique_ptr<testing::TestClient> client;
  std::uint32_t ring;
  control::TableDescriptor table;
  layout::RecordLayout shape;
  std::uint64_t record = 0;
  std::uint64_t fresh = 0;
  std::uint64_t chain = 0;
  Bytes new_body;
  Bytes image;
  Bytes new_record;
  Bytes new_bucket;
};

// The first `whole` WRITEs, and of the next one every other word.
void land(DeadCommit& dead, const std::vector<Write>& writes, std::size_t whole, bool half) {
  for (std::size_t i = 0; i < whole; ++i) dead.write(writes[i]);
  if (!half || whole == writes.size()) return;
  for (std::size_t at = 0; at < writes[whole].bytes.size(); at += 16) {
    const auto begin = writes[whole].bytes.begin() + static_cast<std::ptrdiff_t>(at);
    dead.write({writes[whole].offset + at, Bytes(begin, begin + 8)});
  }
}

void check_every_prefix_of_update(std::uint32_t ring_slots, layout::ImageForm form, bool deleted) {
  for (std::size_t whole = 0; whole <= 4; ++whole) {
    for (const bool half : {false, true}) {
      DeadCommit dead(ring_slots);
      layout::JournalEntry entry;
      const std::vector<Write> writes = dead.begin_update(entry, form, deleted);
      if (whole > writes.size() || (half && whole + 1 >= writes.size())) continue;  // the header is one word
      INFO(whole << " WRITEs landed, and half of the next one: " << half);
      land(dead, writes, whole, half);
      const Status status = dead.roll_forward(entry);
      INFO(status.to_string());
      REQUIRE(status.ok());
      dead.check_updated(deleted);
      CHECK(dead.roll_forward(entry).ok());  // again: nothing
      dead.check_updated(deleted);
    }
  }
}

bool is_corrupt(const Status& status) {
  return !status.ok() && status.code() == ErrorCode::corrupt_data;
}

}  // namespace

TEST_CASE("an update is installed from every prefix of its WRITEs, once", "[applier]") {
  check_every_prefix_of_update(4, layout::ImageForm::whole, false);
  check_every_prefix_of_update(4, layout::ImageForm::shorter, false);
  check_every_prefix_of_update(4, layout::ImageForm::shorter, true);
  check_every_prefix_of_update(0, layout::ImageForm::shorter, false);
}

TEST_CASE("an insert is installed from every prefix of its WRITEs, once", "[applier]") {
  for (std::size_t whole = 0; whole <= 3; ++whole) {
    for (const bool half : {false, true}) {
      DeadCommit dead;
      layout::JournalEntry entry;
      const std::vector<Write> writes = dead.begin_insert(entry);
      if (half && whole >= 2) continue;
      INFO(whole << " WRITEs landed, and half of the next one: " << half);
      land(dead, writes, whole, half);
      CHECK(dead.roll_forward(entry).ok());
      dead.check_inserted();
      CHECK(dead.roll_forward(entry).ok());
      dead.check_inserted();
    }
  }
}

TEST_CASE("a new record that a bucket names already belongs to others, and stays as it is", "[applier]") {
  DeadCommit dead;
  layout::JournalEntry entry;
  land(dead, dead.begin_insert(entry), 2, false);
  const std::uint64_t others = HeaderWord(Stamp{50, 1}, false, true).value();
  dead.cluster.store(dead.fresh, others);
  CHECK(dead.roll_forward(entry).ok());
  CHECK(dead.cluster.load(dead.fresh) == others);
  CHECK(dead.cluster.load(dead.chain) == HeaderWord(kDead).value());
}

TEST_CASE("records that are not locked by exactly this commit are left alone", "[applier]") {
  const HeaderWord others[] = {HeaderWord(kOld), HeaderWord(Stamp{40, 901}, false, true),
                               HeaderWord(Stamp{41, 900}, false, true), HeaderWord(kDeadLock)};
  for (const HeaderWord other : others) {
    DeadCommit dead;
    layout::JournalEntry entry;
    static_cast<void>(dead.begin_update(entry, layout::ImageForm::shorter));
    static_cast<void>(dead.begin_insert(entry));
    dead.cluster.store(dead.record, other.value());
    dead.cluster.store(dead.chain, other.value());
    const Bytes before = dead.read(dead.record, dead.shape.record_bytes());
    const Bytes bucket = dead.read(dead.chain, layout::kBucket_bytes);
    CHECK(dead.roll_forward(entry).ok());
    CHECK(dead.read(dead.record, dead.shape.record_bytes()) == before);
    CHECK(dead.read(dead.chain, layout::kBucket_bytes) == bucket);
    CHECK(dead.cluster.load(dead.fresh) == 0);
  }
}

TEST_CASE("all items of an entry are installed, those of other regions are not", "[applier]") {
  DeadCommit dead;
  layout::JournalEntry entry;
  static_cast<void>(dead.begin_update(entry, layout::ImageForm::shorter));
  static_cast<void>(dead.begin_insert(entry));
  layout::JournalItem elsewhere = entry.items[0];
  elsewhere.lock = GlobalAddress(1, dead.fresh);
  entry.items.push_back(elsewhere);
  CHECK(dead.roll_forward(entry).ok());
  dead.check_updated();
  dead.check_inserted();
}

TEST_CASE("nothing is installed in a table that was dropped", "[applier]") {
  DeadCommit dead;
  layout::JournalEntry entry;
  static_cast<void>(dead.begin_update(entry, layout::ImageForm::shorter));
  static_cast<void>(dead.begin_insert(entry));
  control::DropTableRequest drop;
  drop.set_name("accounts");
  REQUIRE(dead.client->call<control::DropTableReply>(control::DROP_TABLE, drop).ok());
  control::DiscardTableRequest discard;
  discard.set_table(dead.table.id());
  REQUIRE(dead.client->call<control::DiscardTableReply>(control::DISCARD_TABLE, discard).ok());
  CHECK(dead.roll_forward(entry).ok());
  CHECK(dead.cluster.load(dead.record) == HeaderWord(kDeadLock, false, true).value());
  CHECK(dead.cluster.load(dead.chain) == HeaderWord(kDead, false, true).value());
}

TEST_CASE("an entry that does not fit its table is refused, and its locks stay", "[applier]") {
  const auto refused = [](const std::function<void(DeadCommit&, layout::JournalEntry&)>& break_it) {
    DeadCommit dead;
    layout::JournalEntry entry;
    static_cast<void>(dead.begin_update(entry, layout::ImageForm::whole));
    static_cast<void>(dead.begin_insert(entry));
    break_it(dead, entry);
    const Bytes bucket = dead.read(dead.chain, layout::kBucket_bytes);
    CHECK(is_corrupt(dead.roll_forward(entry)));
    CHECK(dead.read(dead.chain, layout::kBucket_bytes) == bucket);
  };
  refused([](DeadCommit& dead, layout::JournalEntry& entry) {
    dead.image.back() ^= std::byte{1};
    entry.items[0].image = dead.image;
  });
  refused([](DeadCommit&, layout::JournalEntry& entry) { entry.items[0].ring_slot = 4; });
  refused(
      [](DeadCommit&, layout::JournalEntry& entry) { entry.items[0].displaced = HeaderWord(Stamp{30, 3}); });
  // Places of writes: on the lock word, beyond the bucket, nowhere, on another server, no record, beyond its
  // end.
  for (const std::uint64_t at : {std::uint64_t{0}, std::uint64_t{16}}) {
    refused([at](DeadCommit& dead, layout::JournalEntry& entry) {
      entry.items[1].writes[1].address = dead.address(dead.chain + at);
    });
  }
  for (const std::uint64_t offset : {std::uint64_t{0}, std::uint64_t{4096}, std::uint64_t{1} << 47}) {
    refused([offset](DeadCommit& dead, layout::JournalEntry& entry) {
      entry.items[1].writes[1].address = dead.address(offset);
    });
    refused([offset](DeadCommit& dead, layout::JournalEntry& entry) {
      entry.items[1].writes[0].address = dead.address(offset);
    });
  }
  refused([](DeadCommit& dead, layout::JournalEntry& entry) {
    entry.items[1].writes[1].address = GlobalAddress(1, dead.chain + layout::kBucketBody_offset);
  });
  refused([](DeadCommit& dead, layout::JournalEntry& entry) {
    entry.items[1].writes[0].bytes = std::span(dead.new_record).first(dead.new_record.size() - 8);
  });
  refused([](DeadCommit&, layout::JournalEntry& entry) { entry.items[1].new_records = 0; });
}

}  // namespace namdb::memory
