#include "common/fabric/tcp/link.h"

#include <utility>

#include "common/reactor/socket_address.h"

namespace namdb::fabric::tcp {
namespace {

// Before the handshake has ended, an honest peer sends a few kilobytes.
constexpr std::size_t kInboxLimit_bytes = 4 * std::size_t{kMaxHandshake_bytes};

}  // namespace

Link::Link(reactor::Reactor& reactor, int descriptor)
    : socket_(reactor, descriptor, *this), peer_("unknown"), changed_(reactor) {
  const Result<reactor::SocketAddress> address = reactor::SocketAddress::peer_of(descriptor);
  if (address.ok()) {
    peer_ = address->to_string();
    peer_is_local_ = address->is_local();
  }
  reactor::set_no_delay(descriptor);
  reactor::set_keep_alive(descriptor);
  socket_.start_receiving();
}

Dialect Link::dialect(const TcpOptions& options) const {
  Dialect dialect = kDialect;
  dialect.encrypted = options.encryption == Encryption::required ||
                      (options.encryption == Encryption::between_machines && options.key && !peer_is_local_);
  return dialect;
}

reactor::Task<Result<std::string>> Link::take(std::size_t length_bytes, std::uint64_t deadline_ns) {
  while (inbox_.size() < length_bytes && !ended_) {
    const bool in_time = co_await changed_.wait_until(deadline_ns);
    if (!in_time) co_return Status(ErrorCode::connection_failure, "the handshake took too long");
  }
  if (inbox_.size() < length_bytes) {
    if (!end_status_.ok()) co_return end_status_;
    co_return Status(ErrorCode::connection_failure, "the connection was closed during the handshake");
  }
  std::string taken = inbox_.substr(0, length_bytes);
  inbox_.erase(0, length_bytes);
  co_return taken;
}

void Link::send(const void* bytes, std::size_t length_bytes) {
  socket_.output().append(bytes, length_bytes);
  socket_.send_soon();
}

void Link::encrypt(const Secret& sent, const Secret& received) {
  socket_.set_output_filter(sealer_.emplace(sent));
  opener_.emplace(received);
  // An honest peer waits for the answer to its proof.
  const std::string early = std::exchange(inbox_, {});
  if (!early.empty()) on_receive(std::as_bytes(std::span(early)));
}

reactor::Task<void> Link::flush(std::uint64_t deadline_ns) {
  while (socket_.unsent_bytes() != 0 && !socket_.broken() && !socket_.closed()) {
    const bool in_time = co_await changed_.wait_until(deadline_ns);
    if (!in_time) co_return;
  }
}

void Link::abort(const std::string& reason) {
  ended_ = true;
  end_status_ = Status(ErrorCode::connection_failure, reason);
  inbox_.clear();
  socket_.close();
  changed_.notify_all();
}

void Link::start(reactor::SocketHandler& handler) {
  handler_ = &handler;
  const std::string inbox = std::exchange(inbox_, {});
  const bool ended = ended_;
  Status end_status = end_status_;
  if (!inbox.empty()) handler.on_receive(std::as_bytes(std::span(inbox)));
  if (ended && !socket_.closed()) handler.on_end(std::move(end_status));
}

void Link::on_receive(std::span<const std::byte> bytes) {
  if (!opener_) return deliver(bytes);
  while (!bytes.empty() && !socket_.closed()) {
    switch (opener_->take(bytes)) {
      case RecordOpener::State::whole:
        deliver(opener_->opened());
        break;
      case RecordOpener::State::incomplete:
        break;
      case RecordOpener::State::forged:
        // The code tells the handler that it is the fault of the peer, or of an attacker between.
        return on_end(Status(
            handler_ == nullptr ? ErrorCode::connection_failure : ErrorCode::protocol_violation, kForged));
    }
  }
}

void Link::deliver(std::span<const std::byte> bytes) {
  if (handler_ != nullptr) return handler_->on_receive(bytes);
  inbox_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (inbox_.size() > kInboxLimit_bytes) abort();
  changed_.notify_all();
}

void Link::on_end(Status status) {
  if (handler_ != nullptr) return handler_->on_end(std::move(status));
  if (std::exchange(ended_, true)) return;
  end_status_ = std::move(status);
  changed_.notify_all();
}

void Link::on_sent() {
  if (handler_ != nullptr) return handler_->on_sent();
  changed_.notify_all();
}

}  // namespace namdb::fabric::tcp
