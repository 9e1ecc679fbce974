#include "tools/namctl/process.h"

#include <signal.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

#include "tools/namctl/cluster_file.h"

namespace namdb::namctl {
namespace {

// A folder of its own for each test case, removed at its end.
class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "namctl-test-XXXXXX").string();
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    path = pattern;
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::filesystem::path path;
};

Process start_sleeping(const Folder& folder) {
  Result<Process> process = start_in_background({"/bin/sleep", "1000"}, folder.path / "log");
  REQUIRE(process.ok());
  return std::move(process).value();
}

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("A process is found by its identity as long as it lives") {
  const Folder folder;
  const Process process = start_sleeping(folder);
  CHECK(process.alive());
  CHECK(Process::find(process.identity()).has_value());
  process.signal(SIGKILL);
  CHECK(process.wait(10'000));
  CHECK_FALSE(Process::find(process.identity()).has_value());
  CHECK(process.end_in_words() == "signal 9");
}

TEST_CASE("A pid that belongs to another process by now is not taken for the old one") {
  const Folder folder;
  const Process process = start_sleeping(folder);
  ProcessIdentity earlier = process.identity();
  earlier.start_time_ticks -= 1;
  CHECK_FALSE(Process::find(earlier).has_value());
  ProcessIdentity before_reboot = process.identity();
  before_reboot.boot_id = "another";
  CHECK_FALSE(Process::find(before_reboot).has_value());

  const std::filesystem::path file = folder.path / "x.pid";
  REQUIRE(write_pid_file(file, earlier).ok());
  CHECK_FALSE(process_of_pid_file(file).has_value());
  CHECK_FALSE(std::filesystem::exists(file));
  CHECK(process.alive());
  process.signal(SIGKILL);
  CHECK(process.wait(10'000));
}

TEST_CASE("A pid file names its process, and a damaged one names nobody") {
  const Folder folder;
  const Process process = start_sleeping(folder);
  const std::filesystem::path file = folder.path / "x.pid";
  REQUIRE(write_pid_file(file, process.identity()).ok());
  const std::optional<Process> found = process_of_pid_file(file);
  REQUIRE(found.has_value());
  CHECK(found->identity().pid == process.identity().pid);
  for (const char* damaged : {"", "123", "{\"pid\":\"x\"}", "{\"pid\":-1}", "[1,2]"}) {
    std::ofstream(file, std::ios::trunc) << damaged;
    CHECK_FALSE(process_of_pid_file(file).has_value());
  }
  process.signal(SIGKILL);
  CHECK(process.wait(10'000));
}

TEST_CASE("A program's output is in its log, and its end is told") {
  const Folder folder;
  Result<Process> process =
      start_in_background({"/bin/sh", "-c", "echo out; echo error >&2; exit 3"}, folder.path / "log");
  REQUIRE(process.ok());
  CHECK(process->wait(10'000));
  CHECK(process->end_in_words() == "exit code 3");
  CHECK(content_of(folder.path / "log") == "out\nerror\n");
}

TEST_CASE("A program that cannot be executed is an error of the environment") {
  const Folder folder;
  Result<Process> process = start_in_background({"/no/such/program"}, folder.path / "log");
  REQUIRE_FALSE(process.ok());
  CHECK(process.status().code() == ErrorCode::configuration);
}

TEST_CASE("The cluster file is read as it was written, and a damaged one is an error") {
  const Folder folder;
  CHECK_FALSE(read_cluster_file(folder.path).ok());
  ClusterFile cluster{"tcp", 1, 3, 2, 6000, {"127.0.0.1:7400", "127.0.0.1:7401"}};
  cluster.local_path = true;
  cluster.local_sockets = {"unix:/run/a.sock", "unix:/run/b.sock"};
  REQUIRE(write_cluster_file(folder.path, cluster).ok());
  const Result<ClusterFile> read = read_cluster_file(folder.path);
  REQUIRE(read.ok());
  CHECK(read.value() == cluster);
  for (const char* damaged : {"", "{", "{\"fabric\": 3}", "{\"fabric\": \"tcp\"}"}) {
    std::ofstream(folder.path / "cluster.json", std::ios::trunc) << damaged;
    CHECK_FALSE(read_cluster_file(folder.path).ok());
  }
}

}  // namespace namdb::namctl
