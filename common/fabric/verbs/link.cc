#include "common/fabric/verbs/link.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "common/fabric/verbs/device_choice.h"
#include "common/reactor/system_error.h"

namespace namdb::fabric::verbs {
namespace {

constexpr std::size_t kInboxLimit_bytes = 4 * std::size_t{kMaxHandshake_bytes};
// How long a sender waits whose peer had no receive buffer: 0.64 ms, in the encoding of the standard.
constexpr std::uint8_t kNotReadyTimer = 12;
// The standard's reason for a rejection that the listener itself chose.
constexpr int kRejectedByConsumer = 28;
// Again and again: a peer that lives posts receive buffers.
constexpr std::uint8_t kNotReadyRetries = 7;

std::string explain(const ManagerEvent& event) {
  switch (event.type) {
    case RDMA_CM_EVENT_REJECTED:
      return event.status == kRejectedByConsumer ? "it refuses the connection; its log says why"
                                                 : "nobody listens there";
    case RDMA_CM_EVENT_ADDR_ERROR:
    case RDMA_CM_EVENT_ROUTE_ERROR:
      return "there is no way to it";
    case RDMA_CM_EVENT_UNREACHABLE:
      return "it does not answer";
    case RDMA_CM_EVENT_DISCONNECTED:
      return "it closed the connection";
    case RDMA_CM_EVENT_DEVICE_REMOVAL:
      return "the RDMA device is gone";
    default:
      return std::string(rdma_event_str(event.type)) +
             (event.status == 0 ? "" : std::string(": ") + std::strerror(std::abs(event.status)));
  }
}

int milliseconds_until(std::uint64_t deadline_ns, std::uint64_t now_ns) {
  return static_cast<int>(std::clamp<std::uint64_t>(
      deadline_ns > now_ns ? (deadline_ns - now_ns) / kMillisecond_ns : 0, 1, 60'000));
}

}  // namespace

Link::Link(reactor::Reactor& reactor, ConnectionManager& manager, VerbsOptions options)
    : reactor_(reactor), manager_(&manager), options_(std::move(options)), changed_(reactor) {}

Link::Link(reactor::Reactor& reactor, VerbsOptions options, rdma_cm_id* id)
    : reactor_(reactor),
      manager_(nullptr),
      options_(std::move(options)),
      id_(id),
      peer_(reactor::SocketAddress::of(*rdma_get_peer_addr(id)).to_string()),
      changed_(reactor) {
  ConnectionManager::set_handler(id, *this);
}

Link::~Link() {
  close();
  endpoint_.reset();
  if (id_ != nullptr) rdma_destroy_id(id_);
}

void Link::close() {
  if (std::exchange(closed_, true)) return;
  if (endpoint_ != nullptr) endpoint_->stop();
  if (connected_) rdma_disconnect(id_);
}

Status Link::resolve_address(const std::string& address, std::uint64_t deadline_ns) {
  const Result<reactor::SocketAddress> to = resolve(address, false);
  if (!to.ok()) return to.status();
  sockaddr_storage target{};
  std::memcpy(&target, to->data(), to->size());
  const Result<std::string> host = host_of(options_.device, to->family());
  if (!host.ok()) return host.status();
  const std::string& own = options_.source_address.empty() ? *host : options_.source_address;
  sockaddr_storage source{};
  if (!own.empty()) {
    const Result<reactor::SocketAddress> from = resolve(own + ":0", true);
    if (!from.ok()) return from.status();
    std::memcpy(&source, from->data(), from->size());
  }
  Result<rdma_cm_id*> id = manager_->make_identifier(*this);
  if (!id.ok()) return id.status();
  id_ = *id;
  if (std::optional<std::uint8_t> traffic_class = options_.traffic_class; traffic_class) {
    rdma_set_option(id_, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &*traffic_class, sizeof *traffic_class);
  }
  if (rdma_resolve_addr(id_, own.empty() ? nullptr : reinterpret_cast<sockaddr*>(&source),
                        reinterpret_cast<sockaddr*>(&target),
                        milliseconds_until(deadline_ns, reactor_.now_ns())) == 0) {
    return Status();
  }
  const int error = errno;
  if (error == ENODEV || error == EADDRNOTAVAIL) {
    return Status(ErrorCode::configuration, "no RDMA device leads to " + address,
                  "`rdma link show` lists devices; --fabric tcp needs none");
  }
  return reactor::system_error(ErrorCode::connection_failure, "no RDMA device leads to " + address, error);
}

reactor::Task<Status> Link::expect(rdma_cm_event_type type, std::uint64_t deadline_ns) {
  while (events_.empty()) {
    const bool in_time = co_await changed_.wait_until(deadline_ns);
    if (!in_time) co_return Status(ErrorCode::connection_failure, "it does not answer");
  }
  const ManagerEvent event = events_.front();
  events_.erase(events_.begin());
  if (event.type == type) co_return Status();
  co_return Status(ErrorCode::connection_failure, explain(event));
}

reactor::Task<Status> Link::connect(std::string address, DeviceOf device_of, std::uint64_t deadline_ns) {
  peer_ = address;
  Status status = resolve_address(address, deadline_ns);
  if (!status.ok()) co_return status;
  status = co_await expect(RDMA_CM_EVENT_ADDR_RESOLVED, deadline_ns);
  if (!status.ok()) co_return status;
  status = check(options_.device, *id_, "the way to " + address);
  if (!status.ok()) co_return status;
  const Result<Device*> device = device_of(id_->verbs, id_->port_num);
  if (!device.ok()) co_return device.status();
  if (rdma_resolve_route(id_, milliseconds_until(deadline_ns, reactor_.now_ns())) != 0) {
    co_return reactor::system_error(ErrorCode::connection_failure, "no route", errno);
  }
  status = co_await expect(RDMA_CM_EVENT_ROUTE_RESOLVED, deadline_ns);
  if (!status.ok()) co_return status;
  if (Status made = make_endpoint(**device); !made.ok()) co_return made;
  if (Status advanced = advance(IBV_QPS_INIT); !advanced.ok()) co_return advanced;

  rdma_conn_param parameters{};
  parameters.qp_num = endpoint_->number();
  parameters.srq = 1;
  // The client reads and swaps as much at a time as its device can; the server does not do so with the
  // client's memory.
  parameters.initiator_depth =
      static_cast<std::uint8_t>(std::min(endpoint_->device().attributes().max_qp_init_rd_atom, 255));
  parameters.responder_resources = 0;
  parameters.retry_count = options_.retries;
  parameters.rnr_retry_count = kNotReadyRetries;
  if (rdma_connect(id_, &parameters) != 0) {
    co_return reactor::system_error(ErrorCode::connection_failure, "cannot connect", errno);
  }
  status = co_await expect(RDMA_CM_EVENT_CONNECT_RESPONSE, deadline_ns);
  if (!status.ok()) co_return status;
  connected_ = true;
  if (Status advanced = advance(IBV_QPS_RTR); !advanced.ok()) co_return advanced;
  if (Status advanced = advance(IBV_QPS_RTS); !advanced.ok()) co_return advanced;
  if (rdma_establish(id_) != 0) {
    co_return reactor::system_error(ErrorCode::connection_failure, "cannot connect", errno);
  }
  endpoint_->start();
  co_return Status();
}

Status Link::accept(Device& device, const ManagerEvent& request) {
  Status status = make_endpoint(device);
  for (const ibv_qp_state state : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) {
    if (status.ok()) status = advance(state);
  }
  if (!status.ok()) {
    rdma_reject(id_, nullptr, 0);
    return status;
  }
  rdma_conn_param parameters{};
  parameters.qp_num = endpoint_->number();
  parameters.srq = 1;
  parameters.responder_resources = static_cast<std::uint8_t>(
      std::min<int>(request.responder_resources, device.attributes().max_qp_rd_atom));
  parameters.initiator_depth = request.initiator_depth;
  parameters.rnr_retry_count = kNotReadyRetries;
  if (rdma_accept(id_, &parameters) != 0) {
    return reactor::system_error(ErrorCode::connection_failure, "a connection cannot be accepted", errno);
  }
  connected_ = true;
  endpoint_->start();
  return Status();
}

Status Link::make_endpoint(Device& device) {
  endpoint_.reset(new Endpoint(device, *this));
  return endpoint_->create(options_.send_queue_depth);
}

Status Link::advance(ibv_qp_state state) {
  ibv_qp_attr attributes{};
  attributes.qp_state = state;
  int mask = 0;
  if (rdma_init_qp_attr(id_, &attributes, &mask) != 0) {
    return reactor::system_error(ErrorCode::connection_failure,
                                 "rdma_cm does not know the queue pair's next state", errno);
  }
  // rdma_cm has chosen it, by addresses and the system's settings only.
  if (options_.device.gid_index && (mask & IBV_QP_AV) != 0 && attributes.ah_attr.is_global != 0 &&
      attributes.ah_attr.grh.sgid_index != *options_.device.gid_index) {
    return Status(ErrorCode::configuration,
                  "rdma_cm connects by GID " + std::to_string(attributes.ah_attr.grh.sgid_index) + ", not " +
                      std::to_string(*options_.device.gid_index),
                  "`cma_roce_mode -d DEVICE -p PORT -m 2` makes RoCE v2 the kernel's choice");
  }
  if ((mask & IBV_QP_AV) != 0) {
    // A peer's request asks for the peer's class.
    ibv_global_route& route = attributes.ah_attr.grh;
    route.traffic_class = options_.traffic_class.value_or(route.traffic_class);
    traffic_class_ = route.traffic_class;
  }
  if ((mask & IBV_QP_MAX_QP_RD_ATOMIC) != 0) reads_at_a_time_ = attributes.max_rd_atomic;
  // No memory for anyone yet: see open_memory().
  attributes.qp_access_flags = IBV_ACCESS_LOCAL_WRITE;
  attributes.min_rnr_timer = kNotReadyTimer;
  attributes.rnr_retry = kNotReadyRetries;
  attributes.retry_cnt = options_.retries;
  attributes.timeout = options_.acknowledge_timeout;
  return endpoint_->modify(attributes, mask);
}

void Link::describe(Facts& facts, bool counted) const {
  if (id_ == nullptr || endpoint_ == nullptr) return;
  endpoint_->device().describe(id_->port_num, id_->route.addr.addr.ibaddr.sgid, facts);
  facts.count("reads_at_a_time", reads_at_a_time_);
  facts.count("traffic_class", traffic_class_);
  facts.count("path_mtu_bytes", endpoint_->path_mtu_bytes());
  facts.count("send_queue_depth", endpoint_->depth());
  facts.count("inline_bytes", endpoint_->max_inline_bytes());
  if (counted) endpoint_->counters().describe(facts);
}

Status Link::open_memory() {
  ibv_qp_attr attributes{};
  attributes.qp_access_flags =
      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
  attributes.qp_state = IBV_QPS_RTS;
  return endpoint_->modify(attributes, IBV_QP_STATE | IBV_QP_ACCESS_FLAGS);
}

reactor::Task<Result<std::string>> Link::take(std::size_t length_bytes, std::uint64_t deadline_ns) {
  while (inbox_.size() < length_bytes && !ended_) {
    const bool in_time = co_await changed_.wait_until(deadline_ns);
    if (!in_time) co_return Status(ErrorCode::connection_failure, "the handshake took too long");
  }
  if (inbox_.size() < length_bytes) co_return end_status_;
  std::string taken = inbox_.substr(0, length_bytes);
  inbox_.erase(0, length_bytes);
  co_return taken;
}

void Link::send(const void* bytes, std::size_t length_bytes) {
  // The peer would not wait for a message of no bytes: it would come when the handshake is over.
  if (length_bytes == 0) return;
  endpoint_->send(MessageKind::handshake, 0, 0, std::string(static_cast<const char*>(bytes), length_bytes),
                  true);
}

reactor::Task<void> Link::flush(std::uint64_t deadline_ns) {
  while (endpoint_->unconfirmed() != 0 && !ended_) {
    const bool in_time = co_await changed_.wait_until(deadline_ns);
    if (!in_time) co_return;
  }
}

void Link::abort(const std::string& reason) {
  lose(Status(ErrorCode::connection_failure, reason));
}

void Link::start(LinkHandler& handler) {
  handler_ = &handler;
  if (ended_) handler.on_lost(end_status_);
}

void Link::on_event(const ManagerEvent& event) {
  const bool is_end = event.type == RDMA_CM_EVENT_DISCONNECTED || event.type == RDMA_CM_EVENT_DEVICE_REMOVAL;
  const bool is_failure =
      event.type == RDMA_CM_EVENT_CONNECT_ERROR || event.type == RDMA_CM_EVENT_UNREACHABLE;
  if (is_end || (is_failure && connected_)) {
    // The peer's last words may be there already, and not taken yet.
    if (endpoint_ != nullptr) endpoint_->device().drain();
    lose(Status(ErrorCode::connection_failure, explain(event)));
  }
  if (event.type == RDMA_CM_EVENT_ESTABLISHED || event.type == RDMA_CM_EVENT_TIMEWAIT_EXIT) return;
  events_.push_back(event);
  changed_.notify_all();
}

void Link::on_message(const MessageHeader& header, std::string payload) {
  if (ended_) return;
  const bool is_handshake = header.kind == MessageKind::handshake;
  if (is_handshake != (handler_ == nullptr)) {
    return lose(Status(ErrorCode::connection_failure, "the peer sent a message out of turn"));
  }
  if (!is_handshake) return handler_->on_message(header, std::move(payload));
  inbox_ += payload;
  if (inbox_.size() > kInboxLimit_bytes) abort();
  changed_.notify_all();
}

void Link::on_broken(Status status) {
  lose(std::move(status));
}

void Link::lose(Status status) {
  if (std::exchange(ended_, true)) return;
  end_status_ = std::move(status);
  if (endpoint_ != nullptr) endpoint_->stop();
  changed_.notify_all();
  if (handler_ != nullptr) handler_->on_lost(end_status_);
}

}  // namespace namdb::fabric::verbs
