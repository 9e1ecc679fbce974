// The calls of MemoryServer about the memory of records and buckets: reserved, given back, and what waits to
// be freed.
#include "memory/server/server.h"

#include <algorithm>

namespace namdb::memory {
namespace {

// After the system had no memory for the region, it is asked again.
constexpr std::uint64_t kRefusal_ns = kSecond_ns;
// While a caller waits for extents, it is looked whether somebody wants it fenced.
constexpr std::uint64_t kLook_ns = 50 * kMillisecond_ns;
// So much of the region's limit, one part of so many, may be journals that wait for the repair of their
// slots; a lease beyond waits for that so long.
constexpr std::uint64_t kDeadJournalsPart = 8;
constexpr std::uint64_t kRepairPatience_ns = 5 * kSecond_ns;
// A caller that has to move a version and finds no room waits for others to be freed, for so many of the
// collector's intervals. Its own snapshot may be what keeps them: hence not for longer.
constexpr std::uint64_t kVersionIntervals = 2;
// A version that has aged for so long is kept by somebody else.
constexpr std::uint64_t kKept_ns = 2 * kSecond_ns;

}  // namespace

Status MemoryServer::allocate(fabric::PeerId peer, std::uint32_t table, std::uint32_t count, bool buckets,
                              control::AllocateReply& reply) {
  Status status =
      buckets ? tables_.allocate_buckets(table, count, reply) : tables_.allocate_records(table, count, reply);
  if (!status.ok()) {
    collector_.wake();  // a full region is searched for deleted rows
    return status;
  }
  reservations_.granted(peers_.find(peer)->compute_id, table, buckets, reply);
  growth_.consider(table);
  return status;
}

bool MemoryServer::caller_is_gone(fabric::PeerId peer) {
  const Peer* const caller = peers_.find(peer);
  return stopping_ || caller == nullptr || peers_.fenced(caller->compute_id);
}

reactor::Task<bool> MemoryServer::more_extents(fabric::PeerId peer, std::uint64_t deadline_ns) {
  const std::uint64_t before = collector_.returned();
  while (collector_.returned() == before) {
    if (caller_is_gone(peer)) co_return false;
    const std::uint64_t now_ns = executor_.now_ns();
    if (!collector_.returns_extents() || now_ns >= deadline_ns) co_return false;
    co_await collector_.wait_for_return(std::min(deadline_ns, now_ns + kLook_ns));
  }
  co_return !stopping_ && peers_.find(peer) != nullptr;
}

reactor::Task<Result<Block>> MemoryServer::take_journal(fabric::PeerId peer) {
  const std::uint64_t deadline_ns = executor_.now_ns() + kRepairPatience_ns;
  while (true) {
    const bool too_many = slots_->dead_journal_bytes() > region_->limit_bytes() / kDeadJournalsPart;
    if (!too_many) {
      auto journal = slots_->allocate_journal();
      if (journal.ok() || slots_->dead_count() == 0) co_return journal;
    }
    const std::uint64_t now_ns = executor_.now_ns();
    if (caller_is_gone(peer) || now_ns >= deadline_ns) {
      co_return Result<Block>(Status(
          ErrorCode::out_of_memory, "the journals of compute servers that died take too much of the region",
          "they are free again when a compute server has repaired what those left"));
    }
    // Repair is woken by heartbeats, the caller's own ones among them.
    co_await closed_.wait_until(std::min(deadline_ns, now_ns + kLook_ns));
  }
}

Result<std::uint64_t> MemoryServer::lengthen_region(std::uint64_t length_bytes) {
  const std::uint64_t now_ns = executor_.now_ns();
  if (fabric_ == nullptr || (region_refused_ns_ != 0 && now_ns < region_refused_ns_ + kRefusal_ns)) {
    return Status(ErrorCode::out_of_memory, "the region does not grow now");
  }
  const Result<std::uint64_t> longer = region_growth_.lengthen(length_bytes);
  if (!longer.ok()) {
    if (region_refused_ns_ == 0) notice("the region does not grow: " + longer.status().to_string());
    region_refused_ns_ = std::max<std::uint64_t>(now_ns, 1);
    return longer;
  }
  region_refused_ns_ = 0;
  // Before anybody is given an address there.
  fabric_->grow(*longer);
  if (*longer == region_->limit_bytes()) notice("the region has grown to its limit");
  return longer;
}

Status MemoryServer::retire_buckets(const control::RetireBucketsRequest& request) {
  Status status = growth_.retire(request);
  collector_.wake();
  return status;
}

Status MemoryServer::return_memory(const control::ReturnMemoryRequest& request) {
  auto offsets = tables_.returned(request);
  if (!offsets.ok()) return offsets.status();
  reservations_.returned(request.table(), request.buckets(), *offsets);
  // The worker that held the memory gives it back itself: none of its operations is on its way there, and no
  // other worker ever knew of it.
  if (request.buckets()) {
    tables_.free_buckets(request.table(), *offsets);
  } else {
    for (const std::uint64_t offset : *offsets) tables_.free_record(request.table(), offset);
  }
  return Status();
}

Status MemoryServer::note_deletes(std::string_view request) {
  auto list = RecordList::parse(request);
  if (!list.ok()) return list.status();
  const TablePointer table = tables_.find(list->table);
  if (!table) return Status(ErrorCode::undefined_table, "no such table on this memory server");
  for (const std::uint64_t record : list->offsets) {
    if (table->records.used(record)) tombstones_.note(list->table, record);
  }
  collector_.wake();
  return Status();
}

reactor::Task<bool> MemoryServer::more_room_for_versions(fabric::PeerId peer, std::uint64_t deadline_ns) {
  const std::uint64_t before = old_versions_.collected();
  const Collector::Haste haste(collector_);
  while (old_versions_.collected() == before) {
    const std::uint64_t now_ns = executor_.now_ns();
    if (caller_is_gone(peer) || old_versions_.empty() || now_ns >= deadline_ns) co_return false;
    co_await collector_.wait_for_return(std::min(deadline_ns, now_ns + kLook_ns));
  }
  co_return !caller_is_gone(peer);
}

reactor::Task<Status> MemoryServer::move_versions(fabric::PeerId peer, std::string_view request) {
  auto list = RecordList::parse(request);
  if (!list.ok()) co_return list.status();
  const std::uint64_t deadline_ns =
      executor_.now_ns() + std::min(kVersionIntervals * options_.collect_interval_ns, kKept_ns);
  while (true) {
    Status status = co_await mover_.move(list->table, list->offsets);
    collector_.wake();
    if (status.ok() || status.code() != ErrorCode::out_of_memory) co_return status;
    const bool worth_a_try = co_await more_room_for_versions(peer, deadline_ns);
    if (worth_a_try) continue;
    // A transaction that begins anew sees newer versions only: the older ones are freed then.
    const std::uint64_t now_ns = executor_.now_ns();
    if (old_versions_.empty() || now_ns - old_versions_.aging_since_ns(now_ns) > kKept_ns) co_return status;
    co_return Status(ErrorCode::ring_full, "the region is full of old versions that are about to be freed");
  }
}

Status MemoryServer::ended_computes(const control::EndedComputesRequest& request,
                                    control::EndedComputesReply& reply) const {
  for (const std::string& compute_id : request.compute_ids()) {
    if (ended(compute_id, peers_, *slots_)) reply.add_compute_ids(compute_id);
  }
  return Status();
}

}  // namespace namdb::memory
