#include "common/config/daemon_log.h"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cerrno>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <string>

namespace namdb::config {
namespace {

struct Pipe {
  Pipe() { REQUIRE(::pipe(ends) == 0); }
  ~Pipe() {
    close_reader();
    close_writer();
  }
  void close_reader() { close(ends[0]); }
  void close_writer() { close(ends[1]); }
  static void close(int& end) {
    if (end >= 0) ::close(end);
    end = -1;
  }
  // The bytes that are there, at least one unless all writers are gone.
  std::string read_some() const {
    std::string bytes(1 << 16, '\0');
    const ssize_t length = ::read(ends[0], bytes.data(), bytes.size());
    bytes.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
    return bytes;
  }
  int ends[2];
};

constexpr std::size_t kLines = 20'000;

TEST_CASE("A log that nobody reads blocks nobody, and says later how many lines it dropped") {
  Pipe pipe;
  std::optional<DaemonLog> log(std::in_place, "test", "info", "text", pipe.ends[1]);
  for (std::size_t i = 0; i < kLines; ++i) spdlog::info("a line, the same each time");
  std::string text;
  while (text.find("were dropped") == std::string::npos) text += pipe.read_some();
  log.reset();  // the rest fits into the pipe, or waits no longer than a second
  pipe.close_writer();
  for (std::string more = pipe.read_some(); !more.empty(); more = pipe.read_some()) text += more;

  std::istringstream lines(text);
  std::size_t arrived = 0;
  std::size_t dropped = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::string begin = "warning: ";
    const std::size_t at = line.find(begin);
    if (at != std::string::npos)
      dropped += std::strtoull(line.c_str() + at + begin.size(), nullptr, 10);
    else if (line.find("the same each time") != std::string::npos)
      ++arrived;
  }
  CHECK(arrived > 0);
  CHECK(dropped > 0);
  CHECK(arrived + dropped <= kLines);
}

TEST_CASE("A log whose reader is gone does not end the process") {
  Pipe pipe;
  pipe.close_reader();
  const DaemonLog log("test", "info", "text", pipe.ends[1]);
  for (int i = 0; i < 100; ++i) spdlog::warn("nobody reads this");
  // Nor does any other thread's write to a pipe.
  CHECK(::write(pipe.ends[1], "x", 1) == -1);
  CHECK(errno == EPIPE);
}

TEST_CASE("A log that is read arrives whole, in order, down to its level") {
  Pipe pipe;
  {
    const DaemonLog log("nam-testd", "info", "text", pipe.ends[1]);
    spdlog::debug("not of interest");
    spdlog::info("first");
    spdlog::error("second");
  }
  pipe.close_writer();
  std::string text;
  for (std::string more = pipe.read_some(); !more.empty(); more = pipe.read_some()) text += more;
  CHECK_THAT(text, Catch::Contains("nam-testd info: first\n"));
  CHECK_THAT(text, Catch::EndsWith("nam-testd error: second\n"));
  CHECK_THAT(text, !Catch::Contains("interest"));
}

TEST_CASE("As json each line of the log is an object, whatever its message has") {
  Pipe pipe;
  std::optional<DaemonLog> log(std::in_place, "test", "info", "json", pipe.ends[1]);
  spdlog::warn("a \"quoted\" word,\na line and \xff");
  log.reset();
  const std::string text = pipe.read_some();
  CHECK(text.starts_with("{\"time\":\"20"));
  const std::string rest = text.substr(text.find("\",\"level\""));
  CHECK(rest ==
        "\",\"level\":\"warning\",\"daemon\":\"test\",\"message\":\"a \\\"quoted\\\" word,\\na line and "
        "\xef\xbf\xbd\"}\n");
}

TEST_CASE("The level of a log can change") {
  Pipe pipe;
  std::optional<DaemonLog> log(std::in_place, "test", "info", "text", pipe.ends[1]);
  spdlog::debug("not yet");
  DaemonLog::set_level("debug");
  spdlog::debug("now");
  log.reset();
  const std::string text = pipe.read_some();
  CHECK(text.find("not yet") == std::string::npos);
  CHECK(text.find("debug: now") != std::string::npos);
}

}  // namespace

TEST_CASE("The last line before the end arrives, however soon the end comes") {
  std::size_t missing = 0;
  for (int i = 0; i < 3'000; ++i) {
    Pipe pipe;
    {
      const DaemonLog log("test", "info", "text", pipe.ends[1]);
      spdlog::error("the last words");
      // Ends at different moments of the log's thread.
      std::atomic<int> turns = 0;
      while (turns.fetch_add(1) < i % 1'000 * 20) continue;
    }
    pipe.close_writer();
    if (pipe.read_some().find("the last words") == std::string::npos) ++missing;
  }
  CHECK(missing == 0);
}

}  // namespace namdb::config
