#include "memory/server/server.h"

#include <string>
#include <utility>

#include "common/calls/protocol_version.h"
#include "common/layout/protocol.h"
#include "memory/calls/methods.h"
#include "memory/calls/waiting.h"

namespace namdb::memory {
namespace {

constexpr std::size_t kMaxPeerName_bytes = 128;

std::uint64_t random_epoch(Random& random) {
  std::uint64_t epoch = 0;
  while (epoch == 0) epoch = random.next();
  return epoch;
}

}  // namespace

Result<std::unique_ptr<MemoryServer>> MemoryServer::create(reactor::Executor& executor,
                                                           std::span<std::byte> region, Options options,
                                                           RegionGrowth growth) {
  auto framed = Region::create(region, options, random_epoch(executor.random()), growth.limit_bytes);
  if (!framed.ok()) return framed.status();
  return std::unique_ptr<MemoryServer>(
      new MemoryServer(executor, std::move(*framed), std::move(options), std::move(growth)));
}

MemoryServer::MemoryServer(reactor::Executor& executor, std::unique_ptr<Region> region, Options options,
                           RegionGrowth region_growth)
    : state_(executor, std::move(region), std::move(options), std::move(region_growth)) {
  if (!state_.slots) return;
  DeadSlots::Duties duties{
      .slots = *state_.slots,
      .control = *state_.control,
      .hosts = hosts_,
      .place = [this](std::uint32_t slot, std::uint64_t position,
                      std::uint32_t counter) { return hosts_.place(slot, position, counter); },
      .closed =
          [this](std::uint32_t slot, Verdicts verdicts) {
            state_.outcomes.closed(slot, std::move(verdicts), state_.executor.now_ns());
            state_.collector.wake();
            state_.settled.notify_all();
          }};
  dead_slots_ = std::make_unique<DeadSlots>(executor, state_.options, std::move(duties));
}

MemoryServer::~MemoryServer() = default;

reactor::Task<Status> MemoryServer::open_control(control::ControlState state, std::uint64_t database_id,
                                                 ControlLog& log) {
  NAMDB_CHECK(state_.server_fabric == nullptr);
  if (state_.control) co_return co_await state_.control->open(std::move(state), database_id, log);
  state_.table_log = &log;
  co_return Status();
}

void MemoryServer::meet(fabric::ServerFabric& fabric, Links::MakeFabric make_client) {
  NAMDB_CHECK(state_.server_fabric == nullptr);
  state_.server_fabric = &fabric;
  const layout::ProtocolTraits* const protocol = layout::find_protocol(state_.options.protocol);
  if (protocol != nullptr && protocol->swaps_by_calls(state_.options.stages)) fabric.peers_swap_nothing();
  // The region may have grown while the database opened.
  if (state_.region->bytes() > state_.region->first_bytes()) fabric.grow(state_.region->bytes());
  state_.links.set_fabric(std::move(make_client));
}

void MemoryServer::start(fabric::ServerFabric& fabric, Links::MakeFabric make_client) {
  if (state_.server_fabric == nullptr) meet(fabric, std::move(make_client));
  state_.executor.spawn(state_.gate, state_.collector.run(fabric.loopback()));
  state_.executor.spawn(state_.gate, state_.growth.run(fabric.loopback()));
  if (dead_slots_ == nullptr) return;
  state_.executor.spawn(state_.gate, dead_slots_->run());
  state_.executor.spawn(state_.gate, watch_links());
}

reactor::Task<void> MemoryServer::stop() {
  state_.stopping = true;
  state_.collector.stop();
  state_.growth.stop();
  state_.journals.stop();
  if (state_.index_loads != nullptr) state_.index_loads->stop();
  if (dead_slots_ != nullptr) dead_slots_->stop();
  state_.fenced.notify_all();
  state_.shut_down.notify_all();
  state_.settled.notify_all();
  co_await state_.links.close();
  co_await state_.gate.close();
}

reactor::Task<void> MemoryServer::watch_links() {
  while (!state_.stopping) {
    co_await state_.links.changed().wait();
    dead_slots_->wake();
    state_.settled.notify_all();
  }
}

reactor::Task<void> MemoryServer::shutdown_requested() {
  while (!state_.shutdown && !state_.stopping) co_await state_.shut_down.wait();
}

Result<std::string> MemoryServer::on_connect(fabric::PeerId id, std::string_view bytes) {
  control::Hello hello;
  if (!hello.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) ||
      hello.compute_id().size() != Peers::kComputeId_bytes || hello.name().size() > kMaxPeerName_bytes) {
    return Status(ErrorCode::protocol_violation, "the greeting is not one of namdb's");
  }
  if (hello.protocol_version() != calls::kProtocolVersion) {
    return Status(ErrorCode::protocol_violation,
                  "protocol version " + std::to_string(hello.protocol_version()) + " of \"" + hello.name() +
                      "\" is not spoken here: namdb " + state_.options.version + " speaks version " +
                      std::to_string(calls::kProtocolVersion),
                  "run versions of namdb with the same protocol version everywhere");
  }
  if (state_.stopping) return Status(ErrorCode::cannot_connect_now, "the memory server is shutting down");
  if (!state_.departed.empty()) return Status(ErrorCode::cannot_connect_now, state_.departed + " now");
  if (state_.peers.fenced(hello.compute_id())) {
    return Status(ErrorCode::fenced, "this compute server was declared dead", "start it again");
  }
  // Tools may look at a server that serves workers at other times.
  const bool waits = hello.tool() ? state_.opening && !hello.memory_server() : !state_.admits_some();
  if (waits) return database_opens();
  if (Status status = state_.identity.check(hello.cluster_epoch()); !status.ok()) return status;
  if (state_.peers.all().size() >= state_.options.max_peers) {
    return Status(ErrorCode::too_many_connections, "the memory server has its greatest number of peers");
  }
  Peer peer;
  peer.compute_id = hello.compute_id();
  peer.name = hello.name();
  peer.worker = hello.worker();
  peer.tool = hello.tool();
  peer.memory_server = hello.memory_server();
  peer.last_heard_ns = state_.executor.now_ns();
  state_.peers.add(id, std::move(peer));
  state_.collector.wake();

  control::Welcome welcome;
  welcome.set_protocol_version(calls::kProtocolVersion);
  welcome.set_server_id(state_.options.server_id);
  welcome.set_server_count(state_.options.server_count);
  welcome.set_epoch(epoch());
  welcome.set_region_bytes(state_.region->bytes());
  welcome.set_region_map(&state_.region->map(), sizeof(layout::RegionMap));
  welcome.set_max_transaction_ns(state_.options.max_transaction_ns);
  welcome.set_clock_ns(state_.clock_ns());
  welcome.set_memory_only(state_.options.durability == Durability::memory);
  welcome.set_protocol(state_.options.protocol);
  welcome.set_stages(state_.options.stages.text());
  welcome.set_preset(state_.options.preset);
  welcome.set_timestamp_vector(std::string(layout::name_of(state_.options.timestamp_vector)));
  welcome.set_shared_read_locks(state_.options.shared_read_locks);
  if (state_.control) welcome.set_database_id(state_.control->database_id());
  welcome.set_leased(state_.has_store);
  return welcome.SerializeAsString();
}

void MemoryServer::on_disconnect(fabric::PeerId id) {
  const Peer* peer = state_.peers.find(id);
  if (peer == nullptr) return;
  const std::string name = peer->name;
  if (!peer->tool) ++state_.peers_gone;
  const bool leaves_nothing = peer->leaving && !state_.reservations.holds(peer->compute_id) &&
                              !state_.journals.holds(peer->compute_id);
  if (!peer->tool && !leaves_nothing) state_.disconnected_peers.add(peer->compute_id);
  state_.peers.remove(id);
  state_.journals.disconnected(id);
  if (state_.slots) {
    const std::uint64_t before = state_.slots->dead_count();
    state_.slots->disconnected(id);
    if (state_.slots->dead_count() != before) {
      state_.notice(name + " is gone and left a slot whose commits are to be decided");
      dead_slots_->wake();
    }
  }
  if (state_.catalog) state_.undo_creations(id);
  // Wherever it was building one: its catalog entry goes with the peer, too.
  for (const std::uint32_t index : state_.indexes.built_by(id)) state_.discard(index);
  state_.fenced.notify_all();
  state_.collector.wake();  // one acknowledgement less to wait for
}

reactor::Task<Status> MemoryServer::on_call(fabric::PeerId peer, std::uint16_t number,
                                            std::string_view request, std::string& reply) {
  if (state_.peers.find(peer) == nullptr) {
    co_return Status(ErrorCode::fenced, "this channel is not connected");
  }
  const Method* const method = find_method(number);
  if (method == nullptr || !method->answered_by(state_)) {
    co_return Status(ErrorCode::protocol_violation,
                     "there is no call " + std::to_string(number) + " on this memory server");
  }
  const Call call{{state_, peer}, number, request, reply};
  std::uint64_t deadline_ns = 0;
  while (true) {
    Status status;
    if (method->waiting != nullptr) {
      status = co_await method->waiting(call);
    } else {
      status = method->handler(call);
    }
    if (method->when_full == WhenFull::fail || status.ok()) co_return status;
    if (status.code() != ErrorCode::out_of_memory) co_return status;
    reply.clear();
    if (deadline_ns == 0) deadline_ns = retry_deadline_ns(state_, state_.executor.now_ns());
    const bool worth_a_try = co_await more_extents(call.caller, deadline_ns);
    if (!worth_a_try) co_return status;
  }
}

}  // namespace namdb::memory
