#include "compute/txn/record_space.h"

#include <algorithm>

#include "common/layout/bucket.h"

namespace namdb::txn {

using layout::GlobalAddress;
using layout::ServerId;

namespace {

constexpr std::uint32_t kMaxReservation = 1024;

}  // namespace

reactor::Task<Status> RecordSpace::refill(const storage::Table& table, ServerId server, Kind kind,
                                          std::uint32_t at_least, fabric::OperationCounters& counters) {
  const ReservationKey key{table.id, {server, kind}};
  const std::uint32_t count = std::max(at_least, reservations_[key].next_count);
  control::AllocateReply reply;
  Status status;
  if (kind == Kind::record) {
    control::AllocateRecordsRequest request;
    request.set_table(table.id);
    request.set_count(count);
    status = co_await cluster_.call(server, control::ALLOCATE_RECORDS, request, &reply, &counters);
  } else {
    control::AllocateBucketsRequest request;
    request.set_table(table.id);
    request.set_count(count);
    status = co_await cluster_.call(server, control::ALLOCATE_BUCKETS, request, &reply, &counters);
  }
  if (!status.ok()) co_return status;
  const std::uint64_t unit = kind == Kind::record ? table.record.record_bytes() : layout::kBucket_bytes;
  const std::uint64_t region_bytes = cluster_.region_map(server).region_bytes;
  Reservation& reservation = reservations_[key];
  for (const control::Range& range : reply.ranges()) {
    if (range.offset() % 8 != 0 || range.length_bytes() > region_bytes ||
        range.offset() > region_bytes - range.length_bytes()) {
      co_return Status(ErrorCode::protocol_violation, "memory server granted memory outside its region");
    }
    for (std::uint64_t used = 0; used + unit <= range.length_bytes(); used += unit) {
      reservation.offsets.push_back(range.offset() + used);
    }
  }
  reservation.next_count = std::min(reservation.next_count * 2, kMaxReservation);
  co_return Status();
}

reactor::Task<Result<GlobalAddress>> RecordSpace::take(const storage::Table& table, ServerId server,
                                                       Kind kind, fabric::OperationCounters& counters) {
  const ReservationKey key{table.id, {server, kind}};
  // Another coroutine may take what this one's refill brought.
  while (reservations_[key].offsets.empty()) {
    Status status = co_await refill(table, server, kind, 1, counters);
    if (!status.ok()) co_return Result<GlobalAddress>(std::move(status));
  }
  std::vector<std::uint64_t>& offsets = reservations_[key].offsets;
  const GlobalAddress address(server, offsets.back());
  offsets.pop_back();
  co_return Result<GlobalAddress>(address);
}

reactor::Task<Result<GlobalAddress>> RecordSpace::take_record(const storage::Table& table, ServerId server,
                                                              fabric::OperationCounters& counters) {
  return take(table, server, Kind::record, counters);
}

reactor::Task<Result<GlobalAddress>> RecordSpace::take_bucket(const storage::Table& table, ServerId server,
                                                              fabric::OperationCounters& counters) {
  return take(table, server, Kind::bucket, counters);
}

void RecordSpace::give_back_record(const storage::Table& table, GlobalAddress record) {
  reservations_[{table.id, {record.server(), Kind::record}}].offsets.push_back(record.offset());
}

void RecordSpace::give_back_bucket(const storage::Table& table, GlobalAddress bucket) {
  reservations_[{table.id, {bucket.server(), Kind::bucket}}].offsets.push_back(bucket.offset());
}

reactor::Task<Status> RecordSpace::reserve_records(const storage::Table& table, ServerId server,
                                                   std::uint32_t count, fabric::OperationCounters& counters) {
  while (reservations_[{table.id, {server, Kind::record}}].offsets.size() < count) {
    Status status = co_await refill(table, server, Kind::record, count, counters);
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

void RecordSpace::forget(std::uint32_t table) {
  std::erase_if(reservations_, [table](const auto& entry) { return entry.first.first == table; });
}

}  // namespace namdb::txn
