#include "common/fabric/verbs/endpoint.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "common/base/check.h"
#include "common/reactor/reactor.h"

namespace namdb::fabric::verbs {
namespace {

// A full queue must hold a signalled request, or nothing would ever leave it.
constexpr std::uint32_t kSignalsPerQueue = 4;

// The sizes that are tried: a device shows its limit only by refusing.
constexpr std::array<std::uint32_t, 6> kInlineSizes = {512, 256, 220, 128, 64, 0};

Status explain(const ibv_wc& completion) {
  switch (completion.status) {
    case IBV_WC_RETRY_EXC_ERR:
    case IBV_WC_RNR_RETRY_EXC_ERR:
      return Status(ErrorCode::connection_failure, "the peer does not answer");
    case IBV_WC_REM_ACCESS_ERR:
    case IBV_WC_REM_INV_REQ_ERR:
    case IBV_WC_REM_OP_ERR:
      return Status(ErrorCode::connection_failure, "the peer's device refused an operation (" +
                                                       std::string(ibv_wc_status_str(completion.status)) +
                                                       ")");
    default:
      return Status(ErrorCode::connection_failure,
                    "the queue pair failed (" + std::string(ibv_wc_status_str(completion.status)) + ")");
  }
}

}  // namespace

Endpoint::~Endpoint() {
  destroy(Status(ErrorCode::connection_failure, "the channel is closed"));
}

Status Endpoint::create(std::uint32_t send_queue_depth) {
  ibv_qp_init_attr attributes{};
  attributes.send_cq = device_.completions();
  attributes.recv_cq = device_.completions();
  attributes.srq = device_.receives();
  attributes.qp_type = IBV_QPT_RC;
  attributes.cap.max_send_sge = 1;
  const std::uint32_t wanted = std::min(std::max(send_queue_depth, kSignalsPerQueue),
                                        static_cast<std::uint32_t>(device_.attributes().max_qp_wr));
  for (const std::uint32_t size : kInlineSizes) {
    attributes.cap.max_send_wr = wanted;
    attributes.cap.max_inline_data = size;
    queue_pair_ = ibv_create_qp(device_.domain(), &attributes);
    if (queue_pair_ != nullptr || (errno != EINVAL && errno != ENOMEM)) break;
  }
  if (queue_pair_ == nullptr) {
    return Status(ErrorCode::limit_exceeded,
                  "the RDMA device " + device_.name() + " has no queue pair: " + std::strerror(errno));
  }
  // Slots that it grants beyond the wish are not used: completions are reserved for the wish.
  depth_ = wanted;
  max_inline_bytes_ = attributes.cap.max_inline_data;
  if (Status status = device_.reserve_completions(depth_); !status.ok()) {
    ibv_destroy_qp(std::exchange(queue_pair_, nullptr));
    return status;
  }
  requests_.reserve(depth_);
  places_.reserve(depth_);
  device_.add(number(), *this, &counters_);
  return Status();
}

Status Endpoint::modify(ibv_qp_attr attributes, int mask) {
  const int error = ibv_modify_qp(queue_pair_, &attributes, mask);
  if (error == 0) return Status();
  return Status(ErrorCode::connection_failure,
                "a queue pair of " + device_.name() + " refuses its next state: " + std::strerror(error));
}

std::uint32_t Endpoint::path_mtu_bytes() {
  if (path_mtu_bytes_ != 0 || queue_pair_ == nullptr || !started_) return path_mtu_bytes_;
  ibv_qp_attr attributes{};
  ibv_qp_init_attr initial{};
  if (ibv_query_qp(queue_pair_, &attributes, IBV_QP_PATH_MTU, &initial) == 0) {
    path_mtu_bytes_ = bytes_of_mtu(attributes.path_mtu);
  }
  return path_mtu_bytes_;
}

void Endpoint::on_device_error(const std::string& reason) {
  ++counters_.errors;
  break_down(Status(ErrorCode::connection_failure, reason));
}

void Endpoint::start() {
  started_ = true;
  if (!queued_.empty()) schedule();
}

void Endpoint::schedule() {
  if (std::exchange(scheduled_, true)) return;
  device_.reactor().flush_soon(*this);
}

void Endpoint::end_of_turn() {
  scheduled_ = false;
  post_queued();
}

void Endpoint::post(Batch& batch) {
  Queued queued;
  queued.batch = &batch;
  queued_.push(std::move(queued));
  schedule();
}

void Endpoint::send(MessageKind kind, std::uint16_t method, std::uint64_t call, std::string payload,
                    bool confirm, MemberId member) {
  const MessageHeader header{kind, member, method, static_cast<std::uint32_t>(payload.size()), call};
  payload.insert(0, reinterpret_cast<const char*>(&header), sizeof header);
  unsent_bytes_ += payload.size();
  unconfirmed_ += confirm ? 1 : 0;
  Queued queued;
  queued.message = std::move(payload);
  queued.confirm = confirm;
  queued_.push(std::move(queued));
  schedule();
}

void Endpoint::bind(ibv_mw& window, std::uint32_t key, ibv_mr& region, std::size_t length_bytes) {
  Queued queued;
  queued.bind = Bind{&window, &region, key, length_bytes};
  queued_.push(std::move(queued));
  schedule();
}

void Endpoint::post_queued() {
  if (!started_ || stopped_ || queued_.empty()) return;
  requests_.clear();
  places_.clear();
  while (!queued_.empty() && free_slots() != 0 && !stopped_) {
    Queued& front = queued_.front();
    const bool whole = front.batch != nullptr ? add_batch(front)
                       : front.bind           ? add_bind(*front.bind)
                                              : add_message(front);
    if (!whole) break;
    front.message = {};
    front.bind.reset();
    queued_.pop();
  }
  if (requests_.empty() || stopped_) return;
  for (std::size_t i = 0; i + 1 < requests_.size(); ++i) requests_[i].next = &requests_[i + 1];
  requests_.back().next = nullptr;
  NAMDB_CHECK(next_sequence_ - first_in_queue_ <= depth_);
  NAMDB_CHECK(next_sequence_ - last_signalled_ < depth_);
  ++counters_.doorbells;
  ibv_send_wr* refused = nullptr;
  const int error = ibv_post_send(queue_pair_, requests_.data(), &refused);
  if (error != 0) {
    break_down(Status(ErrorCode::internal,
                      "the RDMA device " + device_.name() + " refuses requests: " + std::strerror(error)));
  }
}

ibv_send_wr& Endpoint::add_request(const std::byte* local, std::uint32_t length_bytes, std::uint32_t key) {
  places_.push_back({reinterpret_cast<std::uint64_t>(local), length_bytes, key});
  ibv_send_wr& request = requests_.emplace_back();
  request = {};
  request.wr_id = next_sequence_++;
  request.sg_list = &places_.back();
  request.num_sge = 1;
  ++counters_.requests;
  if (next_sequence_ - last_signalled_ >= depth_ / kSignalsPerQueue) signal(request);
  return request;
}

void Endpoint::signal(ibv_send_wr& request) {
  if ((request.send_flags & IBV_SEND_SIGNALED) != 0) return;
  request.send_flags |= IBV_SEND_SIGNALED;
  last_signalled_ = request.wr_id + 1;
  ++counters_.signalled;
}

bool Endpoint::add_batch(Queued& queued) {
  const std::span<const Operation> operations = queued.batch->operations();
  for (; queued.done != operations.size(); ++queued.done) {
    if (free_slots() == 0) return false;
    const Operation& operation = operations[queued.done];
    const std::optional<std::uint32_t> key = device_.local_key(operation.local, operation.length_bytes);
    if (!key) {
      break_down(Status(ErrorCode::internal, "an operation names local memory that is not registered"));
      return false;
    }
    ibv_send_wr& request = add_request(operation.local, operation.length_bytes, *key);
    if (operation.fence) request.send_flags |= IBV_SEND_FENCE;
    switch (operation.kind) {
      case OperationKind::read:
      case OperationKind::write:
        request.opcode = operation.kind == OperationKind::read ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE;
        request.wr.rdma.remote_addr = operation.remote_offset;
        request.wr.rdma.rkey = remote_key_;
        if (operation.kind == OperationKind::write && operation.length_bytes <= max_inline_bytes_) {
          request.send_flags |= IBV_SEND_INLINE;
          ++counters_.inlined;
        }
        break;
      case OperationKind::compare_and_swap:
      case OperationKind::fetch_add: {
        const bool swap = operation.kind == OperationKind::compare_and_swap;
        request.opcode = swap ? IBV_WR_ATOMIC_CMP_AND_SWP : IBV_WR_ATOMIC_FETCH_AND_ADD;
        request.wr.atomic.remote_addr = operation.remote_offset;
        request.wr.atomic.rkey = remote_key_;
        request.wr.atomic.compare_add = swap ? operation.expected : operation.operand;
        request.wr.atomic.swap = operation.operand;
        break;
      }
    }
    if (queued.done + 1 == operations.size()) {
      signal(request);
      in_flight_.push({request.wr_id, queued.batch, nullptr, false});
    }
  }
  return true;
}

bool Endpoint::add_bind(const Bind& bind) {
  ibv_send_wr& request = add_request(nullptr, 0, 0);
  request.num_sge = 0;
  request.opcode = IBV_WR_BIND_MW;
  request.bind_mw.mw = bind.window;
  request.bind_mw.rkey = bind.key;
  request.bind_mw.bind_info.mr = bind.region;
  request.bind_mw.bind_info.addr = 0;
  request.bind_mw.bind_info.length = bind.length_bytes;
  constexpr unsigned kAccess = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
  request.bind_mw.bind_info.mw_access_flags = kAccess;
  return true;
}

bool Endpoint::add_message(Queued& queued) {
  const std::string& message = queued.message;
  while (queued.done != message.size()) {
    if (free_slots() == 0) return false;
    const std::size_t length = std::min<std::size_t>(kFragment_bytes, message.size() - queued.done);
    std::byte* buffer = device_.messages().allocate(kFragment_bytes);
    std::memcpy(buffer, message.data() + queued.done, length);
    const std::optional<std::uint32_t> key = device_.local_key(buffer, length);
    if (!key) {
      device_.messages().free(buffer, kFragment_bytes);
      break_down(Status(ErrorCode::limit_exceeded, "no memory can be registered for messages"));
      return false;
    }
    ibv_send_wr& request = add_request(buffer, static_cast<std::uint32_t>(length), *key);
    request.opcode = IBV_WR_SEND;
    ++counters_.sends;
    if (length <= max_inline_bytes_) {
      request.send_flags |= IBV_SEND_INLINE;
      ++counters_.inlined;
    }
    queued.done += length;
    unsent_bytes_ -= length;
    const bool confirm = queued.confirm && queued.done == message.size();
    if (confirm) signal(request);
    in_flight_.push({request.wr_id, nullptr, buffer, confirm});
  }
  return true;
}

void Endpoint::on_sent(const ibv_wc& completion) {
  if (completion.status != IBV_WC_SUCCESS) {
    // The requests behind it are flushed. Their buffers stay in use until the queue pair is destroyed.
    if (completion.status != IBV_WC_WR_FLUSH_ERR) ++counters_.errors;
    if (completion.status != IBV_WC_WR_FLUSH_ERR || !stopped_) break_down(explain(completion));
    return;
  }
  ++counters_.completions;
  NAMDB_CHECK(completion.wr_id >= first_in_queue_ && completion.wr_id < next_sequence_);
  first_in_queue_ = completion.wr_id + 1;
  bool confirmed = false;
  while (!in_flight_.empty() && in_flight_.front().sequence < first_in_queue_) {
    const InFlight ended = in_flight_.front();
    in_flight_.pop();
    if (ended.buffer != nullptr) device_.messages().free(ended.buffer, kFragment_bytes);
    if (ended.confirm) {
      --unconfirmed_;
      confirmed = true;
    }
    if (ended.batch != nullptr) ended.batch->complete(device_.reactor(), Status());
  }
  if (!queued_.empty()) schedule();
  if (confirmed) handler_.on_confirmed();
}

void Endpoint::on_received(const ibv_wc& /*completion*/, std::span<const std::byte> bytes) {
  if (stopped_) return;
  ++counters_.received;
  if (!in_message_) {
    if (bytes.size() < sizeof header_) {
      return break_down(Status(ErrorCode::connection_failure, "the peer sent a message without a header"));
    }
    std::memcpy(&header_, bytes.data(), sizeof header_);
    if (const char* reason = refuse_message(header_)) {
      return break_down(Status(ErrorCode::connection_failure, std::string("the peer sent ") + reason));
    }
    bytes = bytes.subspan(sizeof header_);
    payload_.clear();
    payload_.reserve(header_.length_bytes);
    in_message_ = true;
  } else if (bytes.empty()) {
    return break_down(Status(ErrorCode::connection_failure, "the peer sent an empty part of a message"));
  }
  if (bytes.size() > header_.length_bytes - payload_.size()) {
    return break_down(Status(ErrorCode::connection_failure, "the peer sent a message that is too long"));
  }
  payload_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (payload_.size() != header_.length_bytes) return;
  in_message_ = false;
  handler_.on_message(header_, std::move(payload_));
}

void Endpoint::break_down(Status status) {
  if (stopped_) return;
  stop();
  handler_.on_broken(std::move(status));
}

void Endpoint::stop() {
  if (std::exchange(stopped_, true) || queue_pair_ == nullptr) return;
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_ERR;
  ibv_modify_qp(queue_pair_, &attributes, IBV_QP_STATE);
}

void Endpoint::destroy(const Status& status) {
  stop();
  if (std::exchange(scheduled_, false)) device_.reactor().cancel_flush(*this);
  if (queue_pair_ != nullptr) {
    // Receives that have completed are given back first: destroying the queue pair may drop their
    // completions.
    device_.drain();
    device_.remove(number());
    NAMDB_CHECK(ibv_destroy_qp(queue_pair_) == 0);
    queue_pair_ = nullptr;
    device_.release_completions(depth_);
  }
  while (!in_flight_.empty()) {
    const InFlight ended = in_flight_.front();
    in_flight_.pop();
    if (ended.buffer != nullptr) device_.messages().free(ended.buffer, kFragment_bytes);
    if (ended.batch != nullptr) ended.batch->complete(device_.reactor(), status);
  }
  while (!queued_.empty()) {
    Batch* batch = queued_.front().batch;
    queued_.front().message = {};
    queued_.pop();
    if (batch != nullptr) batch->complete(device_.reactor(), status);
  }
  unsent_bytes_ = 0;
  unconfirmed_ = 0;
}

}  // namespace namdb::fabric::verbs
