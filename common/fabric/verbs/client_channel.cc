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
      atomics_with_cpu_((access.flags & RegionAccess::kAtomicsWithCpu) != 0),
      region_bytes_(access.region_bytes),
      token_(access.token),
      peer_port_(access.datagrams) {
  link_->endpoint().set_remote_key(access.key);
}

VerbsChannel::~VerbsChannel() {
  fail(Status(ErrorCode::connection_failure, "the channel is closed"));
  if (!finished_) {
    reactor_.cancel_flush(*this);
    finish();
  }
}

void VerbsChannel::describe(Facts& facts) const {
  Channel::describe(facts);
  describe_connection(facts, true);
}

void VerbsChannel::describe_connection(Facts& facts, bool counted) const {
  if (failed()) facts.say("error", failure_.message());
  facts.count("queue_pairs", finished_ ? 0 : 1);
  link_->describe(facts, counted);
  facts.say("calls_by", port_ == nullptr ? "connections" : "datagrams");
  if (port_ == nullptr) return;
  port_->describe(facts);
  facts.count("datagram_calls_resent", resent_);
}

void VerbsChannel::do_post(Batch& batch) {
  batch.begin();
  if (failed()) return batch.complete(executor(), failure_);
  if (batch.empty()) return batch.complete(executor(), Status());
  Endpoint& endpoint = link_->endpoint();
  if (Status refused = refuse_operations(batch.operations(), endpoint.device()); !refused.ok()) {
    fail(std::move(refused));
    return batch.complete(executor(), failure_);
  }
  endpoint.post(batch);
}

void VerbsChannel::do_post(Call& call) {
  post_as(0, MessageKind::call, call);
}

void VerbsChannel::post_as(MemberId member, MessageKind kind, Call& call) {
  call.begin();
  if (failed()) return call.complete(executor(), failure_);
  if (call.request.size() > kMaxCall_bytes) {
    return call.complete(executor(), Status(ErrorCode::limit_exceeded, "the request of a call is too long"));
  }
  call.reply.clear();
  waiting_.push({&call, kind, member});
  send_calls();
}

void VerbsChannel::start(DatagramPort* port) {
  link_->start(*this);
  if (port == nullptr || peer_port_.queue_pair == 0 || failed()) return;
  const Status status = port->join(token_, link_->endpoint(), peer_port_, *this);
  if (!status.ok()) return fail(status);
  port_ = port;
  const DatagramAddress own = port->address();
  link_->endpoint().send(MessageKind::datagrams, 0, 0,
                         std::string(reinterpret_cast<const char*>(&own), sizeof own));
}

void VerbsChannel::send_calls() {
  while (!waiting_.empty() && running_ < kClientCalls &&
         (running_ == 0 || running_bytes_ + waiting_.front().call->request.size() <= kClientCall_bytes)) {
    const Posted posted = waiting_.front();
    waiting_.pop();
    if (free_slots_.empty()) {
      free_slots_.push_back(static_cast<std::uint32_t>(slots_.size()));
      slots_.emplace_back();
    }
    const std::uint32_t slot = free_slots_.back();
    free_slots_.pop_back();
    slots_[slot] = {posted.call, posted.kind, posted.member, slots_[slot].uses + 1, 0, 0};
    ++running_;
    running_bytes_ += posted.call->request.size();
    transmit(slot);
  }
}

void VerbsChannel::transmit(std::uint32_t slot) {
  Slot& sent = slots_[slot];
  const Call& call = *sent.call;
  const MessageHeader header{sent.kind, sent.member, call.method,
                             static_cast<std::uint32_t>(call.request.size()), number_of(slot)};
  if (port_ != nullptr && sent.tries < kDatagramTries && port_->fits(token_, call.request.size())) {
    sent.resend_ns = reactor_.now_ns() + (kFirstResend_ns << sent.tries);
    ++sent.tries;
    port_->send(token_, header, call.request);
    port_->want_ticks();
  } else {
    sent.resend_ns = ~std::uint64_t{0};
    link_->endpoint().send(sent.kind, call.method, header.call, call.request, false, sent.member);
  }
}

bool VerbsChannel::on_tick(std::uint64_t now_ns) {
  bool waits = false;
  for (std::uint32_t slot = 0; slot != slots_.size() && !failed(); ++slot) {
    if (slots_[slot].call == nullptr) continue;
    if (slots_[slot].resend_ns <= now_ns) {
      ++resent_;
      transmit(slot);
    }
    waits = waits || slots_[slot].resend_ns != ~std::uint64_t{0};
  }
  return waits;
}

void VerbsChannel::on_datagrams_broken() {
  for (std::uint32_t slot = 0; slot != slots_.size() && !failed(); ++slot) {
    if (slots_[slot].call != nullptr && slots_[slot].resend_ns != ~std::uint64_t{0}) transmit(slot);
  }
}

void VerbsChannel::on_datagram(const MessageHeader& header, std::string payload) {
  const auto slot = static_cast<std::uint32_t>(header.call);
  const bool is_answer = header.kind == MessageKind::reply || header.kind == MessageKind::failure;
  // An answer that no call awaits has come twice.
  if (failed() || !is_answer || slot >= slots_.size() || slots_[slot].call == nullptr ||
      number_of(slot) != header.call) {
    return;
  }
  answer(slot, header.kind, std::move(payload));
}

void VerbsChannel::on_message(const MessageHeader& header, std::string payload) {
  if (failed()) return;
  if (header.kind == MessageKind::evict && members_handler_ != nullptr) {
    return members_handler_->on_evicted(header.member);
  }
  const auto slot = static_cast<std::uint32_t>(header.call);
  const bool is_answer = header.kind == MessageKind::reply || header.kind == MessageKind::failure;
  const bool is_known = is_answer && slot < slots_.size() && number_of(slot) == header.call;
  if (!is_known || slots_[slot].call == nullptr) {
    // The answer to a call that was sent in both ways, and was answered in the other.
    if (is_answer && port_ != nullptr) return;
    return fail(Status(ErrorCode::connection_failure, link_->peer() + " sent a reply to no call"));
  }
  answer(slot, header.kind, std::move(payload));
}

void VerbsChannel::answer(std::uint32_t slot, MessageKind kind, std::string payload) {
  Call& call = *std::exchange(slots_[slot].call, nullptr);
  free_slots_.push_back(slot);
  --running_;
  running_bytes_ -= call.request.size();
  Status status;
  if (kind == MessageKind::failure) {
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
  if (members_handler_ != nullptr) members_handler_->on_channel_failed(failure_);
}

void VerbsChannel::finish() {
  if (std::exchange(finished_, true)) return;
  if (port_ != nullptr) std::exchange(port_, nullptr)->leave(token_);
  link_->endpoint().destroy(failure_);
  while (!waiting_.empty()) {
    Call* call = waiting_.front().call;
    waiting_.pop();
    call->complete(executor(), failure_);
  }
  for (Slot& slot : slots_) {
    if (slot.call != nullptr) std::exchange(slot.call, nullptr)->complete(executor(), failure_);
  }
}

}  // namespace namdb::fabric::verbs
