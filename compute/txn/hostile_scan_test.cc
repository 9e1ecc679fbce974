// With any bytes in a region, the scan of a table ends in rows or in an error, and asks for nothing outside
// of the region.
#include <catch2/catch.hpp>

#include "compute/testing/hostile_bytes.h"
#include "compute/testing/protocol_scene.h"

namespace namdb::protocol::testing {
namespace {

constexpr int kScans = 500;

Status scan_all(ProtocolScene& scene) {
  const auto scan = scene.transaction->scan(scene.worker.table);
  std::vector<layout::Row> rows;
  Status status;
  do {
    status = scene.worker.run(scan->next(rows));
  } while (status.ok() && !rows.empty());
  return status;
}

}  // namespace

TEST_CASE("hostile bytes end every scan, and lead it nowhere outside", "[hostile]") {
  for (const char* const protocol : {"si", "occ", "mvcc"}) {
    ProtocolScene scene({.protocol = protocol});
    scene.worker.publish(0, {16, 100});
    Random random(3);
    INFO(protocol);
    int whole = 0;
    for (int round = 0; round < kScans; ++round) {
      INFO("round " << round);
      scene.no_rows();
      fill_with_hostile_bytes(scene.worker, random);
      if (random.chance(0.5)) {  // records that are
        scene.bytes.bucket(
            scene.bytes.main_bucket(1),
            {.entries = {scene.bytes.entry(1, kRecord, 0x105), scene.bytes.entry(2, kOtherRecord, 0x105)}});
      }
      scene.again();
      whole += scan_all(scene).ok();
      REQUIRE(scene.worker.fabric.outside() == 0);
    }
    CHECK(whole > 0);
    CHECK(whole < kScans);
  }
}

}  // namespace namdb::protocol::testing
