#include "memory/opening/testing/disk_lives.h"

namespace namdb::memory::testing {

DurableLife::Rows opened_rows(FaultDisk& disk, FaultDisk::End end) {
  DurableLife life(disk, end);
  INFO(life.status().to_string());
  REQUIRE(life.status().ok());
  const DurableLife::Rows rows = life.rows();
  CHECK(life.rows_by_key() == rows);
  return rows;
}

std::unique_ptr<FaultDisk> finished_disk(Machine& machine, Told& told) {
  {
    DurableLife life(machine.disk, FaultDisk::End::killed);
    REQUIRE(life.status().ok());
    Script script(told);
    script.run(life);
    REQUIRE(script.done());
  }
  return machine.disk.copy(7);
}

}  // namespace namdb::memory::testing
