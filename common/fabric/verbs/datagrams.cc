#include "common/fabric/verbs/datagrams.h"

#include <spdlog/spdlog.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "common/base/check.h"
#include "common/fabric/verbs/endpoint.h"
#include "common/reactor/reactor.h"

namespace namdb::fabric::verbs {
namespace {

// The standard's header that is stored before every datagram that arrives.
constexpr std::size_t kRoutingHeader_bytes = 40;
constexpr std::uint32_t kMinDepth = 4;

}  // namespace

DatagramPort::~DatagramPort() {
  NAMDB_CHECK(peers_.empty());
  if (scheduled_) device_.reactor().cancel_flush(*this);
  timer_watch_.reset();
  if (timer_ >= 0) ::close(timer_);
  if (queue_pair_ != nullptr) {
    device_.drain();
    device_.remove(queue_pair_->qp_num);
    NAMDB_CHECK(ibv_destroy_qp(queue_pair_) == 0);
    device_.release_completions(depth_);
  }
  for (const Outgoing& outgoing : outgoing_) device_.messages().free(outgoing.buffer, kFragment_bytes);
  while (!in_flight_.empty()) {
    if (in_flight_.front().buffer != nullptr) {
      device_.messages().free(in_flight_.front().buffer, kFragment_bytes);
    }
    in_flight_.pop();
  }
  for (const auto& [sequence, handle] : old_handles_) ibv_destroy_ah(handle);
}

Status DatagramPort::create(std::uint8_t port, std::uint32_t send_queue_depth, std::uint32_t lose_every) {
  lose_every_ = lose_every;
  depth_ = std::min(std::max(send_queue_depth, kMinDepth),
                    static_cast<std::uint32_t>(device_.attributes().max_qp_wr));
  ibv_qp_init_attr initial{};
  initial.send_cq = device_.completions();
  initial.recv_cq = device_.completions();
  initial.srq = device_.receives();
  initial.qp_type = IBV_QPT_UD;
  initial.cap.max_send_sge = 1;
  initial.cap.max_send_wr = depth_;
  if (Status status = device_.reserve_completions(depth_); !status.ok()) return status;
  queue_pair_ = ibv_create_qp(device_.domain(), &initial);
  if (queue_pair_ == nullptr) {
    device_.release_completions(depth_);
    return Status(ErrorCode::limit_exceeded, "the RDMA device " + device_.name() +
                                                 " has no queue pair for datagrams: " + std::strerror(errno));
  }
  max_inline_bytes_ = initial.cap.max_inline_data;
  device_.add(queue_pair_->qp_num, *this, nullptr);
  NAMDB_CHECK(::getrandom(&key_, sizeof key_, 0) == static_cast<ssize_t>(sizeof key_));
  key_ &= 0x7fff'ffff;  // the highest bit has a meaning
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = port;
  attributes.qkey = key_;
  int error =
      ibv_modify_qp(queue_pair_, &attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
  attributes.qp_state = IBV_QPS_RTR;
  if (error == 0) error = ibv_modify_qp(queue_pair_, &attributes, IBV_QP_STATE);
  attributes.qp_state = IBV_QPS_RTS;
  if (error == 0) error = ibv_modify_qp(queue_pair_, &attributes, IBV_QP_STATE | IBV_QP_SQ_PSN);
  if (error != 0) {
    return Status(ErrorCode::limit_exceeded,
                  "the RDMA device " + device_.name() + " sends no datagrams: " + std::strerror(error));
  }
  requests_.reserve(depth_);
  places_.reserve(depth_);
  timer_ = ::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  NAMDB_CHECK(timer_ >= 0);
  timer_watch_.emplace(device_.reactor(), timer_, [this] { on_timer(); });
  return Status();
}

DatagramAddress DatagramPort::address() const {
  if (queue_pair_ == nullptr || broken_) return {0, 0};
  return {queue_pair_->qp_num, key_};
}

Status DatagramPort::join(std::uint64_t token, Endpoint& connection, const DatagramAddress& peer,
                          DatagramUser& user) {
  // The way to the peer is the connection's.
  ibv_qp_attr attributes{};
  ibv_qp_init_attr initial{};
  int error = ibv_query_qp(connection.queue_pair(), &attributes, IBV_QP_AV, &initial);
  ibv_ah* handle = error == 0 ? ibv_create_ah(device_.domain(), &attributes.ah_attr) : nullptr;
  if (handle == nullptr) {
    if (error == 0) error = errno;
    return Status(ErrorCode::limit_exceeded,
                  "the RDMA device " + device_.name() + " has no address handle: " + std::strerror(error));
  }
  const std::size_t packet_bytes = std::min(connection.path_mtu_bytes(), kFragment_bytes);
  const Peer added{&user, handle, peer, packet_bytes - std::min(packet_bytes, sizeof(DatagramHeader))};
  if (peers_.emplace(token, added).second) return Status();
  ibv_destroy_ah(handle);
  return Status(ErrorCode::connection_failure, "a token for datagrams was given twice");
}

void DatagramPort::leave(std::uint64_t token) {
  const auto found = peers_.find(token);
  if (found == peers_.end()) return;
  std::erase_if(outgoing_, [&](const Outgoing& outgoing) {
    if (outgoing.token != token) return false;
    device_.messages().free(outgoing.buffer, kFragment_bytes);
    return true;
  });
  old_handles_.emplace_back(next_sequence_, found->second.handle);
  peers_.erase(found);
  free_handles();
}

void DatagramPort::free_handles() {
  std::erase_if(old_handles_, [&](const auto& old) {
    if (old.first > first_in_queue_ && !broken_) return false;
    ibv_destroy_ah(old.second);
    return true;
  });
}

bool DatagramPort::fits(std::uint64_t token, std::size_t length_bytes) const {
  const auto found = peers_.find(token);
  return !broken_ && found != peers_.end() && length_bytes <= found->second.max_payload_bytes;
}

void DatagramPort::send(std::uint64_t token, const MessageHeader& header, std::string_view payload) {
  ++counters_.sent;
  const bool lost = lose_every_ != 0 && counters_.sent % lose_every_ == 0;
  const bool doubled = lose_every_ != 0 && counters_.sent % lose_every_ == 1;
  const DatagramHeader start{token, header};
  for (int copies = lost ? 0 : doubled ? 2 : 1; copies != 0; --copies) {
    std::byte* buffer = device_.messages().allocate(kFragment_bytes);
    std::memcpy(buffer, &start, sizeof start);
    std::memcpy(buffer + sizeof start, payload.data(), payload.size());
    outgoing_.push_back({buffer, static_cast<std::uint32_t>(sizeof start + payload.size()), token});
  }
  if (!std::exchange(scheduled_, true)) device_.reactor().flush_soon(*this);
}

void DatagramPort::end_of_turn() {
  scheduled_ = false;
  requests_.clear();
  places_.clear();
  for (const Outgoing& outgoing : std::exchange(outgoing_, {})) {
    const std::optional<std::uint32_t> key = device_.local_key(outgoing.buffer, outgoing.length_bytes);
    if (next_sequence_ - first_in_queue_ == depth_ || !key || broken_) {
      ++counters_.dropped;
      device_.messages().free(outgoing.buffer, kFragment_bytes);
      continue;
    }
    const Peer& peer = peers_.at(outgoing.token);
    places_.push_back({reinterpret_cast<std::uint64_t>(outgoing.buffer), outgoing.length_bytes, *key});
    ibv_send_wr& request = requests_.emplace_back();
    request = {};
    request.wr_id = next_sequence_++;
    request.sg_list = &places_.back();
    request.num_sge = 1;
    request.opcode = IBV_WR_SEND;
    if (outgoing.length_bytes <= max_inline_bytes_) request.send_flags |= IBV_SEND_INLINE;
    request.wr.ud.ah = peer.handle;
    request.wr.ud.remote_qpn = peer.address.queue_pair;
    request.wr.ud.remote_qkey = peer.address.key;
    in_flight_.push({request.wr_id, outgoing.buffer});
  }
  if (requests_.empty()) return;
  for (std::size_t i = 0; i + 1 < requests_.size(); ++i) requests_[i].next = &requests_[i + 1];
  requests_.back().next = nullptr;
  requests_.back().send_flags |= IBV_SEND_SIGNALED;
  ibv_send_wr* refused = nullptr;
  const int error = ibv_post_send(queue_pair_, requests_.data(), &refused);
  if (error != 0) fail(std::string("it refuses datagrams: ") + std::strerror(error));
}

void DatagramPort::on_sent(const ibv_wc& completion) {
  if (broken_) return;
  if (completion.status != IBV_WC_SUCCESS) {
    return fail(std::string("a datagram failed: ") + ibv_wc_status_str(completion.status));
  }
  first_in_queue_ = completion.wr_id + 1;
  while (!in_flight_.empty() && in_flight_.front().sequence < first_in_queue_) {
    device_.messages().free(in_flight_.front().buffer, kFragment_bytes);
    in_flight_.pop();
  }
  if (!old_handles_.empty()) free_handles();
}

void DatagramPort::on_received(const ibv_wc& completion, std::span<const std::byte> bytes) {
  if (broken_) return;
  DatagramHeader header;
  if (bytes.size() < kRoutingHeader_bytes + sizeof header) {
    ++counters_.dropped;
    return;
  }
  bytes = bytes.subspan(kRoutingHeader_bytes);
  std::memcpy(&header, bytes.data(), sizeof header);
  bytes = bytes.subspan(sizeof header);
  const auto found = peers_.find(header.token);
  if (found == peers_.end() || completion.src_qp != found->second.address.queue_pair ||
      refuse_message(header.message) != nullptr || header.message.length_bytes != bytes.size()) {
    ++counters_.dropped;
    return;
  }
  ++counters_.received;
  found->second.user->on_datagram(header.message,
                                  std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

void DatagramPort::fail(const std::string& reason) {
  if (std::exchange(broken_, true)) return;
  spdlog::warn("verbs fabric: {}: calls go over connections only, from now on: {}", device_.name(), reason);
  std::vector<DatagramUser*> users;
  for (const auto& [token, peer] : peers_) users.push_back(peer.user);
  for (DatagramUser* user : users) user->on_datagrams_broken();
}

void DatagramPort::want_ticks() {
  if (std::exchange(ticking_, true)) return;
  const timespec tick{0, static_cast<long>(kTick_ns)};
  const itimerspec interval{tick, tick};
  NAMDB_CHECK(::timerfd_settime(timer_, 0, &interval, nullptr) == 0);
}

void DatagramPort::on_timer() {
  std::uint64_t ticks = 0;
  if (::read(timer_, &ticks, sizeof ticks) < 0 || !ticking_) return;
  bool wanted = false;
  const std::uint64_t now_ns = device_.reactor().now_ns();
  for (const auto& [token, peer] : peers_) wanted |= peer.user->on_tick(now_ns);
  if (wanted) return;
  ticking_ = false;
  const itimerspec never{};
  NAMDB_CHECK(::timerfd_settime(timer_, 0, &never, nullptr) == 0);
}

void DatagramPort::describe(Facts& facts) const {
  facts.count("datagrams_sent", counters_.sent);
  facts.count("datagrams_received", counters_.received);
  facts.count("datagrams_dropped", counters_.dropped);
}

}  // namespace namdb::fabric::verbs
