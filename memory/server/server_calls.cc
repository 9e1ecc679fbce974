// The calls of MemoryServer: every request is outside input.
#include <algorithm>
#include <span>
#include <vector>

#include "common/calls/find_calls.h"
#include "common/calls/hot_calls.h"
#include "common/calls/lock_calls.h"
#include "common/calls/stage_calls.h"
#include "common/layout/timestamp_vector.h"
#include "memory/calls/find.h"
#include "memory/calls/handle.h"
#include "memory/calls/stage.h"
#include "memory/calls/vector_part.h"
#include "memory/server/server.h"

namespace namdb::memory {
namespace {

using calls::handle;
using calls::malformed;
using calls::parse;
using calls::unknown_method;

// Bytes of a journal that are cleared between two yields.
constexpr std::uint64_t kZeroStep_bytes = 256U << 10;
// A call that finds the region full waits at most so many of the least times between two reuse epochs: what
// was freed before it is back in about two, if no transaction keeps it.
constexpr std::uint64_t kReturnIntervals = 5;
// Locks that one heartbeat's reply names.
constexpr int kMaxHeldLocks = 32;

control::Slot describe(const Slot& slot) {
  control::Slot message;
  message.set_slot(slot.id);
  switch (slot.state) {
    case SlotState::leased:
      message.set_state(control::SLOT_LEASED);
      break;
    case SlotState::dead:
      message.set_state(control::SLOT_DEAD);
      break;
    case SlotState::repairing:
      message.set_state(control::SLOT_REPAIRING);
      break;
    case SlotState::closed:
      message.set_state(control::SLOT_CLOSED);
      break;
  }
  message.set_compute_id(slot.compute_id);
  message.set_vector_position(slot.position);
  message.set_journal_server(0);
  message.set_journal_offset(slot.journal_offset);
  message.set_journal_bytes(slot.journal_bytes);
  for (const auto& [offset, bytes] : slot.rooms) {
    control::Range& room = *message.add_journal_rooms();
    room.set_offset(offset);
    room.set_length_bytes(bytes);
  }
  message.set_final_counter(slot.final_counter);
  return message;
}

}  // namespace

reactor::Task<Status> MemoryServer::on_call(fabric::PeerId peer, std::uint16_t method,
                                            std::string_view request, std::string& reply) {
  if (peers_.find(peer) == nullptr) co_return Status(ErrorCode::fenced, "this channel is not connected");
  Status status = co_await dispatch(peer, method, request, reply);
  if (!takes_extents(method)) co_return status;
  const std::uint64_t deadline_ns = executor_.now_ns() + kReturnIntervals * options_.reuse_interval_ns;
  while (!status.ok() && status.code() == ErrorCode::out_of_memory) {
    const bool worth_a_try = co_await more_extents(peer, deadline_ns);
    if (!worth_a_try) break;
    status = co_await dispatch(peer, method, request, reply);
  }
  co_return status;
}

// A call that has changed nothing when it found the region full, and can be tried again.
bool MemoryServer::takes_extents(std::uint16_t method) {
  switch (method) {
    case control::PREPARE_TABLE:
    case control::PREPARE_INDEX:
    case control::ALLOCATE_RECORDS:
    case control::ALLOCATE_BUCKETS:
      return true;
    default:
      return false;
  }
}

reactor::Task<Status> MemoryServer::dispatch(fabric::PeerId peer, std::uint16_t method,
                                             std::string_view request, std::string& reply) {
  switch (method) {
    case layout::kMoveVersionsMethod:
      co_return co_await move_versions(peer, request);
    case layout::kNoteDeletesMethod:
      co_return note_deletes(request);
    case layout::kPingMethod:
      co_return Status();
    case layout::kSnapshotMethod:
      if (!request.empty()) co_return malformed(method);
      co_return co_await snapshot(reply);
    case layout::kIndexWriteMethod: {
      Status status = co_await indexes_.write(request, reply);
      // A full region is searched for deleted rows.
      if (!status.ok() && status.code() == ErrorCode::out_of_memory) collector_.wake();
      co_return status;
    }
    case layout::kStageMethod:
      co_return co_await run_stage(*region_, fabric_->loopback(), request, reply);
    case layout::kLockMethod:
      co_return co_await lock_waiters_.lock(*region_, fabric_->loopback(), request, reply);
    case layout::kFindMethod:
      co_return co_await find_records(*region_, fabric_->loopback(), options_.server_id, request, reply);
    case control::STATUS: {
      control::StatusRequest in;
      if (!parse(request, in)) co_return malformed(method);
      control::StatusReply out;
      co_await describe_status(in, out);
      out.SerializeToString(&reply);
      co_return Status();
    }
    case control::MEMORY:
      co_return handle<control::MemoryRequest, control::MemoryReply>(method, request, reply,
                                                                     [this](const auto&, auto& out) {
                                                                       out = memory();
                                                                       return Status();
                                                                     });
    case control::FABRIC:
      co_return handle<control::FabricRequest, control::FabricReply>(method, request, reply,
                                                                     [this](const auto&, auto& out) {
                                                                       out = fabric_facts();
                                                                       return Status();
                                                                     });
    case control::SHUTDOWN:
      co_return handle<control::ShutdownRequest, control::ShutdownReply>(
          method, request, reply, [&](const auto&, auto&) {
            if (!peers_.find(peer)->tool) {
              return Status(ErrorCode::insufficient_privilege, "only tools may shut a memory server down");
            }
            request_shutdown();
            return Status();
          });
    case control::HEARTBEAT:
      co_return handle<control::HeartbeatRequest, control::HeartbeatReply>(
          method, request, reply,
          [&](const auto& in, auto& out) { return heartbeat(*peers_.find(peer), in, out); });
    case control::FENCE: {
      control::FenceRequest in;
      if (!parse(request, in)) co_return malformed(method);
      co_return co_await fence(peer, in.compute_id());
    }
    case control::JOIN_CLUSTER:
      co_return handle<control::JoinClusterRequest, control::JoinClusterReply>(
          method, request, reply,
          [&](const auto& in, auto&) { return join_cluster(*peers_.find(peer), in); });
    case control::PREPARE_TABLE: {
      control::PrepareTableRequest in;
      if (!parse(request, in)) co_return malformed(method);
      const Result<std::uint64_t> base = co_await tables_.prepare(in.table());
      if (!base.ok()) co_return base.status();
      control::PrepareTableReply out;
      out.set_bucket_base(*base);
      out.SerializeToString(&reply);
      co_return Status();
    }
    case control::DISCARD_TABLE:
      co_return handle<control::DiscardTableRequest, control::DiscardTableReply>(
          method, request, reply, [this](const auto& in, auto&) { return discard_table(in); });
    case control::ALLOCATE_RECORDS:
      co_return handle<control::AllocateRecordsRequest, control::AllocateReply>(
          method, request, reply,
          [&](const auto& in, auto& out) { return allocate(peer, in.table(), in.count(), false, out); });
    case control::ALLOCATE_BUCKETS:
      co_return handle<control::AllocateBucketsRequest, control::AllocateReply>(
          method, request, reply,
          [&](const auto& in, auto& out) { return allocate(peer, in.table(), in.count(), true, out); });
    case control::RETURN_MEMORY:
      co_return handle<control::ReturnMemoryRequest, control::ReturnMemoryReply>(
          method, request, reply, [this](const auto& in, auto&) { return return_memory(in); });
    case control::LIST_TABLES:
      co_return handle<control::ListTablesRequest, control::ListTablesReply>(
          method, request, reply, [this](const auto&, auto& out) {
            for (const auto& [id, table] : tables_.all()) {
              if (!table->discarded) out.add_tables(id);
            }
            return Status();
          });
    case control::SETTLE_DEPARTED:
      if (slots_) co_return unknown_method(method);  // server 0 knows better
      co_return handle<control::SettleDepartedRequest, control::SettleDepartedReply>(
          method, request, reply, [this](const auto& in, auto&) {
            collector_.settle(departures_.settle(in));
            return Status();
          });
    case control::PLACE_SLOT:
      if (slots_ || region_->map().vector_capacity == 0) co_return unknown_method(method);
      co_return handle<control::PlaceSlotRequest, control::PlaceSlotReply>(
          method, request, reply, [&](const auto& in, auto&) { return place_slot(*peers_.find(peer), in); });
    case control::RETIRE_BUCKETS:
      co_return handle<control::RetireBucketsRequest, control::RetireBucketsReply>(
          method, request, reply, [this](const auto& in, auto&) { return retire_buckets(in); });
    case layout::kIndexSettleMethod:
    case layout::kIndexDoubtsMethod:
    case layout::kIndexSeekMethod:
    case control::PREPARE_INDEX:
    case control::BUILT_INDEX:
    case control::DISCARD_INDEX:
      co_return dispatch_indexes(peer, method, request, reply);
    case control::LEASE_SLOT: {
      control::LeaseSlotRequest in;
      if (!parse(request, in)) co_return malformed(method);
      if (!slots_) co_return unknown_method(method);
      control::LeaseSlotReply out;
      Status status = co_await lease_slot(peer, out);
      if (status.ok()) out.SerializeToString(&reply);
      co_return status;
    }
    default:
      if (!slots_) co_return unknown_method(method);
      co_return dispatch_cluster(peer, method, request, reply);
  }
}

Status MemoryServer::dispatch_cluster(fabric::PeerId peer, std::uint16_t method, std::string_view request,
                                      std::string& reply) {
  switch (method) {
    case control::CLOSE_SLOT:
      return handle<control::CloseSlotRequest, control::CloseSlotReply>(
          method, request, reply, [&](const auto& in, auto&) {
            Status status = slots_->close(peer, in.slot(), in.final_counter(), executor_.now_ns());
            closed_.notify_all();
            collector_.wake();
            return status;
          });
    case control::LEASE_JOURNAL_ROOM:
      return handle<control::LeaseJournalRoomRequest, control::LeaseJournalRoomReply>(
          method, request, reply, [&](const auto& in, auto& out) {
            const auto room = slots_->lend_room(peer, in.slot(), in.length_bytes());
            if (!room.ok()) return room.status();
            out.set_offset(*room);
            return Status();
          });
    case control::RETURN_JOURNAL_ROOM:
      return handle<control::ReturnJournalRoomRequest, control::ReturnJournalRoomReply>(
          method, request, reply,
          [&](const auto& in, auto&) { return slots_->take_room_back(peer, in.slot(), in.offset()); });
    case control::LIST_SLOTS:
      return handle<control::ListSlotsRequest, control::ListSlotsReply>(
          method, request, reply, [this](const auto& in, auto& out) { return list_slots(in, out); });
    case control::CLAIM_REPAIR:
      return handle<control::ClaimRepairRequest, control::ClaimRepairReply>(
          method, request, reply, [&](const auto& in, auto& out) { return claim_repair(peer, in, out); });
    case control::FINISH_REPAIR:
      return handle<control::FinishRepairRequest, control::FinishRepairReply>(
          method, request, reply, [&](const auto& in, auto&) {
            Status status =
                slots_->finish(peer, in.slot(), in.repair_epoch(), in.final_counter(), executor_.now_ns());
            closed_.notify_all();
            collector_.wake();
            return status;
          });
    case control::GET_CATALOG:
      return handle<control::GetCatalogRequest, control::GetCatalogReply>(
          method, request, reply, [this](const auto& in, auto& out) { return get_catalog(in, out); });
    case control::BEGIN_CREATE_TABLE:
      return handle<control::BeginCreateTableRequest, control::BeginCreateTableReply>(
          method, request, reply, [&](const auto& in, auto& out) {
            auto begun = catalog_->begin(peer, in.table());
            if (begun.ok()) *out.mutable_table() = std::move(*begun);
            return begun.ok() ? Status() : begun.status();
          });
    case control::FINISH_CREATE_TABLE:
      return handle<control::FinishCreateTableRequest, control::FinishCreateTableReply>(
          method, request, reply, [&](const auto& in, auto& out) { return finish_create(peer, in, out); });
    case control::DROP_TABLE:
      return handle<control::DropTableRequest, control::DropTableReply>(
          method, request, reply, [this](const auto& in, auto& out) {
            const auto table = catalog_->drop(in.name());
            if (!table.ok()) return table.status();
            out.set_table(*table);
            return Status();
          });
    case control::GROW_TABLE:
      return handle<control::GrowTableRequest, control::GrowTableReply>(
          method, request, reply, [this](const auto& in, auto& out) {
            Status status = catalog_->grow(in);
            out.set_catalog_version(catalog_->version());
            return status;
          });
    case control::ENDED_COMPUTES:
      return handle<control::EndedComputesRequest, control::EndedComputesReply>(
          method, request, reply, [this](const auto& in, auto& out) { return ended_computes(in, out); });
    default:
      return dispatch_index_catalog(peer, method, request, reply);
  }
}

Status MemoryServer::heartbeat(Peer& peer, const control::HeartbeatRequest& request,
                               control::HeartbeatReply& reply) {
  // Nobody can have learned of an epoch that has not begun; the catalog's version is server 0's to know.
  if (request.acknowledged_epoch() > reuse_.epoch() ||
      request.acknowledged_versions() > version_epoch_.current()) {
    return Status(ErrorCode::protocol_violation, "a heartbeat acknowledges what was not announced");
  }
  if (request.has_vector_copy() && !has_whole_vector() && !copies_.learn(request.vector_copy())) {
    return Status(ErrorCode::protocol_violation, "a heartbeat's copy of the timestamp vector is none");
  }
  peer.last_heard_ns = executor_.now_ns();
  peer.oldest_snapshot_ns = request.oldest_snapshot_ns();
  peer.leaving = request.leaving();
  peer.acknowledged_epoch = std::max(peer.acknowledged_epoch, request.acknowledged_epoch());
  peer.acknowledged_catalog = std::max(peer.acknowledged_catalog, request.acknowledged_catalog());
  peer.acknowledged_versions = std::max(peer.acknowledged_versions, request.acknowledged_versions());
  if (catalog_ && !catalog_->indexes_beside().empty()) catalog_->acknowledged(peers_.acknowledged().catalog);
  reply.set_clock_ns(executor_.fresh_now_ns());
  reply.set_reuse_epoch(reuse_.epoch());
  reply.set_version_epoch(version_epoch_.current());
  if (catalog_) reply.set_catalog_version(catalog_->version());
  if (slots_) reply.set_dead_slots(slots_->dead_count());
  reply.set_peers_gone(peers_gone_);
  if (!slots_) departures_.describe(reply);
  growth_.consider_again();
  growth_.describe(reply);
  indexes_.describe(reply);
  tombstones_.describe(reply, kMaxHeldLocks);
  return Status();
}

Status MemoryServer::join_cluster(const Peer& peer, const control::JoinClusterRequest& request) {
  if (peer.tool) return Status(ErrorCode::insufficient_privilege, "tools join no cluster");
  return identity_.join({request.epochs().begin(), request.epochs().end()});
}

Status MemoryServer::discard_table(const control::DiscardTableRequest& request) {
  if (!tables_.all().contains(request.table())) {
    return Status(ErrorCode::undefined_table,
                  "this memory server has no table " + std::to_string(request.table()));
  }
  discard(request.table());
  return Status();
}

reactor::Task<Status> MemoryServer::snapshot(std::string& reply) {
  if (!has_whole_vector()) co_return unknown_method(layout::kSnapshotMethod);
  std::vector<std::byte> first;
  std::vector<std::byte> second;
  const auto collect = [this](std::vector<std::byte>& copy) {
    copy.resize(layout::vector_bytes(region_->vector_length()));
    region_->read(region_->map().vector_offset, copy);
  };
  for (std::uint32_t attempt = 0; attempt < options_.snapshot_attempts; ++attempt) {
    collect(first);
    collect(second);
    if (first == second) {
      reply.assign(reinterpret_cast<const char*>(second.data()), second.size());
      co_return Status();
    }
    if (attempt % 16 == 15) co_await executor_.yield();
  }
  co_return Status(ErrorCode::snapshot_unstable, "the timestamp vector changes too fast to be copied");
}

Status MemoryServer::place_slot(const Peer& peer, const control::PlaceSlotRequest& request) {
  if (peer.tool) return Status(ErrorCode::insufficient_privilege, "tools run no transactions");
  return memory::place_slot(*region_, options_.vector_parts(), request);
}

reactor::Task<Status> MemoryServer::lease_slot(fabric::PeerId id, control::LeaseSlotReply& reply) {
  if (peers_.find(id)->tool) {
    co_return Status(ErrorCode::insufficient_privilege, "tools run no transactions");
  }
  const auto journal = co_await take_journal(id);
  if (!journal.ok()) co_return journal.status();
  const Block block = *journal;
  if (block.dirty) {
    for (std::uint64_t done = 0; done < block.bytes; done += kZeroStep_bytes) {
      region_->zero(block.offset + done, std::min(kZeroStep_bytes, block.bytes - done));
      co_await executor_.yield();
    }
  }
  const Peer* peer = peers_.find(id);
  if (peer == nullptr) {  // gone meanwhile
    slots_->give_back_journal(block);
    co_return Status(ErrorCode::fenced, "this channel is not connected");
  }
  const auto leased = slots_->lease(id, peer->compute_id, peer->name, block);
  if (!leased.ok()) {
    slots_->give_back_journal(block);
    co_return leased.status();
  }
  const Slot& slot = **leased;
  reply.set_slot(slot.id);
  reply.set_vector_position(slot.position);
  reply.set_first_counter(options_.first_counter);
  reply.set_journal_server(0);
  reply.set_journal_offset(slot.journal_offset);
  reply.set_journal_bytes(slot.journal_bytes);
  reply.set_vector_length(slots_->positions_in_use());
  reply.set_max_journal_room_bytes(options_.max_journal_room_bytes);
  co_return Status();
}

Status MemoryServer::list_slots(const control::ListSlotsRequest& request,
                                control::ListSlotsReply& reply) const {
  reply.set_next_slot(slots_->next_slot());
  if (request.slots_size() == 0) {
    for (const auto& [id, slot] : slots_->active()) *reply.add_slots() = describe(slot);
    return Status();
  }
  if (static_cast<std::uint64_t>(request.slots_size()) > options_.vector_capacity) {
    return Status(ErrorCode::limit_exceeded, "a list of too many slots");
  }
  for (const std::uint32_t id : request.slots()) {
    control::Slot& added = *reply.add_slots();
    if (const Slot* slot = slots_->find(id)) {
      added = describe(*slot);
      continue;
    }
    added.set_slot(id);
    if (const auto final_counter = slots_->retired(id)) {
      added.set_state(control::SLOT_RETIRED);
      added.set_final_counter(*final_counter);
    }
  }
  return Status();
}

Status MemoryServer::claim_repair(fabric::PeerId peer, const control::ClaimRepairRequest& request,
                                  control::ClaimRepairReply& reply) {
  const Peer& claimant = *peers_.find(peer);
  if (claimant.tool) return Status(ErrorCode::insufficient_privilege, "tools repair nothing");
  const auto claim = slots_->claim(peer, claimant.compute_id, request.slot());
  if (!claim.ok()) return claim.status();
  const Slot& slot = *slots_->find(request.slot());
  reply.set_granted(claim->granted);
  if (claim->granted) reply.set_repair_epoch(slot.repair_epoch);
  *reply.mutable_slot() = describe(slot);
  for (const std::string& former : claim->former_repairers) reply.add_former_repairers(former);
  return Status();
}

Status MemoryServer::get_catalog(const control::GetCatalogRequest& request,
                                 control::GetCatalogReply& reply) const {
  reply.set_version(catalog_->version());
  reply.set_acknowledged(std::min(peers_.acknowledged().catalog, catalog_->version()));
  if (request.known_version() == catalog_->version()) {
    reply.set_unchanged(true);
    return Status();
  }
  for (const auto& [name, table] : catalog_->tables()) *reply.add_tables() = table;
  for (const std::uint32_t table : catalog_->creating()) reply.add_creating(table);
  for (const auto& [name, index] : catalog_->indexes()) *reply.add_indexes() = index;
  for (const auto& [id, index] : catalog_->indexes_beside()) *reply.add_indexes() = index;
  return Status();
}

Status MemoryServer::finish_create(fabric::PeerId peer, const control::FinishCreateTableRequest& request,
                                   control::FinishCreateTableReply& reply) {
  if (request.abandon()) {
    Status status = catalog_->abandon(peer, request.table().id());
    if (status.ok()) discard(request.table().id());
    reply.set_catalog_version(catalog_->version());
    return status;
  }
  const auto version = catalog_->finish(peer, request);
  if (!version.ok()) return version.status();
  reply.set_catalog_version(*version);
  return Status();
}

}  // namespace namdb::memory
