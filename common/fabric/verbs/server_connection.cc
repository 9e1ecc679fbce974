#include "common/fabric/verbs/server_connection.h"

#include <spdlog/spdlog.h>

#include <utility>

#include "common/fabric/status_bytes.h"
#include "common/fabric/verbs/server.h"
#include "common/fabric/verbs/window.h"
#include "common/reactor/reactor.h"

namespace namdb::fabric::verbs {
namespace {

constexpr std::size_t kKeptCalls = 64;

}  // namespace

ServerConnection::ServerConnection(VerbsServerFabric& server, PeerId peer, std::unique_ptr<Link> link)
    : server_(server), peer_(peer), link_(std::move(link)) {}

ServerConnection::~ServerConnection() {
  NAMDB_CHECK(running_calls_ == 0);
}

void ServerConnection::close(const std::string& reason, bool is_fault) {
  if (std::exchange(closed_, true)) return;
  spdlog::log(is_fault ? spdlog::level::warn : spdlog::level::info,
              "verbs fabric: peer {} ({}) is disconnected: {}", peer_, link_->peer(), reason);
  link_->close();
  server_.closed(*this);
}

void ServerConnection::destroy() {
  link_->endpoint().destroy(Status(ErrorCode::connection_failure, "the channel is closed"));
}

void ServerConnection::on_lost(Status status) {
  close(status.message(), false);
}

void ServerConnection::on_message(const MessageHeader& header, std::string payload) {
  if (closed_) return;
  if (header.kind != MessageKind::call) return close("it sent a message that is no call", true);
  if (running_calls_ == kClientCalls || running_call_bytes_ + payload.size() > kClientCall_bytes) {
    return close("it has more calls under way than it may", true);
  }
  std::unique_ptr<CallContext> call;
  if (free_calls_.empty()) {
    call = std::make_unique<CallContext>();
  } else {
    call = std::move(free_calls_.back());
    free_calls_.pop_back();
  }
  call->id = header.call;
  call->method = header.method;
  call->request = std::move(payload);
  call->reply.clear();
  ++running_calls_;
  running_call_bytes_ += call->request.size();
  server_.reactor().spawn(server_.gate(), run_call(std::move(call)));
}

reactor::Task<void> ServerConnection::run_call(std::unique_ptr<CallContext> call) {
  Status status = co_await server_.service().on_call(peer_, call->method, call->request, call->reply);
  if (!closed_) {
    if (status.ok() && call->reply.size() > kMaxCall_bytes) {
      status = Status(ErrorCode::limit_exceeded, "the reply of a call is too long");
    }
    if (!status.ok()) call->reply = encode_status(status).substr(0, kMaxCall_bytes);
    if (link_->endpoint().unsent_bytes() + call->reply.size() > kServerUnsent_bytes) {
      close("it does not take its replies", true);
    } else {
      link_->endpoint().send(status.ok() ? MessageKind::reply : MessageKind::failure, 0, call->id,
                             std::move(call->reply));
    }
  }
  --running_calls_;
  running_call_bytes_ -= call->request.size();
  if (free_calls_.size() < kKeptCalls) free_calls_.push_back(std::move(call));
  if (closed_) server_.call_ended();
}

}  // namespace namdb::fabric::verbs
