#include "common/fabric/verbs/client_channel.h"

#include <utility>

#include "common/fabric/status_bytes.h"
#include "common/fabric/verbs/operations.h"
#include "common/fabric/verbs/window.h"
#include "common/reactor/reactor.h"

namespace namdb::fabric::verbs {

VerbsChannel::VerbsChannel(reactor::Reactor& reactor, LocalPool& pool, std::unique_ptr<Link> link,
                           const RegionAccess& access)
    : Channel(reactor),
      reactor_(reactor),
      pool_(pool),
      link_(std::move(link)),
      atomics_with_cpu_((access.flags & RegionAccess::kAtomicsWithCpu) != 0) {
  link_->endpoint().set_remote_key(access.key);
}

VerbsChannel::~VerbsChannel() {
  fail(Status(ErrorCode::connection_failure, "the channel is closed"));
  if (!finished_) {
    reactor_.cancel_flush(*this);
    finish();
  }
}

void VerbsChannel::do_post(Batch& batch) {
  batch.begin();
  if (failed()) return batch.complete(executor(), failure_);
  if (batch.empty()) return batch.complete(executor(), Status());
  Endpoint& endpoint = link_->endpoint();
  if (const char* reason = refuse_operations(batch.operations(), endpoint.device())) {
    fail(Status(ErrorCode::internal, std::string("a batch has ") + reason));
    return batch.complete(executor(), failure_);
  }
  endpoint.post(batch);
}

void VerbsChannel::do_post(Call& call) {
  call.begin();
  if (failed()) return call.complete(executor(), failure_);
  if (call.request.size() > kMaxCall_bytes) {
    return call.complete(executor(), Status(ErrorCode::limit_exceeded, "the request of a call is too long"));
  }
  call.reply.clear();
  waiting_.push(&call);
  send_calls();
}

void VerbsChannel::send_calls() {
  while (!waiting_.empty() && running_ < kClientCalls &&
         (running_ == 0 || running_bytes_ + waiting_.front()->request.size() <= kClientCall_bytes)) {
    Call& call = *waiting_.front();
    waiting_.pop();
    if (free_calls_.empty()) {
      free_calls_.push_back(static_cast<std::uint32_t>(calls_.size()));
      calls_.push_back(nullptr);
    }
    const std::uint32_t id = free_calls_.back();
    free_calls_.pop_back();
    calls_[id] = &call;
    ++running_;
    running_bytes_ += call.request.size();
    link_->endpoint().send(MessageKind::call, call.method, id, call.request);
  }
}

void VerbsChannel::on_message(const MessageHeader& header, std::string payload) {
  if (failed()) return;
  const bool is_answer = header.kind == MessageKind::reply || header.kind == MessageKind::failure;
  if (!is_answer || header.call >= calls_.size() || calls_[header.call] == nullptr) {
    return fail(Status(ErrorCode::connection_failure, link_->peer() + " sent a reply to no call"));
  }
  const auto id = static_cast<std::uint32_t>(header.call);
  Call& call = *std::exchange(calls_[id], nullptr);
  free_calls_.push_back(id);
  --running_;
  running_bytes_ -= call.request.size();
  Status status;
  if (header.kind == MessageKind::failure) {
    status = decode_status(payload);
  } else {
    call.reply = std::move(payload);
  }
  call.complete(executor(), std::move(status));
  send_calls();
}

void VerbsChannel::on_lost(Status status) {
  fail(Status(ErrorCode::connection_failure,
              "the connection to " + link_->peer() + " is lost: " + status.message()));
}

void VerbsChannel::fail(Status status) {
  if (failed()) return;
  failure_ = std::move(status);
  link_->close();
  reactor_.flush_soon(*this);
}

void VerbsChannel::finish() {
  if (std::exchange(finished_, true)) return;
  link_->endpoint().destroy(failure_);
  while (!waiting_.empty()) {
    Call* call = waiting_.front();
    waiting_.pop();
    call->complete(executor(), failure_);
  }
  for (Call*& call : calls_) {
    if (call != nullptr) std::exchange(call, nullptr)->complete(executor(), failure_);
  }
}

}  // namespace namdb::fabric::verbs
