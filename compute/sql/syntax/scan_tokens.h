// The tokens of a text, comments among them, as libpg_query's scanner gives them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace namdb::sql {

// Reads the varints and fields of a protocol buffer.
class ScanReader {
 public:
  explicit ScanReader(std::string_view bytes) : rest_(bytes) {}
  bool empty() const { return rest_.empty(); }
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) break;
    }
    return value;
  }
  std::string_view bytes() {
    const std::size_t length = std::min<std::size_t>(varint(), rest_.size());
    const std::string_view taken = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return taken;
  }

 private:
  std::string_view rest_;
};

struct ScanToken {
  std::uint64_t code = 0;  // of pg_query.Token; single characters are their ASCII code
  std::size_t begin = 0;
  std::string_view text;  // empty for strings that begin with U&
};

// Reads pg_query.ScanResult. Both texts outlive this.
class ScanTokens {
 public:
  ScanTokens(std::string_view scan_result, std::string_view sql) : reader_(scan_result), sql_(sql) {}

  // nullopt: there are no more.
  std::optional<ScanToken> next() {
    constexpr std::uint64_t kTokensField = 2;
    while (!reader_.empty()) {
      const std::uint64_t tag = reader_.varint();
      if ((tag & 7) == 0) {
        reader_.varint();
        continue;
      }
      const std::string_view bytes = reader_.bytes();
      if (tag >> 3 == kTokensField) return read(bytes);
    }
    return std::nullopt;
  }

 private:
  ScanToken read(std::string_view bytes) const {
    ScanReader reader(bytes);
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    ScanToken result;
    while (!reader.empty()) {
      const std::uint64_t tag = reader.varint();
      const std::uint64_t value = reader.varint();
      if (tag >> 3 == 1) start = value;
      if (tag >> 3 == 2) end = value;
      if (tag >> 3 == 4) result.code = value;
    }
    result.begin = start;
    if (start <= end && end <= sql_.size()) result.text = sql_.substr(start, end - start);
    return result;
  }

  ScanReader reader_;
  std::string_view sql_;
};

}  // namespace namdb::sql
