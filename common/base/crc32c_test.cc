#include "common/base/crc32c.h"

#include <catch2/catch.hpp>
#include <string>
#include <string_view>

#include "common/base/random.h"

namespace namdb {
namespace {

std::uint32_t crc_of(std::string_view text, std::uint32_t before = 0) {
  return crc32c(std::as_bytes(std::span(text)), before);
}

TEST_CASE("CRC-32C has the values that RFC 3720 gives") {
  CHECK(crc_of("") == 0);
  CHECK(crc_of("123456789") == 0xE3069283U);
  CHECK(crc_of(std::string(32, '\0')) == 0x8A9136AAU);
  CHECK(crc_of(std::string(32, '\xff')) == 0x62A8AB43U);
}

TEST_CASE("pieces come to the CRC-32C of the whole") {
  Random random(1);
  std::string text(1000, '\0');
  for (char& byte : text) byte = static_cast<char>(random.below(256));
  const std::uint32_t whole = crc_of(text);
  for (std::size_t cut = 0; cut <= text.size(); cut += 37) {
    CHECK(crc_of(std::string_view(text).substr(cut), crc_of(std::string_view(text).substr(0, cut))) == whole);
  }
}

}  // namespace
}  // namespace namdb
