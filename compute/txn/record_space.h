// Space for records and indirect buckets that a worker has reserved at the memory servers, by table and
// server, so that an insert needs no call of its own. Reservations grow with use, up to bounds in bytes and
// in number, and go back when they were not used for a while, and when the worker ends. Those of transactions
// with very many rows grow while the transaction reads and checks them.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/layout/global_address.h"
#include "common/reactor/executor.h"
#include "common/reactor/stable_vector.h"
#include "compute/api/table.h"
#include "compute/cluster/cluster.h"

namespace namdb::txn {

// A place for a record, and the number under which the memory server granted it
// (memory/region/grant_numbers.h). The creator of the record gives it layout::incarnation_of(number), and
// names the number in the journal.
struct GrantedRecord {
  layout::GlobalAddress address;
  std::uint64_t number = 0;
};

class RecordSpace {
 public:
  // How long a reservation may lie unused.
  static constexpr std::uint64_t kIdle_ns = 10 * kSecond_ns;

  explicit RecordSpace(Cluster& cluster) : cluster_(cluster) {}
  RecordSpace(const RecordSpace&) = delete;
  RecordSpace& operator=(const RecordSpace&) = delete;

  // Space for one record, or one bucket, of the table on that server; its bytes are undefined. Suspends only
  // when the reservation is used up. out_of_memory when the region is full.
  reactor::Task<Result<GrantedRecord>> take_record(const storage::Table& table, layout::ServerId server,
                                                   fabric::OperationCounters& counters);
  // Appends space for at most so many records more, as far as it is reserved.
  using Records = reactor::PooledInlinedVector<GrantedRecord, 1>;
  void take_reserved(const storage::Table& table, layout::ServerId server, std::size_t count,
                     Records& records);
  reactor::Task<Result<layout::GlobalAddress>> take_bucket(const storage::Table& table,
                                                           layout::ServerId server,
                                                           fabric::OperationCounters& counters);
  // A transaction will take so many records: the memory server is asked for them while the transaction goes
  // on. Where it has none, take_record() says so.
  void expect_records(const storage::TableRef& table, layout::ServerId server, std::uint64_t count);
  // Taken, but nothing was ever written there: an abort before install.
  void give_back_record(const storage::Table& table, GrantedRecord record);
  void give_back_bucket(const storage::Table& table, layout::GlobalAddress bucket);
  // Gives back to the memory servers the reservations that were not used for kIdle_ns.
  reactor::Task<void> return_idle();
  // Waits for calls in the background; before return_all() and destruction. No more are begun.
  reactor::Task<void> close() { co_await gate_.close(); }
  // Gives back everything: no transaction runs any more.
  reactor::Task<void> return_all();
  // The table is gone.
  void forget(std::uint32_t table);

 private:
  struct Reservation {
    std::vector<GrantedRecord> pieces;  // buckets have no number
    std::uint64_t unit_bytes = 0;       // of a piece
    std::uint64_t next_count = 0;       // pieces to ask for
    std::uint64_t used_ns = 0;          // when it was last taken from or given back to
    std::uint64_t expected = 0;         // pieces that will be taken, as far as that is known
    bool fills = false;                 // fill() is under way
  };
  enum class Kind : std::uint8_t { record, bucket };
  using ReservationKey = std::pair<std::uint32_t, std::pair<layout::ServerId, Kind>>;
  // Made if there is none; used now.
  Reservation& reservation(const storage::Table& table, layout::ServerId server, Kind kind);
  reactor::Task<Result<GrantedRecord>> take(const storage::Table& table, layout::ServerId server, Kind kind,
                                            fabric::OperationCounters& counters);
  // `counters` may be null.
  reactor::Task<Status> refill(const storage::Table& table, layout::ServerId server, Kind kind,
                               fabric::OperationCounters* counters);
  reactor::Task<void> fill(storage::TableRef table, layout::ServerId server);
  reactor::Task<void> return_unused(std::uint64_t used_before_ns);

  Cluster& cluster_;
  std::map<ReservationKey, Reservation> reservations_;
  reactor::Gate gate_;
};

}  // namespace namdb::txn
