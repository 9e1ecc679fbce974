#include "compute/cluster/cluster.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/calls/protocol_version.h"
#include "common/protocols/presets.h"
#include "compute/cluster/away_channel.h"
#include "proto/control.pb.h"

namespace namdb::txn {
namespace {

Status disagreement(const std::string& address, const std::string& what) {
  return Status(ErrorCode::configuration, "memory server " + address + " " + what,
                "give the addresses of one cluster's memory servers, server 0 first");
}

Status of_server(std::size_t server, const Status& error) {
  return Status(error.code(), "memory server " + std::to_string(server) + ": " + error.message(),
                error.hint());
}

// Of the region of a server that is away: no address there is checked.
constexpr std::uint64_t kAnyLength_bytes = std::uint64_t{1} << 47;

// It is away, and not another server than it should be.
bool may_return(const Status& why) {
  return why.code() == ErrorCode::connection_failure || why.code() == ErrorCode::cannot_connect_now ||
         why.code() == ErrorCode::admin_shutdown;
}

}  // namespace

Cluster::Cluster(reactor::Executor& executor, fabric::ClientFabric& fabric, ClusterOptions options)
    : executor_(executor),
      fabric_(fabric),
      options_(std::move(options)),
      timestamps_(executor),
      soft_time_(executor) {}

std::string Cluster::hello(std::size_t server) const {
  control::Hello hello;
  hello.set_protocol_version(calls::kProtocolVersion);
  hello.set_compute_id(options_.compute_id.data(), options_.compute_id.size());
  hello.set_name(options_.name);
  hello.set_worker(options_.worker);
  if (server > 0) hello.set_cluster_epoch(links_[0].map.epoch);
  return hello.SerializeAsString();
}

reactor::Task<Status> Cluster::connect() {
  NAMDB_CHECK(links_.empty());
  for (std::size_t i = 0; i < options_.memory_servers.size(); ++i) {
    const std::string& address = options_.memory_servers[i];
    std::string welcome_bytes;
    const std::uint64_t sent_ns = executor_.fresh_now_ns();
    auto channel = co_await fabric_.connect(address, hello(i), &welcome_bytes);
    Link link;
    if (!channel.ok() && i > 0 && bears_loss() && may_return(channel.status())) {
      link.away = true;
      link.map.limit_bytes = kAnyLength_bytes;
      link.reason = Status(ErrorCode::cannot_connect_now,
                           "memory server " + std::to_string(i) + " is away: " + channel.status().message(),
                           "transactions that do not need it go on");
      link.channel = std::make_unique<AwayChannel>(executor_, fabric_.pool(), link.reason);
      links_.push_back(std::move(link));
      continue;
    }
    if (!channel.ok()) co_return of_server(i, channel.status());
    control::Welcome welcome;
    if (!welcome.ParseFromString(welcome_bytes) || welcome.region_map().size() != sizeof link.map) {
      co_return disagreement(address, "sent a welcome that cannot be read");
    }
    std::memcpy(&link.map, welcome.region_map().data(), sizeof link.map);
    link.known_bytes = welcome.region_bytes();
    link.leased = welcome.leased();
    link.channel = std::move(channel).value();
    links_.push_back(std::move(link));
    Status status = accept(i, welcome);
    if (!status.ok()) co_return status;
    if (i == 0) timestamps_.follow(welcome.clock_ns(), sent_ns);
    if (i == 0) soft_time_.follow(welcome.clock_ns(), sent_ns);
  }
  soft_time_.connected();
  co_return co_await join();
}

Status Cluster::accept(std::size_t i, const control::Welcome& welcome) {
  const std::string& address = options_.memory_servers[i];
  const layout::RegionMap& map = links_[i].map;
  if (welcome.protocol_version() != calls::kProtocolVersion) {
    return disagreement(address, "speaks protocol version " + std::to_string(welcome.protocol_version()) +
                                     ", not " + std::to_string(calls::kProtocolVersion));
  }
  if (!map.certified()) return disagreement(address, "has another region format version");
  if (welcome.server_id() != i || welcome.server_count() != options_.memory_servers.size()) {
    return disagreement(address, "is server " + std::to_string(welcome.server_id()) + " of " +
                                     std::to_string(welcome.server_count()) + ", not " + std::to_string(i) +
                                     " of " + std::to_string(options_.memory_servers.size()));
  }
  const protocol::ProtocolTraits* const protocol = protocol::find_protocol(welcome.protocol());
  if (protocol == nullptr || (i > 0 && protocol != protocol_)) {
    return disagreement(address, "runs protocol \"" + welcome.protocol() + "\"" +
                                     (i > 0 ? ", server 0 " + std::string(protocol_->name) : ""));
  }
  const auto stages = protocol::StageCode::parse(welcome.stages());
  if (!stages || (i > 0 && *stages != stages_)) {
    return disagreement(address,
                        "runs stages " + welcome.stages() + (i > 0 ? ", server 0 " + stages_.text() : ""));
  }
  const protocol::Preset* const preset = protocol::find_preset(welcome.preset());
  if ((preset == nullptr && !welcome.preset().empty()) || (i > 0 && welcome.preset() != preset_)) {
    return disagreement(
        address, "has preset \"" + welcome.preset() + "\"" + (i > 0 ? ", server 0 \"" + preset_ + "\"" : ""));
  }
  const auto spread = layout::find_vector_spread(welcome.timestamp_vector());
  const layout::VectorParts parts(spread.value_or(layout::VectorSpread::whole),
                                  static_cast<std::uint32_t>(options_.memory_servers.size()));
  if (!spread || (i > 0 && parts.count() != vector_parts_.count())) {
    return disagreement(address, "has the timestamp vector \"" + welcome.timestamp_vector() + "\"" +
                                     (i > 0 ? ", other than server 0" : ""));
  }
  if (i > 0 && parts.count() > 1 && map.vector_capacity != links_[0].map.vector_capacity) {
    return disagreement(
        address, "has room for " + std::to_string(map.vector_capacity) + " execution slots, server 0 for " +
                     std::to_string(links_[0].map.vector_capacity) + "; --slots must be the same");
  }
  if (i > 0 && welcome.shared_read_locks() != shared_read_locks_) {
    return disagreement(address, std::string("has records ") + (shared_read_locks_ ? "without" : "with") +
                                     " words for readers that share locks, other than server 0;"
                                     " --read-locks must be the same");
  }
  if (i > 0 && welcome.memory_only() == flushed_) {
    return disagreement(address, std::string("keeps commits ") + (flushed_ ? "in memory only" : "on disk") +
                                     ", other than server 0; --durability must be the same");
  }
  if (i > 0) return Status();
  vector_parts_ = parts;
  flushed_ = !welcome.memory_only();
  shared_read_locks_ = welcome.shared_read_locks();
  protocol_ = protocol;
  stages_ = *stages;
  preset_ = welcome.preset();
  optimisations_ = options_.optimisations;
  if (preset != nullptr) optimisations_ = *options_.optimisations.leave_out(preset->without);
  database_id_ = welcome.database_id();
  max_transaction_ns_ = welcome.max_transaction_ns();
  return Status();
}

reactor::Task<Status> Cluster::join() {
  if (links_.size() == 1) co_return Status();
  control::JoinClusterRequest request;
  for (const Link& link : links_) request.add_epochs(link.map.epoch);
  for (const std::string& address : options_.memory_servers) request.add_addresses(address);
  // In this order: no server may belong to a cluster whose server 0 will have to be restarted.
  for (std::size_t server = 0; server < links_.size(); ++server) {
    if (links_[server].away) continue;
    Status status =
        co_await call(static_cast<layout::ServerId>(server), control::JOIN_CLUSTER, request, nullptr);
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

reactor::Task<bool> Cluster::away_returns(std::vector<std::string> addresses) {
  for (std::size_t server = 1; server < links_.size(); ++server) {
    if (!links_[server].away) continue;
    // The channel ends here: it has posted nothing.
    const auto channel = co_await fabric_.connect(addresses[server], hello(server), nullptr);
    if (channel.ok()) co_return true;
  }
  co_return false;
}

bool Cluster::failed() const {
  if (given_up_) return true;
  if (bears_loss()) return !links_.empty() && links_[0].channel->failed();
  return std::ranges::any_of(links_, [](const Link& link) { return link.channel->failed(); });
}

bool Cluster::has_lost() const {
  return given_up_ ||
         std::ranges::any_of(links_, [](const Link& link) { return !link.away && link.channel->failed(); });
}

Status Cluster::loss() const {
  for (std::size_t i = 0; i < links_.size(); ++i) {
    const auto server = static_cast<layout::ServerId>(i);
    if (lacks(server) && !away(server)) return lost(server);
  }
  return Status();
}

std::size_t Cluster::away_count() const {
  return static_cast<std::size_t>(std::ranges::count_if(links_, &Link::away));
}

Status Cluster::whole() const {
  for (std::size_t server = 0; server < links_.size(); ++server) {
    if (!links_[server].channel->failed()) continue;
    if (links_[server].away) return links_[server].reason;
    return Status(ErrorCode::cannot_connect_now,
                  "the connection to memory server " + std::to_string(server) + " was lost");
  }
  return Status();
}

Status Cluster::lost(layout::ServerId server) const {
  if (!links_[server].reason.ok()) return links_[server].reason;
  return Status(ErrorCode::connection_failure,
                "the connection to memory server " + std::to_string(server) + " was lost");
}

Status Cluster::named(layout::ServerId server, const Status& error) {
  if (!lacks(server)) return error;
  Link& link = links_[server];
  if (!link.away && link.reason.ok()) {
    link.reason =
        Status(ErrorCode::connection_failure,
               "the connection to memory server " + std::to_string(server) + " was lost: " + error.message());
  }
  if (!link.away && !std::exchange(link.told, true) && options_.lost) options_.lost();
  return error.code() == ErrorCode::connection_failure ? lost(server) : error;
}

void Cluster::give_up(const Status& reason) {
  given_up_ = true;
  for (const Link& link : links_) link.channel->give_up(reason);
}

reactor::Task<Result<std::string>> Cluster::call_bytes(layout::ServerId server, std::uint16_t method,
                                                       std::string request,
                                                       fabric::OperationCounters* counters) {
  fabric::Call call;
  call.method = method;
  call.request = std::move(request);
  if (counters != nullptr) {
    ++counters->calls;
    ++counters->round_trips;
    counters->call_bytes += call.request.size();
  }
  channel(server).post(call);
  const Status& status = co_await call.done();
  if (!status.ok()) co_return Result<std::string>(named(server, status));
  if (counters != nullptr) counters->call_bytes += call.reply.size();
  co_return std::move(call.reply);
}

reactor::Task<Status> Cluster::place_slot(std::uint32_t slot, std::uint64_t position, std::uint32_t counter,
                                          std::uint64_t vector_length) {
  const layout::ServerId server = vector_parts_.place(position).server;
  if (server == 0) co_return Status();
  control::PlaceSlotRequest request;
  request.set_slot(slot);
  request.set_vector_position(position);
  request.set_counter(counter);
  request.set_vector_length(vector_length);
  co_return co_await call(server, control::PLACE_SLOT, request, nullptr);
}

reactor::Task<Status> Cluster::call(layout::ServerId server, control::Method method,
                                    const google::protobuf::MessageLite& request,
                                    google::protobuf::MessageLite* reply,
                                    fabric::OperationCounters* counters) {
  auto bytes =
      co_await call_bytes(server, static_cast<std::uint16_t>(method), request.SerializeAsString(), counters);
  if (!bytes.ok()) co_return bytes.status();
  if (reply != nullptr && !reply->ParseFromString(*bytes)) {
    co_return Status(ErrorCode::protocol_violation, "memory server sent a reply that cannot be read");
  }
  co_return Status();
}

}  // namespace namdb::txn
