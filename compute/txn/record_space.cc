#include "compute/txn/record_space.h"

#include <algorithm>

#include "common/layout/bucket.h"
#include "proto/control.pb.h"

namespace namdb::txn {

using layout::GlobalAddress;
using layout::ServerId;

namespace {

// Sizes of reservations: of the first call, and the most of later ones.
constexpr std::uint64_t kFirstPieces = 16;
constexpr std::uint64_t kFirstReservation_bytes = 8U << 10;
constexpr std::uint64_t kMaxReservation_bytes = 4U << 20;
constexpr std::uint64_t kMaxPieces = 16U << 10;
// Of one RETURN_MEMORY: the memory server clears them in one turn.
constexpr std::size_t kMaxReturned = 4096;

std::uint64_t pieces(std::uint64_t bytes, std::uint64_t unit_bytes) {
  return std::max<std::uint64_t>(bytes / unit_bytes, 1);
}

}  // namespace

RecordSpace::Reservation& RecordSpace::reservation(const storage::Table& table, ServerId server, Kind kind) {
  Reservation& reservation = reservations_[{table.id, {server, kind}}];
  if (reservation.unit_bytes == 0) {
    reservation.unit_bytes = kind == Kind::record ? table.record.record_bytes() : layout::kBucket_bytes;
    reservation.next_count = std::min(kFirstPieces, pieces(kFirstReservation_bytes, reservation.unit_bytes));
  }
  reservation.used_ns = cluster_.executor().now_ns();
  return reservation;
}

reactor::Task<Status> RecordSpace::refill(const storage::Table& table, ServerId server, Kind kind,
                                          fabric::OperationCounters* counters) {
  const auto count = static_cast<std::uint32_t>(reservation(table, server, kind).next_count);
  control::AllocateReply reply;
  Status status;
  if (kind == Kind::record) {
    control::AllocateRecordsRequest request;
    request.set_table(table.id);
    request.set_count(count);
    status = co_await cluster_.call(server, control::ALLOCATE_RECORDS, request, &reply, counters);
  } else {
    control::AllocateBucketsRequest request;
    request.set_table(table.id);
    request.set_count(count);
    status = co_await cluster_.call(server, control::ALLOCATE_BUCKETS, request, &reply, counters);
  }
  if (!status.ok()) co_return status;
  const std::uint64_t region_bytes = cluster_.region_map(server).limit_bytes;
  if (kind == Kind::record && reply.grant() == 0)
    co_return Status(ErrorCode::protocol_violation, "memory server granted record space without a number");
  Reservation& granted = reservation(table, server, kind);
  const std::uint64_t unit = granted.unit_bytes;
  for (const control::Range& range : reply.ranges()) {
    if (range.offset() % 8 != 0 || range.length_bytes() > region_bytes ||
        range.offset() > region_bytes - range.length_bytes()) {
      co_return Status(ErrorCode::protocol_violation, "memory server granted memory outside its region");
    }
    for (std::uint64_t used = 0; used + unit <= range.length_bytes(); used += unit) {
      granted.pieces.push_back({GlobalAddress(server, range.offset() + used), reply.grant()});
    }
  }
  granted.next_count = std::min({granted.next_count * 2, pieces(kMaxReservation_bytes, unit), kMaxPieces});
  co_return Status();
}

reactor::Task<Result<GrantedRecord>> RecordSpace::take(const storage::Table& table, ServerId server,
                                                       Kind kind, fabric::OperationCounters& counters) {
  // Another coroutine may take what this one's refill brought.
  while (reservation(table, server, kind).pieces.empty()) {
    Status status = co_await refill(table, server, kind, &counters);
    if (!status.ok()) co_return Result<GrantedRecord>(std::move(status));
  }
  Reservation& held = reservation(table, server, kind);
  const GrantedRecord taken = held.pieces.back();
  held.pieces.pop_back();
  if (held.expected != 0) --held.expected;
  co_return Result<GrantedRecord>(taken);
}

reactor::Task<Result<GrantedRecord>> RecordSpace::take_record(const storage::Table& table, ServerId server,
                                                              fabric::OperationCounters& counters) {
  return take(table, server, Kind::record, counters);
}

void RecordSpace::take_reserved(const storage::Table& table, ServerId server, std::size_t count,
                                Records& records) {
  Reservation& held = reservation(table, server, Kind::record);
  count = std::min(count, held.pieces.size());
  records.insert(records.end(), held.pieces.rbegin(),
                 held.pieces.rbegin() + static_cast<std::ptrdiff_t>(count));
  held.pieces.resize(held.pieces.size() - count);
  held.expected -= std::min<std::uint64_t>(held.expected, count);
}

reactor::Task<Result<GlobalAddress>> RecordSpace::take_bucket(const storage::Table& table, ServerId server,
                                                              fabric::OperationCounters& counters) {
  const Result<GrantedRecord> taken = co_await take(table, server, Kind::bucket, counters);
  if (!taken.ok()) co_return taken.status();
  co_return taken->address;
}

void RecordSpace::expect_records(const storage::TableRef& table, ServerId server, std::uint64_t count) {
  Reservation& held = reservation(*table, server, Kind::record);
  if (held.pieces.size() >= count || gate_.closing()) return;
  held.expected = std::max(held.expected, count);
  if (!std::exchange(held.fills, true)) cluster_.executor().spawn(gate_, fill(table, server));
}

reactor::Task<void> RecordSpace::fill(storage::TableRef table, ServerId server) {
  Status status;
  while (status.ok() && !gate_.closing() && !cluster_.lacks(server)) {
    const Reservation& held = reservation(*table, server, Kind::record);
    if (held.pieces.size() >= held.expected) break;
    status = co_await refill(*table, server, Kind::record, nullptr);
  }
  Reservation& held = reservation(*table, server, Kind::record);
  held.expected = 0;
  held.fills = false;
}

void RecordSpace::give_back_record(const storage::Table& table, GrantedRecord record) {
  reservation(table, record.address.server(), Kind::record).pieces.push_back(record);
}

void RecordSpace::give_back_bucket(const storage::Table& table, GlobalAddress bucket) {
  reservation(table, bucket.server(), Kind::bucket).pieces.push_back({bucket, 0});
}

reactor::Task<void> RecordSpace::return_idle() {
  const std::uint64_t now_ns = cluster_.executor().now_ns();
  return return_unused(now_ns < kIdle_ns ? 0 : now_ns - kIdle_ns);
}

reactor::Task<void> RecordSpace::return_all() {
  return return_unused(~std::uint64_t{0});
}

reactor::Task<void> RecordSpace::return_unused(std::uint64_t used_before_ns) {
  // Taken out first: while a call is under way no transaction gets the space that it gives back.
  std::map<ReservationKey, Reservation> unused;
  for (auto entry = reservations_.begin(); entry != reservations_.end();) {
    const auto next = std::next(entry);
    if (entry->second.used_ns < used_before_ns) unused.insert(reservations_.extract(entry));
    entry = next;
  }
  for (auto& [key, reservation] : unused) {
    std::ranges::sort(reservation.pieces, {},
                      [](const GrantedRecord& piece) { return piece.address.offset(); });
    std::size_t next = 0;
    while (next < reservation.pieces.size() && !cluster_.lacks(key.second.first)) {
      control::ReturnMemoryRequest request;
      request.set_table(key.first);
      request.set_buckets(key.second.second == Kind::bucket);
      control::Range* range = nullptr;
      const std::size_t end = std::min(next + kMaxReturned, reservation.pieces.size());
      for (; next < end; ++next) {
        const std::uint64_t offset = reservation.pieces[next].address.offset();
        if (range == nullptr || range->offset() + range->length_bytes() != offset) {
          range = request.add_ranges();
          range->set_offset(offset);
        }
        range->set_length_bytes(range->length_bytes() + reservation.unit_bytes);
      }
      // An error means that the table or the server is gone, and the memory with it.
      const Status status =
          co_await cluster_.call(key.second.first, control::RETURN_MEMORY, request, nullptr);
      static_cast<void>(status);
    }
  }
}

void RecordSpace::forget(std::uint32_t table) {
  std::erase_if(reservations_, [table](const auto& entry) { return entry.first.first == table; });
}

}  // namespace namdb::txn
