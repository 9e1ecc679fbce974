// The daemon and the database in its data folder, which it opens or refuses at its start.
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "memory/testing/daemon_process.h"

namespace namdb::memory {
namespace {

namespace fs = std::filesystem;
using testing::contains;
using testing::Daemon;
using testing::Folder;
using testing::run;

std::vector<std::string> flushed(const std::string& data, std::vector<std::string> more = {}) {
  std::vector<std::string> arguments = {"--data",       data,    "--region-bytes", "16MiB",
                                        "--huge-pages", "never", "--durability",   "flushed",
                                        "--log-bytes",  "16MiB"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Of the files that processes write that begin from now on: a longer one is an error.
class FileLengthLimit {
 public:
  explicit FileLengthLimit(std::uint64_t limit_bytes) {
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &before_) == 0);
    rlimit limit = before_;
    limit.rlim_cur = limit_bytes;
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
    ::signal(SIGXFSZ, SIG_IGN);
  }
  FileLengthLimit(const FileLengthLimit&) = delete;
  FileLengthLimit& operator=(const FileLengthLimit&) = delete;
  ~FileLengthLimit() {
    ::signal(SIGXFSZ, SIG_DFL);
    ::setrlimit(RLIMIT_FSIZE, &before_);
  }

 private:
  rlimit before_{};
};

// Creates a database there, and ends.
void create_database(const Folder& folder, const std::string& data) {
  Daemon daemon(folder, flushed(data));
  REQUIRE(daemon.ready());
  daemon.signal(SIGTERM);
  REQUIRE(daemon.wait() == 0);
  CHECK(contains(daemon.log(), "a new database was created"));
}

}  // namespace

TEST_CASE("a database in the data folder is opened again, whatever ended the daemon") {
  const Folder folder;
  create_database(folder, folder.data());
  for (const int end : {SIGKILL, SIGTERM, SIGKILL}) {
    Daemon daemon(folder, flushed(folder.data()));
    REQUIRE(daemon.ready());
    CHECK(contains(daemon.log_with("ready at"), "durability is flushed: opened 0 tables"));
    const auto [code, text] = run(folder, flushed(folder.data()));
    CHECK(code == 3);
    CHECK(contains(text, "another nam-memoryd"));
    daemon.signal(end);
    CHECK(daemon.wait() == (end == SIGTERM ? 0 : -1));
  }
}

TEST_CASE("an error of the disk while the database opens ends the daemon with a message and exit code 1") {
  const Folder folder;
  std::vector<std::string> arguments = flushed(folder.data());
  arguments.back() = "256MiB";  // of log: segments longer than the region
  {
    Daemon daemon(folder, arguments);
    REQUIRE(daemon.ready());
    daemon.signal(SIGTERM);
    REQUIRE(daemon.wait() == 0);
  }
  // Only the first segment has records; another one is made at once. No file may become as long as that.
  const fs::path log = fs::path(folder.data()) / "data/log";
  std::vector<fs::path> segments;
  for (const auto& entry : fs::directory_iterator(log)) segments.push_back(entry.path());
  std::ranges::sort(segments);
  REQUIRE(fs::file_size(segments.front()) == 32U << 20);
  for (std::size_t i = 1; i < segments.size(); ++i) fs::remove(segments[i]);
  const FileLengthLimit limit(24U << 20);
  const auto [code, text] = run(folder, arguments);
  INFO(text);
  CHECK(code == 1);
  CHECK(contains(text, "and this memory server ends"));
}

TEST_CASE("a database is refused that the daemon must not, or cannot, open") {
  const Folder folder;
  const std::string data = folder.data();
  create_database(folder, data);
  const auto refused = [&](std::vector<std::string> arguments, const std::string& words) {
    const auto [code, text] = run(folder, std::move(arguments));
    INFO(text);
    CHECK(code == 3);
    CHECK(contains(text, words));
  };
  refused({"--data", data, "--region-bytes", "16MiB", "--durability", "memory"},
          "start with --durability flushed, or with another --data");
  refused(flushed(data, {"--protocol", "occ"}), "--protocol si");

  // The log of another database.
  const std::string other = data + "-other";
  create_database(folder, other);
  fs::rename(fs::path(data) / "data/log", fs::path(data) / "data/own-log");
  refused(flushed(data), "log is missing");
  fs::copy(fs::path(other) / "data/log", fs::path(data) / "data/log", fs::copy_options::recursive);
  refused(flushed(data), "another database");
  fs::remove_all(fs::path(data) / "data/log");
  fs::rename(fs::path(data) / "data/own-log", fs::path(data) / "data/log");

  // A folder of a newer program.
  const fs::path identity = fs::path(data) / "data/identity";
  const std::string text = text_of(identity);
  std::string newer = text;
  newer.replace(newer.find("format = 2"), 10, "format = 7");
  std::ofstream(identity) << newer;
  refused(flushed(data), "its field format is 7");
  std::ofstream(identity) << text;

  Daemon daemon(folder, flushed(data));
  CHECK(daemon.ready());
}

}  // namespace namdb::memory
