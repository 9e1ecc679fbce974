#include "compute/txn/version_walk.h"

#include <catch2/catch.hpp>
#include <functional>

#include "compute/testing/bytes.h"

namespace namdb::protocol::testing {
namespace {

using layout::GlobalAddress;
using layout::OverflowLink;

// So long that ring and groups of many versions are not READ at once.
constexpr std::uint32_t kLongRow_bytes = 12'000;

struct WalkScene {
  explicit WalkScene(const TestOptions& options) : worker(options), bytes(worker), table(*worker.table) {}

  void start(const Version& current) {
    bytes.record(kRecord, current);
    body = body_of(table, kRecord, current);
    walk.start(worker.cluster.pool(), table, kRecord, kRegion_bytes, body);
  }
  // One version back: "VALUE", or what step() says instead.
  std::string back() {
    VersionWalk::Step step = walk.step();
    while (step == VersionWalk::Step::read) {
      txn::BatchSet batches(worker.cluster);
      walk.add_read(batches);
      ++reads;
      if (!worker.run(batches.run(worker.counters)).ok()) return "connection lost";
      step = walk.step();
    }
    switch (step) {
      case VersionWalk::Step::lost:
        return "lost";
      case VersionWalk::Step::overwritten:
        return "overwritten";
      case VersionWalk::Step::corrupt:
        return "corrupt";
      default:
        return std::to_string(value_of(table, layout::body_payload(walk.body())));
    }
  }
  // Where the ring's image of a change stands, whose neighbour is that version.
  void ring_change(std::uint32_t slot, const Version& version, const Version& neighbour) {
    std::vector<std::byte> image(table.record.body_bytes());
    layout::encode_image(body_of(table, kRecord, version), body_of(table, kRecord, neighbour), kRecord,
                         image);
    bytes.write(kRecord + table.record.ring_payload_offset(slot), image);
  }

  TestWorker worker;
  Bytes bytes;
  const storage::Table& table;
  std::vector<std::byte> body;
  VersionWalk walk;
  std::size_t reads = 0;
};

struct WalkRow {
  const char* name;
  std::function<void(WalkScene&)> put;
  std::vector<std::string> steps;  // what one step back after the other finds
  std::size_t reads;
};

void check_walks(const std::vector<WalkRow>& rows, const TestOptions& options) {
  for (const WalkRow& row : rows) {
    INFO(row.name);
    WalkScene scene(options);
    row.put(scene);
    for (const std::string& step : row.steps) CHECK(scene.back() == step);
    CHECK(scene.reads == row.reads);
    CHECK(scene.worker.fabric.outside() == 0);
  }
}

// 12 displaced 11, which displaced 10; in ring slots 1 and 0.
const Version kNewest{.stamp = {16, 12}, .value = 12, .displaced = {16, 11}, .ring_slot = 1};
const Version kMiddle{.stamp = {16, 11}, .value = 11, .displaced = {16, 10}, .ring_slot = 0};
const Version kOldest{.stamp = {16, 10}, .value = 10};
const Version kStranger{.stamp = {17, 11}, .value = 99, .displaced = {16, 10}};

}  // namespace

TEST_CASE("older versions in ring and overflow, and where a walk finds them", "[walk]") {
  const std::vector<WalkRow> rows = {
      {"the displaced version is in the ring slot that the body names",
       [](WalkScene& s) {
         s.bytes.ring(kRecord, 1, kMiddle);
         s.start(kNewest);
       },
       {"11"},
       1},
      {"one READ of the ring serves all steps in it",
       [](WalkScene& s) {
         s.bytes.ring(kRecord, 1, kMiddle);
         s.bytes.ring(kRecord, 0, kOldest);
         s.start(kNewest);
       },
       {"11", "10"},
       1},
      {"in the ring slot stands a whole version that is not the displaced one: it was moved before that",
       [](WalkScene& s) {
         s.bytes.ring(kRecord, 1, kStranger);
         s.bytes.overflow(kGroup_offset, 0, {}, kRecord, kMiddle);
         s.bytes.overflow_head(kRecord, s.bytes.link(kGroup_offset, 0));
         s.start(kNewest);
       },
       {"11"},
       2},
      {"the displaced stamp names slot and counter",
       [](WalkScene& s) {
         s.bytes.ring(kRecord, 1, kStranger);  // the same counter
         s.start(kNewest);
       },
       {"lost"},
       1},
      {"a ring slot that is being overwritten is no version: the overflow has it",
       [](WalkScene& s) {
         s.bytes.ring(kRecord, 1, kMiddle);
         s.bytes.word(kRecord + s.table.record.ring_payload_offset(1) + 48, 7);
         s.bytes.overflow(kGroup_offset, 0, {}, kRecord, kMiddle);
         s.bytes.overflow_head(kRecord, s.bytes.link(kGroup_offset, 0));
         s.start(kNewest);
       },
       {"11"},
       2},
      {"the ring header does not count, only what the image says",
       [](WalkScene& s) {
         s.bytes.ring(kRecord, 1, kMiddle);
         s.bytes.word(kRecord + s.table.record.ring_header_offset(1),
                      free_word({40, 1}).with_moved().value());
         s.start(kNewest);
       },
       {"11"},
       1},
      {"an image of another record is passed",
       [](WalkScene& s) {
         s.bytes.write(kRecord + s.table.record.ring_payload_offset(1),
                       body_of(s.table, kOtherRecord, kMiddle));
         s.start(kNewest);
       },
       {"lost"},
       1},
      {"neither in the ring nor in the overflow: lost", [](WalkScene& s) { s.start(kNewest); }, {"lost"}, 1},
      {"a change that leans on the version behind it",
       [](WalkScene& s) {
         s.ring_change(1, kMiddle, kNewest);
         s.ring_change(0, kOldest, kMiddle);
         s.start(kNewest);
       },
       {"11", "10"},
       1},
      {"in the overflow newer versions stand before the one that is looked for",
       [](WalkScene& s) {
         s.bytes.overflow(kGroup_offset, 0, {}, kRecord, kOldest);
         s.bytes.overflow(kGroup_offset, 1, {}, kRecord, kMiddle);
         s.bytes.overflow(kGroup_offset, 2, {}, kRecord, kNewest);
         s.bytes.overflow(kGroup_offset, 3, {}, kRecord, {.stamp = {16, 13}, .displaced = {16, 12}});
         s.bytes.overflow_head(kRecord, s.bytes.link(kGroup_offset, 3));
         s.start(kNewest);
       },
       {"11", "10"},
       2},
      {"the first place of a group leads to the group before",
       [](WalkScene& s) {
         s.bytes.overflow(kOlderGroup_offset, 0, {}, kRecord, {.stamp = {16, 8}, .value = 8});
         s.bytes.overflow(kOlderGroup_offset, 1, {}, kRecord, kOldest);
         s.bytes.overflow(kGroup_offset, 0, s.bytes.link(kOlderGroup_offset, 1), kRecord, kMiddle);
         s.bytes.overflow_head(kRecord, s.bytes.link(kGroup_offset, 0));
         s.start(kNewest);
       },
       {"11", "10"},
       3},
      {"behind the overflow's oldest version there is nothing: what is looked for was collected",
       [](WalkScene& s) {
         s.bytes.overflow(kGroup_offset, 0, {}, kRecord, kMiddle);
         s.bytes.overflow_head(kRecord, s.bytes.link(kGroup_offset, 0));
         s.start(kNewest);
       },
       {"11", "lost"},
       2},
      {"an entry of a group that is something else by now: collected under the walk",
       [](WalkScene& s) {
         s.bytes.overflow(kGroup_offset, 0, {}, kRecord, kMiddle);
         s.bytes.overflow(kGroup_offset, 1, {}, kOtherRecord, kNewest);
         s.bytes.overflow_head(kRecord, s.bytes.link(kGroup_offset, 1));
         s.start(kNewest);
       },
       {"lost"},
       2},
      {"a ring and an overflow head of two moments have it in neither place: again from the record",
       [](WalkScene& s) {
         s.bytes.overflow(kGroup_offset, 0, {}, kRecord, kOldest);
         s.bytes.overflow_head(kRecord, s.bytes.link(kGroup_offset, 0));  // as of before kMiddle was moved
         s.bytes.ring(kRecord, 1, {.stamp = {16, 15}, .displaced = {16, 14}});  // as of after it
         s.start(kNewest);
       },
       {"lost"},
       2},
      {"a ring slot that there is not",
       [](WalkScene& s) {
         Version version = kNewest;
         version.ring_slot = 4;
         s.start(version);
       },
       {"corrupt"},
       0},
      {"an old version that names a ring slot that there is not",
       [](WalkScene& s) {
         Version version = kMiddle;
         version.ring_slot = 100;
         s.bytes.ring(kRecord, 1, version);
         s.start(kNewest);
       },
       {"11", "corrupt"},
       1},
  };
  check_walks(rows, {});
}

TEST_CASE("links that cannot be lead a walk nowhere", "[walk]") {
  struct LinkRow {
    const char* name;
    std::function<OverflowLink(WalkScene&)> link;
  };
  const std::vector<LinkRow> rows = {
      {"none", [](WalkScene&) { return OverflowLink(); }},
      {"between two words", [](WalkScene& s) { return s.bytes.link(kGroup_offset + 4, 0); }},
      {"more places than a group has", [](WalkScene& s) { return s.bytes.link(kGroup_offset, 16); }},
      {"a place before the region's first byte",
       [](WalkScene& s) {
         return OverflowLink(std::uint64_t{5} << 48 | (4 * std::uint64_t{s.bytes.entry_bytes()}));
       }},
      {"an entry that ends beyond the region",
       [](WalkScene& s) { return s.bytes.link(kRegion_bytes - s.bytes.entry_bytes() + 8, 0); }},
      {"an entry far beyond",
       [](WalkScene&) { return OverflowLink(layout::GlobalAddress::kOffsetMask & ~7ULL); }},
  };
  for (const LinkRow& row : rows) {
    for (const bool from_group : {false, true}) {
      INFO(row.name << (from_group ? ", in a group" : ", in the record"));
      WalkScene scene({});
      scene.bytes.overflow_head(kRecord, row.link(scene));
      if (from_group) {
        scene.bytes.overflow(kGroup_offset, 0, row.link(scene), kRecord, kStranger);
        scene.bytes.overflow_head(kRecord, scene.bytes.link(kGroup_offset, 0));
      }
      scene.start(kNewest);
      CHECK(scene.back() == "lost");
      CHECK(scene.worker.fabric.outside() == 0);
    }
  }
  // The last place of a region is one.
  WalkScene scene({});
  const std::uint64_t last = kRegion_bytes - scene.bytes.entry_bytes();
  scene.bytes.overflow(last, 0, {}, kRecord, kMiddle);
  scene.bytes.overflow_head(kRecord, scene.bytes.link(last, 0));
  scene.start(kNewest);
  CHECK(scene.back() == "11");
}

TEST_CASE("the ring of long rows is READ whole, too", "[walk]") {
  const std::vector<WalkRow> rows = {
      {"steps down the ring are one READ",
       [](WalkScene& s) {
         s.bytes.ring(kRecord, 1, kMiddle);
         s.bytes.ring(kRecord, 0, kOldest);
         s.start(kNewest);
       },
       {"11", "10"},
       1},
      {"a certified change that does not fit the version behind it",
       [](WalkScene& s) {
         Version other = kNewest;
         other.key = 2;
         Version middle = kMiddle;
         middle.key = 2;
         s.ring_change(1, middle, other);
         s.start(kNewest);
       },
       {"corrupt"},
       1},
      {"a slot that was overwritten: the overflow has it",
       [](WalkScene& s) {
         s.bytes.ring(kRecord, 1, kStranger);
         s.bytes.overflow(kGroup_offset, 0, {}, kRecord, kMiddle);
         s.bytes.overflow_head(kRecord, s.bytes.link(kGroup_offset, 0));
         s.start(kNewest);
       },
       {"11"},
       2},
      {"two versions that were in the same slot, one after the other",
       [](WalkScene& s) {
         Version middle = kMiddle;
         middle.ring_slot = 1;
         s.bytes.ring(kRecord, 1, middle);
         s.bytes.overflow(kGroup_offset, 0, {}, kRecord, kOldest);
         s.bytes.overflow_head(kRecord, s.bytes.link(kGroup_offset, 0));
         s.start(kNewest);
       },
       {"11", "10"},
       2},
  };
  check_walks(rows, {.padding_bytes = kLongRow_bytes});
}

TEST_CASE("older versions by their timestamps, and where a walk finds them", "[walk]") {
  const Version newest{.stamp = {16, 12}, .value = 12, .timestamp = 300, .ring_slot = 1};
  const Version middle{.stamp = {16, 11}, .value = 11, .timestamp = 200, .ring_slot = 0};
  const Version oldest{.stamp = {16, 10}, .value = 10, .timestamp = 100, .ring_slot = layout::kNoRingSlot};
  const std::vector<WalkRow> rows = {
      {"an older version in the ring slot is the displaced one",
       [&](WalkScene& s) {
         s.bytes.ring(kRecord, 1, middle);
         s.bytes.ring(kRecord, 0, oldest);
         s.start(newest);
       },
       {"11", "10"},
       1},
      {"a newer version in the ring slot has overwritten it",
       [&](WalkScene& s) {
         s.bytes.ring(kRecord, 1, {.stamp = {16, 16}, .timestamp = 400, .ring_slot = 0});
         s.start(newest);
       },
       {"overwritten"},
       1},
      {"a version of the same timestamp is not older",
       [&](WalkScene& s) {
         s.bytes.ring(kRecord, 1, {.stamp = {16, 16}, .timestamp = 300, .ring_slot = 0});
         s.start(newest);
       },
       {"overwritten"},
       1},
      {"a slot that is being overwritten: gone, whatever the lease says",
       [&](WalkScene& s) {
         s.bytes.lease(kRecord, s.bytes.link(kGroup_offset, 0).word());
         s.bytes.overflow(kGroup_offset, 0, {}, kRecord, middle);
         s.start(newest);
       },
       {"overwritten"},
       1},
  };
  check_walks(rows, {.protocol = "mvcc"});
}

}  // namespace namdb::protocol::testing
