#include "common/placement/store/stored_text.h"

#include <catch2/catch.hpp>

namespace namdb::placement {
namespace stored_text_test {

Configuration full() {
  Configuration configuration({"a:1", "unix:/run/\"b\" \xc3\xa9"});
  configuration.set(0, {(std::uint64_t{1} << 40) - 1, "c:1", {"d:1", "e:1"}});
  configuration.set_database_id(0xfedc'ba98'7654'3210);
  return configuration;
}

std::string refusal(const std::string& text) {
  const auto read = read_stored(text);
  if (read.ok()) return "none";
  CHECK(read.status().code() == ErrorCode::configuration);
  return read.status().message();
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t position = text.find(from);
  REQUIRE(position != std::string::npos);
  return text.replace(position, from.size(), to);
}

TEST_CASE("a stored configuration is read back, and for people it is JSON", "[placement]") {
  const auto text = write_stored(full());
  REQUIRE(text.ok());
  const auto read = read_stored(text.value());
  REQUIRE(read.ok());
  CHECK(read.value() == full());
  CHECK(text.value().find(R"("database_id": "fedcba9876543210")") != std::string::npos);
  CHECK(text.value().find(R"("primary": "c:1")") != std::string::npos);
  CHECK(read_stored(write_stored(Configuration()).value()).value() == Configuration());
}

TEST_CASE("a text that is no configuration is refused, and the error says so", "[placement]") {
  const std::string text = write_stored(full()).value();
  for (std::size_t length = 0; length + 1 < text.size(); ++length)
    REQUIRE(refusal(text.substr(0, length)) ==
            "it is no configuration of namdb: it is damaged, or something else");
  CHECK(refusal("[]") == "it is no configuration of namdb: it is damaged, or something else");
  CHECK(refusal("{}") == "it is no configuration of namdb: it has no format");
  CHECK(refusal(replaced(text, "\"format\": 1", "\"format\": 2")) ==
        "its format is 2, and this program knows 1");
  for (const char* field : {"database_id", "regions", "number", "primary", "copies"})
    CHECK(refusal(replaced(text, '"' + std::string(field) + '"', "\"other\"")) ==
          "it is no configuration of namdb: its fields");
  CHECK(refusal(replaced(text, "\"checksum\"", "\"other\"")) ==
        "it is no configuration of namdb: its checksum");
  CHECK(refusal(replaced(text, "\"c:1\"", "\"x:1\"")) == "it is no configuration of namdb: its checksum");
  CHECK(refusal(replaced(text, "\"c:1\"", "7")) == "it is no configuration of namdb: its fields");
  CHECK(refusal(replaced(text, "\"d:1\"", "null")) == "it is no configuration of namdb: its fields");
  CHECK(refusal(replaced(text, "\"number\": 0", "\"number\": -1")) ==
        "it is no configuration of namdb: its fields");
}

TEST_CASE("a configuration that could not be read back is not written", "[placement]") {
  const auto refused = [](const Place& place) {
    Configuration configuration(1);
    configuration.set(0, place);
    return write_stored(configuration).status().code() == ErrorCode::configuration;
  };
  CHECK(refused({1, "\xff"}));
  CHECK(refused({1, "a:1", {"c:1", "b:1"}}));
  CHECK(refused({1, ""}));
  CHECK(refused({1, std::string(kMaxAddress_bytes + 1, 'a')}));
}

}  // namespace stored_text_test
}  // namespace namdb::placement
