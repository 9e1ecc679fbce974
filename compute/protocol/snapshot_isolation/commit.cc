#include "compute/protocol/snapshot_isolation/commit.h"

#include <algorithm>
#include <cstring>

#include "common/base/checksum.h"
#include "common/layout/journal.h"
#include "compute/protocol/snapshot_isolation/transaction.h"
#include "compute/storage/bucket_search.h"
#include "compute/txn/hint_queue.h"
#include "compute/txn/lock_resolver.h"
#include "compute/txn/record_space.h"
#include "compute/txn/slot_keeper.h"

namespace namdb::protocol {

using layout::Bucket;
using layout::GlobalAddress;
using layout::HeaderWord;
using layout::JournalWriter;

namespace {

constexpr int kRingAttempts = 4;
constexpr std::size_t kMaxChainBuckets = 4096;

Status conflict(const storage::Table& table) {
  return Status(ErrorCode::serialization_failure,
                "could not serialize access due to concurrent update of table \"" + table.name + "\"");
}

Status lost() {
  return Status(ErrorCode::connection_failure, "the connection to a memory server was lost");
}

}  // namespace

SnapshotCommit::SnapshotCommit(SnapshotTransaction& transaction)
    : transaction_(transaction),
      worker_(transaction.worker()),
      counters_(transaction.mutable_counters()),
      batches_(worker_.cluster) {}

reactor::Task<Status> SnapshotCommit::run() {
  Status status = plan();
  if (status.ok()) status = co_await reserve_space();
  if (!status.ok()) {
    give_back_space();
    co_return status;
  }
  auto slot = co_await worker_.slot_keeper.acquire();
  if (!slot.ok()) {
    give_back_space();
    co_return slot.status();
  }
  slot_ = std::move(slot).value();
  const std::uint64_t bound = journal_bound_bytes();
  if (bound > slot_->journal_bytes() / 2) {
    give_back_space();
    co_return Status(ErrorCode::limit_exceeded,
                     "the transaction writes up to " + std::to_string(bound) + " bytes; at most " +
                         std::to_string(slot_->journal_bytes() / 2) + " fit the journal",
                     "commit in smaller parts");
  }
  const auto begun = co_await slot_->begin_commit(bound);
  if (!begun) {
    give_back_space();
    co_return lost();
  }
  stamp_ = {slot_->slot(), begun->counter};
  journal_place_ = begun->journal;

  status = co_await lock();
  if (!status.ok()) co_return co_await release(std::move(status));
  build_images();
  status = co_await log();
  if (!status.ok()) co_return status;
  status = co_await install();
  if (!status.ok()) {
    slot_->fail();
    co_return Status(ErrorCode::unknown_outcome, "the connection to a memory server was lost during commit",
                     "look whether the transaction's changes are there before running it again");
  }
  after_commit();
  co_return Status();
}

// What must be locked, and the conflicts that are known without asking.
Status SnapshotCommit::plan() {
  for (Access& access : transaction_.accesses()) {
    if (access.write == WriteKind::none) continue;
    if (access.writes_in_place()) {
      // A version that the snapshot does not see has won; an insert's invisible rival as well.
      if (!access.lookup.current_is_visible()) return conflict(*access.table);
      RecordLock record{.access = &access, .expected = access.lookup.current().header_word(), .fetched = {}};
      records_.push_back(std::move(record));
      continue;
    }
    NAMDB_CHECK(access.write == WriteKind::insert);
    const GlobalAddress main = access.lookup.chain().front();
    auto chain = std::ranges::find_if(chains_, [main](const ChainLock& other) { return other.main == main; });
    if (chain == chains_.end()) {
      ChainLock fresh{.table = access.table,
                      .main = main,
                      .expected = access.lookup.chain_lock(),
                      .inserts = {},
                      .records = {},
                      .words = {},
                      .buffers = {},
                      .buckets = {}};
      fresh.words = fabric::LocalBuffer(worker_.cluster.pool(), 16);
      for (const GlobalAddress bucket : access.lookup.chain()) add_bucket(fresh, bucket);
      chains_.push_back(std::move(fresh));
      chain = chains_.end() - 1;
    }
    // Lookups of one chain at different times may disagree: the lock is asked with the first word, and what
    // stands behind it decides.
    chain->inserts.push_back(&access);
    if (chain->expected.locked()) {
      worker_.locks.note(chain->main, chain->expected, 0);
      return conflict(*access.table);
    }
  }
  return {};
}

void SnapshotCommit::add_bucket(ChainLock& chain, GlobalAddress address) {
  fabric::LocalBuffer buffer(worker_.cluster.pool(), layout::kBucket_bytes);
  chain.buckets.push_back({.address = address, .image = reinterpret_cast<Bucket*>(buffer.data())});
  chain.buffers.push_back(std::move(buffer));
}

reactor::Task<Status> SnapshotCommit::reserve_space() {
  for (ChainLock& chain : chains_) {
    for (std::size_t i = 0; i < chain.inserts.size(); ++i) {
      const layout::ServerId server = chain.main.server();
      auto record = co_await worker_.space.take_record(*chain.table, server, counters_);
      if (!record.ok()) co_return record.status();
      chain.records.push_back(*record);
    }
  }
  co_return Status();
}

void SnapshotCommit::give_back_space() {
  for (ChainLock& chain : chains_) {
    for (const GlobalAddress record : chain.records) worker_.space.give_back_record(*chain.table, record);
    for (const ChainBucket& bucket : chain.buckets) {
      if (bucket.fresh) worker_.space.give_back_bucket(*chain.table, bucket.address);
    }
  }
}

reactor::Task<Status> SnapshotCommit::lock() {
  for (RecordLock& record : records_) {
    const std::uint32_t length = record.access->table->record.locked_bytes();
    const GlobalAddress address = record.access->lookup.record();
    record.fetched = fabric::LocalBuffer(worker_.cluster.pool(), 8 + length);
    batches_.compare_and_swap(address, record.expected.value(), lock_word().value(), record.fetched.data());
    batches_.read(address, record.record(), length);
  }
  for (ChainLock& chain : chains_) {
    batches_.compare_and_swap(chain.main, chain.expected.value(), lock_word().value(), chain.words.data());
    for (const ChainBucket& bucket : chain.buckets) {
      batches_.read(bucket.address, reinterpret_cast<std::byte*>(bucket.image), layout::kBucket_bytes);
    }
  }
  Status status = co_await batches_.run(counters_);
  if (!status.ok()) co_return lost();
  status = examine_locks();
  if (!status.ok()) co_return status;
  for (RecordLock& record : records_) {
    const layout::RecordLayout& layout = record.access->table->record;
    record.ring_slot = (record.access->lookup.current().ring_slot + 1) % layout.ring_slots;
    if (HeaderWord(layout::load_word(record.record() + layout.ring_header_offset(record.ring_slot))).moved())
      continue;
    status = co_await wait_for_ring(&record);
    if (!status.ok()) co_return status;
  }
  for (ChainLock& chain : chains_) {
    status = co_await read_rest_of_chain(&chain);
    if (status.ok()) status = co_await place_inserts(&chain);
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

Status SnapshotCommit::examine_locks() {
  Status status;
  for (RecordLock& record : records_) {
    const HeaderWord old(layout::load_word(record.fetched.data()));
    record.taken = old == record.expected;
    if (record.taken) continue;
    const storage::Table& table = *record.access->table;
    if (old.locked()) worker_.locks.note(record.access->lookup.record(), old, table.record.body_bytes());
    status = conflict(table);
  }
  for (ChainLock& chain : chains_) {
    const HeaderWord old(layout::load_word(chain.words.data()));
    chain.taken = old == chain.expected;
    if (chain.taken) continue;
    if (old.locked()) worker_.locks.note(chain.main, old, 0);
    status = conflict(*chain.table);
  }
  if (!status.ok()) return status;
  for (const RecordLock& record : records_) {
    const auto body = record.displaced_body();
    if (!layout::certify_body(body, record.access->lookup.record()) ||
        layout::decode_body_header(body.data()).header_word() != record.expected) {
      return Status(ErrorCode::corrupt_data, "a locked record's body is not the version of its header word");
    }
  }
  return {};
}

// The lock is held meanwhile: the mover needs no lock, and nobody else can take the slot.
reactor::Task<Status> SnapshotCommit::wait_for_ring(RecordLock* record) {
  const layout::RecordLayout& layout = record->access->table->record;
  const GlobalAddress address = record->access->lookup.record();
  const std::uint32_t word = layout.ring_header_offset(record->ring_slot);
  for (int attempt = 0; attempt < kRingAttempts; ++attempt) {
    Status status = co_await worker_.hints.move_now(record->access->table->id, address, counters_);
    if (!status.ok()) co_return status;
    batches_.read(address + word, record->record() + word, 8);
    ++counters_.rereads;
    status = co_await batches_.run(counters_);
    if (!status.ok()) co_return lost();
    if (HeaderWord(layout::load_word(record->record() + word)).moved()) co_return Status();
    const std::uint64_t pause_ns = 50'000;
    co_await worker_.executor.sleep_for(pause_ns);
  }
  co_return Status(ErrorCode::ring_full,
                   "the version mover is behind: no free slot in a record's version ring");
}

// The chain may have grown since the lookups saw it.
reactor::Task<Status> SnapshotCommit::read_rest_of_chain(ChainLock* chain) {
  for (std::size_t i = 0; i < chain->buckets.size(); ++i) {
    const Bucket& bucket = *chain->buckets[i].image;
    if (!bucket.certified(chain->buckets[i].address)) {
      co_return Status(ErrorCode::corrupt_data, "a locked bucket chain holds a half-written bucket");
    }
    if (bucket.table != chain->table->id || bucket.generation != chain->table->generation) {
      co_return Status(ErrorCode::catalog_changed,
                       "the table was dropped or rebuilt while the transaction ran");
    }
    if (i + 1 < chain->buckets.size() || bucket.next_offset == 0) continue;
    if (chain->buckets.size() > kMaxChainBuckets)
      co_return Status(ErrorCode::corrupt_data, "a bucket chain has no end");
    const GlobalAddress next(chain->main.server(), bucket.next_offset);
    add_bucket(*chain, next);
    batches_.read(next, chain->buffers.back().data(), layout::kBucket_bytes);
    ++counters_.rereads;
    const Status status = co_await batches_.run(counters_);
    if (!status.ok()) co_return lost();
  }
  co_return Status();
}

reactor::Task<Status> SnapshotCommit::place_inserts(ChainLock* chain) {
  for (std::size_t i = 0; i < chain->inserts.size(); ++i) {
    Access& access = *chain->inserts[i];
    for (const ChainBucket& bucket : chain->buckets) {
      for (std::uint32_t found = storage::find_entry(*bucket.image, access.key_hash);
           found < layout::kBucketEntries;
           found = storage::find_entry(*bucket.image, access.key_hash, found + 1)) {
        // Another key that the lookup has compared, or a rival that came since.
        const auto& collisions = access.lookup.collisions();
        const std::uint64_t location = bucket.image->entries[found].location;
        if (std::ranges::find(collisions, location) == collisions.end()) co_return conflict(*chain->table);
      }
    }
    ChainBucket* home = nullptr;
    std::uint32_t entry = 0;
    for (ChainBucket& bucket : chain->buckets) {
      if (const auto place = storage::free_entry(*bucket.image)) {
        home = &bucket;
        entry = *place;
        break;
      }
    }
    if (home == nullptr) {
      auto fresh = co_await worker_.space.take_bucket(*chain->table, chain->main.server(), counters_);
      if (!fresh.ok()) co_return fresh.status();
      chain->buckets.back().image->next_offset = fresh->offset();
      chain->buckets.back().changed = true;
      add_bucket(*chain, *fresh);
      home = &chain->buckets.back();
      home->fresh = home->changed = true;
      *home->image = Bucket{};
      home->image->table = chain->table->id;
      home->image->generation = chain->table->generation;
    }
    // Differs from what stood at the same place before, but for a chance of 2^-16 that key and stamp cover.
    const auto incarnation =
        static_cast<std::uint32_t>(checksum64(std::as_bytes(std::span(&stamp_, 1)), chain->records[i].value));
    const GlobalAddress address = chain->records[i];
    home->image->entries[entry] =
        layout::BucketEntry::make(access.key_hash, address.offset(), incarnation & layout::kIncarnation_mask);
    home->changed = true;
    layout::seal_body(access.image_body(), address,
                      {.stamp = stamp_,
                       .table = chain->table->id,
                       .incarnation = incarnation & layout::kIncarnation_mask,
                       .ring_slot = chain->table->record.ring_slots - 1});
    layout::frame_new_record({access.image.data(), chain->table->record.locked_bytes()},
                             chain->table->record);
  }
  for (ChainBucket& bucket : chain->buckets) {
    if (bucket.changed) bucket.image->seal(bucket.address);
  }
  co_return Status();
}

void SnapshotCommit::build_images() {
  for (RecordLock& record : records_) {
    Access& access = *record.access;
    const layout::BodyHeader displaced = layout::decode_body_header(record.displaced_body().data());
    const layout::BodyHeader header{.stamp = stamp_,
                                    .deleted = access.write == WriteKind::erase,
                                    .displaced = displaced.header_word(),
                                    .table = displaced.table,
                                    .incarnation = displaced.incarnation,
                                    .ring_slot = record.ring_slot};
    layout::seal_body(access.image_body(), access.lookup.record(), header);
    layout::store_word(access.image.data(), header.header_word().value());
    layout::store_word(access.image.data() + access.table->record.overflow_head_offset(),
                       displaced.header_word().value());
  }
}

// An insert changes at most two buckets: a fresh one and the one that leads to it, or one with a free entry.
std::uint64_t SnapshotCommit::journal_bound_bytes() const {
  std::uint64_t length = JournalWriter::kFrame_bytes;
  for (const RecordLock& record : records_) {
    length += JournalWriter::update_bytes(record.access->table->record.body_bytes());
  }
  for (const ChainLock& chain : chains_) {
    length += JournalWriter::kChain_bytes;
    length += chain.inserts.size() * (JournalWriter::chain_write_bytes(chain.table->record.locked_bytes()) +
                                      2 * JournalWriter::chain_write_bytes(layout::kBucketBody_bytes));
  }
  return length;
}

reactor::Task<Status> SnapshotCommit::log() {
  const std::uint64_t bound = journal_bound_bytes();
  journal_ = fabric::LocalBuffer(worker_.cluster.pool(), bound);
  JournalWriter writer({journal_.data(), bound}, stamp_);
  for (const RecordLock& record : records_) {
    writer.update(record.access->lookup.record(), record.ring_slot, record.expected,
                  record.access->image_body());
  }
  for (const ChainLock& chain : chains_) {
    const auto changed =
        std::ranges::count_if(chain.buckets, [](const ChainBucket& bucket) { return bucket.changed; });
    writer.chain(chain.main,
                 static_cast<std::uint32_t>(chain.inserts.size() + static_cast<std::size_t>(changed)));
    for (std::size_t i = 0; i < chain.inserts.size(); ++i) {
      writer.chain_write(chain.records[i],
                         {chain.inserts[i]->image.data(), chain.table->record.locked_bytes()});
    }
    // New buckets lie at the end; they must stand before the bucket that leads to them.
    for (auto bucket = chain.buckets.rbegin(); bucket != chain.buckets.rend(); ++bucket) {
      if (!bucket->changed) continue;
      const auto* bytes = reinterpret_cast<const std::byte*>(bucket->image);
      writer.chain_write(bucket->address + layout::kBucketBody_offset,
                         {bytes + layout::kBucketBody_offset, layout::kBucketBody_bytes});
    }
  }
  const std::uint64_t length = writer.finish(journal_place_);
  for (std::uint64_t written = 0; written < length; written += fabric::kMaxOperation_bytes) {
    batches_.write(journal_place_ + written, journal_.data() + written,
                   std::min<std::uint64_t>(fabric::kMaxOperation_bytes, length - written));
  }
  const Status status = co_await batches_.run(counters_);
  if (status.ok()) co_return Status();
  slot_->fail();
  co_return Status(ErrorCode::unknown_outcome, "the connection to a memory server was lost during commit",
                   "look whether the transaction's changes are there before running it again");
}

reactor::Task<Status> SnapshotCommit::install() {
  for (const RecordLock& record : records_) {
    const layout::RecordLayout& layout = record.access->table->record;
    const GlobalAddress address = record.access->lookup.record();
    const std::byte* image = record.access->image.data();
    batches_.write(address + layout.ring_payload_offset(record.ring_slot), record.record() + 8,
                   layout.body_bytes());
    batches_.write(address + layout.ring_header_offset(record.ring_slot),
                   image + layout.overflow_head_offset(), 8);
    batches_.write(address + 8, image + 8, layout.body_bytes());
    batches_.write(address, image, 8);
  }
  for (const ChainLock& chain : chains_) {
    for (std::size_t i = 0; i < chain.inserts.size(); ++i) {
      batches_.write(chain.records[i], chain.inserts[i]->image.data(), chain.table->record.locked_bytes());
    }
    for (auto bucket = chain.buckets.rbegin(); bucket != chain.buckets.rend(); ++bucket) {
      if (!bucket->changed) continue;
      const auto* bytes = reinterpret_cast<const std::byte*>(bucket->image);
      batches_.write(bucket->address + layout::kBucketBody_offset, bytes + layout::kBucketBody_offset,
                     layout::kBucketBody_bytes);
    }
    layout::store_word(chain.words.data() + 8, HeaderWord(stamp_).value());
    batches_.write(chain.main, chain.words.data() + 8, 8);
  }
  const bool rides = batches_.only(0) && slot_->may_ride(stamp_.counter);
  if (rides) {
    publish_word_ = fabric::LocalBuffer(worker_.cluster.pool(), 8);
    slot_->ride(stamp_.counter, batches_.at(0), publish_word_.data());
  }
  Status status = co_await batches_.run(counters_);
  if (!status.ok()) co_return status;
  if (rides) {
    slot_->ride_completed(stamp_.counter);
    co_return Status();
  }
  ++counters_.writes;
  counters_.write_bytes += 8;
  ++counters_.round_trips;
  co_return co_await slot_->finish(stamp_.counter);
}

reactor::Task<Status> SnapshotCommit::release(Status reason) {
  for (RecordLock& record : records_) {
    if (!record.taken) continue;
    layout::store_word(record.fetched.data(), record.expected.value());
    batches_.write(record.access->lookup.record(), record.fetched.data(), 8);
  }
  for (ChainLock& chain : chains_) {
    if (!chain.taken) continue;
    // Not the value from before: that one would let a CAS succeed whose owner read the chain long ago.
    layout::store_word(chain.words.data() + 8, HeaderWord(stamp_).value());
    batches_.write(chain.main, chain.words.data() + 8, 8);
  }
  if (!batches_.empty()) {
    const Status status = co_await batches_.run(counters_);
    if (!status.ok()) {
      slot_->fail();
      co_return lost();
    }
  }
  if (worker_.cluster.failed()) {
    slot_->fail();
    co_return reason;
  }
  give_back_space();
  slot_->finish_aborted(stamp_.counter);
  co_return reason;
}

void SnapshotCommit::after_commit() {
  for (const RecordLock& record : records_) {
    const Access& access = *record.access;
    const layout::RecordLayout& layout = access.table->record;
    std::uint32_t unmoved = 1;
    for (std::uint32_t i = 0; i < layout.ring_slots; ++i) {
      if (!HeaderWord(layout::load_word(record.record() + layout.ring_header_offset(i))).moved()) ++unmoved;
    }
    if (2 * unmoved > layout.ring_slots) {
      const bool urgent = 4 * unmoved > 3 * layout.ring_slots;
      worker_.hints.ring_fills(access.table->id, access.lookup.record(), urgent);
    }
    if (access.write == WriteKind::erase) worker_.hints.deleted(access.table->id, access.lookup.record());
  }
  for (const ChainLock& chain : chains_) {
    for (std::size_t i = 0; i < chain.inserts.size(); ++i) {
      const layout::BodyHeader header = layout::decode_body_header(chain.inserts[i]->image_body().data());
      worker_.locations.insert(layout::BucketEntry::make(chain.inserts[i]->key_hash,
                                                         chain.records[i].offset(), header.incarnation));
    }
  }
}

}  // namespace namdb::protocol
