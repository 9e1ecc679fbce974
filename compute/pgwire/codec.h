// PostgreSQL's protocol, version 3: parsing of the messages that clients send. Pure functions over bytes from
// outside: any content and any length is safe, nothing is allocated before it has arrived, and every count is
// checked against the bytes that hold it. Views borrow from the buffer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "common/base/error.h"

namespace namdb::pgwire {

// A longer start-up packet is of another protocol.
inline constexpr std::uint32_t kMaxStartup_bytes = 10'000;
// PostgreSQL's: no exchange of SASL needs more.
inline constexpr std::uint32_t kMaxSasl_bytes = 1024;

struct Frame {
  char type = 0;  // 0 for start-up packets, which have none
  std::string_view payload;
  std::size_t total_bytes = 0;  // with type and length
};

// The first message in the buffer; absent while it is not complete. protocol_violation when its length is
// below 4, or above `max_bytes`.
Result<std::optional<Frame>> next_frame(std::string_view buffer, std::uint32_t max_bytes);
Result<std::optional<Frame>> next_startup_frame(std::string_view buffer);

// --- start-up packets ---
struct EncryptionRequest {
  bool tls = false;  // SSLRequest; otherwise GSSENCRequest
};
struct CancelRequest {
  std::int32_t process_id = 0;
  std::uint32_t secret = 0;
};
struct StartupRequest {
  std::uint16_t minor_version = 0;
  std::vector<std::pair<std::string_view, std::string_view>> parameters;
};
using StartupPacket = std::variant<EncryptionRequest, CancelRequest, StartupRequest>;
// protocol_violation; feature_not_supported for another major version.
Result<StartupPacket> parse_startup(std::string_view payload);

// --- messages ---
struct SaslInitialResponse {
  std::string_view mechanism;
  std::optional<std::string_view> data;
};
struct ParseMessage {
  std::string_view name;
  std::string_view text;
  std::vector<std::uint32_t> parameter_types;
};
struct BindMessage {
  std::string_view portal;
  std::string_view statement;
  std::vector<std::int16_t> parameter_formats;
  std::vector<std::optional<std::string_view>> parameters;
  std::vector<std::int16_t> result_formats;
};
// Describe and Close: 'S' a prepared statement, 'P' a portal.
struct TargetMessage {
  char kind = 0;
  std::string_view name;
};
struct ExecuteMessage {
  std::string_view portal;
  std::uint32_t max_rows = 0;
};

// All fill `out`, whose vectors keep their memory from message to message. protocol_violation.
Status parse_sasl_initial_response(std::string_view payload, SaslInitialResponse& out);
Status parse_query(std::string_view payload, std::string_view& out);
Status parse_parse(std::string_view payload, ParseMessage& out);
Status parse_bind(std::string_view payload, BindMessage& out);
Status parse_target(std::string_view payload, TargetMessage& out);
Status parse_execute(std::string_view payload, ExecuteMessage& out);

}  // namespace namdb::pgwire
