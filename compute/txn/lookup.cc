#include "compute/txn/lookup.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/base/checksum.h"
#include "common/layout/record_trailer.h"
#include "compute/cluster/bucket_search.h"
#include "compute/txn/errors.h"
#include "compute/txn/locking.h"
#include "compute/txn/visibility.h"

namespace namdb::protocol {

using layout::GlobalAddress;
using layout::HeaderWord;

namespace {

constexpr std::uint32_t kMaxRestarts = 64;
constexpr std::size_t kMaxChain = 4096;

// Behind what is READ, the lease.
std::size_t lease_at(const storage::Table& table) {
  return std::max<std::size_t>(layout::kBucket_bytes,
                               table.record.current_bytes() + 8 + 8 * table.record.reader_words);
}

}  // namespace

std::size_t Lookup::buffer_bytes(const storage::Table& table) {
  return lease_at(table) + 8;
}

void Lookup::start(txn::WorkerState& worker, const storage::Table& table, std::span<const std::byte> key,
                   std::uint64_t key_hash, bool is_new, txn::RowBuffers* buffers) {
  table_ = &table;
  key_ = key;
  key_hash_ = key_hash;
  buffer_ = buffers != nullptr ? buffers->take(buffer_bytes(table))
                               : txn::RowBuffer(worker.cluster.pool(), buffer_bytes(table));
  server_ = table.server_of(key_hash);
  region_bytes_ = worker.cluster.region_map(server_).limit_bytes;
  finds_ = worker.cluster.stages().two_sided(Stage::find);
  // The cached location may belong to another key, and so to another server.
  const bool cached = worker.cluster.optimisations().location_cache && !is_new;
  const auto location = cached ? worker.locations.find(key_hash) : std::nullopt;
  if (location && location->offset + table.record.record_bytes() <= worker.cluster.known_bytes(server_)) {
    record_ = GlobalAddress(server_, location->offset);
    incarnation_ = location->incarnation;
    from_cache_ = true;
    state_ = State::record;
    return;
  }
  start_chain();
}

void Lookup::start_at(txn::WorkerState& worker, const storage::Table& table, GlobalAddress record,
                      std::uint16_t incarnation) {
  table_ = &table;
  key_ = {};
  buffer_ = txn::RowBuffer(worker.cluster.pool(), buffer_bytes(table));
  region_bytes_ = worker.cluster.region_map(record.server()).limit_bytes;
  record_ = record;
  incarnation_ = incarnation;
  state_ = State::record;
}

std::uint64_t Lookup::lease() const {
  return layout::load_word(buffer_.data() + lease_at(*table_));
}

void Lookup::start_chain() {
  from_cache_ = false;
  record_ = GlobalAddress();
  state_ = State::bucket;
  enter_array(table_->arrays[server_]);
}

void Lookup::enter_array(const layout::BucketArray& array) {
  array_ = array;
  chain_.clear();
  chain_checksums_.clear();
  collisions_.clear();
  bucket_ = GlobalAddress(server_, array.bucket_offset(array.index_of(key_hash_, table_->arrays.size())));
  next_entry_ = 0;
}

void Lookup::add_atomics(txn::BatchSet& batches, Locking* locking) {
  read_with_lock_ = false;
  if (state_ != State::record) return;
  if (wants_lock_ && locking != nullptr)
    read_with_lock_ = locking->add_lock(*this, batches) == LockRead::included;
  if (wants_lease_)
    batches.compare_and_swap(record_ + layout::lease_offset(table_->record), layout::kNoLease,
                             layout::kNoLease, buffer_.data() + lease_at(*table_));
}

void Lookup::add_read(txn::BatchSet& batches) {
  switch (state_) {
    case State::bucket:
      if (finds_) return post_find(batches);
      batches.read(bucket_, buffer_.data(), layout::kBucket_bytes);
      break;
    case State::record:
      if (read_elsewhere_ == nullptr && !read_with_lock_) batches.read(record_, buffer_.data(), read_bytes());
      break;
    case State::older:
      walk_->add_read(batches);
      break;
    default:
      NAMDB_CHECK(!"a finished lookup needs no READ");
  }
}

bool Lookup::reads_from(layout::ServerId server) const {
  if (state_ == State::bucket) return !finds_ && bucket_.server() == server;
  return state_ == State::record && record_.server() == server;
}

void Lookup::post_find(txn::BatchSet& batches) {
  if (found_ == nullptr) found_ = std::make_unique<calls::FoundPieces>();
  batches.find(bucket_.server(),
               {.bucket_offset = bucket_.offset(),
                .key_hash = key_hash_,
                .record_bytes = read_bytes(),
                .leases = wants_lease_},
               found_.get());
}

// As if each piece had been READ by itself. Missing pieces are fetched in the next step.
void Lookup::see_found(txn::WorkerState& worker, Visibility& visibility) {
  while (state_ == State::bucket && !waiting_) {
    const std::string_view bucket = found_->take_bucket(bucket_.offset());
    if (bucket.empty()) return;
    std::memcpy(buffer_.data(), bucket.data(), bucket.size());
    see_bucket(worker, visibility);
  }
  if (state_ != State::record) return;
  const std::string_view record = found_->take_record(record_.offset());
  if (record.empty()) return;
  std::memcpy(buffer_.data() + lease_at(*table_), record.data(), 8);
  std::memcpy(buffer_.data(), record.data() + 8, record.size() - 8);
  see_record(worker, visibility);
}

std::uint32_t Lookup::advance(txn::WorkerState& worker, Visibility& visibility) {
  waiting_ = false;
  locked_by_other_ = false;
  if (!deciding_) {
    switch (state_) {
      case State::bucket:
        if (finds_) {
          see_found(worker, visibility);
        } else {
          see_bucket(worker, visibility);
        }
        break;
      case State::record:
        if (read_elsewhere_ != nullptr)
          std::memcpy(buffer_.data(), std::exchange(read_elsewhere_, nullptr), read_bytes());
        see_record(worker, visibility);
        if (slot_of_half_ != 0) return std::exchange(slot_of_half_, 0);
        break;
      case State::older:
        step_back();
        break;
      default:
        break;
    }
  }
  // A certified body stands at body_: does the transaction see it? If not, the one before may be at hand.
  while (deciding_) {
    const bool is_current = state_ == State::record;
    const ReadDecision decision = visibility.check_visibility({header_seen_, candidate_, is_current});
    if (decision == ReadDecision::unknown_slot) return candidate_.stamp.slot;
    decide(worker, visibility, decision);
  }
  if (done() && walk_ != nullptr) walk_->end();
  return 0;
}

void Lookup::decide(txn::WorkerState& worker, Visibility& visibility, ReadDecision decision) {
  deciding_ = false;
  const bool is_current = state_ == State::record;
  const bool visible = decision == ReadDecision::visible;
  if (is_current) {
    current_is_visible_ = visible;
    lock_seen_ = header_seen_;
    lock_address_ = record_;
  }
  if (decision == ReadDecision::locked_by_other) {
    waiting_ = true;
    locked_by_other_ = is_current;
  } else if (decision == ReadDecision::torn) {
    wait_for_record(header_seen_, visibility);
  } else if (decision == ReadDecision::conflict) {
    error_ = write_conflict(*table_);
    state_ = State::failed;
    locked_by_other_ = is_current;
  } else if (visible) {
    state_ = candidate_.deleted ? State::absent : State::present;
  } else if (is_birth(candidate_)) {
    state_ = State::absent;
  } else {
    if (walk_ == nullptr) walk_ = std::make_unique<VersionWalk>();
    if (is_current) walk_->start(worker.cluster.pool(), *table_, record_, region_bytes_, body_);
    state_ = State::older;
    step_back();
  }
}

void Lookup::pass_over() {
  state_ = State::absent;
  passed_over_ = true;
  waiting_ = locked_by_other_ = false;
  error_ = Status();
}

// The key's place, and those of its neighbours. Each of these takes a miss of the processor's caches: an
// insert brings none, and nobody does once the cache is full, where they would find no place.
void Lookup::remember(txn::WorkerState& worker, const layout::Bucket& bucket) const {
  const bool brings = !expects_absent_ && worker.locations.has_room(key_hash_);
  for (const layout::BucketEntry& entry : bucket.entries) {
    if (entry.free()) continue;
    if (entry.key_hash == key_hash_) {
      worker.locations.insert(entry);
    } else if (brings) {
      worker.locations.offer(entry);
    }
  }
}

void Lookup::see_bucket(txn::WorkerState& worker, Visibility& visibility) {
  // The batch of this READ also showed a newer catalog: the old array may be other memory by now.
  if (chain_.empty() && array_.generation < table_->arrays[server_].generation) {
    enter_array(table_->arrays[server_]);
    return;
  }
  layout::Bucket bucket;
  std::memcpy(&bucket, buffer_.data(), sizeof bucket);
  if (!bucket.certified(bucket_)) return wait_for_bucket(bucket);
  if (bucket.table != table_->id || bucket.generation != array_.generation) {
    fail(ErrorCode::catalog_changed, "the table was dropped or rebuilt while the transaction ran");
    return;
  }
  if (bucket.forwarded()) return follow_forward(bucket);
  if (next_entry_ == 0) {
    if (chain_.empty()) chain_lock_ = HeaderWord(bucket.lock_word);
    chain_.push_back(bucket_);
    chain_checksums_.push_back(bucket.checksum);
    remember(worker, bucket);
  }
  const std::uint32_t found = storage::find_entry(bucket, key_hash_, next_entry_);
  if (found < layout::kBucketEntries) {
    const std::uint64_t offset = bucket.entries[found].offset();
    if (!storage::place_within(offset, table_->record.record_bytes(), region_bytes_))
      return fail(ErrorCode::corrupt_data, "a bucket's entry leads nowhere");
    record_ = GlobalAddress(bucket_.server(), offset);
    incarnation_ = bucket.entries[found].incarnation();
    worker.cluster.saw_memory(record_, table_->record.record_bytes());
    next_entry_ = found + 1;
    state_ = State::record;
    return;
  }
  if (bucket.next_offset == 0) {
    record_ = GlobalAddress();
    if (!visibility.absence_is_certain(chain_lock_)) {
      lock_seen_ = chain_lock_;
      lock_address_ = chain_.front();
      start_chain();
      waiting_ = true;
      return;
    }
    state_ = State::absent;
    return;
  }
  if (chain_.size() >= kMaxChain && table_->schema.chained()) return fail_long_chain();
  if (chain_.size() >= kMaxChain ||
      !storage::place_within(bucket.next_offset, layout::kBucket_bytes, region_bytes_)) {
    fail(ErrorCode::corrupt_data, "a bucket chain has no end");
    return;
  }
  bucket_ = GlobalAddress(bucket_.server(), bucket.next_offset);
  next_entry_ = 0;
}

// It is being written, or damaged.
void Lookup::wait_for_bucket(const layout::Bucket& bucket) {
  waiting_ = true;
  const bool main = chain_.empty();
  lock_seen_ = main ? HeaderWord(bucket.lock_word) : chain_lock_;
  lock_address_ = main ? bucket_ : chain_.front();
  if (lock_seen_.locked()) return steady_.forget();
  const std::uint64_t seed = bucket_.value ^ lock_seen_.value();
  if (steady_.seen(checksum64(std::as_bytes(std::span(&bucket, 1)), seed)))
    return fail_damaged("a bucket", bucket_);
  // The chain's lock was READ before all of that: it counts when it is the same in between.
  if (!main && steady_.halfway()) start_chain();
}

void Lookup::follow_forward(const layout::Bucket& bucket) {
  const layout::BucketArray next = array_.doubled(bucket.forward_base());
  if (!storage::array_within(next, region_bytes_)) {
    return fail(ErrorCode::corrupt_data, "a bucket's forward leads nowhere");
  }
  enter_array(next);
}

void Lookup::see_record(txn::WorkerState& worker, Visibility& visibility) {
  const std::span<const std::byte> body(buffer_.data() + 8, table_->record.body_bytes());
  const HeaderWord header(layout::load_word(buffer_.data()));
  if (!layout::certify_body(body, record_)) {
    // Being written; or other memory by now, to which a stale location led: so a location from the cache is
    // given up for the chain after a while.
    if (from_cache_ && ++waits_ % SteadyBytes::kLooks == 0) return mismatch(worker);
    return wait_for_record(header, visibility);
  }
  const layout::BodyHeader found = layout::decode_body_header(body.data());
  const std::span<const std::byte> payload = layout::body_payload(body);
  const bool matches =
      found.table == table_->id && (found.incarnation & incarnation_mask()) == incarnation_ &&
      (key_.empty() || std::ranges::equal(payload.subspan(table_->schema.key_offset(), key_.size()), key_));
  if (!matches) return mismatch(worker);
  current_ = found;
  header_seen_ = header;
  if (reads_waiter_)
    waiter_ = HeaderWord(layout::load_word(buffer_.data() + layout::waiter_offset(table_->record)));
  candidate(body);
}

// It is being written, or damaged: body and header word are not of one version.
void Lookup::wait_for_record(HeaderWord header, Visibility& visibility) {
  waiting_ = true;
  lock_seen_ = header;
  lock_address_ = record_;
  if (header.locked() && !visibility.holds(record_)) return steady_.forget();
  const std::span<const std::byte> bytes(buffer_.data(), table_->record.current_bytes());
  if (steady_.seen(checksum64(bytes, record_.value))) see_steady_record(header, visibility);
}

// Damaged; or the first record of its place, half-written under an unlocked header word (damage.h).
void Lookup::see_steady_record(HeaderWord header, Visibility& visibility) {
  const layout::BodyHeader found = layout::decode_body_header(buffer_.data() + 8);
  if (!may_be_half_written_ || header.locked() || !found.birth()) return fail_damaged("a record", record_);
  for (const layout::Stamp stamp : {header.stamp(), found.stamp}) {
    if (stamp.none()) continue;  // not written yet
    const layout::BodyHeader version{.stamp = stamp, .deleted = false, .displaced = {}, .table = table_->id};
    const ReadDecision decision = visibility.check_visibility({HeaderWord(), version, false});
    if (decision == ReadDecision::unknown_slot) {
      slot_of_half_ = stamp.slot;
      return;
    }
    if (decision == ReadDecision::visible) return fail_damaged("a record", record_);
  }
  waiting_ = false;
  lock_seen_ = HeaderWord();
  record_ = GlobalAddress();
  state_ = State::absent;
}

void Lookup::mismatch(txn::WorkerState& worker) {
  steady_.forget();
  if (key_.empty()) {  // a scan's entry of a record that was reclaimed since: no snapshot sees it
    record_ = GlobalAddress();
    state_ = State::absent;
    return;
  }
  if (from_cache_) {
    worker.locations.erase(key_hash_);
    start_chain();
    return;
  }
  // Either another key with the same hash, or the record was reclaimed since the bucket was read. The next
  // entries decide the first; for the second the chain is read again.
  const layout::BodyHeader found = layout::decode_body_header(buffer_.data() + 8);
  if (found.table == table_->id && static_cast<std::uint16_t>(found.incarnation) == incarnation_) {
    collisions_.push_back(layout::BucketEntry::make(key_hash_, record_.offset(), incarnation_).location);
    record_ = GlobalAddress();
    state_ = State::bucket;  // the same bucket again, from the next entry on
    return;
  }
  if (++restarts_ > kMaxRestarts) return fail(ErrorCode::version_collected, "the record moved too often");
  start_chain();
}

void Lookup::candidate(std::span<const std::byte> body) {
  body_ = body;
  candidate_ = layout::decode_body_header(body.data());
  deciding_ = true;
}

bool Lookup::is_birth(const layout::BodyHeader& version) const {
  return table_->record.timestamps ? version.ring_slot == layout::kNoRingSlot : version.birth();
}

void Lookup::step_back() {
  switch (walk_->step()) {
    case VersionWalk::Step::found:
      return candidate(walk_->body());
    case VersionWalk::Step::read:
      return;
    case VersionWalk::Step::lost:
      return restart();
    case VersionWalk::Step::overwritten:
      return fail(ErrorCode::serialization_failure,
                  "could not serialize access: the version that the transaction needs was overwritten");
    case VersionWalk::Step::corrupt:
      return fail(ErrorCode::corrupt_data, "a version's link, or what it leads to, cannot be");
  }
}

void Lookup::restart() {
  if (++restarts_ > kMaxRestarts)
    return fail(ErrorCode::version_collected, "the version that the snapshot needs was collected");
  state_ = State::record;
}

void Lookup::fail_long_chain() {
  error_ = too_many_alike(*table_);
  state_ = State::failed;
}

void Lookup::fail_damaged(const char* what, GlobalAddress address) {
  damaged_ = true;
  lock_seen_ = HeaderWord();
  error_ = protocol::damaged(*table_, what, address);
  state_ = State::failed;
}

void Lookup::fail(ErrorCode code, const char* message) {
  error_ = Status(code, message);
  state_ = State::failed;
}

}  // namespace namdb::protocol
