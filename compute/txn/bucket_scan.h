// Reading a whole table in a transaction: bucket ranges in large READs, then the records that they
// lead to, in parallel. Needs no order and takes no lock; records inserted later are invisible anyway.
#pragma once

#include <optional>
#include <vector>

#include "common/layout/bucket.h"
#include "common/layout/placement.h"
#include "compute/txn/damage.h"
#include "compute/txn/lookup_runner.h"
#include "compute/txn/place_order.h"
#include "compute/txn/place_reader.h"

namespace namdb::protocol {

// How far a scan is: all main buckets before this one are done. It holds when the buckets are doubled.
struct ScanPosition {
  std::size_t server = 0;
  std::uint64_t bucket = 0;
  std::uint64_t bucket_count = 0;  // of that server, when `bucket` was noted
  friend bool operator==(const ScanPosition&, const ScanPosition&) = default;
};

// Whether there is a row now of which the transaction sees no version; and whether the row was deleted for
// the transaction before: then its current version was not READ.
bool has_newer_row(const Lookup& lookup);
bool was_deleted_before(const Lookup& lookup);

class BucketScan : public txn::TableScan {
 public:
  BucketScan(TransactionState& transaction, storage::TableRef table, ScanPosition from = {});
  // by_address: the places of all rows but the first ones are gathered before their READs, so that neighbours
  // are READ together.
  enum class Order : std::uint8_t { as_found, by_address };
  BucketScan(TransactionState& transaction, storage::TableRef table, Order order);
  // Rows with these hashes only, from the chains that they are in. Under timestamps, rows come as well whose
  // first version is newer than the transaction.
  BucketScan(TransactionState& transaction, storage::TableRef table, layout::HashInterval hashes);
  reactor::Task<Status> next(std::vector<layout::Row>& rows) override;
  reactor::Task<Status> next_block(txn::RowBlock& rows) override;
  // For readers that need no single snapshot: the scan ends after the buckets that it has begun, ...
  void wind_up() { winding_up_ = true; }
  // ... and after its end another scan continues from here.
  ScanPosition position() const;
  bool complete() const { return began_ && next_server_ >= arrays_.size(); }

 private:
  // A bucket to read, and the array that it belongs to.
  struct BucketPlace {
    layout::GlobalAddress address;
    layout::BucketArray array;
    bool main = false;
    layout::GlobalAddress chain = {};  // its main bucket, unless it is that
    layout::GlobalAddress lock() const { return main ? address : chain; }
    SteadyBytes steady = {};
    bool doubted = false;  // the chain's lock word is READ along
  };
  void start();
  reactor::Task<Status> read_buckets();
  // True if the places that are there are to be READ before others are gathered.
  reactor::Task<bool> order_places();
  reactor::Task<Status> read_records(txn::RowBlock* rows);
  // With a lookup each; `together`: those that have not been READ.
  reactor::Task<Status> look_up(std::vector<PlaceReader::Left> places, Together together,
                                txn::RowBlock* rows);
  // The row, or what the transaction itself has made of it.
  void add_row(std::span<const std::byte> row, txn::RowBlock& rows);
  bool main_buckets_left() const;
  BucketPlace next_main_bucket();
  // Whether a chain may have rows that are wanted, and has one of them that hash.
  bool wanted(const layout::BucketArray& array, std::size_t server, std::uint64_t index) const;
  void start_in_hashes();
  // The chain is being changed: a key that is not found in it may still be in the table.
  bool unsettled(const layout::Bucket& bucket, const BucketPlace& place) const;
  // Notes that the bucket does not certify. True: it is damaged.
  bool see_uncertified(const layout::Bucket& bucket, layout::HeaderWord lock, BucketPlace& place);
  Status see_bucket(const layout::Bucket& bucket, const BucketPlace& place);
  void own_inserts(txn::RowBlock& rows);

  TransactionState& transaction_;
  storage::TableRef table_;
  txn::BatchSet batches_;
  std::vector<layout::BucketArray> arrays_;  // as the scan found them; chains that grow since are forwarded
  std::size_t next_server_ = 0;
  std::uint64_t next_bucket_ = 0;
  ScanPosition from_;
  std::optional<layout::HashInterval> hashes_;
  bool newer_too_ = false;
  bool winding_up_ = false;
  // Buckets to read (again): torn ones, the rest of chains, and where forwards lead.
  std::vector<BucketPlace> again_;
  std::vector<RecordPlace> places_;  // to READ, the last one first
  // How many places are gathered before records are READ.
  std::size_t gathers_;
  Order order_ = Order::as_found;
  std::size_t reads_at_once_;
  PlaceReader reader_;
  bool gathered_ = false;  // places_ is sorted, and nothing else comes there until it is READ
  std::uint32_t waits_ = 0;
  LockWait wait_;
  bool began_ = false;
  bool ended_ = false;
};

}  // namespace namdb::protocol
