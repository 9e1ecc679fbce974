#include "compute/commit/commit.h"

#include <algorithm>
#include <cstring>

#include "common/layout/journal.h"
#include "common/layout/record_trailer.h"
#include "common/layout/version_image.h"
#include "compute/cluster/stage_times.h"
#include "compute/commit/hint_queue.h"
#include "compute/commit/passive_installs.h"
#include "compute/txn/errors.h"
#include "compute/txn/lock_resolver.h"
#include "compute/txn/locking.h"
#include "compute/txn/slot_keeper.h"
#include "compute/txn/timestamps.h"
#include "compute/txn/transaction_state.h"
#include "compute/txn/validation.h"

namespace namdb::protocol {

using layout::GlobalAddress;
using layout::HeaderWord;
using layout::JournalItems;

namespace {

constexpr int kRingAttempts = 4;

}  // namespace

Commit::Commit(TransactionState& transaction)
    : transaction_(transaction),
      worker_(transaction.worker()),
      counters_(transaction.mutable_counters()),
      batches_(worker_.cluster),
      chains_(worker_, batches_, counters_),
      indexes_(transaction),
      journal_(worker_, *this, batches_, counters_) {}

reactor::Task<Status> Commit::run() {
  Status status = plan();
  if (status.ok()) status = co_await chains_.reserve_space();
  if (!status.ok()) {
    chains_.give_back_space();
    co_return status;
  }
  auto asked = locking() != nullptr ? locking()->commit_slot() : worker_.slot_keeper.acquire();
  auto slot = co_await std::move(asked);
  if (!slot.ok()) {
    chains_.give_back_space();
    co_return slot.status();
  }
  slot_ = std::move(slot).value();
  if (transaction_.session().deferred.under_way_but_for(slot_->slot())) co_await follow_deferred();
  status = co_await begin();
  if (!status.ok()) {
    chains_.give_back_space();
    co_return status;
  }
  lock_stamp_ = transaction_.control().lock_stamp(stamp_);

  indexes_.plan();
  status = co_await lock();
  if (status.ok() && journal_.in_room()) status = co_await journal_.borrow_rooms();
  const bool changes_indexes = status.ok() && indexes_.any();
  if (changes_indexes) status = co_await indexes_.run(stamp_);
  // A duplicate counts only if all reads that led to it were true at once.
  Validation* const validation = transaction_.control().validation();
  if (validation != nullptr && (status.ok() || status.code() == ErrorCode::duplicate_key)) {
    const Validation::Locked locked{.chains = chains_,
                                    .changes_indexes = changes_indexes,
                                    .leaves_entries = changes_indexes && indexes_.leaves_entries(),
                                    .checked = checked_};
    Status validated = co_await validation->validate(locked);
    if (!validated.ok()) status = std::move(validated);
  }
  if (!status.ok()) co_return co_await release(std::move(status));
  build_images();
  if (installs_with_log()) co_return co_await log_and_install();
  deferred_ = may_defer();
  status = co_await log();
  if (!status.ok()) co_return status;
  if (deferred_) {
    deferred_ = defer_install();
    if (!deferred_) status = co_await journal_.await_durable();
    if (!status.ok()) co_return unknown();
    if (deferred_) {
      after_commit();
      co_return Status();
    }
  }
  status = co_await install();
  if (!status.ok()) co_return unknown();
  after_commit();
  co_return Status();
}

// Lists what must be locked, and finds the conflicts that are known without a READ.
Status Commit::plan() {
  for (Access& access : transaction_.accesses()) {
    if (access.write == WriteKind::none) continue;
    if (access.writes_in_place()) {
      Status may = transaction_.control().may_write(access);
      if (!may.ok()) return may;
      RecordLock record{.access = &access, .expected = access.lookup.current().header_word(), .buffer = {}};
      record.taken = access.locked;
      records_.push_back(std::move(record));
      continue;
    }
    NAMDB_CHECK(access.write == WriteKind::insert);
    chains_.add(access);
  }
  return {};
}

reactor::Task<Status> Commit::begin() {
  const auto counter = co_await journal_.begin(slot_);
  if (!counter.ok()) co_return counter.status();
  stamp_ = {slot_->slot(), *counter};
  co_return Status();
}

reactor::Task<Status> Commit::lock() {
  Timestamps* const timestamps = transaction_.control().timestamps();
  for (RecordLock& record : records_) {
    const layout::RecordLayout& layout = record.access->table->record;
    const GlobalAddress address = record.access->lookup.record();
    record.buffer =
        fabric::LocalBuffer(worker_.cluster.pool(), 8 + layout.ring_headers_bytes() + layout.body_bytes());
    if (!record.taken) {
      record.asked = true;
      batches_.compare_and_swap(address, record.expected.value(), lock_word().value(), record.buffer.data());
    }
    if (timestamps != nullptr) timestamps->read_behind_lock(*record.access, batches_);
    if (!layout.moves_versions()) continue;
    batches_.read(address + layout.ring_header_offset(0), record.ring_word(0), layout.ring_headers_bytes());
  }
  chains_.post(stamp_);
  if (timestamps != nullptr) timestamps->read_behind_locks(batches_);
  const std::optional<layout::ServerId> checking = checks_behind_locks();
  if (checking) checked_ = transaction_.control().validation()->check_behind_locks(*checking, batches_);
  Status ahead;
  if (!batches_.empty()) {
    indexes_.post_ahead();
    const Status asked = co_await batches_.run(counters_, layout::Stage::lock);
    ahead = co_await indexes_.finish_ahead();
    if (!asked.ok()) co_return lost_connection();
  }
  Status status = examine_locks();
  checked_ = checked_ && chains_.all_taken();
  if (status.ok()) status = std::move(ahead);
  if (status.ok()) status = co_await chains_.retry(stamp_);
  if (!status.ok()) co_return status;
  for (RecordLock& record : records_) {
    const layout::RecordLayout& layout = record.access->table->record;
    if (layout.ring_slots == 0) continue;
    record.ring_slot = (record.access->lookup.current().ring_slot + 1) % layout.ring_slots;
    if (layout.timestamps || record.ring_moved(record.ring_slot)) continue;
    status = co_await wait_for_ring(&record);
    if (!status.ok()) co_return status;
  }
  co_return co_await chains_.place();
}

// All that was read is checked once all locks are held, and index entries stand. Where everything is on one
// server, READs behind the locks of one call are that.
std::optional<layout::ServerId> Commit::checks_behind_locks() const {
  const layout::StageCode stages = worker_.cluster.stages();
  if (transaction_.control().validation() == nullptr || !stages.two_sided(layout::Stage::lock) ||
      !stages.two_sided(layout::Stage::validate) || indexes_.any())
    return std::nullopt;
  return batches_.only_server();
}

Status Commit::examine_locks() {
  Status status;
  for (RecordLock& record : records_) {
    if (!record.asked) continue;
    const HeaderWord old(layout::load_word(record.buffer.data()));
    record.taken = old == record.expected;
    if (record.taken) continue;
    const storage::Table& table = *record.access->table;
    if (old.locked()) worker_.locks.note(record.access->lookup.record(), old, table.record.body_bytes());
    transaction_.meet(record.access->lookup.record(), old);
    status = write_conflict(table);
  }
  chains_.check();
  return status;
}

// The lock is held meanwhile: the mover needs no lock, and no other transaction can take the slot.
reactor::Task<Status> Commit::wait_for_ring(RecordLock* record) {
  const layout::RecordLayout& layout = record->access->table->record;
  const GlobalAddress address = record->access->lookup.record();
  const GlobalAddress word = address + layout.ring_header_offset(record->ring_slot);
  for (int attempt = 0; attempt < kRingAttempts; ++attempt) {
    Status status = co_await worker_.hints.move_now(record->access->table->id, address, counters_);
    if (!status.ok()) co_return status;
    batches_.read(word, record->ring_word(record->ring_slot), 8);
    ++counters_.rereads;
    status = co_await batches_.run(counters_, layout::Stage::lock);
    if (!status.ok()) co_return lost_connection();
    if (record->ring_moved(record->ring_slot)) co_return Status();
    const std::uint64_t pause_ns = 50'000;
    co_await worker_.executor.sleep_for(pause_ns);
  }
  co_return Status(ErrorCode::ring_full,
                   "the version mover is behind: no free slot in a record's version ring");
}

void Commit::build_images() {
  const Timestamps* const timestamps = transaction_.control().timestamps();
  const std::uint64_t timestamp = timestamps == nullptr ? 0 : timestamps->commit_timestamp();
  chains_.build_records(stamp_, timestamp);
  for (RecordLock& record : records_) {
    Access& access = *record.access;
    const layout::BodyHeader& displaced = access.lookup.current();
    const layout::BodyHeader header{
        .stamp = stamp_,
        .deleted = access.write == WriteKind::erase,
        .displaced = timestamps == nullptr ? displaced.header_word() : HeaderWord(timestamp),
        .table = displaced.table,
        .incarnation = displaced.incarnation,
        .ring_slot = record.ring_slot};
    layout::seal_body(access.image_body(), access.lookup.record(), header);
    layout::store_word(access.image.data(), header.header_word().value());
    layout::store_word(access.image.data() + layout::overflow_head_offset(access.table->record),
                       displaced.header_word().value());
    if (access.table->record.ring_slots == 0) continue;
    const std::span<std::byte> kept = record.displaced_image();
    record.image_bytes = layout::encode_image(record.displaced_body(), access.image_body(),
                                              access.lookup.record(), kept, form());
  }
}

void Commit::add_updates(JournalBytes& bytes) const {
  for (const RecordLock& record : records_) {
    bytes.add(record.access->lookup.record().server(),
              JournalItems::update_bytes(record.access->table->record.body_bytes()));
  }
}

JournalBytes Commit::journal_bound() const {
  JournalBytes bytes;
  add_updates(bytes);
  chains_.add_journal_bound(bytes);
  return bytes;
}

JournalBytes Commit::journal_least() const {
  JournalBytes bytes;
  add_updates(bytes);
  chains_.add_journal_least(bytes);
  return bytes;
}

JournalBytes Commit::journal_bytes() const {
  JournalBytes bytes;
  add_updates(bytes);
  chains_.add_journal_bytes(bytes);
  return bytes;
}

void Commit::add_items(layout::ServerId host, JournalItems& items) const {
  for (const RecordLock& record : records_) {
    if (record.access->lookup.record().server() != host) continue;
    items.update(record.access->lookup.record(), record.ring_slot, record.displaced_body(),
                 record.access->image_body(), form());
  }
  chains_.log(host, items);
}

// The vector shows this slot's commits in order, and those of another as they come.
reactor::Task<void> Commit::follow_deferred() {
  slot_->add_holder();  // the slot must not be closed meanwhile
  co_await transaction_.session().deferred.wait_but_for(slot_->slot());
  slot_->drop_holder();
}

bool Commit::may_defer() const {
  const txn::Cluster& cluster = worker_.cluster;
  return transaction_.may_answer_early() && cluster.flushed() && !journal_.in_room() &&
         transaction_.session().deferred.has_room() && cluster.optimisations().outstanding_requests;
}

reactor::Task<Status> Commit::log() {
  Status status = co_await journal_.log(stamp_, lock_stamp_);
  if (status.ok() && worker_.cluster.flushed() && !deferred_) status = co_await journal_.await_durable();
  co_return status.ok() ? status : unknown();
}

// With several hosts nothing is installed before all parts are there; on disk, before they are durable.
bool Commit::installs_with_log() const {
  const txn::Cluster& cluster = worker_.cluster;
  return cluster.stages().two_sided(layout::Stage::log) &&
         cluster.stages().two_sided(layout::Stage::install) && !cluster.flushed() && journal_.fits_call();
}

reactor::Task<Status> Commit::log_and_install() {
  journal_.add_entries(stamp_, lock_stamp_);
  add_installs();
  Status status = co_await batches_.run(counters_, layout::Stage::log);
  if (status.ok()) status = co_await finish_install(/*piggybacks=*/false);
  if (!status.ok()) co_return unknown();
  after_commit();
  co_return Status();
}

Status Commit::unknown() {
  slot_->fail();
  return Status(ErrorCode::unknown_outcome, "the connection to a memory server was lost during commit",
                "look whether the transaction's changes are there before running it again");
}

void Commit::install_record(const RecordLock& record) {
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

void Commit::add_installs() {
  if (worker_.cluster.stages().two_sided(layout::Stage::install) && journal_.can_be_installed()) {
    journal_.add_installs();
  } else {
    for (const RecordLock& record : records_) install_record(record);
    chains_.install(stamp_);
  }
  if (locking() != nullptr) locking()->add_unlocks(batches_);
}

void Commit::after_install() {
  if (locking() == nullptr) return;
  locking()->after_install();
  locking()->after_unlock();
}

bool Commit::install_passively(bool piggybacks) {
  const txn::Optimisations& optimisations = worker_.cluster.optimisations();
  if (!optimisations.passive_acknowledgement || !optimisations.outstanding_requests ||
      transaction_.control().waits_for_publish() || journal_.in_room() || !batches_.only_writes() ||
      !worker_.passive_installs.takes(batches_.written_bytes())) {
    return false;
  }
  txn::PassiveInstall install = passive_install();
  install.piggybacks = piggybacks;
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
  for (const RecordLock& record : records_) {
    if (record.access->write == WriteKind::erase)
      install.deleted.emplace_back(record.access->table->id, record.access->lookup.record());
  }
  return install;
}

bool Commit::defer_install() {
  add_installs();
  if (!batches_.only_writes() || !worker_.passive_installs.takes(batches_.written_bytes())) {
    batches_.clear();
    return false;
  }
  txn::PassiveInstall install = passive_install();
  install.deferred = std::make_shared<txn::DeferredCommit>(worker_.executor, stamp_);
  install.entries = journal_.ends();
  install.waits_for_publish = transaction_.control().waits_for_publish();
  install.known.locations = chains_.locations();
  for (const auto& [server, verdict] : indexes_.verdicts())
    install.known.verdicts.push_back({server, verdict, std::string(verdict.key)});
  transaction_.session().deferred.add(install.deferred);
  worker_.passive_installs.begin(std::move(install), counters_);
  passive_ = true;
  after_install();
  return true;
}

reactor::Task<Status> Commit::install() {
  add_installs();
  // A call is not ordered behind WRITEs of the vector that are under way; nor are operations that are posted
  // one by one.
  const layout::ServerId publishing = slot_->publishing_server();
  const bool piggybacks = batches_.only(publishing) && slot_->may_piggyback(stamp_.counter) &&
                          !worker_.cluster.stages().two_sided(layout::Stage::install) &&
                          worker_.cluster.optimisations().outstanding_requests;
  if (piggybacks) {
    publish_word_ = fabric::LocalBuffer(worker_.cluster.pool(), 8);
    slot_->piggyback(stamp_.counter, batches_.at(publishing), publish_word_.data());
  }
  passive_ = install_passively(piggybacks);
  if (passive_) {
    after_install();
    co_return Status();
  }
  const Status status = co_await batches_.run(counters_, layout::Stage::install);
  if (!status.ok()) co_return status;
  co_return co_await finish_install(piggybacks);
}

reactor::Task<Status> Commit::finish_install(bool piggybacks) {
  after_install();
  const Status status = co_await publish(piggybacks);
  if (status.ok() && journal_.in_room()) co_await journal_.finish();
  co_return transaction_.control().waits_for_publish() ? status : Status();
}

reactor::Task<Status> Commit::publish(bool piggybacks) {
  if (piggybacks) {
    slot_->piggyback_completed(stamp_.counter);
    co_return Status();
  }
  ++counters_.writes;
  counters_.write_bytes += 8;
  if (!transaction_.control().waits_for_publish() && !journal_.in_room()) {
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

reactor::Task<Status> Commit::release(Status reason) {
  for (RecordLock& record : records_) {
    if (!record.taken) continue;
    layout::store_word(record.buffer.data(), record.expected.value());
    batches_.write(record.access->lookup.record(), record.buffer.data(), 8);
  }
  chains_.release(stamp_);
  if (locking() != nullptr) locking()->add_unlocks(batches_);
  if (!batches_.empty()) {
    const Status status = co_await batches_.run(counters_, layout::Stage::release);
    if (!status.ok()) {
      slot_->fail();
      co_return lost_connection();
    }
  }
  if (worker_.cluster.failed()) {
    slot_->fail();
    co_return reason;
  }
  if (locking() != nullptr) locking()->after_unlock();
  chains_.give_back_space();
  co_await journal_.abort(stamp_.counter);
  co_return reason;
}

void Commit::after_commit() {
  for (const RecordLock& record : records_) {
    const Access& access = *record.access;
    const layout::RecordLayout& layout = access.table->record;
    std::uint32_t unmoved = 1;
    for (std::uint32_t i = 0; i < layout.ring_slots; ++i) {
      if (!record.ring_moved(i)) ++unmoved;
    }
    if (layout.moves_versions() && 2 * unmoved > layout.ring_slots) {
      const bool urgent = 4 * unmoved > 3 * layout.ring_slots;
      worker_.hints.ring_fills(access.table->id, access.lookup.record(), urgent);
    }
    if (!passive_ && access.write == WriteKind::erase)
      worker_.hints.deleted(access.table->id, access.lookup.record());
  }
  if (deferred_) return;
  chains_.remember_locations();
  indexes_.confirm();
}

}  // namespace namdb::protocol
