// The daemon itself: its refusals, and its end.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "common/calls/protocol_version.h"
#include "common/fabric/shm/transport.h"
#include "common/fabric/tcp/transport.h"
#include "common/reactor/reactor.h"
#include "memory/process/region_memory.h"
#include "memory/testing/daemon_process.h"
#include "proto/control.pb.h"

namespace namdb::memory {

const char* const testing::kDaemonProgram = NAM_MEMORYD;

namespace {

namespace fs = std::filesystem;
using testing::contains;
using testing::Daemon;
using testing::Folder;
using testing::run;

TEST_CASE("wrong usage ends with 2 and a reason") {
  const Folder folder;
  const auto refused = [&](std::vector<std::string> arguments, const std::string& words) {
    arguments.insert(arguments.end(), {"--data", folder.data()});
    const auto [code, text] = run(folder, arguments);
    CHECK(code == 2);
    CHECK(contains(text, words));
  };
  refused({"--no-such-flag"}, "--no-such-flag");
  refused({"--durability", "flushed", "--server-count", "2"}, "wants --memory-server");
  refused({"--durability", "flushed", "--log-bytes", "1MiB"}, "16MiB");
  refused({"--force", "anything"}, "--force");
  refused({"--durability", "sometimes"}, "sometimes");
  refused({"--region-bytes", "many"}, "many");
  refused({"--region-bytes", "4KiB"}, "16MiB");
  refused({"--extent-size", "3MiB"}, "power of two");
  refused({"--extent-size", "4KiB"}, "64KiB");
  refused({"--extent-size", "2GiB"}, "1GiB");
  refused({"--server-id", "2", "--server-count", "2"}, "--server-id");
  refused({"--ring-versions", "65"}, "--ring-versions");
  refused({"--fabric", "pigeon"}, "pigeon");
  refused({"--fabric", "tcp", "--listen", "unix:/tmp/x"}, "--listen");
  refused({"--config", (folder.path / "missing").string()}, "missing");
  const std::string config = (folder.path / "bad.toml").string();
  std::ofstream(config) << "no-such-key = 1\n";
  refused({"--config", config}, "no-such-key");
  CHECK_FALSE(fs::exists(folder.data()));
}

TEST_CASE("an environment that refuses ends with 3 and says why") {
  const Folder folder;
  const auto refused = [&](std::vector<std::string> arguments, const std::string& words) {
    const auto [code, text] = run(folder, arguments);
    CHECK(code == 3);
    CHECK(contains(text, words));
  };
  refused({"--data", folder.data(), "--region-bytes", "100TiB"}, "does not fit");
  refused({"--data", folder.data(), "--region-bytes", "100TiB", "--huge-pages", "always"}, "vm.nr_hugepages");
  refused({"--data", folder.data(), "--region-bytes", "16MiB", "--extent-size", "16MiB"}, "too small");
  refused({"--data", "/proc/namdb"}, "/proc/namdb");
  refused({"--data", folder.data(), "--region-bytes", "16MiB", "--fabric", "tcp", "--listen", "0.0.0.0:0"},
          "cluster key");
  const std::string key = (folder.path / "key").string();
  std::ofstream(key) << "short";
  refused({"--data", folder.data(), "--region-bytes", "16MiB", "--fabric", "tcp", "--cluster-key", key},
          "32 bytes");
}

TEST_CASE("help and version are complete and succeed") {
  const Folder folder;
  CHECK(run(folder, {"--version"}).first == 0);
  const auto [code, text] = run(folder, {"--help"});
  CHECK(code == 0);
  for (const char* flag :
       {"--config", "--data", "--fabric", "--listen", "--region-bytes", "--extent-size", "--server-id",
        "--server-count", "--max-transaction-seconds", "--ring-versions", "--durability", "--log-bytes",
        "--force", "--cluster-key", "--log-level", "--version"}) {
    CHECK(contains(text, flag));
  }
}

TEST_CASE("one daemon a data folder; it ends cleanly; the folder is its owner's only") {
  const Folder folder;
  const std::vector<std::string> arguments = {"--data", folder.data(),  "--region-bytes",
                                              "16MiB",  "--huge-pages", "never"};
  Daemon first(folder, arguments);
  REQUIRE(first.ready());
  struct stat run_folder{};
  REQUIRE(::stat((folder.data() + "/run").c_str(), &run_folder) == 0);
  CHECK((run_folder.st_mode & 0777) == 0700);
  const auto [code, text] = run(folder, arguments);
  CHECK(code == 3);
  CHECK(contains(text, "another nam-memoryd"));
  first.signal(SIGTERM);
  CHECK(first.wait() == 0);
  CHECK(contains(first.log(), "stopped"));

  // After kill -9 neither lock nor socket is in the way.
  Daemon second(folder, arguments);
  REQUIRE(second.ready());
  second.signal(SIGKILL);
  CHECK(second.wait() == -1);
  Daemon third(folder, arguments);
  CHECK(third.ready());
}

TEST_CASE("a configuration file is read, and flags override it") {
  const Folder folder;
  fs::create_directories(folder.data());
  std::ofstream(folder.data() + "/config.toml")
      << "region-bytes = \"24MiB\"\nhuge-pages = \"never\"\nlog-level = \"error\"\n";
  Daemon daemon(folder, {"--data", folder.data(), "--log-level", "info"});
  REQUIRE(daemon.ready());
  CHECK(contains(daemon.log_with("ready at"), "24 MiB"));
}

reactor::Task<Status> shut_down(fabric::ClientFabric* client, std::string address) {
  control::Hello hello;
  hello.set_protocol_version(calls::kProtocolVersion);
  hello.set_compute_id(std::string(16, 't'));
  hello.set_tool(true);
  std::string welcome;
  auto channel = co_await client->connect(std::move(address), hello.SerializeAsString(), &welcome);
  if (!channel.ok()) co_return channel.status();
  control::Welcome message;
  if (!message.ParseFromString(welcome) || message.memory_only()) {
    co_return Status(ErrorCode::internal, "an unreadable welcome");
  }
  fabric::Call call;
  call.method = control::SHUTDOWN;
  (*channel)->post(call);
  co_await call.done();
  co_return call.status();
}

TEST_CASE("a tool shuts the daemon down over each transport") {
  const Folder folder;
  auto reactor = reactor::Reactor::create();
  REQUIRE(reactor.ok());
  SECTION("shm") {
    Daemon daemon(folder, {"--data", folder.data(), "--region-bytes", "16MiB"});
    REQUIRE(daemon.ready());
    const auto client = fabric::shm::transport(**reactor).make_client();
    CHECK((*reactor)->run_until(shut_down(client.get(), "unix:" + folder.data() + "/run/memory.sock")).ok());
    CHECK(daemon.wait() == 0);
  }
  SECTION("tcp") {
    Daemon daemon(folder, {"--data", folder.data(), "--region-bytes", "16MiB", "--fabric", "tcp", "--listen",
                           "127.0.0.1:0"});
    REQUIRE(daemon.ready());
    const std::string log = daemon.log_with("(tcp)");
    const std::size_t begin = log.find("ready at ") + 9;
    const std::string address = log.substr(begin, log.find(' ', begin) - begin);
    const auto client = fabric::tcp::transport(**reactor, {}).make_client();
    // A second daemon on the same port.
    const auto [code, text] = run(folder, {"--data", folder.data() + "b", "--region-bytes", "16MiB",
                                           "--fabric", "tcp", "--listen", address});
    CHECK(code == 3);
    CHECK(contains(text, "in use"));
    CHECK((*reactor)->run_until(shut_down(client.get(), address)).ok());
    CHECK(daemon.wait() == 0);
  }
}

TEST_CASE("the region's memory is zero and whole, and its length cannot be changed") {
  const auto memory = RegionMemory::create(5U << 20, 0, HugePages::never);
  REQUIRE(memory.ok());
  const RegionMemory& region = *memory.value();
  CHECK(region.bytes().size() == 6U << 20);
  CHECK(region.bytes().front() == std::byte{0});
  CHECK(region.bytes().back() == std::byte{0});
  CHECK(::ftruncate(region.descriptor(), 0) != 0);
  CHECK(region.limit_bytes() == 6U << 20);
  CHECK(RegionMemory::default_bytes() <= 4ULL << 30);
  CHECK(RegionMemory::default_bytes() > 0);
}

// Bytes of the memfd that have pages.
std::uint64_t allocated_bytes(int descriptor) {
  struct stat file{};
  REQUIRE(::fstat(descriptor, &file) == 0);
  return static_cast<std::uint64_t>(file.st_blocks) * 512;
}

TEST_CASE("memory of a region that may grow is allocated as it grows, where it is") {
  const auto memory = RegionMemory::create(4U << 20, 9U << 20, HugePages::never);
  REQUIRE(memory.ok());
  RegionMemory& region = *memory.value();
  std::byte* const base = region.bytes().data();
  CHECK(region.limit_bytes() == 10U << 20);
  CHECK(allocated_bytes(region.descriptor()) == 4U << 20);
  Result<std::uint64_t> length = region.grow((4U << 20) + 1);
  REQUIRE(length.ok());
  CHECK(*length == 6U << 20);
  CHECK(allocated_bytes(region.descriptor()) == 6U << 20);
  CHECK(region.bytes().data() == base);
  CHECK(region.bytes().back() == std::byte{0});
  length = region.grow(1ULL << 40);
  REQUIRE(length.ok());
  CHECK(*length == 10U << 20);
  CHECK(allocated_bytes(region.descriptor()) == 10U << 20);
  // More than any machine has: refused, and the memory that was there stays.
  const auto large = RegionMemory::create(2U << 20, 1ULL << 43, HugePages::never);
  REQUIRE(large.ok());
  CHECK((*large)->grow(1ULL << 43).status().code() == ErrorCode::out_of_memory);
  CHECK((*large)->bytes().size() == 2U << 20);
}

TEST_CASE("memory that a thread allocates is used meanwhile, and is whole in the end") {
  const auto memory = RegionMemory::create(
      256U << 20, 300U << 20, HugePages::never, [] { return memory_limits(); },
      [](const Status& status) { FAIL(status.to_string()); });
  REQUIRE(memory.ok());
  RegionMemory& region = *memory.value();
  CHECK(region.bytes().size() == 256U << 20);
  region.bytes().front() = std::byte{1};
  region.bytes().back() = std::byte{2};
  const Result<std::uint64_t> length = region.grow(258U << 20);
  REQUIRE(length.ok());
  CHECK(*length == 258U << 20);
  region.await_allocation();
  CHECK(allocated_bytes(region.descriptor()) == 258U << 20);
  CHECK(region.bytes().front() == std::byte{1});
  CHECK(region.bytes()[(256U << 20) - 1] == std::byte{2});
  // One that goes away while its thread allocates.
  CHECK(RegionMemory::create(
            256U << 20, 0, HugePages::never, [] { return memory_limits(); },
            [](const Status& status) { FAIL(status.to_string()); })
            .ok());
}

TEST_CASE(
    "a region does not grow beyond its control group's limit, nor into memory that the group has not free") {
  MemoryLimits limits{.total_bytes = 9U << 20, .free_bytes = 5U << 20};
  const auto asked = [&limits] { return limits; };
  const auto too_long = RegionMemory::create(6U << 20, 0, HugePages::never, asked);
  REQUIRE(!too_long.ok());
  CHECK(too_long.status().code() == ErrorCode::configuration);
  const auto memory = RegionMemory::create(4U << 20, 64U << 20, HugePages::never, asked);
  REQUIRE(memory.ok());
  RegionMemory& region = *memory.value();
  CHECK(region.limit_bytes() == 8U << 20);
  CHECK(contains(region.warning(), "the region's limit is 8 MiB"));
  limits.free_bytes = 1U << 20;
  Result<std::uint64_t> length = region.grow(6U << 20);
  REQUIRE(!length.ok());
  CHECK(length.status().code() == ErrorCode::out_of_memory);
  CHECK(region.bytes().size() == 4U << 20);
  limits.free_bytes = 2U << 20;
  length = region.grow(6U << 20);
  REQUIRE(length.ok());
  CHECK(*length == 6U << 20);
}

}  // namespace
}  // namespace namdb::memory
