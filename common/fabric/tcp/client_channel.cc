#include "common/fabric/tcp/client_channel.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/fabric/facts.h"
#include "common/fabric/status_bytes.h"

namespace namdb::fabric::tcp {
namespace {

std::size_t result_bytes(const Operation& operation) {
  return operation.kind == OperationKind::write ? 0 : operation.length_bytes;
}

// The bytes that follow the header of an operation's request.
std::size_t data_bytes(const Operation& operation) {
  switch (operation.kind) {
    case OperationKind::read:
      return 0;
    case OperationKind::write:
      return operation.length_bytes;
    case OperationKind::compare_and_swap:
      return 16;
    case OperationKind::fetch_add:
      return 8;
  }
  return 0;
}

void encode(const Operation& operation, Checksums checksums, reactor::OutputBuffer& output) {
  RequestHeader header{RequestKind::read, 0, 0, operation.length_bytes, operation.remote_offset};
  const std::size_t length_bytes = data_bytes(operation);
  std::byte* const place = output.extend(sizeof header + length_bytes);
  std::byte* const data = place + sizeof header;
  switch (operation.kind) {
    case OperationKind::read:
      break;
    case OperationKind::write:
      header.kind = RequestKind::write;
      std::memcpy(data, operation.local, length_bytes);
      break;
    case OperationKind::compare_and_swap:
      header.kind = RequestKind::compare_and_swap;
      std::memcpy(data, &operation.expected, 8);
      std::memcpy(data + 8, &operation.operand, 8);
      break;
    case OperationKind::fetch_add:
      header.kind = RequestKind::fetch_add;
      std::memcpy(data, &operation.operand, 8);
      break;
  }
  seal(header, {data, length_bytes}, checksums);
  std::memcpy(place, &header, sizeof header);
}

}  // namespace

TcpChannel::TcpChannel(reactor::Reactor& reactor, LocalPool& pool, std::unique_ptr<Link> link,
                       std::string address)
    : Channel(reactor),
      pool_(pool),
      link_(std::move(link)),
      checksums_(link_->checksums()),
      address_(std::move(address)) {}

TcpChannel::~TcpChannel() {
  fail(Status(ErrorCode::connection_failure, "the channel is closed"));
}

void TcpChannel::describe(Facts& facts) const {
  Channel::describe(facts);
  if (failed()) return facts.say("error", failure_.message());
  if (link_->encrypted()) facts.say("encryption", "AES-128-GCM");
  tcp_info info{};
  socklen_t length = sizeof info;
  if (::getsockopt(link_->socket().descriptor(), IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return;
  facts.count("path_mtu_bytes", info.tcpi_pmtu);
  facts.count("smoothed_round_trip_us", info.tcpi_rtt);
  facts.count("retransmitted_segments", info.tcpi_total_retrans);
  facts.count("unsent_bytes", link_->socket().unsent_bytes());
}

void TcpChannel::do_post(Batch& batch) {
  batch.begin();
  if (failed()) return batch.complete(executor(), failure_);
  if (batch.empty()) return batch.complete(executor(), Status());
  reactor::OutputBuffer& output = link_->socket().output();
  // The fence of an operation needs no care: the server executes everything in the order of arrival.
  for (const Operation& operation : batch.operations()) encode(operation, checksums_, output);
  batches_.push(&batch);
  link_->socket().send_soon();
}

void TcpChannel::do_post(Call& call) {
  call.begin();
  if (failed()) return call.complete(executor(), failure_);
  if (call.request.size() > kMaxCall_bytes) {
    return call.complete(executor(), Status(ErrorCode::limit_exceeded, "the request of a call is too long"));
  }
  if (free_calls_.empty()) {
    free_calls_.push_back(static_cast<std::uint32_t>(calls_.size()));
    calls_.push_back(nullptr);
  }
  const std::uint32_t id = free_calls_.back();
  free_calls_.pop_back();
  calls_[id] = &call;
  call.reply.clear();
  RequestHeader header{RequestKind::call, 0, call.method, static_cast<std::uint32_t>(call.request.size()),
                       id};
  seal(header, std::as_bytes(std::span(call.request)), checksums_);
  reactor::OutputBuffer& output = link_->socket().output();
  output.append(&header, sizeof header);
  output.append(call.request.data(), call.request.size());
  link_->socket().send_soon();
}

void TcpChannel::on_receive(std::span<const std::byte> bytes) {
  while (!bytes.empty() && !failed()) {
    if (!in_response_) {
      take_header(bytes);
    } else if (response_.kind == ResponseKind::results) {
      take_results(bytes);
    } else {
      take_reply(bytes);
    }
  }
}

void TcpChannel::take_header(std::span<const std::byte>& bytes) {
  const std::size_t taken = std::min(bytes.size(), sizeof(ResponseHeader) - header_length_);
  std::memcpy(header_bytes_.data() + header_length_, bytes.data(), taken);
  header_length_ += taken;
  bytes = bytes.subspan(taken);
  if (header_length_ < sizeof(ResponseHeader)) return;
  header_length_ = 0;
  response_ = load<ResponseHeader>(header_bytes_.data());
  if (const char* reason = refuse_response(response_, checksums_)) {
    return fail(Status(ErrorCode::connection_failure, address_ + " sent " + reason));
  }
  in_response_ = true;
  data_checksum_ = 0;
  if (response_.kind == ResponseKind::results) {
    operations_left_ = response_.count;
    result_bytes_left_ = response_.identity;
    return take_results(bytes);  // of WRITEs, nothing follows
  }
  if (response_.identity >= calls_.size() || calls_[response_.identity] == nullptr) {
    return fail(Status(ErrorCode::connection_failure, address_ + " sent a reply to no call"));
  }
  replying_ = calls_[response_.identity];
  replying_->reply.resize(response_.count);
  reply_bytes_ = 0;
  take_reply(bytes);  // nothing follows an empty reply
}

void TcpChannel::take_results(std::span<const std::byte>& bytes) {
  const std::span<const std::byte> data =
      bytes.first(std::min<std::uint64_t>(bytes.size(), result_bytes_left_));
  if (checksums_ == Checksums::both) data_checksum_ = crc32c(data, data_checksum_);
  // Data that came in one piece is stored only when it is known to be whole.
  if (data.size() == result_bytes_left_ && !data_agrees()) return;
  while (operations_left_ != 0) {
    if (batches_.empty()) {
      return fail(Status(ErrorCode::connection_failure, address_ + " sent results of no operation"));
    }
    Batch& batch = *batches_.front();
    const Operation& operation = batch.operations()[next_operation_];
    const std::size_t wanted = result_bytes(operation) - operation_bytes_;
    if (wanted > result_bytes_left_) {
      return fail(Status(ErrorCode::connection_failure, address_ + " sent results of a wrong length"));
    }
    const std::size_t taken = std::min(bytes.size(), wanted);
    if (taken != 0) std::memcpy(operation.local + operation_bytes_, bytes.data(), taken);
    bytes = bytes.subspan(taken);
    result_bytes_left_ -= taken;
    if (taken < wanted) {
      operation_bytes_ += taken;
      return;
    }
    operation_bytes_ = 0;
    --operations_left_;
    if (++next_operation_ == batch.operations().size()) {
      next_operation_ = 0;
      batches_.pop();
      answered_.push(&batch);
    }
  }
  if (result_bytes_left_ != 0) {
    return fail(Status(ErrorCode::connection_failure, address_ + " sent results of a wrong length"));
  }
  in_response_ = false;
  while (!answered_.empty()) {
    Batch* batch = answered_.front();
    answered_.pop();
    batch->complete(executor(), Status());
  }
}

bool TcpChannel::data_agrees() {
  if (checksums_ == Checksums::none || data_checksum_ == response_.data_checksum) return true;
  fail(Status(ErrorCode::connection_failure, address_ + " sent " + kDamaged));
  return false;
}

void TcpChannel::take_reply(std::span<const std::byte>& bytes) {
  const std::size_t taken = std::min(bytes.size(), replying_->reply.size() - reply_bytes_);
  if (taken != 0) std::memcpy(replying_->reply.data() + reply_bytes_, bytes.data(), taken);
  if (checksums_ == Checksums::both) data_checksum_ = crc32c(bytes.first(taken), data_checksum_);
  reply_bytes_ += taken;
  bytes = bytes.subspan(taken);
  if (reply_bytes_ == replying_->reply.size()) finish_reply();
}

void TcpChannel::finish_reply() {
  if (!data_agrees()) return;
  Call& call = *std::exchange(replying_, nullptr);
  const auto id = static_cast<std::uint32_t>(response_.identity);
  calls_[id] = nullptr;
  free_calls_.push_back(id);
  in_response_ = false;
  Status status;
  if (response_.kind == ResponseKind::failure) {
    status = decode_status(call.reply);
    call.reply.clear();
  }
  call.complete(executor(), std::move(status));
}

void TcpChannel::on_end(Status status) {
  fail(Status(ErrorCode::connection_failure,
              "the connection to " + address_ + " is lost" + (status.ok() ? "" : ": " + status.message())));
}

void TcpChannel::fail(Status status) {
  if (failed()) return;
  failure_ = std::move(status);
  link_->socket().close();
  for (Queue<Batch*>* queue : {&answered_, &batches_}) {
    while (!queue->empty()) {
      Batch* batch = queue->front();
      queue->pop();
      batch->complete(executor(), failure_);
    }
  }
  for (Call*& call : calls_) {
    if (call == nullptr) continue;
    call->reply.clear();
    std::exchange(call, nullptr)->complete(executor(), failure_);
  }
}

}  // namespace namdb::fabric::tcp
