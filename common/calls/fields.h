// Fields of binary calls at any alignment: numbers in the machine's byte order, keys of indexes with their
// length in 16 bits. Bytes that are not there are never read.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "common/base/check.h"

namespace namdb::calls {

template <typename Number>
void put(std::string& bytes, Number number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
}

inline void put_key(std::string& bytes, std::string_view key) {
  NAMDB_CHECK(key.size() <= UINT16_MAX);
  put(bytes, static_cast<std::uint16_t>(key.size()));
  bytes += key;
}

// Takes fields off the front. After a field that is not there all that follow are 0.
class Fields {
 public:
  explicit Fields(std::string_view bytes) : rest_(bytes) {}

  bool at_end() const { return rest_.empty() || !sound_; }
  bool sound() const { return sound_; }
  template <typename Number>
  Number take() {
    Number number{};
    const std::string_view field = take_bytes(sizeof number);
    if (sound_) std::memcpy(&number, field.data(), sizeof number);
    return number;
  }
  std::string_view take_key() { return take_bytes(take<std::uint16_t>()); }
  bool take_flag() {
    const auto flag = take<std::uint8_t>();
    if (flag > 1) sound_ = false;
    return flag == 1;
  }
  // An enumerator from 1 to `last`.
  template <typename Kind>
  Kind take_kind(Kind last) {
    return kind_of(take<std::uint8_t>(), last);
  }
  template <typename Kind>
  Kind kind_of(std::uint8_t kind, Kind last) {
    if (kind == 0 || kind > static_cast<std::uint8_t>(last)) sound_ = false;
    return static_cast<Kind>(kind);
  }

 private:
  std::string_view take_bytes(std::size_t length) {
    if (!sound_ || rest_.size() < length) {
      sound_ = false;
      return {};
    }
    const std::string_view taken = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return taken;
  }
  std::string_view rest_;
  bool sound_ = true;
};

}  // namespace namdb::calls
