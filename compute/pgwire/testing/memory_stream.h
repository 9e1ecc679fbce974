// A byte stream in memory whose other end is the test, and messages as a client writes and reads them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/reactor/executor.h"
#include "common/reactor/stream.h"

namespace namdb::pgwire::testing {

// The state that both ends share; lives as long as the longer one.
struct Pipe {
  explicit Pipe(reactor::Executor& executor) : arrived(executor), taken(executor) {}
  std::string to_server;
  std::string to_client;
  std::size_t writes = 0;                    // calls of ByteStream::write
  std::size_t read_limit = ~std::size_t{0};  // bytes that one read gives at most
  bool client_closed = false;
  bool server_closed = false;
  bool write_shut = false;
  bool local = true;
  std::string peer = "unix";
  bool client_reads = true;  // while false, written bytes stay unsent
  reactor::Event arrived;
  reactor::Event taken;
};

class MemoryStream final : public reactor::ByteStream {
 public:
  explicit MemoryStream(std::shared_ptr<Pipe> pipe) : pipe_(std::move(pipe)), peer_(pipe_->peer) {}
  ~MemoryStream() override { close(); }

  reactor::Task<Result<std::size_t>> read_some(char* buffer, std::size_t length_bytes) override {
    while (pipe_->to_server.empty() && !pipe_->client_closed && !pipe_->server_closed)
      co_await pipe_->arrived.wait();
    if (pipe_->server_closed) co_return Status(ErrorCode::connection_failure, "closed");
    const std::size_t count = std::min({length_bytes, pipe_->to_server.size(), pipe_->read_limit});
    std::memcpy(buffer, pipe_->to_server.data(), count);
    pipe_->to_server.erase(0, count);
    co_return count;
  }
  void write(std::string_view bytes) override {
    if (pipe_->server_closed || pipe_->write_shut) return;
    ++pipe_->writes;
    pipe_->to_client += bytes;
  }
  std::size_t unsent_bytes() const override { return pipe_->client_reads ? 0 : pipe_->to_client.size(); }
  reactor::Task<Status> drain(std::size_t at_most_bytes) override {
    while (unsent_bytes() > at_most_bytes && !pipe_->server_closed) co_await pipe_->taken.wait();
    if (pipe_->server_closed) co_return Status(ErrorCode::connection_failure, "closed");
    co_return Status();
  }
  void shutdown_write() override { pipe_->write_shut = true; }
  void close() override {
    pipe_->server_closed = true;
    pipe_->arrived.notify_all();
    pipe_->taken.notify_all();
  }
  bool closed() const override { return pipe_->server_closed; }
  bool peer_gone() const override { return pipe_->client_closed || pipe_->server_closed; }
  const std::string& peer() const override { return peer_; }
  bool peer_is_local() const override { return pipe_->local; }

 private:
  std::shared_ptr<Pipe> pipe_;
  std::string peer_;
};

// --- what a client sends ---
inline std::string big_endian(std::uint64_t value, std::size_t bytes) {
  std::string text(bytes, '\0');
  for (std::size_t i = bytes; i-- > 0; value >>= 8) text[i] = static_cast<char>(value);
  return text;
}
inline std::string zero_terminated(std::string_view text) {
  return std::string(text) + '\0';
}
inline std::string message(char type, const std::string& payload) {
  return type + big_endian(payload.size() + 4, 4) + payload;
}
inline std::string startup(std::initializer_list<std::pair<std::string_view, std::string_view>> parameters,
                           std::uint32_t version = 3U << 16) {
  std::string payload = big_endian(version, 4);
  for (const auto& [name, value] : parameters) payload += zero_terminated(name) + zero_terminated(value);
  payload += '\0';
  return big_endian(payload.size() + 4, 4) + payload;
}
inline std::string query(std::string_view sql) {
  return message('Q', zero_terminated(sql));
}
inline std::string parse(std::string_view name, std::string_view sql) {
  return message('P', zero_terminated(name) + zero_terminated(sql) + big_endian(0, 2));
}
// All parameters and results as text.
inline std::string bind(std::string_view portal, std::string_view statement,
                        const std::vector<std::optional<std::string>>& parameters = {}) {
  std::string payload = zero_terminated(portal) + zero_terminated(statement) + big_endian(0, 2) +
                        big_endian(parameters.size(), 2);
  for (const auto& value : parameters)
    payload += value ? big_endian(value->size(), 4) + *value : big_endian(0xffffffff, 4);
  return message('B', payload + big_endian(0, 2));
}
inline std::string describe(char kind, std::string_view name) {
  return message('D', kind + zero_terminated(name));
}
inline std::string execute(std::string_view portal, std::uint32_t max_rows = 0) {
  return message('E', zero_terminated(portal) + big_endian(max_rows, 4));
}
inline std::string close_target(char kind, std::string_view name) {
  return message('C', kind + zero_terminated(name));
}
inline std::string sync() {
  return message('S', "");
}
inline std::string flush() {
  return message('H', "");
}
inline std::string terminate() {
  return message('X', "");
}

// --- what a client reads ---
struct Received {
  char type = 0;
  std::string payload;

  // A field of ErrorResponse and NoticeResponse: 'C' SQLSTATE, 'M' message, 'S' severity, ...
  std::string field(char code) const {
    std::size_t at = 0;
    while (at < payload.size() && payload[at] != '\0') {
      const std::size_t end = payload.find('\0', at);
      if (payload[at] == code) return payload.substr(at + 1, end - at - 1);
      at = end + 1;
    }
    return {};
  }
  // The values of a DataRow.
  std::vector<std::optional<std::string>> values() const {
    const auto number = [this](std::size_t at, std::size_t bytes) {
      std::uint32_t value = 0;
      for (std::size_t i = 0; i < bytes; ++i)
        value = value << 8 | static_cast<unsigned char>(payload[at + i]);
      return value;
    };
    std::vector<std::optional<std::string>> result;
    std::size_t at = 2;
    for (std::uint32_t i = 0; i < number(0, 2); ++i) {
      const std::uint32_t length = number(at, 4);
      at += 4;
      if (length == 0xffffffff) {
        result.emplace_back();
      } else {
        result.emplace_back(payload.substr(at, length));
        at += length;
      }
    }
    return result;
  }
};

// Takes the complete messages from the front of the bytes.
inline std::vector<Received> take_messages(std::string& bytes) {
  std::vector<Received> messages;
  std::size_t at = 0;
  while (bytes.size() - at >= 5) {
    std::size_t length = 0;
    for (std::size_t i = 1; i < 5; ++i) length = length << 8 | static_cast<unsigned char>(bytes[at + i]);
    if (bytes.size() - at < length + 1) break;
    messages.push_back({bytes[at], bytes.substr(at + 5, length - 4)});
    at += length + 1;
  }
  bytes.erase(0, at);
  return messages;
}

// "ZTDC...": the kinds, for comparison at a glance.
inline std::string kinds(const std::vector<Received>& messages) {
  std::string result;
  for (const Received& received : messages) result += received.type;
  return result;
}

}  // namespace namdb::pgwire::testing
