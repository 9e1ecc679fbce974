// Finding one record's version that a transaction sees: a state machine over fetched bytes. It says which
// READ it needs next, and takes the decision when the bytes are there; many lookups advance together, one
// round trip a step. By key: (location cache, else bucket chain), record, then older versions; or at a known
// address. A main bucket that was forwarded, since its array has grown, leads to the chain in the next array.
//
// The rules (NAM-DB §5.1 and docs/internals/snapshot-isolation.md):
//  - The certified body's stamp decides visibility; the header word only names the record's holder. A body
//    that does not certify is being written, and is read again, or it is damaged (damage.h). The protocol
//    decides whether a certified body is visible, and whether the transaction waits for its holder
//    (visibility.h).
//  - Older versions are found by following the displaced links through ring and overflow (version_walk.h).
//    "Absent" needs the birth marker. A link found in neither place means start again, and after a bound
//    version_collected.
//  - A location from the cache or a bucket must match key and incarnation, else it is a miss.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/calls/find_calls.h"
#include "common/fabric/local_pool.h"
#include "common/layout/bucket.h"
#include "common/layout/record.h"
#include "common/reactor/stable_vector.h"
#include "compute/api/table.h"
#include "compute/cluster/batch_set.h"
#include "compute/txn/damage.h"
#include "compute/txn/row_buffers.h"
#include "compute/txn/version_walk.h"
#include "compute/txn/worker_state.h"

namespace namdb::protocol {

class Locking;
class Visibility;
enum class ReadDecision : std::uint8_t;

class Lookup {
 public:
  enum class State : std::uint8_t {
    idle,
    bucket,
    record,
    older,
    // Ends:
    present,  // body() is the visible version, not a tombstone
    absent,
    failed,  // error()
  };

  // Most chains have one bucket or two, and a transaction may have very many lookups.
  using Chain = reactor::PooledInlinedVector<layout::GlobalAddress, 2>;
  using ChainChecksums = reactor::PooledInlinedVector<std::uint64_t, 2>;

  Lookup() = default;

  // By key. `key` outlives the lookup. At the end either a record or the whole chain() is known.
  // `is_new`: probably there is no such row, and there are many, so that no cached location is looked for.
  // `buffers`: from where it takes the memory for what it READs, buffer_bytes().
  void start(txn::WorkerState& worker, const storage::Table& table, std::span<const std::byte> key,
             std::uint64_t key_hash, bool is_new = false, txn::RowBuffers* buffers = nullptr);
  static std::size_t buffer_bytes(const storage::Table& table);
  // The record at a known place, whatever its key; absent if it was reclaimed.
  void start_at(txn::WorkerState& worker, const storage::Table& table, layout::GlobalAddress record,
                std::uint16_t incarnation);

  // For a lookup at a known place, of a transaction that sees a version only once it is installed. No bucket
  // needs to lead to the place, so its first record may stay half-written for as long as its writer is held
  // up. Such a record is absent, not damaged.
  void expect_half_written() { may_be_half_written_ = true; }

  bool done() const { return state_ >= State::present; }
  State state() const { return state_; }
  // The protocol may lock the record, wherever it is read, in the same batch (Locking::add_lock);
  // `with_waiter`: the READ brings the waiter word, too.
  void read_with_lock(bool with_waiter) {
    wants_lock_ = true;
    reads_waiter_ = with_waiter;
  }
  bool wants_lock() const { return wants_lock_; }
  // The row is probably not there, as that of an insert.
  void expect_absent() { expects_absent_ = true; }
  // The same, but a reader's lock.
  void read_with_shared_lock(bool with_waiter) {
    read_with_lock(with_waiter);
    shares_ = true;
  }
  bool shares() const { return shares_; }
  // The number by which the protocol finds that reader's lock again; 0: there is no such lock.
  std::uint32_t share() const { return share_; }
  void set_share(std::uint32_t share) { share_ = share; }
  // The record's lease is READ, too, at a moment before the record: lease().
  void read_with_lease() { wants_lease_ = true; }
  // The record is READ together with others, and its first read_bytes() will stand there (run_reads.h). For a
  // lookup that started at a known place and has not READ anything.
  void read_from(const std::byte* bytes) { read_elsewhere_ = bytes; }
  std::uint32_t read_bytes() const {
    const layout::RecordLayout& layout = table_->record;
    if (wants_lock_ && layout.reader_words != 0) return layout.locked_bytes();
    return layout.current_bytes() + (reads_waiter_ ? 8 : 0);
  }
  // Where these bytes go.
  std::byte* read_buffer() const { return buffer_.data(); }
  // The record in a lookup that reads one at a known place (calls::BatchOperation::record_of).
  std::uint64_t record_name() const {
    return calls::BatchOperation::record_of(table_->id, incarnation_ & incarnation_mask(),
                                            incarnation_mask());
  }
  // How many bytes add_read() takes of the pool for an older version, which may be many; 0 for other READs.
  std::size_t older_bytes() const { return state_ == State::older ? walk_->read_bytes() : 0; }
  // Whether the next add_read() READs from that server, and calls nothing.
  bool reads_from(layout::ServerId server) const;
  // Adds the READ, or the call, whose bytes the next advance() decides about. May be called again without
  // advance() in between, when the fetched bytes were thrown away.
  void add_read(txn::BatchSet& batches);
  // Before that: adds the CASes that belong to it; `locking` may be null. All lookups of a batch add their
  // CASes before any of them adds its READ: a place from the cache may be other memory by now, which another
  // lookup READs, and a CAS may overtake an earlier READ.
  void add_atomics(txn::BatchSet& batches, Locking* locking);
  // Decides about the bytes. If it needs the slot directory it returns the slot and must be called again,
  // with the same bytes, once the directory decides; otherwise 0.
  std::uint32_t advance(txn::WorkerState& worker, Visibility& visibility);
  // The last advance() saw bytes that a writer was changing; another READ in a later turn may succeed.
  bool waiting() const { return waiting_; }
  // While waiting(), or failed: another transaction holds the record, which was the key's when it was READ.
  // False where the record could not be read whole, and may be other memory by now.
  bool locked_by_other() const { return locked_by_other_; }
  // Where locked_by_other(), or failed because of that: the record counts as absent.
  void pass_over();
  bool passed_over() const { return passed_over_; }
  // While waiting(): the lock word that was seen and where, for the lock resolver. 0 if none.
  layout::HeaderWord lock_seen() const { return lock_seen_; }
  layout::GlobalAddress lock_address() const { return lock_address_; }
  // 0 for a bucket chain's lock.
  std::uint32_t lock_body_bytes() const { return state_ == State::bucket ? 0 : table_->record.body_bytes(); }

  std::uint32_t body_bytes() const { return table_->record.body_bytes(); }

  // absent without a record: gives back the memory that it READ into.
  void drop_bytes() { buffer_.reset(); }

  const Status& error() const { return error_; }
  // failed: because of bytes that are damaged, if its table is still there.
  bool damaged() const { return damaged_; }
  // present: the visible version's body.
  std::span<const std::byte> body() const { return body_; }
  std::span<const std::byte> payload() const { return layout::body_payload(body_); }

  const storage::Table& table() const { return *table_; }
  // A record with this key exists, visible or not (present or absent).
  bool has_record() const { return !record_.null(); }
  layout::GlobalAddress record() const { return record_; }
  // The record's current version at the time of the READ, and whether it is the one that the snapshot sees.
  const layout::BodyHeader& current() const { return current_; }
  bool current_is_visible() const { return current_is_visible_; }
  // The header word in that READ. If it is unlocked and equal to current()'s, the record was unlocked at some
  // moment of the READ.
  layout::HeaderWord header_seen() const { return header_seen_; }

  // With a record, after read_with_lease(): the newest timestamp at which a reader counts on the version that
  // the READ showed. A transaction that locks the record after that commits later than this.
  std::uint64_t lease() const;

  // With a record, after read_with_lock(true): the transaction that waited for the record when it was READ.
  layout::HeaderWord waiter() const { return waiter_; }
  // With a record, after read_with_lock() or read_with_shared_lock(), where records have reader words: that
  // word in the last READ.
  layout::HeaderWord reader(std::uint32_t index) const {
    return layout::HeaderWord(layout::load_word(buffer_.data() + table_->record.reader_offset(index)));
  }

  // absent without a record: the buckets of the chain in order, the array that the first one is in and its
  // lock word, and locations of records whose hash collides with the key's.
  const Chain& chain() const { return chain_; }
  const layout::BucketArray& array() const { return array_; }
  layout::HeaderWord chain_lock() const { return chain_lock_; }
  const std::vector<std::uint64_t>& collisions() const { return collisions_; }
  // The checksums of the chain's buckets, in order.
  const ChainChecksums& chain_checksums() const { return chain_checksums_; }

 private:
  // The cache knows the low bits only.
  std::uint16_t incarnation_mask() const { return from_cache_ ? 0xff : 0xffff; }
  void start_chain();
  void post_find(txn::BatchSet& batches);
  void remember(txn::WorkerState& worker, const layout::Bucket& bucket) const;
  void see_found(txn::WorkerState& worker, Visibility& visibility);
  void enter_array(const layout::BucketArray& array);
  void see_bucket(txn::WorkerState& worker, Visibility& visibility);
  void follow_forward(const layout::Bucket& bucket);
  void see_record(txn::WorkerState& worker, Visibility& visibility);
  void wait_for_bucket(const layout::Bucket& bucket);
  void wait_for_record(layout::HeaderWord header, Visibility& visibility);
  void see_steady_record(layout::HeaderWord header, Visibility& visibility);
  void mismatch(txn::WorkerState& worker);
  void candidate(std::span<const std::byte> body);
  void decide(txn::WorkerState& worker, Visibility& visibility, ReadDecision decision);
  bool is_birth(const layout::BodyHeader& version) const;
  void step_back();
  void restart();
  void fail_long_chain();
  void fail_damaged(const char* what, layout::GlobalAddress address);
  void fail(ErrorCode code, const char* message);

  // The small ones side by side: a transaction may have very many lookups.
  const storage::Table* table_ = nullptr;
  std::span<const std::byte> key_;  // empty: any key
  std::uint64_t key_hash_ = 0;
  std::uint64_t region_bytes_ = 0;
  State state_ = State::idle;
  bool waiting_ = false;
  bool locked_by_other_ = false;
  bool passed_over_ = false;
  bool from_cache_ = false;
  bool wants_lock_ = false;
  bool expects_absent_ = false;
  bool read_with_lock_ = false;  // the operation that locks the record reads it, too
  bool shares_ = false;
  bool wants_lease_ = false;
  bool reads_waiter_ = false;
  bool deciding_ = false;  // candidate_ waits for the slot directory
  bool may_be_half_written_ = false;
  bool current_is_visible_ = false;
  bool finds_ = false;  // by key: the memory server looks for it
  bool damaged_ = false;
  layout::ServerId server_ = 0;  // by key
  std::uint16_t incarnation_ = 0;
  std::uint32_t share_ = 0;
  std::uint32_t slot_of_half_ = 0;  // asked for, of a record that does not certify; 0: none
  std::uint32_t restarts_ = 0;
  std::uint32_t waits_ = 0;
  std::uint32_t next_entry_ = 0;
  layout::HeaderWord waiter_;
  layout::BucketArray array_;
  layout::GlobalAddress bucket_;
  layout::GlobalAddress record_;
  layout::BodyHeader current_;
  layout::HeaderWord header_seen_;
  layout::BodyHeader candidate_;
  std::span<const std::byte> body_;
  std::unique_ptr<VersionWalk> walk_;  // once an older version is needed
  txn::RowBuffer buffer_;
  const std::byte* read_elsewhere_ = nullptr;
  std::unique_ptr<calls::FoundPieces> found_;  // by key, if the memory server looks for it
  Chain chain_;
  ChainChecksums chain_checksums_;
  layout::HeaderWord chain_lock_;
  std::vector<std::uint64_t> collisions_;
  layout::HeaderWord lock_seen_;
  layout::GlobalAddress lock_address_;
  SteadyBytes steady_;
  Status error_;
};

}  // namespace namdb::protocol
