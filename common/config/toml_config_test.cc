#include "common/config/toml_config.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace namdb::config {
namespace {

struct Parsed {
  std::string data = "default";
  std::uint64_t size_bytes = 0;
  std::vector<std::string> servers;
  bool verbose = false;
  std::string error;  // empty: it was parsed
};

Parsed parse(const std::string& content, std::vector<std::string> arguments = {}) {
  std::string path = (std::filesystem::temp_directory_path() / "toml-config-XXXXXX").string();
  const int descriptor = ::mkstemp(path.data());
  REQUIRE(descriptor >= 0);
  ::close(descriptor);
  std::ofstream(path) << content;
  Parsed parsed;
  CLI::App app("test", "test");
  app.set_config("--config");
  app.add_option("--data", parsed.data);
  app.add_option("--size-bytes", parsed.size_bytes)->transform(CLI::AsSizeValue(false));
  app.add_option("--server", parsed.servers);
  app.add_flag("--verbose", parsed.verbose);
  read_config_as_toml(app);
  arguments.insert(arguments.end(), {"--config", path});
  std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants a vector of arguments
  try {
    app.parse(arguments);
  } catch (const CLI::ParseError& error) {
    parsed.error = error.what();
    const std::size_t at = parsed.error.find(path);
    if (at != std::string::npos) parsed.error.replace(at, path.size(), "FILE");
  }
  std::filesystem::remove(path);
  return parsed;
}

}  // namespace

TEST_CASE("Keys are flags, and values are what they would be on the command line") {
  const Parsed parsed = parse(
      "# a comment\ndata = \"/x y\"\nsize-bytes = \"2MiB\"\nserver = [\"a:1\", \"b:2\"]\nverbose = true\n");
  CHECK(parsed.error.empty());
  CHECK(parsed.data == "/x y");
  CHECK(parsed.size_bytes == 2U << 20);
  CHECK(parsed.servers == std::vector<std::string>{"a:1", "b:2"});
  CHECK(parsed.verbose);
  CHECK(parse("size-bytes = 4096").size_bytes == 4096);
}

TEST_CASE("The command line overrides the file") {
  const Parsed parsed = parse("data = \"file\"\nserver = [\"a:1\"]", {"--data", "flag"});
  CHECK(parsed.error.empty());
  CHECK(parsed.data == "flag");
  CHECK(parsed.servers.size() == 1);
}

TEST_CASE("A file that is not TOML is an error that names file and line") {
  CHECK_THAT(parse("data = [unclosed\n").error, Catch::StartsWith("FILE:1: "));
  CHECK_THAT(parse("\ndata \"x\"\n").error, Catch::StartsWith("FILE:2: "));
  CHECK_THAT(parse("data = \"a\"\ndata = \"b\"\n").error, Catch::StartsWith("FILE:2: "));
}

TEST_CASE("An unknown key and a value of the wrong kind are errors") {
  CHECK(parse("\nnonsense = 1\n").error == "FILE:2: there is no option 'nonsense'");
  CHECK_FALSE(parse("config = \"x\"\n").error.empty());
  CHECK_THAT(parse("data = { a = 1 }\n").error, Catch::StartsWith("FILE:1: data: "));
  CHECK_FALSE(parse("size-bytes = \"many\"\n").error.empty());
}

TEST_CASE("A file that is not there is an error") {
  CLI::App app("test", "test");
  app.set_config("--config");
  read_config_as_toml(app);
  std::vector<std::string> arguments = {"/no/such/file", "--config"};
  CHECK_THROWS_AS(app.parse(arguments), CLI::ParseError);
}

}  // namespace namdb::config
