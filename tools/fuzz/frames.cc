// The target `frames`: bytes of peers over the tcp transport. The first byte of the input says what:
//   0   requests, as a memory server reads them
//   1   headers of responses, as a client reads them
//   2   what a client sends in the handshake, 3 the same with a cluster key
//   4   what a server answers in it, 5 the same with a cluster key
//   6   an encoded Status
// With bit 7 the checksums of the frames and pieces are made to agree, so that the bytes behind them are
// read.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "common/base/check.h"
#include "common/base/crc32c.h"
#include "common/fabric/handshake.h"
#include "common/fabric/status_bytes.h"
#include "common/fabric/tcp/frames.h"
#include "tools/fuzz/executor.h"
#include "tools/fuzz/targets.h"

namespace namdb::fuzz {
namespace {

using namespace fabric;
using fabric::tcp::decode_request;
using fabric::tcp::RequestFrame;
using fabric::tcp::RequestHeader;
using fabric::tcp::ResponseHeader;

constexpr std::uint8_t kSealed = 0x80;

// Gives a peer's bytes piece by piece.
class PeerBytes final : public HandshakeStream {
 public:
  PeerBytes(std::string_view bytes, bool sealed) : bytes_(bytes), sealed_(sealed) {}

  reactor::Task<Result<std::string>> take(std::size_t length_bytes, std::uint64_t) override {
    // Behind each piece comes its checksum.
    if (sealed_ && length_bytes == sizeof checksum_ && !piece_.empty()) {
      piece_.clear();
      co_return std::string(reinterpret_cast<const char*>(&checksum_), sizeof checksum_);
    }
    if (bytes_.size() < length_bytes) co_return Status(ErrorCode::connection_failure, "closed");
    piece_ = bytes_.substr(0, length_bytes);
    bytes_.remove_prefix(length_bytes);
    checksum_ = crc32c(std::as_bytes(std::span(piece_)));
    co_return piece_;
  }
  void send(const void*, std::size_t) override {}

 private:
  std::string_view bytes_;
  bool sealed_;
  std::string piece_;
  std::uint32_t checksum_ = 0;
};

reactor::Task<void> serve(PeerBytes* stream, std::optional<ClusterKey> key) {
  Status status = co_await prove_client(*stream, tcp::kDialect, key, 1);
  if (!status.ok()) co_return;
  const Result<std::string> hello = co_await take_hello(*stream, 1);
  if (hello.ok()) answer(*stream, *hello);
}

reactor::Task<void> greet(PeerBytes* stream, std::optional<ClusterKey> key) {
  const Result<std::string> welcome = co_await greet_server(*stream, tcp::kDialect, key, "hello", 1);
  if (!welcome.ok()) (void)refused_by("192.0.2.7:7400", welcome.status(), key);
}

void run_to_end(reactor::Task<void> task) {
  SteppedExecutor executor;
  reactor::Gate gate;
  executor.spawn(gate, std::move(task));
  NAMDB_CHECK(executor.run_until([&] { return gate.count() == 0; }, 1000));
}

void read_requests(Bytes input, bool sealed) {
  std::vector<std::byte> bytes(input.size());
  std::memcpy(bytes.data(), input.data(), input.size());
  std::span<std::byte> rest(bytes);
  while (rest.size() >= sizeof(RequestHeader)) {
    if (sealed) {
      auto header = tcp::load<RequestHeader>(rest.data());
      const std::size_t data_bytes = std::min<std::size_t>(header.length_bytes, rest.size() - sizeof header);
      tcp::seal(header, rest.subspan(sizeof header, data_bytes));
      std::memcpy(rest.data(), &header, sizeof header);
    }
    const RequestFrame frame = decode_request(rest, 1 << 20, 1 << 22);
    if (frame.state == RequestFrame::State::incomplete) NAMDB_CHECK(frame.frame_bytes > rest.size());
    if (frame.state != RequestFrame::State::whole) return;
    NAMDB_CHECK(frame.frame_bytes <= rest.size() && frame.frame_bytes >= sizeof(RequestHeader));
    (void)crc32c(frame.data(rest));
    rest = rest.subspan(frame.frame_bytes);
  }
}

void read_responses(Bytes input, bool sealed) {
  for (; input.size() >= sizeof(ResponseHeader); input = input.subspan(sizeof(ResponseHeader))) {
    ResponseHeader header;
    std::memcpy(&header, input.data(), sizeof header);
    if (sealed) header.header_checksum = tcp::checksum_of_header(header);
    (void)tcp::refuse_response(header);
  }
}

std::optional<ClusterKey> some_key() {
  ClusterKey key{};
  key.bytes.fill(7);
  return key;
}

}  // namespace

void run_frames(Bytes input) {
  if (input.empty()) return;
  const bool sealed = (input[0] & kSealed) != 0;
  const Bytes bytes = input.subspan(1);
  PeerBytes stream(as_text(bytes), sealed);
  switch ((input[0] & ~kSealed) % 7) {
    case 0:
      return read_requests(bytes, sealed);
    case 1:
      return read_responses(bytes, sealed);
    case 2:
      return run_to_end(serve(&stream, std::nullopt));
    case 3:
      return run_to_end(serve(&stream, some_key()));
    case 4:
      return run_to_end(greet(&stream, std::nullopt));
    case 5:
      return run_to_end(greet(&stream, some_key()));
    default:
      NAMDB_CHECK(!decode_status(as_text(bytes)).ok());
  }
}

std::vector<std::string> frame_inputs() {
  std::vector<std::string> inputs;
  const auto bytes_of = [](const auto& value) {
    return std::string(reinterpret_cast<const char*>(&value), sizeof value);
  };
  using tcp::RequestKind;
  const std::string requests =
      bytes_of(RequestHeader{RequestKind::read, 0, 0, 64, 4096}) +
      bytes_of(RequestHeader{RequestKind::write, 0, 0, 8, 4096}) + "12345678" +
      bytes_of(RequestHeader{RequestKind::compare_and_swap, 0, 0, 8, 8192}) + std::string(16, '\1') +
      bytes_of(RequestHeader{RequestKind::fetch_add, 0, 0, 8, 8192}) + std::string(8, '\1') +
      bytes_of(RequestHeader{RequestKind::call, 0, 28, 4, 1}) + "call";
  const std::string responses = bytes_of(ResponseHeader{tcp::ResponseKind::results, 0, 0, 2, 72}) +
                                bytes_of(ResponseHeader{tcp::ResponseKind::reply, 0, 0, 4, 1}) +
                                bytes_of(ResponseHeader{tcp::ResponseKind::failure, 0, 0, 4, 1});
  Greeting greeting{tcp::kDialect.magic, tcp::kDialect.version, 0, {}};
  const std::string hello = bytes_of(Hello{5, 0}) + "hello";
  const std::string welcome = bytes_of(Answer{1, 7}) + "welcome";
  const std::string status = encode_status(Status(ErrorCode::limit_exceeded, "too many", "fewer"));
  for (const int seal_bit : {0, int{kSealed}}) {
    const auto add = [&](int kind, const std::string& bytes) {
      inputs.push_back(static_cast<char>(kind | seal_bit) + bytes);
    };
    add(0, requests);
    add(1, responses);
    greeting.flags = 0;
    add(2, bytes_of(greeting) + hello);
    add(4, bytes_of(greeting) + welcome);
    add(4, bytes_of(greeting) + bytes_of(Answer{0, static_cast<std::uint32_t>(status.size())}) + status);
    greeting.flags = Greeting::kHasKey;
    add(3, bytes_of(greeting) + std::string(kProof_bytes, '\1') + hello);
    add(5, bytes_of(greeting) + welcome);
    add(6, status);
  }
  return inputs;
}

}  // namespace namdb::fuzz
