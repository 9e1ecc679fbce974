// Space for records and indirect buckets that a worker has reserved at the memory servers, by table and
// server, so that an insert needs no call of its own. Reservations grow with use.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/layout/global_address.h"
#include "compute/storage/table.h"
#include "compute/txn/cluster.h"

namespace namdb::txn {

class RecordSpace {
 public:
  explicit RecordSpace(Cluster& cluster) : cluster_(cluster) {}

  // Space for one record, or one bucket, of the table on that server; its bytes are undefined. Suspends only
  // when the reservation is used up. out_of_memory when the region is full.
  reactor::Task<Result<layout::GlobalAddress>> take_record(const storage::Table& table,
                                                           layout::ServerId server,
                                                           fabric::OperationCounters& counters);
  reactor::Task<Result<layout::GlobalAddress>> take_bucket(const storage::Table& table,
                                                           layout::ServerId server,
                                                           fabric::OperationCounters& counters);
  // Taken, but nothing was ever written there: an abort before install.
  void give_back_record(const storage::Table& table, layout::GlobalAddress record);
  void give_back_bucket(const storage::Table& table, layout::GlobalAddress bucket);
  // Makes sure that at least `count` records are at hand, so that later inserts need no call.
  reactor::Task<Status> reserve_records(const storage::Table& table, layout::ServerId server,
                                        std::uint32_t count, fabric::OperationCounters& counters);
  // The table is gone.
  void forget(std::uint32_t table);

 private:
  struct Reservation {
    std::vector<std::uint64_t> offsets;
    std::uint32_t next_count = 16;
  };
  enum class Kind : std::uint8_t { record, bucket };
  using ReservationKey = std::pair<std::uint32_t, std::pair<layout::ServerId, Kind>>;
  reactor::Task<Result<layout::GlobalAddress>> take(const storage::Table& table, layout::ServerId server,
                                                    Kind kind, fabric::OperationCounters& counters);
  reactor::Task<Status> refill(const storage::Table& table, layout::ServerId server, Kind kind,
                               std::uint32_t at_least, fabric::OperationCounters& counters);
  Cluster& cluster_;
  std::map<ReservationKey, Reservation> reservations_;
};

}  // namespace namdb::txn
