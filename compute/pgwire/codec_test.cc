#include "compute/pgwire/codec.h"

#include <catch2/catch.hpp>

#include "common/base/random.h"
#include "compute/pgwire/testing/memory_stream.h"

namespace namdb::pgwire {
namespace {

using testing::big_endian;
using testing::zero_terminated;

constexpr std::uint32_t kMax = 1 << 20;

// Parses a frame as every message that it may be, as a connection would.
void parse_anything(const Frame& frame) {
  ParseMessage parse;
  BindMessage bind;
  TargetMessage target;
  ExecuteMessage execute;
  std::string_view query;
  (void)parse_query(frame.payload, query).ok();
  (void)parse_parse(frame.payload, parse).ok();
  (void)parse_bind(frame.payload, bind).ok();
  (void)parse_target(frame.payload, target).ok();
  (void)parse_execute(frame.payload, execute).ok();
  (void)parse_startup(frame.payload).ok();
}

}  // namespace

TEST_CASE("a message is cut once all its bytes have come", "[codec]") {
  const std::string bytes = testing::query("SELECT 1") + testing::sync();
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const auto frame = next_frame(std::string_view(bytes).substr(0, length), kMax);
    REQUIRE(frame.ok());
    CHECK(frame->has_value() == (length >= 14));
  }
  const auto frame = next_frame(bytes, kMax);
  REQUIRE(frame.ok());
  CHECK((*frame)->type == 'Q');
  std::string_view sql;
  REQUIRE(parse_query((*frame)->payload, sql).ok());
  CHECK(sql == "SELECT 1");
}

TEST_CASE("lengths that cannot be are refused before their bytes come", "[codec]") {
  for (const std::uint32_t length : {0U, 3U, kMax + 1, 0x7fffffffU, 0x80000000U, 0xffffffffU}) {
    const auto frame = next_frame("Q" + big_endian(length, 4), kMax);
    CHECK(frame.status().code() == ErrorCode::protocol_violation);
  }
  CHECK_FALSE(next_startup_frame(big_endian(kMaxStartup_bytes + 1, 4)).ok());
  CHECK_FALSE(next_startup_frame("GET / HTTP/1.1\r\n").ok());
}

TEST_CASE("a bind message gives formats, values and NULLs", "[codec]") {
  const std::string payload = zero_terminated("p") + zero_terminated("s") + big_endian(1, 2) +
                              big_endian(1, 2) + big_endian(2, 2) + big_endian(3, 4) + "abc" +
                              big_endian(0xffffffff, 4) + big_endian(1, 2) + big_endian(0, 2);
  BindMessage bind;
  REQUIRE(parse_bind(payload, bind).ok());
  CHECK(bind.portal == "p");
  CHECK(bind.statement == "s");
  CHECK(bind.parameter_formats == std::vector<std::int16_t>{1});
  CHECK(bind.parameters == std::vector<std::optional<std::string_view>>{"abc", std::nullopt});
  CHECK(bind.result_formats == std::vector<std::int16_t>{0});
  for (std::size_t length = 0; length < payload.size(); ++length)
    CHECK_FALSE(parse_bind(std::string_view(payload).substr(0, length), bind).ok());
  CHECK_FALSE(parse_bind(payload + "x", bind).ok());
}

TEST_CASE("counts that promise more than there is are refused", "[codec]") {
  ParseMessage parse;
  CHECK_FALSE(parse_parse(zero_terminated("") + zero_terminated("x") + big_endian(0xffff, 2), parse).ok());
  BindMessage bind;
  CHECK_FALSE(parse_bind(zero_terminated("") + zero_terminated("") + big_endian(0xffff, 2), bind).ok());
  CHECK_FALSE(parse_bind(zero_terminated("") + zero_terminated("") + big_endian(0, 2) + big_endian(1, 2) +
                             big_endian(0x7fffffff, 4) + "x",
                         bind)
                  .ok());
  TargetMessage target;
  CHECK_FALSE(parse_target("Xname" + std::string(1, '\0'), target).ok());
  CHECK_FALSE(parse_target("S", target).ok());
}

TEST_CASE("start-up packets are told apart", "[codec]") {
  auto packet = parse_startup(big_endian(80'877'103, 4));
  REQUIRE(packet.ok());
  CHECK(std::holds_alternative<EncryptionRequest>(*packet));
  packet = parse_startup(big_endian(80'877'102, 4) + big_endian(7, 4) + big_endian(0xdeadbeef, 4));
  REQUIRE(packet.ok());
  CHECK(std::get<CancelRequest>(*packet).process_id == 7);
  CHECK(std::get<CancelRequest>(*packet).secret == 0xdeadbeef);
  packet = parse_startup(testing::startup({{"user", "u"}, {"database", "d"}}, (3U << 16) + 2).substr(4));
  REQUIRE(packet.ok());
  CHECK(std::get<StartupRequest>(*packet).minor_version == 2);
  CHECK(std::get<StartupRequest>(*packet).parameters.size() == 2);
  CHECK(parse_startup(big_endian(2U << 16, 4)).status().code() == ErrorCode::feature_not_supported);
  CHECK(parse_startup(big_endian(3U << 16, 4) + "user").status().code() == ErrorCode::protocol_violation);
}

TEST_CASE("random and mutated bytes are parsed or refused, never followed out of bounds", "[codec]") {
  Random random(42);
  const std::vector<std::string> seeds = {
      testing::query("SELECT 1"),         testing::parse("name", "SELECT $1"),
      testing::bind("p", "s", {"1", {}}), testing::describe('S', "name"),
      testing::execute("p", 10),          testing::close_target('P', "p"),
      testing::startup({{"user", "u"}})};
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = seeds[random.below(seeds.size())];
    for (std::uint64_t change = random.below(6); change > 0; --change) {
      const std::size_t at = random.below(bytes.size());
      switch (random.below(3)) {
        case 0:
          bytes[at] = static_cast<char>(random.next());
          break;
        case 1:
          bytes.erase(at, random.below(4));
          break;
        default:
          bytes.insert(at, std::string(random.below(4), static_cast<char>(random.next())));
          break;
      }
      if (bytes.empty()) break;
    }
    // On the heap and exactly as long, so that the address sanitizer sees the first byte too many.
    const std::vector<char> exact(bytes.begin(), bytes.end());
    const std::string_view view(exact.data(), exact.size());
    if (const auto frame = next_frame(view, kMax); frame.ok() && frame->has_value()) parse_anything(**frame);
    if (const auto frame = next_startup_frame(view); frame.ok() && frame->has_value())
      parse_anything(**frame);
    parse_anything({0, view, view.size()});
  }
}

}  // namespace namdb::pgwire
