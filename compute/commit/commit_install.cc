// The last part of a commit (commit.h): the transaction installs its logged changes and publishes, at once or
// in the background.
#include <memory>
#include <string>
#include <utility>

#include "common/layout/changed_runs.h"
#include "common/layout/record_trailer.h"
#include "compute/cluster/stage_times.h"
#include "compute/commit/commit.h"
#include "compute/txn/locking.h"
#include "compute/txn/passive_installs.h"
#include "compute/txn/slot_keeper.h"
#include "compute/txn/transaction_state.h"

namespace namdb::protocol {

using layout::GlobalAddress;

void Commit::add_installs(const RowParts& part) {
  for (std::size_t i = installs_by_name() ? part.end() : part.begin(); i != part.end(); ++i) {
    if (i >= records_.size()) {
      chains_.install(i - records_.size(), stamp_);
      continue;
    }
    const RecordLock& record = records_[i];
    const layout::RecordLayout& layout = record.access->table->record;
    const GlobalAddress address = record.access->lookup.record();
    const std::byte* image = record.access->image.data();
    if (layout.ring_slots != 0) {
      batches_.write(address + layout.ring_payload_offset(record.ring_slot), record.displaced_image().data(),
                     record.image_bytes);
      batches_.write(address + layout.ring_header_offset(record.ring_slot),
                     image + layout::overflow_head_offset(layout), 8);
    }
    install_body(record);
    batches_.write(address, image, 8);
  }
  if (part.more()) return;
  if (installs_by_name()) journal_.add_installs();
  if (locking() != nullptr) locking()->add_unlocks(batches_);
  installs_added_ = true;
}

void Commit::after_install() {
  if (locking() == nullptr) return;
  locking()->after_install();
  locking()->after_unlock();
}

bool Commit::install_passively() {
  const txn::Optimisations& optimisations = worker_.cluster.optimisations();
  if (!optimisations.passive_acknowledgement || !optimisations.outstanding_requests || visible_by_publish() ||
      journal_.in_room() || !batches_.only_writes() ||
      !worker_.passive_installs.takes(batches_.written_bytes())) {
    return false;
  }
  txn::PassiveInstall install = passive_install();
  install.piggybacked = piggybacked_;
  worker_.passive_installs.begin(std::move(install), counters_);
  return true;
}

txn::PassiveInstall Commit::passive_install() {
  txn::PassiveInstall install{.batches = std::move(batches_),
                              .slot = slot_,
                              .counter = stamp_.counter,
                              .generation = transaction_.give_generation(),
                              .deleted = {},
                              .deferred = nullptr,
                              .entries = {},
                              .known = {}};
  install.known.locations = chains_.locations();
  for (const RecordLock& record : records_) {
    if (record.access->write == WriteKind::erase)
      install.deleted.emplace_back(record.access->table->id, record.access->lookup.record());
  }
  return install;
}

bool Commit::defer_install() {
  // Its journal entries fit their rings: that is no more than a few thousand rows.
  for (RowParts part(rows()); part.next();) add_installs(part);
  if (!batches_.only_writes() || !worker_.passive_installs.takes(batches_.written_bytes())) return false;
  txn::PassiveInstall install = passive_install();
  install.deferred = std::make_shared<txn::DeferredCommit>(worker_.executor, id());
  install.entries = journal_.ends();
  for (const auto& [server, verdict] : indexes_.verdicts())
    install.known.verdicts.push_back({server, verdict, std::string(verdict.key)});
  transaction_.session().deferred.add(install.deferred);
  worker_.passive_installs.begin(std::move(install), counters_);
  passive_ = true;
  after_install();
  return true;
}

reactor::Task<Status> Commit::install() {
  // Each part is a round trip.
  constexpr std::size_t kTurns = 4;
  for (RowParts part = installs_added_ ? RowParts(0) : parts_of_rows(kTurns); part.next();) {
    add_installs(part);
    if (!part.more()) break;
    if (batches_.empty()) continue;
    Status status = co_await batches_.run(counters_, Stage::install);
    if (!status.ok()) co_return status;
    co_await worker_.executor.yield();
  }
  piggyback();
  passive_ = install_passively();
  if (passive_) {
    after_install();
    co_return Status();
  }
  Status status = co_await batches_.run(counters_, Stage::install);
  if (!status.ok()) co_return status;
  after_install();
  if (!has_published()) status = co_await publish();
  if (status.ok() && journal_.in_room()) co_await journal_.finish();
  co_return visible_by_publish() ? status : Status();
}

reactor::Task<Status> Commit::log_and_install() {
  journal_.add_entries(stamp_, lock_stamp_);
  for (RowParts part(rows()); part.next();) add_installs(part);
  piggyback();
  // Operations that this worker posts from now on find the rows installed; but they may overtake a call.
  const bool by_call = installs_by_name();
  if (locking() != nullptr && !by_call) locking()->after_install();
  Status status = co_await batches_.run(counters_, Stage::log);
  if (!status.ok()) co_return status;
  if (locking() != nullptr && by_call) locking()->after_install();
  if (locking() != nullptr) locking()->after_unlock();
  if (!has_published()) status = co_await publish();
  co_return visible_by_publish() ? status : Status();
}

void Commit::piggyback() {
  // A call is not ordered behind WRITEs of the vector that are under way; nor are operations that are posted
  // one by one.
  const layout::ServerId publishing = slot_->publishing_server();
  if (!batches_.only(publishing) || worker_.cluster.stages().two_sided(Stage::install) ||
      !worker_.cluster.optimisations().outstanding_requests)
    return;
  publish_word_ = buffers_.take(8);
  piggybacked_ = slot_->piggyback(stamp_.counter, batches_.at(publishing), publish_word_.data());
}

bool Commit::has_published() {
  if (piggybacked_ == 0) return false;
  slot_->piggyback_completed(piggybacked_);
  return true;
}

reactor::Task<Status> Commit::publish() {
  ++counters_.writes;
  counters_.write_bytes += 8;
  if (!visible_by_publish() && !journal_.in_room()) {
    worker_.slot_keeper.finish_later(slot_, stamp_.counter);
    co_return Status();
  }
  const txn::StageTimer timer(worker_.cluster.stage_times(), worker_.executor, counters_);
  ++counters_.round_trips;
  const Status status = co_await slot_->finish(stamp_.counter);
  timer.end(txn::Wait::publish);
  co_return status;
}

// The WRITEs of the body: the parts in which it differs from the current one.
void Commit::install_body(const RecordLock& record) {
  const GlobalAddress body = record.access->lookup.record() + 8;
  const std::span<std::byte> image = record.access->image_body();
  if (form() == layout::ImageForm::whole) return batches_.write(body, image.data(), image.size());
  layout::ChangedRuns runs(image, record.displaced_body(), 0, kWriteGap_bytes);
  for (layout::ChangedRun run; runs.next(run);) {
    batches_.write(body + run.begin, image.data() + run.begin, run.end - run.begin);
  }
}

}  // namespace namdb::protocol
