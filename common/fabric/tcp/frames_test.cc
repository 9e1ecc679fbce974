#include "common/fabric/tcp/frames.h"
#include "common/fabric/status_bytes.h"

#include <catch2/catch.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/random.h"

namespace namdb::fabric::tcp {
namespace {

constexpr std::uint64_t kRegion_bytes = 1U << 20;

std::vector<std::byte> frame(RequestHeader header, std::size_t data_bytes) {
  std::vector<std::byte> bytes(sizeof header + data_bytes);
  seal(header, std::span(bytes).subspan(sizeof header));
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes;
}

RequestFrame::State state_of(RequestHeader header, std::size_t data_bytes) {
  return decode_request(frame(header, data_bytes), kRegion_bytes, kRegion_bytes).state;
}

TEST_CASE("a request is whole exactly when all of its bytes are there") {
  using State = RequestFrame::State;
  const struct {
    RequestHeader header;
    std::size_t data_bytes;
  } cases[] = {
      {{RequestKind::read, 0, 0, 64, 128}, 0},
      {{RequestKind::write, 0, 0, 64, 128}, 64},
      {{RequestKind::compare_and_swap, 0, 0, 8, kRegion_bytes - 8}, 16},
      {{RequestKind::fetch_add, 0, 0, 8, 0}, 8},
      {{RequestKind::call, 0, 7, 5, 99}, 5},
      {{RequestKind::call, 0, 7, 0, 99}, 0},
  };
  for (const auto& test : cases) {
    const std::vector<std::byte> bytes = frame(test.header, test.data_bytes);
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      const RequestFrame decoded = decode_request({bytes.data(), length}, kRegion_bytes, kRegion_bytes);
      CHECK(decoded.state == State::incomplete);
      CHECK(decoded.frame_bytes > length);
      CHECK(decoded.frame_bytes <= bytes.size());
    }
    const RequestFrame decoded = decode_request(bytes, kRegion_bytes, kRegion_bytes);
    CHECK(decoded.state == State::whole);
    CHECK(decoded.frame_bytes == bytes.size());
  }
}

TEST_CASE("requests that reach outside the region, are unaligned, too long or unknown are invalid") {
  using State = RequestFrame::State;
  const std::uint64_t high = ~std::uint64_t{7};
  for (const RequestKind kind : {RequestKind::read, RequestKind::write}) {
    CHECK(state_of({kind, 0, 0, 8, kRegion_bytes}, 8) == State::invalid);
    CHECK(state_of({kind, 0, 0, 16, kRegion_bytes - 8}, 16) == State::invalid);
    CHECK(state_of({kind, 0, 0, 8, high}, 8) == State::invalid);
    CHECK(state_of({kind, 0, 0, 8, 4}, 8) == State::invalid);
    CHECK(state_of({kind, 0, 0, 12, 0}, 12) == State::invalid);
    CHECK(state_of({kind, 0, 0, 0, 0}, 0) == State::invalid);
    CHECK(state_of({kind, 0, 1, 8, 0}, 8) == State::invalid);
    CHECK(state_of({kind, 1, 0, 8, 0}, 8) == State::invalid);
    CHECK(state_of({kind, 0, 0, kMaxOperation_bytes + 8, 0}, 0) == State::invalid);
    CHECK(state_of({kind, 0, 0, 0x80000000U, 0}, 0) == State::invalid);
  }
  CHECK(state_of({RequestKind::compare_and_swap, 0, 0, 16, 0}, 16) == State::invalid);
  CHECK(state_of({RequestKind::fetch_add, 0, 0, 16, 0}, 8) == State::invalid);
  CHECK(state_of({RequestKind::fetch_add, 0, 0, 8, kRegion_bytes}, 8) == State::invalid);
  CHECK(state_of({RequestKind::call, 0, 0, 0x80000000U, 0}, 0) == State::invalid);
  CHECK(state_of({static_cast<RequestKind>(0), 0, 0, 8, 0}, 8) == State::invalid);
  CHECK(state_of({static_cast<RequestKind>(6), 0, 0, 8, 0}, 8) == State::invalid);
}

TEST_CASE("a header with a flipped bit is invalid, and never asks for more bytes") {
  RequestHeader request{RequestKind::write, 0, 0, 64, 128};
  seal(request, std::vector<std::byte>(64));
  ResponseHeader response{ResponseKind::results, 0, 0, 3, 64};
  seal(response, std::vector<std::byte>(64));
  REQUIRE(refuse_response(response) == nullptr);
  for (std::size_t bit = 0; bit < 8 * sizeof(RequestHeader); ++bit) {
    std::vector<std::byte> bytes(sizeof request);
    std::memcpy(bytes.data(), &request, sizeof request);
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    CHECK(decode_request(bytes, kRegion_bytes, kRegion_bytes).state == RequestFrame::State::invalid);
    std::memcpy(bytes.data(), &response, sizeof response);
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    const char* const refused = refuse_response(load<ResponseHeader>(bytes.data()));
    REQUIRE(refused != nullptr);
    CHECK(std::string_view(refused) == kDamaged);
  }
}

TEST_CASE("random bytes never decode to an operation outside the region") {
  Random random(1);
  for (int i = 0; i < 200'000; ++i) {
    std::vector<std::byte> bytes(random.below(64));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.below(random.chance(0.5) ? 9 : 256));
    if (bytes.size() >= sizeof(RequestHeader)) {
      auto header = load<RequestHeader>(bytes.data());
      seal(header, {});
      std::memcpy(bytes.data(), &header, sizeof header);
    }
    const RequestFrame decoded = decode_request(bytes, kRegion_bytes, kRegion_bytes);
    if (decoded.state == RequestFrame::State::whole) {
      CHECK(decoded.frame_bytes <= bytes.size());
      if (decoded.header.kind != RequestKind::call) {
        CHECK(decoded.header.offset <= kRegion_bytes - decoded.header.length_bytes);
        CHECK(decoded.header.offset % 8 == 0);
      }
    } else if (decoded.state == RequestFrame::State::invalid) {
      CHECK(decoded.reason != nullptr);
    } else {
      CHECK(decoded.frame_bytes > bytes.size());
    }
  }
}

TEST_CASE("a status survives its encoding, and any bytes decode to an error") {
  const Status status(ErrorCode::out_of_memory, "the region is full", "drop a table");
  const Status decoded = decode_status(encode_status(status));
  CHECK(decoded.code() == status.code());
  CHECK(decoded.message() == status.message());
  CHECK(decoded.hint() == status.hint());
  for (const std::string& bytes :
       {std::string(), std::string("x"), std::string(1, '\0'), std::string(5, '\0')}) {
    CHECK(!decode_status(bytes).ok());
  }
}

}  // namespace
}  // namespace namdb::fabric::tcp
