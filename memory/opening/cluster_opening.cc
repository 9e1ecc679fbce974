#include "memory/opening/cluster_opening.h"

#include <algorithm>
#include <set>
#include <utility>

#include "common/protocols/protocol.h"
#include "memory/coordinator/decider.h"

namespace namdb::memory {
namespace {

constexpr std::uint64_t kSettledLook_ns = 100 * kMillisecond_ns;  // beside its event

Status restarted_again() {
  return Status(ErrorCode::cannot_connect_now, "a memory server has restarted meanwhile");
}

// The request in calls of which each has room.
std::vector<control::DeriveRequest> parts_of(const control::DeriveRequest& whole) {
  constexpr std::size_t kPart_bytes = fabric::kMaxCall_bytes / 2;
  std::vector<control::DeriveRequest> parts(1);
  std::size_t bytes = 0;
  const auto part = [&](const google::protobuf::MessageLite& entry) {
    bytes += entry.ByteSizeLong();
    if (bytes > kPart_bytes) {
      parts.emplace_back();
      bytes = entry.ByteSizeLong();
    }
    return &parts.back();
  };
  for (const control::TableDescriptor& table : whole.tables()) *part(table)->add_tables() = table;
  for (const control::IndexDescriptor& index : whole.indexes()) *part(index)->add_indexes() = index;
  for (control::DeriveRequest& each : parts) {
    each.set_round(whole.round());
    *each.mutable_opening() = whole.opening();
    each.set_more(&each != &parts.back());
  }
  return parts;
}

}  // namespace

void ClusterOpening::stop() {
  stopping_ = true;
  changed_.notify_all();
  server_.settled.notify_all();
}

reactor::Task<void> ClusterOpening::close() {
  co_await gate_.close();
}

std::set<std::uint32_t> ClusterOpening::restarted(const std::vector<std::uint64_t>& epochs) const {
  std::set<std::uint32_t> others;
  for (std::uint32_t server = 1; server < epochs.size(); ++server) {
    if (server_.links.epoch(static_cast<layout::ServerId>(server)) != epochs[server]) others.insert(server);
  }
  return others;
}

bool ClusterOpening::has_restarted(const std::vector<std::uint64_t>& epochs) const {
  const std::set<std::uint32_t> others = restarted(epochs);
  return std::ranges::any_of(others, [this](std::uint32_t server) {
    return server_.links.state(static_cast<layout::ServerId>(server)) == Links::State::up;
  });
}

void ClusterOpening::report(const Status& why) {
  if (ending()) return;
  const std::string reason = why.to_string();
  if (reported_ == reason) return;
  server_.notice("the memory servers cannot open the database together yet: " + reason);
  reported_ = reason;
}

reactor::Task<void> ClusterOpening::run() {
  std::uint64_t pause_ns = kFirstPause_ns;
  while (!ending()) {
    if (!epochs_.empty() && !failed_ && !has_restarted(epochs_)) {
      co_await server_.links.changed().wait();
      continue;
    }
    const Status status = co_await open_all();
    failed_ = !status.ok();
    if (status.ok()) {
      reported_.clear();
      pause_ns = kFirstPause_ns;
      continue;
    }
    report(status);
    if (ending()) break;
    co_await server_.links.changed().wait_until(server_.executor.now_ns() + pause_ns);
    pause_ns = std::min(2 * pause_ns, kLongestPause_ns);
  }
}

// One that is deposed and does not know it would take workers, and the links, from its successor.
reactor::Task<Status> ClusterOpening::confirm_region() {
  if (!server_.has_store) co_return Status();
  if (server_.copies_service == nullptr)
    co_return Status(ErrorCode::cannot_connect_now, "the region's copies are not asked yet");
  const CopiesService::Gone nobody = [] { return false; };
  co_return co_await server_.copies_service->lease(nobody);
}

reactor::Task<Status> ClusterOpening::open_all() {
  const std::uint32_t count = server_.options.server_count;
  if (Status status = co_await confirm_region(); !status.ok()) co_return status;
  const auto round = std::make_shared<Round>();
  while (round->number == 0) round->number = server_.executor.random().next();
  round->sequence = ++rounds_;
  // Every worker needs the parts of a partitioned vector.
  if (server_.has_whole_vector()) round->restarted = restarted(epochs_);
  round->gathered.resize(count);
  round->derived.resize(count);
  round->derive.set_round(round->number);
  round->serve.set_round(round->number);

  for (std::uint32_t server = 0; server < count; ++server)
    server_.executor.spawn(gate_, gather(round, static_cast<layout::ServerId>(server)));
  Status status = co_await await_answers(round, count);
  if (!status.ok()) co_return status;
  for (std::uint32_t server = 0; server < count; ++server) {
    round->serve.add_epochs(round->gathered[server].epoch());
    if (round->gathered[server].was_open()) continue;
    round->derive.add_opening(server);
    // Workers that stayed may have reached an earlier process of it.
    if (!round->restarted.empty() && !round->restarted.contains(server)) co_return restarted_again();
  }
  status = co_await settle_own(round);
  if (!status.ok()) co_return status;
  status = co_await decide_others(round);
  if (!status.ok()) co_return status;

  for (const auto& [name, table] : server_.catalog->tables()) *round->derive.add_tables() = table;
  for (const auto& [name, index] : server_.catalog->indexes()) *round->derive.add_indexes() = index;
  round->answers = 0;
  for (std::uint32_t server = 0; server < count; ++server)
    server_.executor.spawn(gate_, derive(round, static_cast<layout::ServerId>(server)));
  status = co_await await_answers(round, count);
  if (!status.ok()) co_return status;
  co_await tell_catalog(round);
  status = co_await place_words();
  if (!status.ok()) co_return status;

  std::uint64_t timestamp = 0;
  for (const control::DeriveReply& reply : round->derived)
    timestamp = std::max(timestamp, reply.largest_timestamp());
  if (timestamp != 0) timestamp += kTimestampSlack_ns;
  server_.follow_timestamp(timestamp);
  // Readers' leases on a server that restarted are forgotten. They are no newer than the clock.
  if (protocol::find_protocol(server_.options.protocol)->timestamps)
    timestamp = std::max(timestamp, server_.clock_ns());
  round->serve.set_timestamp(timestamp);
  round->answers = 0;
  for (std::uint32_t server = 1; server < count; ++server)
    server_.executor.spawn(gate_, serve(round, static_cast<layout::ServerId>(server)));
  status = co_await await_answers(round, count - 1);
  if (!status.ok()) co_return status;
  keep_outcomes(*round);
  status = co_await host_.serve(&round->serve);
  if (status.ok()) epochs_.assign(round->serve.epochs().begin(), round->serve.epochs().end());
  co_return status;
}

// --- calls ---

template <typename Request, typename Reply>
reactor::Task<Status> ClusterOpening::call(layout::ServerId server, std::uint16_t method,
                                           const Request* request, Reply* reply) {
  const auto bytes = co_await server_.links.call(server, method, request->SerializeAsString());
  if (!bytes.ok())
    co_return Status(bytes.status().code(),
                     "memory server " + std::to_string(server) + ": " + bytes.status().message(),
                     bytes.status().hint());
  co_return reply->ParseFromString(*bytes) ? Status() : unreadable_reply(server);
}

void ClusterOpening::answered(Round& round, Status status) {
  ++round.answers;
  if (!status.ok() && round.failure.ok()) round.failure = std::move(status);
  changed_.notify_all();
}

// Those that have not answered after a failure end with the next round, or with the links.
reactor::Task<Status> ClusterOpening::await_answers(RoundPointer round, std::uint32_t count) {
  while (round->answers < count && round->failure.ok() && !ending()) co_await changed_.wait();
  if (!round->failure.ok()) co_return round->failure;
  co_return round->answers < count ? opening_ends() : Status();
}

reactor::Task<void> ClusterOpening::gather(RoundPointer round, layout::ServerId server) {
  control::GatherRequest request;
  request.set_round(round->number);
  request.set_database_id(database_id_);
  request.set_coordinator(server_.region->map().epoch);
  request.set_sequence(round->sequence);
  request.set_first_slot(server_.slots->last_first_slot());
  request.set_end_slot(server_.slots->first_slot());
  request.mutable_restarted()->Add(round->restarted.begin(), round->restarted.end());
  control::GatherReply reply;
  Status status;
  if (server == 0) {
    status = co_await host_.gather(&request, &reply);
  } else {
    status = co_await gather_other(&request, server, &reply);
  }
  round->gathered[server] = std::move(reply);
  answered(*round, std::move(status));
}

reactor::Task<Status> ClusterOpening::gather_other(const control::GatherRequest* request,
                                                   layout::ServerId server, control::GatherReply* reply) {
  co_await server_.links.tried(server);
  Status status = co_await confirm_region();
  if (!status.ok()) co_return status;
  co_return co_await call(server, control::GATHER, request, reply);
}

reactor::Task<void> ClusterOpening::derive(RoundPointer round, layout::ServerId server) {
  control::DeriveReply reply;
  Status status;
  if (server == 0) {
    status = co_await host_.derive(&round->derive, &reply);
  } else {
    const std::vector<control::DeriveRequest> parts = parts_of(round->derive);
    for (std::size_t part = 0; part < parts.size() && status.ok(); ++part)
      status = co_await call(server, control::DERIVE, &parts[part], &reply);
  }
  round->derived[server] = std::move(reply);
  answered(*round, std::move(status));
}

reactor::Task<void> ClusterOpening::serve(RoundPointer round, layout::ServerId server) {
  control::ServeReply reply;
  Status status = co_await call(server, control::SERVE, &round->serve, &reply);
  answered(*round, std::move(status));
}

// --- steps ---

reactor::Task<Status> ClusterOpening::settle_own(RoundPointer round) {
  const std::vector<std::uint64_t> epochs(round->serve.epochs().begin(), round->serve.epochs().end());
  const auto unsettled = [this] {
    const auto& slots = server_.slots->active();
    // Those that are leased belong to workers that stayed.
    return std::ranges::any_of(slots,
                               [](const auto& entry) { return entry.second.state == SlotState::dead; }) ||
           !server_.catalog->creating().empty();
  };
  while (unsettled()) {
    if (ending()) co_return opening_ends();
    // Slots wait for a server that is not gathered.
    if (has_restarted(epochs)) co_return restarted_again();
    co_await server_.settled.wait_until(server_.executor.now_ns() + kSettledLook_ns);
  }
  co_return Status();
}

reactor::Task<Status> ClusterOpening::decide_others(RoundPointer round) {
  std::set<std::uint32_t> slots;
  for (const control::GatherReply& reply : round->gathered)
    slots.insert(reply.slots().begin(), reply.slots().end());
  for (const std::uint32_t id : slots) {
    if (ending()) co_return opening_ends();
    UndecidedSlot undecided;
    undecided.slot = id;
    // Its owner is at no memory server any more.
    const Slot* const slot = server_.slots->find(id);
    undecided.published = slot == nullptr ? 0 : slot->final_counter;
    undecided.server_count = server_.options.server_count;
    for (std::uint32_t server = 0; server < server_.options.server_count; ++server)
      undecided.hosts.push_back(static_cast<layout::ServerId>(server));
    Decider decider(hosts_);
    const auto decided =
        co_await decider.decide(std::move(undecided), outcomes_kept_ ? nullptr : &verdicts_[id]);
    if (!decided.ok()) co_return decided.status();
  }
  co_return Status();
}

// A slot that no server names has no journal anywhere, or its owner has ended it with all commits finished.
// Either way no commit of it is there of which its owner does not know.
void ClusterOpening::keep_outcomes(const Round& round) {
  if (std::exchange(outcomes_kept_, true)) return;
  for (const control::GatherReply& reply : round.gathered) {
    if (reply.lost_log()) return;
  }
  const std::uint64_t now_ns = server_.executor.now_ns();
  // The process that decided these has ended: its verdicts are not known any more, unless it was this
  // process.
  for (const control::GatherReply& reply : round.gathered) {
    for (const std::uint32_t slot : reply.decided()) verdicts_.try_emplace(slot);
  }
  for (auto& [slot, verdicts] : verdicts_) {
    if (server_.slots->cut_off(slot)) server_.outcomes.closed(slot, std::move(verdicts), now_ns);
  }
  verdicts_.clear();
  server_.outcomes.opened(now_ns);
}

// Buckets of servers that opened are elsewhere than before, and some of others may have grown untold.
reactor::Task<void> ClusterOpening::tell_catalog(RoundPointer round) {
  const ControlChanges::Change reopen = [&round](Catalog& catalog) {
    struct Place {
      std::uint32_t server;
      control::DeriveReply::TablePlace place;
    };
    std::vector<Place> moved;
    for (std::uint32_t server = 0; server < round->derived.size(); ++server) {
      // A table that grows while workers are there is told by heartbeats, and may have grown again.
      if (!round->restarted.empty() && round->gathered[server].was_open()) continue;
      const int at = static_cast<int>(server);
      for (const control::DeriveReply::TablePlace& place : round->derived[server].tables()) {
        const control::TableDescriptor* const table = catalog.find_table(place.id());
        if (table == nullptr) continue;
        const std::uint32_t doublings = at < table->doublings_size() ? table->doublings(at) : 0;
        if (place.bucket_base() != table->bucket_base(at) || place.doublings() != doublings)
          moved.push_back({server, place});
      }
    }
    for (const auto& [server, place] : moved) {
      Status status = catalog.reopen(server, place.id(), place.bucket_base(), place.doublings());
      if (!status.ok()) return status;
    }
    return Status();
  };
  co_await server_.control->change_anyway(reopen);
}

reactor::Task<Status> ClusterOpening::place_words() {
  const layout::VectorParts parts = server_.options.vector_parts();
  std::vector<Slot> elsewhere;
  for (const auto& [id, slot] : server_.slots->active()) {
    if (parts.place(slot.position).server != 0) elsewhere.push_back(slot);
  }
  for (const Slot& slot : elsewhere) {
    const auto placed = co_await hosts_.place(slot.id, slot.position, slot.final_counter);
    if (!placed.ok()) co_return placed.status();
  }
  co_return Status();
}

}  // namespace namdb::memory
