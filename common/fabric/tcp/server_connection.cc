#include "common/fabric/tcp/server_connection.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/fabric/region_words.h"
#include "common/fabric/status_bytes.h"

namespace namdb::fabric::tcp {
namespace {

// Limits of one peer at the server: unsent answers, and calls that have not ended.
constexpr std::size_t kUnsentLimit_bytes = 8U << 20;
constexpr std::size_t kCallLimit = 4096;
constexpr std::size_t kCallLimit_bytes = 64U << 20;
constexpr std::size_t kKeptCalls = 64;
static_assert(kUnsentLimit_bytes >= kMaxOperation_bytes, "one READ must always be possible");
static_assert(kCallLimit_bytes >= kMaxCall_bytes, "one call must always be possible");

// The memory of so many requests ahead of the executed one is prefetched: the region is larger than any
// cache, and a miss takes longer than all the rest of a request.
constexpr std::size_t kPrefetched = 12;
constexpr std::size_t kPrefetched_bytes = 256;  // of each

// Walks ahead of the execution. Its findings are only hints: nothing has been checked yet.
class Prefetcher {
 public:
  Prefetcher(std::span<const std::byte> bytes, std::span<std::byte> region) : bytes_(bytes), region_(region) {
    for (std::size_t i = 0; i < kPrefetched; ++i) advance();
  }

  void advance() {
    if (next_ > bytes_.size() || bytes_.size() - next_ < sizeof(RequestHeader)) return;
    const auto header = load<RequestHeader>(bytes_.data() + next_);
    next_ += sizeof(RequestHeader);
    if (header.kind == RequestKind::compare_and_swap) next_ += 16;
    if (header.kind == RequestKind::fetch_add) next_ += 8;
    if (header.kind == RequestKind::write || header.kind == RequestKind::call) next_ += header.length_bytes;
    if (header.kind == RequestKind::call || header.offset >= region_.size()) return;
    const std::size_t length_bytes =
        std::min({std::size_t{header.length_bytes}, kPrefetched_bytes, region_.size() - header.offset});
    for (std::size_t i = 0; i < length_bytes; i += 64) __builtin_prefetch(region_.data() + header.offset + i);
  }

 private:
  std::span<const std::byte> bytes_;
  std::span<std::byte> region_;
  std::size_t next_ = 0;
};

}  // namespace

ServerConnection::ServerConnection(ConnectionOwner& owner, ServedRegion& served, PeerId peer,
                                   std::unique_ptr<Link> link)
    : owner_(owner), served_(served), peer_(peer), link_(std::move(link)), checksums_(link_->checksums()) {}

ServerConnection::~ServerConnection() {
  NAMDB_CHECK(running_calls_ == 0);
}

void ServerConnection::close(const std::string& reason, bool is_fault) {
  if (std::exchange(closed_, true)) return;
  spdlog::log(is_fault ? spdlog::level::warn : spdlog::level::info,
              "tcp fabric: peer {} ({}) is disconnected: {}", peer_, link_->peer(), reason);
  link_->socket().close();
  owner_.closed(peer_);
}

void ServerConnection::on_end(Status status) {
  if (status.ok()) return close("it closed the connection", false);
  const bool is_fault = status.code() == ErrorCode::protocol_violation;
  close((is_fault ? "it sent " : "") + status.message(), is_fault);
}

void ServerConnection::on_receive(std::span<const std::byte> bytes) {
  if (!unread_.empty()) {
    // Completes the frame that waits for its end, and no more than that: the others are parsed where they
    // are.
    while (!blocked_ && !bytes.empty()) {
      const RequestFrame frame =
          decode_request(unread_, served_.region.length_bytes, served_.region.capacity_bytes, checksums_);
      if (frame.state != RequestFrame::State::incomplete) break;
      const std::size_t taken = std::min(bytes.size(), frame.frame_bytes - unread_.size());
      unread_.insert(unread_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(taken));
      bytes = bytes.subspan(taken);
    }
    execute_unread();
  }
  if (closed_ || bytes.empty()) return;
  if (unread_.empty()) bytes = bytes.subspan(execute(bytes));
  if (!closed_) unread_.insert(unread_.end(), bytes.begin(), bytes.end());
}

void ServerConnection::execute_unread() {
  if (blocked_) return;
  const std::size_t executed = execute(unread_);
  unread_.erase(unread_.begin(), unread_.begin() + static_cast<std::ptrdiff_t>(executed));
}

bool ServerConnection::too_many_calls() const {
  return running_calls_ >= kCallLimit || running_call_bytes_ >= kCallLimit_bytes;
}

void ServerConnection::resume() {
  if (closed_ || !blocked_ || too_many_calls() || link_->socket().unsent_bytes() >= kUnsentLimit_bytes)
    return;
  blocked_ = false;
  execute_unread();
  if (!closed_ && !blocked_) link_->socket().start_receiving();
}

std::size_t ServerConnection::execute(std::span<const std::byte> bytes) {
  const std::span<std::byte> region = served_.bytes();
  reactor::Socket& socket = link_->socket();
  reactor::OutputBuffer& output = socket.output();
  const std::size_t results_begin = output.size();
  // Bytes that are in the kernel already count, too.
  const std::size_t unsent_before_bytes = socket.unsent_bytes() - results_begin;
  Prefetcher prefetcher(bytes, region);
  std::uint32_t operations = 0;
  std::size_t executed = 0;
  while (executed != bytes.size()) {
    const RequestFrame frame =
        decode_request(bytes.subspan(executed), region.size(), served_.region.capacity_bytes, checksums_);
    if (frame.state == RequestFrame::State::incomplete) break;
    if (frame.state == RequestFrame::State::invalid) {
      close(std::string("it sent ") + frame.reason, true);
      return executed;
    }
    if (unsent_before_bytes + output.size() >= kUnsentLimit_bytes || too_many_calls()) {
      blocked_ = true;
      socket.pause_receiving();
      break;
    }
    const std::span<const std::byte> data = frame.data(bytes.subspan(executed));
    if (checksums_ == Checksums::both && frame.header.data_checksum != crc32c(data)) {
      close(std::string("it sent ") + kDamaged, true);
      return executed;
    }
    prefetcher.advance();
    if (frame.header.kind == RequestKind::call) {
      start_call(frame.header, data.data());
    } else {
      if (operations++ == 0) output.extend(sizeof(ResponseHeader));
      execute_operation(frame.header, region, data.data(), output);
    }
    executed += frame.frame_bytes;
  }
  if (operations != 0) {
    // Before the answers tell that the WRITEs have taken effect, they have.
    if (std::exchange(wrote_, false)) barrier_.fetch_add(1);
    const std::size_t data_begin = results_begin + sizeof(ResponseHeader);
    ResponseHeader header{ResponseKind::results, 0, 0, operations, output.size() - data_begin};
    seal(header, {output.at(data_begin), output.size() - data_begin}, checksums_);
    std::memcpy(output.at(results_begin), &header, sizeof header);
    socket.send_soon();
  }
  return executed;
}

inline void ServerConnection::execute_operation(const RequestHeader& header, std::span<std::byte> region,
                                                const std::byte* data, reactor::OutputBuffer& output) {
  std::byte* const place = region.data() + header.offset;
  switch (header.kind) {
    case RequestKind::read:
      // A locked instruction between a WRITE and a later READ, as on every transport that runs on a CPU.
      if (std::exchange(wrote_, false)) barrier_.fetch_add(1);
      if (header.length_bytes <= region.size() && header.offset <= region.size() - header.length_bytes)
          [[likely]] {
        copy_from_region(output.extend(header.length_bytes), place, header.length_bytes);
      } else {
        copy_from_growing_region(output.extend(header.length_bytes), region.data(), region.size(),
                                 header.offset, header.length_bytes);
      }
      break;
    case RequestKind::write:
      copy_to_region(place, data, header.length_bytes);
      wrote_ = true;
      break;
    case RequestKind::compare_and_swap: {
      auto old_value = load<std::uint64_t>(data);
      region_word(place).compare_exchange_strong(old_value, load<std::uint64_t>(data + 8));
      std::memcpy(output.extend(8), &old_value, 8);
      wrote_ = false;
      break;
    }
    case RequestKind::fetch_add: {
      const std::uint64_t old_value = region_word(place).fetch_add(load<std::uint64_t>(data));
      std::memcpy(output.extend(8), &old_value, 8);
      wrote_ = false;
      break;
    }
    case RequestKind::call:
      break;
  }
}

void ServerConnection::start_call(const RequestHeader& header, const std::byte* data) {
  std::unique_ptr<CallContext> call;
  if (free_calls_.empty()) {
    call = std::make_unique<CallContext>();
  } else {
    call = std::move(free_calls_.back());
    free_calls_.pop_back();
  }
  call->id = header.offset;
  call->method = header.method;
  call->request.assign(reinterpret_cast<const char*>(data), header.length_bytes);
  call->reply.clear();
  ++running_calls_;
  running_call_bytes_ += call->request.size();
  served_.executor.spawn(served_.gate, run_call(std::move(call)));
}

reactor::Task<void> ServerConnection::run_call(std::unique_ptr<CallContext> call) {
  Status status = co_await served_.service.on_call(peer_, call->method, call->request, call->reply);
  if (!closed_) {
    if (status.ok() && call->reply.size() > kMaxCall_bytes) {
      status = Status(ErrorCode::limit_exceeded, "the reply of a call is too long");
    }
    if (!status.ok()) call->reply = encode_status(status).substr(0, kMaxCall_bytes);
    ResponseHeader header{status.ok() ? ResponseKind::reply : ResponseKind::failure, 0, 0,
                          static_cast<std::uint32_t>(call->reply.size()), call->id};
    seal(header, std::as_bytes(std::span(call->reply)), checksums_);
    reactor::OutputBuffer& output = link_->socket().output();
    output.append(&header, sizeof header);
    output.append(call->reply.data(), call->reply.size());
    link_->socket().send_soon();
  }
  --running_calls_;
  running_call_bytes_ -= call->request.size();
  if (free_calls_.size() < kKeptCalls) free_calls_.push_back(std::move(call));
  resume();
  if (closed_) served_.changed.notify_all();
}

}  // namespace namdb::fabric::tcp
