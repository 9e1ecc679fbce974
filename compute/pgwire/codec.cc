#include "compute/pgwire/codec.h"

#include <limits>

namespace namdb::pgwire {
namespace {

constexpr std::uint32_t kSslRequest = 80'877'103;
constexpr std::uint32_t kGssEncRequest = 80'877'104;
constexpr std::uint32_t kCancelRequest = 80'877'102;

std::uint32_t read_u32(std::string_view bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

// Takes fields from the front. Once a field is missing, all later ones are empty and ok() is false.
class Reader {
 public:
  explicit Reader(std::string_view rest) : rest_(rest) {}

  std::string_view bytes(std::size_t count) {
    if (count > rest_.size()) {
      ok_ = false;
      rest_ = {};
      return {};
    }
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  std::uint32_t u32() {
    const std::string_view field = bytes(4);
    return field.empty() ? 0 : read_u32(field);
  }
  std::uint16_t u16() {
    const std::string_view field = bytes(2);
    if (field.empty()) return 0;
    return static_cast<std::uint16_t>(static_cast<unsigned char>(field[0]) << 8 |
                                      static_cast<unsigned char>(field[1]));
  }
  char byte() {
    const std::string_view field = bytes(1);
    return field.empty() ? '\0' : field[0];
  }
  // Takes the text up to a zero byte, and that byte.
  std::string_view string() {
    const std::size_t end = rest_.find('\0');
    if (end == std::string_view::npos) {
      ok_ = false;
      rest_ = {};
      return {};
    }
    const std::string_view taken = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return taken;
  }
  bool ok() const { return ok_; }
  bool at_end() const { return rest_.empty(); }
  std::size_t left() const { return rest_.size(); }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

Status finish(const Reader& reader, std::string_view message) {
  if (reader.ok() && reader.at_end()) return {};
  return Status(ErrorCode::protocol_violation, "invalid message format: " + std::string(message));
}

bool read_formats(Reader& reader, std::vector<std::int16_t>& formats) {
  const std::size_t count = reader.u16();
  formats.clear();
  if (count > reader.left() / 2) return false;
  for (std::size_t i = 0; i < count; ++i) formats.push_back(static_cast<std::int16_t>(reader.u16()));
  return true;
}

Result<std::optional<Frame>> cut(std::string_view buffer, std::size_t type_bytes, std::uint32_t max_bytes) {
  if (buffer.size() < type_bytes + 4) return std::optional<Frame>();
  const std::uint32_t length = read_u32(buffer.substr(type_bytes));
  if (length < 4 || length > max_bytes) {
    return Status(ErrorCode::protocol_violation,
                  "invalid length of message: " + std::to_string(length) + " bytes",
                  "at most " + std::to_string(max_bytes) + " bytes are accepted");
  }
  if (buffer.size() - type_bytes < length) return std::optional<Frame>();
  Frame frame;
  if (type_bytes == 1) frame.type = buffer[0];
  frame.payload = buffer.substr(type_bytes + 4, length - 4);
  frame.total_bytes = type_bytes + length;
  return std::optional<Frame>(frame);
}

}  // namespace

Result<std::optional<Frame>> next_frame(std::string_view buffer, std::uint32_t max_bytes) {
  return cut(buffer, 1, max_bytes);
}

Result<std::optional<Frame>> next_startup_frame(std::string_view buffer) {
  return cut(buffer, 0, kMaxStartup_bytes);
}

Result<StartupPacket> parse_startup(std::string_view payload) {
  Reader reader(payload);
  const std::uint32_t code = reader.u32();
  if (!reader.ok()) return Status(ErrorCode::protocol_violation, "invalid length of startup packet");
  if (code == kSslRequest || code == kGssEncRequest) {
    if (!reader.at_end()) return Status(ErrorCode::protocol_violation, "invalid encryption request");
    return StartupPacket(EncryptionRequest{code == kSslRequest});
  }
  if (code == kCancelRequest) {
    CancelRequest cancel;
    cancel.process_id = static_cast<std::int32_t>(reader.u32());
    cancel.secret = reader.u32();
    if (Status status = finish(reader, "CancelRequest"); !status.ok()) return status;
    return StartupPacket(cancel);
  }
  if (code >> 16 != 3) {
    return Status(ErrorCode::feature_not_supported,
                  "unsupported frontend protocol " + std::to_string(code >> 16) + "." +
                      std::to_string(code & 0xffff) + ": server supports 3.0");
  }
  StartupRequest startup;
  startup.minor_version = static_cast<std::uint16_t>(code & 0xffff);
  for (;;) {
    const std::string_view name = reader.string();
    if (!reader.ok() || name.empty()) break;
    const std::string_view value = reader.string();
    startup.parameters.emplace_back(name, value);
  }
  if (!reader.ok() || !reader.at_end()) {
    return Status(ErrorCode::protocol_violation,
                  "invalid startup packet layout: expected terminator as last byte");
  }
  return StartupPacket(std::move(startup));
}

Status parse_sasl_initial_response(std::string_view payload, SaslInitialResponse& out) {
  Reader reader(payload);
  out.mechanism = reader.string();
  const std::uint32_t length = reader.u32();
  out.data.reset();
  if (length != std::numeric_limits<std::uint32_t>::max()) out.data = reader.bytes(length);
  return finish(reader, "SASLInitialResponse");
}

Status parse_query(std::string_view payload, std::string_view& out) {
  Reader reader(payload);
  out = reader.string();
  return finish(reader, "Query");
}

Status parse_parse(std::string_view payload, ParseMessage& out) {
  Reader reader(payload);
  out.name = reader.string();
  out.text = reader.string();
  const std::size_t count = reader.u16();
  out.parameter_types.clear();
  if (count > reader.left() / 4)
    return Status(ErrorCode::protocol_violation, "invalid message format: Parse");
  for (std::size_t i = 0; i < count; ++i) out.parameter_types.push_back(reader.u32());
  return finish(reader, "Parse");
}

Status parse_bind(std::string_view payload, BindMessage& out) {
  const auto malformed = [] { return Status(ErrorCode::protocol_violation, "invalid message format: Bind"); };
  Reader reader(payload);
  out.portal = reader.string();
  out.statement = reader.string();
  if (!read_formats(reader, out.parameter_formats)) return malformed();
  const std::size_t count = reader.u16();
  out.parameters.clear();
  if (count > reader.left() / 4) return malformed();
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t length = reader.u32();
    if (length == std::numeric_limits<std::uint32_t>::max()) {
      out.parameters.emplace_back();
    } else {
      out.parameters.emplace_back(reader.bytes(length));
    }
    if (!reader.ok()) return malformed();
  }
  if (!read_formats(reader, out.result_formats)) return malformed();
  return finish(reader, "Bind");
}

Status parse_target(std::string_view payload, TargetMessage& out) {
  Reader reader(payload);
  out.kind = reader.byte();
  out.name = reader.string();
  if (out.kind != 'S' && out.kind != 'P')
    return Status(ErrorCode::protocol_violation, "invalid message format: neither statement nor portal");
  return finish(reader, "Describe or Close");
}

Status parse_execute(std::string_view payload, ExecuteMessage& out) {
  Reader reader(payload);
  out.portal = reader.string();
  out.max_rows = reader.u32();
  // A negative limit means none, as in PostgreSQL.
  if (out.max_rows > static_cast<std::uint32_t>(std::numeric_limits<std::int32_t>::max())) out.max_rows = 0;
  return finish(reader, "Execute");
}

}  // namespace namdb::pgwire
