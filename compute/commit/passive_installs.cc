#include "compute/commit/passive_installs.h"

namespace namdb::txn {

void PassiveInstalls::begin(PassiveInstall install, fabric::OperationCounters& counters) {
  auto begun = std::make_unique<PassiveInstall>(std::move(install));
  begun->batches.copy_sources();
  if (!cluster_.stages().two_sided(layout::Stage::install)) begun->batches.post(counters);
  counters += std::exchange(unclaimed_, {});
  if (!begun->piggybacks) {  // then it is published by a WRITE of its own
    ++counters.writes;
    counters.write_bytes += 8;
  }
  cluster_.executor().spawn(gate_, run(std::move(begun)));
}

reactor::Task<void> PassiveInstalls::run(std::unique_ptr<PassiveInstall> install) {
  fabric::OperationCounters counters;
  Status status;
  if (cluster_.stages().two_sided(layout::Stage::install)) {
    status = co_await install->batches.run_in_background(counters, layout::Stage::install);
  } else {
    status = co_await install->batches.run(counters);  // what is posted
  }
  counters.round_trips = 0;
  unclaimed_ += counters;
  if (!status.ok()) {
    // It is committed all the same: memory servers install it.
    install->slot->fail();
  } else if (install->piggybacks) {
    install->slot->piggyback_completed(install->counter);
  } else {
    slots_.finish_later(install->slot, install->counter);
  }
  for (const auto& [table, record] : install->deleted) hints_.deleted(table, record);
  registry_.end(install->generation);
}

reactor::Task<void> PassiveInstalls::close() {
  co_await gate_.close();
}

}  // namespace namdb::txn
