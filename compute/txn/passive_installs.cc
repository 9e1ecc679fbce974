#include "compute/txn/passive_installs.h"

namespace namdb::txn {

void PassiveInstalls::begin(PassiveInstall install, fabric::OperationCounters& counters) {
  auto begun = std::make_unique<PassiveInstall>(std::move(install));
  begun->batches.copy_sources();
  if (begun->deferred != nullptr) {
    begun->batches.count(counters);
    ++counters.writes;  // of its publish
    counters.write_bytes += 8;
    cluster_.executor().spawn(gate_, run_deferred(std::move(begun)));
    return;
  }
  if (!cluster_.stages().two_sided(protocol::Stage::install)) begun->batches.post(counters);
  counters += std::exchange(unclaimed_, {});
  if (begun->piggybacked == 0) {  // then it is published by a WRITE of its own
    ++counters.writes;
    counters.write_bytes += 8;
  }
  cluster_.executor().spawn(gate_, run(std::move(begun)));
}

reactor::Task<void> PassiveInstalls::run(std::unique_ptr<PassiveInstall> install) {
  fabric::OperationCounters counters;
  Status status;
  if (cluster_.stages().two_sided(protocol::Stage::install)) {
    status = co_await install->batches.run_in_background(counters, protocol::Stage::install);
  } else {
    status = co_await install->batches.run(counters);  // what is posted
  }
  counters.round_trips = 0;
  unclaimed_ += counters;
  if (!status.ok()) {
    // It is committed all the same: memory servers install it.
    install->slot->lose(install->counter);
    end(*install);
    co_return;
  }
  remember_locations(*install);
  if (install->piggybacked != 0) {
    install->slot->piggyback_completed(install->piggybacked);
  } else {
    slots_.finish_later(install->slot, install->counter);
  }
  end(*install);
}

void PassiveInstalls::remember_locations(const PassiveInstall& install) {
  for (const layout::BucketEntry& location : install.known.locations) locations_.insert(location);
}

void PassiveInstalls::end(PassiveInstall& install) {
  for (const auto& [table, record] : install.deleted) hints_.deleted(table, record);
  registry_.end(install.generation);
}

reactor::Task<void> PassiveInstalls::run_deferred(std::unique_ptr<PassiveInstall> install) {
  const Status status = co_await install_deferred(install.get());
  // Otherwise memory servers decide what becomes of it, and install what is to be installed.
  if (!status.ok()) install->slot->lose(install->counter);
  end(*install);
  install->deferred->end(status.ok());
}

reactor::Task<Status> PassiveInstalls::install_deferred(PassiveInstall* install) {
  for (const JournalEnd& entry : install->entries) {
    Status status = co_await install->slot->journals().await_durable(entry);
    if (!status.ok()) co_return status;
  }
  fabric::OperationCounters counted;  // when it began
  ExecutionSlot& slot = *install->slot;
  const bool by_calls = cluster_.stages().two_sided(protocol::Stage::install);
  fabric::LocalBuffer publish_word;
  std::uint32_t piggybacked = 0;
  if (!by_calls && cluster_.optimisations().outstanding_requests &&
      install->batches.only(slot.publishing_server())) {
    publish_word = fabric::LocalBuffer(cluster_.pool(), 8);
    piggybacked =
        slot.piggyback(install->counter, install->batches.at(slot.publishing_server()), publish_word.data());
    install->batches.post(counted);
  }
  Status status = co_await install->batches.run_in_background(counted, protocol::Stage::install);
  if (!status.ok()) co_return status;
  for (const KnownOnceInstalled::Verdict& each : install->known.verdicts) {
    calls::IndexVerdict verdict = each.verdict;
    verdict.key = each.key;
    verdicts_.add(each.server, verdict);
  }
  remember_locations(*install);
  if (piggybacked != 0) {
    slot.piggyback_completed(piggybacked);
  } else if (cluster_.protocol().visible_by_publish) {
    status = co_await slot.finish(install->counter);
  } else {
    slots_.finish_later(install->slot, install->counter);
  }
  co_return status;
}

reactor::Task<void> PassiveInstalls::close() {
  co_await gate_.close();
}

}  // namespace namdb::txn
