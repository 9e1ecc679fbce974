#include "memory/peers/links.h"

#include <algorithm>
#include <utility>

#include "common/calls/hot_calls.h"
#include "common/calls/protocol_version.h"
#include "common/placement/ask.h"
#include "common/placement/move_calls.h"
#include "memory/peers/peers.h"
#include "proto/control.pb.h"

namespace namdb::memory {
namespace {

std::string name_of(layout::ServerId server) {
  return "memory server " + std::to_string(server);
}

std::string random_id(Random& random) {
  std::string id;
  while (id.size() < Peers::kComputeId_bytes) id.push_back(static_cast<char>(random.below(256)));
  return id;
}

control::Hello hello_of(layout::ServerId server, const std::string& id) {
  control::Hello hello;
  hello.set_protocol_version(calls::kProtocolVersion);
  hello.set_compute_id(id);
  hello.set_name(name_of(server));
  hello.set_tool(true);  // it runs no transactions, and acknowledges nothing
  hello.set_memory_server(true);
  return hello;
}

Status another_server() {
  return Status(ErrorCode::configuration, "another memory server answers there",
                "give the addresses of one cluster's memory servers, server 0 first");
}

}  // namespace

Links::Links(reactor::Executor& executor, LinkOptions options)
    : executor_(executor),
      options_(options),
      search_(
          executor, [this] { return hello_of(options_.server_id, id_).SerializeAsString(); },
          placement::Configuration(options.server_count)),
      changed_(executor) {
  search_.on_learned([this] { places_changed(); });
  for (std::uint32_t i = 0; i < options.server_count; ++i) links_.push_back(std::make_unique<Link>(executor));
}

Links::~Links() = default;

Status Links::learn(std::vector<std::string> addresses, std::vector<std::uint64_t> epochs) {
  if (addresses.size() != links_.size() || epochs.size() != links_.size()) {
    return Status(ErrorCode::protocol_violation, "a cluster of " + std::to_string(links_.size()) +
                                                     " memory servers has as many addresses and epochs");
  }
  if (addresses == addresses_ && epochs == epochs_) return Status();
  addresses_ = std::move(addresses);
  epochs_ = std::move(epochs);
  for (const auto& link : links_) link->wake.notify_all();  // a server that is down may be elsewhere
  changed_.notify_all();
  return Status();
}

const std::string& Links::address(layout::ServerId server) const {
  const placement::Place& place = search_.places().place(server);
  return place.number == 0 ? addresses_[server] : place.address;
}

placement::Configuration Links::configuration() const {
  placement::Configuration all = search_.places();
  for (std::size_t server = 0; server < addresses_.size(); ++server) {
    if (all.place(server).number == 0) all.set(server, {0, addresses_[server]});
  }
  return all;
}

void Links::on_elsewhere(std::function<void(const placement::Place& place)> elsewhere) {
  own_number_ = search_.places().place(options_.server_id).number;
  elsewhere_ = std::move(elsewhere);
}

void Links::places_changed() {
  const placement::Place own = search_.places().place(options_.server_id);
  if (elsewhere_ && own.number > own_number_) {
    is_elsewhere_ = true;
    std::exchange(elsewhere_, nullptr)(own);
  }
  for (std::size_t i = 0; i < links_.size(); ++i) {
    Link& link = *links_[i];
    const bool elsewhere = !link.address.empty() && link.address != address(static_cast<layout::ServerId>(i));
    if (elsewhere && fabric_ != nullptr) fabric_->give_up(link.address);
    link.wake.notify_all();
  }
  changed_.notify_all();
  if (learned_) learned_();
}

reactor::Task<void> Links::ask_places(layout::ServerId server) {
  std::vector<placement::PlaceSearch::Host> hosts;
  hosts.push_back({address(server), {}});
  for (std::uint32_t i = 0; i < options_.server_count; ++i) {
    const auto other = static_cast<layout::ServerId>(i);
    if (other != options_.server_id && other != server) hosts.push_back({address(other), {}});
  }
  static_cast<void>(co_await search_.ask(fabric_.get(), std::move(hosts)));
}

Status Links::unreachable(layout::ServerId server) const {
  const Status& reason = links_[server]->reason;
  return Status(ErrorCode::connection_failure,
                name_of(server) + " at " + address(server) + " cannot be reached: " + reason.message(),
                reason.hint());
}

void Links::make(layout::ServerId server) {
  Link& link = *links_[server];
  if (addresses_.empty() || !make_fabric_ || closing_ || link.state != State::unused) return;
  link.state = State::connecting;
  executor_.spawn(gate_, keep(server));
}

void Links::keep_all() {
  for (std::uint32_t i = 0; i < options_.server_count; ++i) {
    if (i != options_.server_id) make(static_cast<layout::ServerId>(i));
  }
}

reactor::Task<void> Links::tried(layout::ServerId server) {
  NAMDB_CHECK(server < links_.size() && server != options_.server_id);
  make(server);
  while (links_[server]->state == State::connecting && !ending()) co_await changed_.wait();
}

reactor::Task<Result<std::string>> Links::call(layout::ServerId server, std::uint16_t method,
                                               std::string request) {
  co_await tried(server);
  Link& link = *links_[server];
  if (ending() || !make_fabric_)
    co_return Status(ErrorCode::admin_shutdown, "this memory server makes no connections to others");
  if (addresses_.empty()) {
    co_return Status(ErrorCode::connection_failure,
                     name_of(options_.server_id) + " does not know the address of " + name_of(server),
                     "the first compute server that connects to all memory servers tells it");
  }
  if (link.state != State::up) co_return unreachable(server);
  fabric::Call call;
  call.method = method;
  call.request = std::move(request);
  link.channel->post(call);
  co_await call.done();
  if (call.status().ok()) co_return std::move(call.reply);
  if (link.channel != nullptr && link.channel->failed()) link.wake.notify_all();
  co_return call.status();
}

reactor::Task<void> Links::keep(layout::ServerId server) {
  Link& link = *links_[server];
  std::uint64_t pause_ns = options_.first_pause_ns;
  while (!closing_) {
    link.address = address(server);
    auto channel = co_await connect(server);
    if (!channel.ok() && options_.asks_places && !closing_) {
      co_await ask_places(server);
      if (!closing_ && link.address != address(server)) continue;
    }
    if (channel.ok() && !ending()) {
      link.channel = std::move(*channel);
      link.state = State::up;
      pause_ns = options_.first_pause_ns;
      changed_.notify_all();
      link.reason = co_await watch(server);
      link.state = State::down;
      link.channel.reset();  // completes what is under way
      while (link.ping_under_way) co_await executor_.yield();
    } else if (!channel.ok()) {
      link.reason = channel.status();
      link.state = State::down;
    }
    changed_.notify_all();
    if (closing_) break;
    co_await link.wake.wait_until(executor_.now_ns() + pause_ns);
    pause_ns = std::min(2 * pause_ns, options_.longest_pause_ns);
  }
}

reactor::Task<Result<std::unique_ptr<fabric::Channel>>> Links::connect(layout::ServerId server) {
  if (fabric_ == nullptr) {
    transport_ = make_fabric_();
    fabric_ = std::make_unique<fabric::PatientClient>(executor_, *transport_);
  }
  if (id_.empty()) id_ = random_id(executor_.random());
  control::Hello hello = hello_of(options_.server_id, id_);
  // Server 0 is not told which cluster it names.
  hello.set_cluster_epoch(server == 0 ? 0 : epochs_[0]);
  std::string bytes;
  auto channel = co_await fabric_->connect(links_[server]->address, hello.SerializeAsString(), &bytes);
  if (!channel.ok()) co_return channel.status();
  control::Welcome welcome;
  if (!welcome.ParseFromString(bytes) || welcome.server_id() != server ||
      welcome.server_count() != options_.server_count) {
    co_return another_server();
  }
  if (welcome.epoch() == 0)
    co_return Status(ErrorCode::cannot_connect_now, "its region is not there now, or not yet");
  if (welcome.memory_only() && epochs_[server] != 0 && epochs_[server] != welcome.epoch()) {
    co_return Status(ErrorCode::memory_server_restarted, "it has restarted and is empty",
                     "restart all memory servers");
  }
  if (options_.asks_places) {
    const Status told = co_await exchange_places(channel->get());
    if (!told.ok()) co_return told;
  }
  links_[server]->epoch = welcome.epoch();
  co_return std::move(*channel);
}

reactor::Task<Status> Links::exchange_places(fabric::Channel* channel) {
  fabric::Call call;
  call.method = placement::kConfigurationMethod;
  call.request = configuration().encode();
  Status status = co_await placement::call_in_time(&executor_, channel, &call);
  if (!status.ok()) co_return status;
  if (const auto told = placement::Configuration::decode(call.reply)) learn_places(*told);
  co_return Status();
}

reactor::Task<Status> Links::watch(layout::ServerId server) {
  Link* const link = links_[server].get();
  const auto elsewhere = [this, link, server] { return link->address != address(server); };
  while (!closing_) {
    if (elsewhere())
      co_return Status(ErrorCode::connection_failure, "its region is at " + address(server) + " now");
    link->ping_under_way = true;
    executor_.spawn(gate_, ping(link));
    // Counted in intervals, so that a pause of this process counts as one of them.
    for (std::uint32_t silent = 0; silent == 0 || link->ping_under_way; ++silent) {
      if (silent == options_.silent_intervals)
        co_return Status(ErrorCode::connection_failure, "it has not answered for a while");
      co_await link->wake.wait_until(executor_.now_ns() + options_.ping_interval_ns);
      if (closing_ || link->channel->failed() || elsewhere()) break;
    }
    if (closing_) break;
    if (link->channel->failed() || link->ping_failed)
      co_return Status(ErrorCode::connection_failure, "the connection is lost");
  }
  co_return Status(ErrorCode::admin_shutdown, "this memory server is shutting down");
}

reactor::Task<void> Links::ping(Link* link) {
  fabric::Call call;
  call.method = calls::kPingMethod;
  link->channel->post(call);
  co_await call.done();
  link->ping_failed = !call.status().ok();
  link->ping_under_way = false;
  if (link->ping_failed) link->wake.notify_all();
}

reactor::Task<Result<std::uint64_t>> ask_database_id(fabric::ClientFabric* fabric, Random* random,
                                                     std::string address, LinkOptions options) {
  const control::Hello hello = hello_of(options.server_id, random_id(*random));
  std::string bytes;
  const auto channel = co_await fabric->connect(std::move(address), hello.SerializeAsString(), &bytes);
  if (!channel.ok()) co_return channel.status();
  control::Welcome welcome;
  if (!welcome.ParseFromString(bytes) || welcome.server_id() != 0 ||
      welcome.server_count() != options.server_count)
    co_return another_server();
  if (welcome.database_id() != 0) co_return welcome.database_id();
  co_return Status(ErrorCode::configuration, "memory server 0 keeps no data on disk",
                   "--durability must be the same on all memory servers");
}

reactor::Task<void> Links::close() {
  closing_ = true;
  for (const auto& link : links_) link->wake.notify_all();
  changed_.notify_all();
  co_await gate_.close();
  co_await search_.settle();
  if (fabric_ != nullptr) co_await fabric_->settle();
  fabric_.reset();
  transport_.reset();
}

}  // namespace namdb::memory
