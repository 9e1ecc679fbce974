#include "compute/commit/commit.h"

#include <algorithm>
#include <cstring>

#include "common/layout/journal.h"
#include "common/layout/record_trailer.h"
#include "common/layout/version_image.h"
#include "compute/txn/errors.h"
#include "compute/txn/hint_queue.h"
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
// The locations of more new rows are not remembered: they would drive out those of rows that are in use.
constexpr std::size_t kRemembered = 16 << 10;

}  // namespace

Commit::Commit(TransactionState& transaction)
    : transaction_(transaction),
      worker_(transaction.worker()),
      counters_(transaction.mutable_counters()),
      batches_(worker_.cluster),
      buffers_(worker_.cluster.pool()),
      chains_(worker_, batches_, counters_),
      indexes_(transaction),
      journal_(worker_, *this, batches_, counters_) {}

reactor::Task<Status> Commit::run() {
  Status status;
  for (RowParts part(transaction_.accesses().size()); part.next();) {
    status = plan(part);
    if (!status.ok()) co_return status;
    if (part.more()) co_await worker_.executor.yield();
  }
  if (status.ok() && !chains_.empty()) status = co_await chains_.reserve_space();
  if (!status.ok()) {
    chains_.give_back_space();
    co_return status;
  }
  if (locking() == nullptr) slot_ = worker_.slot_keeper.acquire_now();
  if (slot_ == nullptr) {
    auto acquired = locking() != nullptr ? locking()->commit_slot() : worker_.slot_keeper.acquire();
    auto slot = co_await std::move(acquired);
    if (!slot.ok()) {
      chains_.give_back_space();
      co_return slot.status();
    }
    slot_ = std::move(slot).value();
  }
  if (transaction_.session().deferred.under_way_but_for(slot_->slot())) co_await follow_deferred();
  status = check_reachable();
  if (!status.ok()) {
    chains_.give_back_space();
    co_return status;
  }
  const auto counter = co_await journal_.begin(slot_);
  if (!counter.ok()) {
    chains_.give_back_space();
    co_return counter.status();
  }
  stamp_ = {slot_->slot(), *counter};
  if (slot_->has_lost() && visible_by_publish()) {
    // Another commit of the slot was lost since this one chose it.
    co_await journal_.abort(stamp_.counter);
    chains_.give_back_space();
    co_return Status(ErrorCode::serialization_failure,
                     "the execution slot was lost with the connection to a memory server");
  }
  lock_stamp_ = transaction_.control().lock_stamp(stamp_);

  indexes_.plan();
  status = co_await lock();
  if (status.ok() && journal_.in_room()) status = co_await journal_.borrow_rooms();
  const bool changes_indexes = status.ok() && indexes_.any();
  built_ = parts_of_rows();
  // Versions with timestamps are built once they have been validated.
  const bool builds = transaction_.control().timestamps() == nullptr;
  const IndexWrites::Meanwhile meanwhile = [this, builds] { return builds && build_more_images(); };
  if (changes_indexes) status = co_await indexes_.run(stamp_, &meanwhile);
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
  // The rows behind these writes were read where their regions are.
  if (status.ok() && !transaction_.primaries_held())
    status = co_await transaction_.confirm_primaries_of_reads();
  if (!status.ok()) co_return co_await release(std::move(status));
  while (build_more_images()) {
    if (built_.more()) co_await worker_.executor.yield();
  }
  if (may_install_with_log()) {
    status = co_await log_and_install();
    if (!status.ok()) co_return unknown();
    after_commit();
    co_return Status();
  }
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
Status Commit::plan(const RowParts& part) {
  std::size_t in_place = 0;
  for (std::size_t i = part.begin(); i != part.end(); ++i) {
    const Access& access = transaction_.accesses()[i];
    if (access.write != WriteKind::none && access.writes_in_place()) ++in_place;
  }
  records_.reserve(records_.size() + in_place);
  for (std::size_t i = part.begin(); i != part.end(); ++i) {
    Access& access = transaction_.accesses()[i];
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

RowParts Commit::parts_of_rows(std::size_t turns) const {
  const std::size_t written = std::max<std::size_t>(records_.size() + chains_.inserts(), 1);
  return RowParts(rows(), std::max<std::size_t>(turns * RowParts::kRowsInTurn * rows() / written, 1));
}

// Of rows on a server that was lost it is not known any more whether they are as they were read.
Status Commit::check_reachable() const {
  const txn::Cluster& cluster = worker_.cluster;
  if (!cluster.has_lost()) return Status();
  for (const Access& access : transaction_.accesses()) {
    if (!access.lookup.has_record()) continue;
    const layout::ServerId server = access.lookup.record().server();
    if (cluster.lacks(server)) return cluster.lost(server);
  }
  return Status();
}

void Commit::post_locks(const RowParts& part) {
  Timestamps* const timestamps = transaction_.control().timestamps();
  std::size_t buffer_bytes = txn::RowBuffers::piece_bytes(sizeof(layout::HeaderWord));  // to publish
  for (std::size_t i = part.begin(); i < std::min(part.end(), records_.size()); ++i)
    buffer_bytes += txn::RowBuffers::piece_bytes(records_[i].buffer_bytes());
  buffers_.expect(buffer_bytes);
  for (std::size_t i = part.begin(); i != part.end(); ++i) {
    if (i >= records_.size()) {
      chains_.post(i - records_.size(), stamp_);
      continue;
    }
    RecordLock& record = records_[i];
    const layout::RecordLayout& layout = record.access->table->record;
    const GlobalAddress address = record.access->lookup.record();
    record.buffer = buffers_.take(record.buffer_bytes());
    if (!record.taken) {
      record.posted = true;
      layout::store_word(record.buffer.data(), ~record.expected.value());  // stays if no answer comes
      batches_.compare_and_swap(address, record.expected.value(), lock_word().value(), record.buffer.data());
    }
    if (timestamps != nullptr) timestamps->read_behind_lock(*record.access, batches_);
    if (!layout.moves_versions()) continue;
    batches_.read(address + layout.ring_header_offset(0), record.ring_word(0), layout.ring_headers_bytes());
  }
}

reactor::Task<Status> Commit::lock() {
  bool together = true;  // all locks are in one batch
  for (RowParts part(rows()); part.next();) {
    post_locks(part);
    if (!part.more()) break;
    together = false;
    if (!batches_.empty()) {
      const Status locked = co_await batches_.run(counters_, Stage::lock);
      if (!locked.ok() && needs_lost()) {
        note_locks();
        co_return lost_connection(locked);
      }
    }
    co_await worker_.executor.yield();
  }
  Timestamps* const timestamps = transaction_.control().timestamps();
  if (timestamps != nullptr) timestamps->read_behind_locks(batches_);
  if (together) check_behind_locks();
  Status ahead;
  if (!batches_.empty()) {
    indexes_.post_ahead();
    const Status locked = co_await batches_.run(counters_, Stage::lock);
    checked_ = checked_ && locked.ok();
    if (indexes_.any()) ahead = co_await indexes_.finish_ahead();
    if (!locked.ok() && needs_lost()) {
      note_locks();
      co_return lost_connection(locked);
    }
  }
  Status status = check_locks();
  checked_ = checked_ && chains_.all_taken();
  if (status.ok()) status = std::move(ahead);
  if (status.ok() && !chains_.all_taken()) status = co_await chains_.retry(stamp_);
  if (!status.ok()) co_return status;
  for (RecordLock& record : records_) {
    const layout::RecordLayout& layout = record.access->table->record;
    if (layout.ring_slots == 0) continue;
    record.ring_slot = (record.access->lookup.current().ring_slot + 1) % layout.ring_slots;
    if (layout.timestamps || record.ring_moved(record.ring_slot)) continue;
    status = co_await wait_for_ring(&record);
    if (!status.ok()) co_return status;
  }
  if (!chains_.empty()) status = co_await chains_.place();
  co_return status;
}

bool Commit::needs_lost() const {
  const txn::Cluster& cluster = worker_.cluster;
  return cluster.failed() || std::ranges::any_of(journal_.hosts(), [&cluster](layout::ServerId host) {
           return cluster.lacks(host);
         });
}

// A memory server did not answer: those that did have locked what they could.
void Commit::note_locks() {
  for (RecordLock& record : records_) {
    if (record.posted) record.taken = layout::load_word(record.buffer.data()) == record.expected.value();
  }
  chains_.note_held();
}

// All that was read is checked once all locks are held, and index entries stand. Where everything is on one
// server, READs behind the locks of one call are that.
void Commit::check_behind_locks() {
  const StageCode stages = worker_.cluster.stages();
  Validation* const validation = transaction_.control().validation();
  if (validation == nullptr || !stages.two_sided(Stage::lock) || !stages.two_sided(Stage::validate) ||
      indexes_.any())
    return;
  const auto server = batches_.only_server();
  if (server) checked_ = validation->check_behind_locks(*server, batches_) == LockedChecks::added;
}

Status Commit::check_locks() {
  Status status;
  for (RecordLock& record : records_) {
    if (!record.posted) continue;
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
    status = co_await batches_.run(counters_, Stage::lock);
    if (!status.ok()) co_return lost_connection(status);
    if (record->ring_moved(record->ring_slot)) co_return Status();
    const std::uint64_t pause_ns = 50'000;
    co_await worker_.executor.sleep_for(pause_ns);
  }
  co_return Status(ErrorCode::ring_full,
                   "the version mover is behind: no free slot in a record's version ring");
}

bool Commit::build_more_images() {
  if (!built_.next()) return false;
  build_images(built_);
  return true;
}

void Commit::build_images(const RowParts& part) {
  const Timestamps* const timestamps = transaction_.control().timestamps();
  for (std::size_t i = part.begin(); i != part.end(); ++i) {
    if (i < records_.size()) {
      build_image(records_[i], timestamps);
    } else {
      chains_.build_records(i - records_.size(), stamp_,
                            timestamps == nullptr ? 0 : timestamps->commit_timestamp());
    }
  }
}

void Commit::build_image(RecordLock& record, const Timestamps* timestamps) {
  Access& access = *record.access;
  const layout::BodyHeader& displaced = access.lookup.current();
  const layout::BodyHeader header{.stamp = stamp_,
                                  .deleted = access.write == WriteKind::erase,
                                  .displaced = timestamps == nullptr
                                                   ? displaced.header_word()
                                                   : HeaderWord(timestamps->commit_timestamp()),
                                  .table = displaced.table,
                                  .incarnation = displaced.incarnation,
                                  .ring_slot = record.ring_slot};
  layout::seal_body(access.image_body(), access.lookup.record(), header);
  layout::store_word(access.image.data(), header.header_word().value());
  layout::store_word(access.image.data() + layout::overflow_head_offset(access.table->record),
                     displaced.header_word().value());
  if (access.table->record.ring_slots == 0) return;
  const std::span<std::byte> kept = record.displaced_image();
  record.image_bytes = layout::encode_image(record.displaced_body(), access.image_body(),
                                            access.lookup.record(), kept, form());
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

void Commit::add_items(layout::ServerId host, const RowParts& part, JournalItems& items) const {
  for (std::size_t i = part.begin(); i != part.end(); ++i) {
    if (i >= records_.size()) {
      chains_.log(i - records_.size(), host, items);
      continue;
    }
    const RecordLock& record = records_[i];
    if (record.access->lookup.record().server() != host) continue;
    items.update(record.access->lookup.record(), record.ring_slot, record.displaced_body(),
                 record.access->image_body(), form());
  }
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

bool Commit::installs_by_name() const {
  return worker_.cluster.stages().two_sided(Stage::install) && journal_.can_be_installed();
}

// With several hosts nothing is installed before all parts are there; on disk, before they are durable.
// Protocols that do not wait for the install answer once the entry stands, anyway; but a call that logs can
// install at no cost.
bool Commit::may_install_with_log() const {
  const txn::Cluster& cluster = worker_.cluster;
  if (journal_.hosts().size() != 1 || cluster.flushed() || journal_.in_room()) return false;
  // The loss of a server that only has locks leaves no doubt about the commit.
  if (locking() != nullptr && locking()->unlocks_beside(*journal_.hosts().begin())) return false;
  if (cluster.stages().two_sided(Stage::log)) return installs_by_name();
  return cluster.protocol().installs_with_log() && rows() <= RowParts::kRowsInTurn &&
         !cluster.stages().two_sided(Stage::install) && cluster.optimisations().outstanding_requests;
}

reactor::Task<Status> Commit::log() {
  Status status = co_await journal_.log(stamp_, lock_stamp_);
  if (status.ok() && worker_.cluster.flushed() && !deferred_) status = co_await journal_.await_durable();
  co_return status.ok() ? status : unknown();
}

txn::CommitId Commit::id() const {
  return {stamp_, worker_.cluster.region_map(0).epoch, worker_.cluster.database_id()};
}

Status Commit::unknown() {
  slot_->lose(stamp_.counter);
  return Status(ErrorCode::unknown_outcome, "the connection to a memory server was lost during commit",
                "look whether the transaction's changes are there before running it again");
}

reactor::Task<Status> Commit::release(Status reason) {
  for (RecordLock& record : records_) {
    if (!record.taken) continue;
    layout::store_word(record.buffer.data(), record.expected.value());
    batches_.write(record.access->lookup.record(), record.buffer.data(), 8);
  }
  chains_.release(stamp_);
  if (locking() != nullptr) locking()->add_unlocks(batches_);
  // Locks on a server that was lost are undone once the slot has died and is closed: no version has its
  // stamp.
  batches_.clear_lacking();
  if (!batches_.empty()) {
    const Status status = co_await batches_.run(counters_, Stage::release);
    if (!status.ok() && worker_.cluster.failed()) {
      slot_->fail();
      co_return lost_connection(status);
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
  if (!passive_ && transaction_.accesses().size() <= kRemembered) chains_.remember_locations();
  if (!deferred_) indexes_.confirm();
}

}  // namespace namdb::protocol
