#include "compute/txn/passive_installs.h"

#include <catch2/catch.hpp>

#include "common/calls/batch_calls.h"
#include "compute/testing/protocol_scene.h"

namespace namdb::protocol::testing {

// Operations that are posted meanwhile are not ordered behind it, unless they are of the same channel and no
// calls: they would set words of the record that its WRITE then overwrites.
TEST_CASE("the place of a new record is remembered once its install has completed, and not before",
          "[commit]") {
  const std::string protocol = GENERATE("occ", "nowait", "waitdie", "drtm");
  const std::string stages = GENERATE("one-sided", "install");
  CAPTURE(protocol, stages);
  ProtocolScene scene({.protocol = protocol, .stages = stages});
  scene.no_rows();
  const auto is_known = [&scene] { return scene.worker.locations.find(scene.bytes.hash(1)).has_value(); };
  std::size_t calls = 0;
  scene.worker.fabric.handle(calls::kBatchCallMethod, [&](std::string_view, std::string&) {
    ++calls;
    CHECK_FALSE(is_known());
    return Status();
  });
  const layout::Row row = row_of(*scene.worker.table, 1, 100);
  scene.transaction->insert(scene.worker.table, row.bytes());
  REQUIRE(scene.worker.run(scene.transaction->commit()).ok());
  CHECK_FALSE(is_known());
  scene.worker.executor.run_ready();
  CHECK(is_known());
  CHECK(calls == (stages == "install" ? 1 : 0));
}

}  // namespace namdb::protocol::testing
