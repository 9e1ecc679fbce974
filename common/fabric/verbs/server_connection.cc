#include "common/fabric/verbs/server_connection.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/fabric/status_bytes.h"
#include "common/fabric/verbs/window.h"

namespace namdb::fabric::verbs {
namespace {

constexpr std::size_t kKeptCalls = 64;

}  // namespace

ServerConnection::ServerConnection(ConnectionOwner& owner, ServedRegion& served, CallsServed& calls,
                                   PeerId peer, std::unique_ptr<Link> link, Admission admission)
    : owner_(owner),
      served_(served),
      calls_(calls),
      peer_(peer),
      link_(std::move(link)),
      admission_(std::move(admission)) {
  members_[0] = {peer, 0, false};
}

ServerConnection::~ServerConnection() {
  NAMDB_CHECK(running_calls_ == 0);
}

void ServerConnection::close(const std::string& reason, bool is_fault) {
  if (std::exchange(closed_, true)) return;
  spdlog::log(is_fault ? spdlog::level::warn : spdlog::level::info,
              "verbs fabric: peer {} ({}) is disconnected: {}", peer_, link_->peer(), reason);
  link_->close();
  owner_.closed(peer_);
}

void ServerConnection::destroy() {
  if (uses_datagrams_) calls_.datagrams->leave(admission_.token);
  admission_.key.reset();
  link_->endpoint().destroy(Status(ErrorCode::connection_failure, "the channel is closed"));
}

std::vector<PeerId> ServerConnection::peers() const {
  std::vector<PeerId> all;
  for (const auto& [id, member] : members_) all.push_back(member.peer);
  return all;
}

std::vector<PeerId> ServerConnection::take_idle_peers() {
  std::vector<PeerId> idle;
  std::erase_if(members_, [&idle](const auto& member) {
    if (member.second.running_calls != 0 || member.second.leaving) return false;
    idle.push_back(member.second.peer);
    return true;
  });
  return idle;
}

bool ServerConnection::carries(PeerId peer) const {
  return std::any_of(members_.begin(), members_.end(),
                     [peer](const auto& member) { return member.second.peer == peer; });
}

bool ServerConnection::is_leaving(PeerId peer) const {
  return std::any_of(members_.begin(), members_.end(), [peer](const auto& member) {
    return member.second.peer == peer && member.second.leaving;
  });
}

void ServerConnection::evict(PeerId peer) {
  for (const auto& [id, member] : members_) {
    if (member.peer != peer || member.leaving || closed_) continue;
    link_->endpoint().send(MessageKind::evict, 0, 0, {}, false, id);
  }
}

Status ServerConnection::join(MemberId id, std::string_view hello, std::string& welcome) {
  const PeerId peer = next_peer_id();
  Result<std::string> welcomed = served_.service.on_connect(peer, hello);
  if (!welcomed.ok()) return welcomed.status();
  members_[id] = {peer, 0, false};
  welcome = std::move(*welcomed);
  return Status();
}

reactor::Task<void> ServerConnection::leave(MemberId id) {
  // All that it posted before this message has taken effect: it is one queue pair.
  Member& member = members_.at(id);
  while (member.running_calls != 0) co_await served_.changed.wait();
  served_.service.on_disconnect(member.peer);
  members_.erase(id);
  served_.changed.notify_all();
}

void ServerConnection::on_lost(Status status) {
  close(status.message(), false);
}

void ServerConnection::accept_datagrams(const std::string& address) {
  DatagramAddress peer{};
  if (address.size() != sizeof peer || uses_datagrams_ || calls_.datagrams == nullptr) {
    return close("it wants datagrams, and may not", true);
  }
  std::memcpy(&peer, address.data(), sizeof peer);
  const Status status = calls_.datagrams->join(admission_.token, link_->endpoint(), peer, *this);
  if (!status.ok()) return close(status.message(), false);
  uses_datagrams_ = true;
  answered_.resize(kClientCalls);
}

void ServerConnection::on_message(const MessageHeader& header, std::string payload) {
  if (closed_) return;
  if (header.kind == MessageKind::datagrams) return accept_datagrams(payload);
  if (header.kind != MessageKind::call && header.kind != MessageKind::join &&
      header.kind != MessageKind::leave) {
    return close("it sent a message that is no call", true);
  }
  if (uses_datagrams_ && !is_new(header.call, false)) return;
  start_call(header, std::move(payload));
}

void ServerConnection::on_datagram(const MessageHeader& header, std::string payload) {
  if (closed_ || header.kind != MessageKind::call || !is_new(header.call, true)) return;
  start_call(header, std::move(payload));
}

bool ServerConnection::is_new(std::uint64_t number, bool by_datagram) {
  const auto slot = static_cast<std::uint32_t>(number);
  const auto uses = static_cast<std::uint32_t>(number >> 32);
  if (slot >= answered_.size()) {
    close("it numbers its calls wrongly", true);
    return false;
  }
  Answered& last = answered_[slot];
  // A connection does not live for 2^31 calls in one slot while a datagram is on its way.
  const auto newer = static_cast<std::int32_t>(uses - last.uses);
  if (newer > 0) {
    last = {uses, true, !by_datagram, MessageKind::reply, false, {}};
    return true;
  }
  if (newer == 0 && !by_datagram) last.by_connection = true;
  ++calls_.doubled;
  if (newer < 0 || last.running || !last.kept) return false;
  if (by_datagram) {
    calls_.datagrams->send(admission_.token,
                           {last.kind, 0, 0, static_cast<std::uint32_t>(last.reply.size()), number},
                           last.reply);
  } else {
    link_->endpoint().send(last.kind, 0, number, last.reply);
  }
  return false;
}

void ServerConnection::start_call(const MessageHeader& header, std::string payload) {
  if (running_calls_ == kClientCalls || running_call_bytes_ + payload.size() > kClientCall_bytes) {
    return close("it has more calls under way than it may", true);
  }
  const auto found = members_.find(header.member);
  const bool is_member = found != members_.end() && !found->second.leaving;
  // An id is used again only when the one who left was told so.
  if (header.kind == MessageKind::join ? found != members_.end() : !is_member) {
    return close("it names a member wrongly", true);
  }
  if (header.kind == MessageKind::call) ++found->second.running_calls;
  if (header.kind == MessageKind::leave) {
    found->second.leaving = true;
    served_.changed.notify_all();
  }
  std::unique_ptr<CallContext> call;
  if (free_calls_.empty()) {
    call = std::make_unique<CallContext>();
  } else {
    call = std::move(free_calls_.back());
    free_calls_.pop_back();
  }
  call->id = header.call;
  call->kind = header.kind;
  call->member = header.member;
  call->method = header.method;
  call->request = std::move(payload);
  call->reply.clear();
  ++running_calls_;
  running_call_bytes_ += call->request.size();
  served_.executor.spawn(served_.gate, run_call(std::move(call)));
}

void ServerConnection::answer(CallContext& call, MessageKind kind) {
  DatagramPort* port = uses_datagrams_ ? calls_.datagrams.get() : nullptr;
  bool by_datagram = port != nullptr && port->fits(admission_.token, call.reply.size());
  if (uses_datagrams_) {
    Answered& answered = answered_[static_cast<std::uint32_t>(call.id)];
    by_datagram = by_datagram && !answered.by_connection;
    if (answered.uses == static_cast<std::uint32_t>(call.id >> 32)) {
      answered.running = false;
      answered.kind = kind;
      answered.kept = by_datagram;
      if (by_datagram) answered.reply = call.reply;
    }
  }
  if (!by_datagram) return link_->endpoint().send(kind, 0, call.id, std::move(call.reply));
  port->send(admission_.token, {kind, 0, 0, static_cast<std::uint32_t>(call.reply.size()), call.id},
             call.reply);
}

reactor::Task<Status> ServerConnection::run(CallContext* call) {
  if (call->kind == MessageKind::join) {
    // Another member may have joined under this id since; and a peer that has lost the connection cannot
    // join.
    if (closed_ || members_.contains(call->member)) {
      co_return Status(ErrorCode::connection_failure, "the member cannot join");
    }
    co_return join(call->member, call->request, call->reply);
  }
  if (call->kind == MessageKind::leave) {
    co_await leave(call->member);
    co_return Status();
  }
  Member& member = members_.at(call->member);
  Status status = co_await served_.service.on_call(member.peer, call->method, call->request, call->reply);
  if (--member.running_calls == 0 && member.leaving) served_.changed.notify_all();
  co_return status;
}

reactor::Task<void> ServerConnection::run_call(std::unique_ptr<CallContext> call) {
  Status status = co_await run(call.get());
  if (!closed_) {
    if (status.ok() && call->reply.size() > kMaxCall_bytes) {
      status = Status(ErrorCode::limit_exceeded, "the reply of a call is too long");
    }
    if (!status.ok()) call->reply = encode_status(status).substr(0, kMaxCall_bytes);
    if (link_->endpoint().unsent_bytes() + call->reply.size() > kServerUnsent_bytes) {
      close("it does not take its replies", true);
    } else {
      answer(*call, status.ok() ? MessageKind::reply : MessageKind::failure);
    }
  }
  --running_calls_;
  running_call_bytes_ -= call->request.size();
  if (free_calls_.size() < kKeptCalls) free_calls_.push_back(std::move(call));
  if (closed_) served_.changed.notify_all();
}

}  // namespace namdb::fabric::verbs
