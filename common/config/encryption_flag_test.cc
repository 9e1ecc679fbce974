#include "common/config/encryption_flag.h"

#include <CLI/CLI.hpp>
#include <catch2/catch.hpp>
#include <string>

namespace namdb::config {
namespace {

bool parse_encryption(const std::string& line, std::string& value) {
  CLI::App app("test", "test");
  add_encryption_flag(app, value);
  try {
    app.parse(line);
  } catch (const CLI::ParseError&) {
    return false;
  }
  return true;
}

}  // namespace

TEST_CASE("encryption of the fabric is auto, off or required") {
  std::string value = "auto";
  REQUIRE(parse_encryption("", value));
  CHECK(value == "auto");
  REQUIRE(parse_encryption("--fabric-encryption required", value));
  CHECK(value == "required");
  CHECK(!parse_encryption("--fabric-encryption on", value));
}

TEST_CASE("a fabric that cannot be encrypted is refused, with the reason") {
  CHECK(wrong_encryption("required", "tcp", true).empty());
  CHECK(wrong_encryption("required", "tcp", false).find("--cluster-key") != std::string::npos);
  CHECK(wrong_encryption("required", "verbs", true).find("cannot encrypt") != std::string::npos);
  CHECK(wrong_encryption("required", "shm", false).empty());  // it does not leave the machine
  for (const char* value : {"auto", "off"}) {
    CHECK(wrong_encryption(value, "verbs", true).empty());
    CHECK(wrong_encryption(value, "tcp", false).empty());
  }
}

}  // namespace namdb::config
