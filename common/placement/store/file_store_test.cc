#include "common/placement/store/file_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "common/placement/store/testing/temporary_folder.h"

namespace namdb::placement {
namespace file_store_test {

using testing::TemporaryFolder;

Configuration at(std::uint64_t number) {
  Configuration configuration(1);
  configuration.set(0, {number, "host:1", {"other:1"}});
  return configuration;
}

TEST_CASE("a folder: the value is changed at its revision only, and stays", "[placement]") {
  const TemporaryFolder folder;
  FileStore store(folder.path("store"));
  CHECK(store.name() == "file:" + folder.path("store"));
  CHECK(store.read().value().revision == 0);
  CHECK_FALSE(store.replace(1, at(1)).value());
  CHECK(store.replace(0, at(1)).value());
  CHECK_FALSE(store.replace(0, at(2)).value());
  CHECK(store.read().value() == ConfigurationStore::Stored{1, at(1)});
  FileStore other(folder.path("store"));
  CHECK(other.replace(1, at(2)).value());
  CHECK_FALSE(store.replace(1, at(3)).value());
  CHECK(store.read().value() == ConfigurationStore::Stored{2, at(2)});
  // Another value each time it is written.
  CHECK(store.replace(2, at(2)).value());
  CHECK(other.read().value().revision == 3);
}

TEST_CASE("a folder: of those that compete one is first each time", "[placement]") {
  const TemporaryFolder folder;
  constexpr std::uint64_t kEach = 25;
  constexpr std::size_t kThreads = 4;
  std::vector<std::thread> threads;
  std::vector<std::uint64_t> failures(kThreads, 0);
  for (std::size_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&folder, &failures, thread] {
      // Locks are not given in turns: on a busy machine one of them may be passed over for long.
      FileStore store(folder.path("store"), std::chrono::minutes(2));
      for (std::uint64_t changed = 0; changed < kEach;) {
        const auto stored = store.read();
        const std::uint64_t number =
            stored.ok() && stored.value().revision != 0 ? stored.value().configuration.place(0).number : 0;
        const auto replaced = store.replace(stored.ok() ? stored.value().revision : 0, at(number + 1));
        if (!stored.ok() || !replaced.ok()) ++failures[thread];
        if (!replaced.ok() || replaced.value()) ++changed;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(failures == std::vector<std::uint64_t>(kThreads, 0));
  FileStore store(folder.path("store"));
  CHECK(store.read().value() == ConfigurationStore::Stored{kThreads * kEach, at(kThreads * kEach)});
}

TEST_CASE("a folder: a writer that ended on the way has changed nothing", "[placement]") {
  const TemporaryFolder folder;
  FileStore store(folder.path("store"));
  REQUIRE(store.replace(0, at(1)).value());
  folder.write("store/configuration.new", folder.read("store/configuration").substr(0, 50));
  CHECK(store.read().value() == ConfigurationStore::Stored{1, at(1)});
  CHECK(store.replace(1, at(2)).value());
  CHECK(store.read().value() == ConfigurationStore::Stored{2, at(2)});
}

TEST_CASE("a folder: something else in it is refused by its path", "[placement]") {
  const TemporaryFolder folder;
  FileStore store(folder.path("store"));
  REQUIRE(store.replace(0, at(1)).value());
  const std::string whole = folder.read("store/configuration");
  for (const std::string& text : {std::string(), std::string("something else\n"), whole.substr(0, 40),
                                  whole.substr(0, whole.size() - 3), "x" + whole}) {
    folder.write("store/configuration", text);
    const auto stored = store.read();
    REQUIRE_FALSE(stored.ok());
    CHECK(stored.status().code() == ErrorCode::configuration);
    CHECK(stored.status().message().starts_with(folder.path("store/configuration") +
                                                ": it is no configuration of namdb"));
    CHECK(store.replace(1, at(2)).status().code() == ErrorCode::configuration);
    CHECK(folder.read("store/configuration") == text);
  }
  folder.write("store/configuration", whole);
  CHECK(store.read().value() == ConfigurationStore::Stored{1, at(1)});
}

TEST_CASE("a folder: where it cannot be is told", "[placement]") {
  const TemporaryFolder folder;
  folder.write("file", "");
  for (const char* path : {"file/store", "nowhere/store", "file"}) {
    FileStore store(folder.path(path));
    INFO(store.read().status().to_string());
    CHECK(store.read().status().code() == ErrorCode::configuration);
    CHECK(store.read().status().message().find(folder.path(path)) != std::string::npos);
  }
}

TEST_CASE("a folder: a full disk changes nothing, and may have room later", "[placement]") {
  const TemporaryFolder folder;
  FileStore store(folder.path("store"));
  REQUIRE(store.replace(0, at(1)).value());
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  auto* const handled = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit none{64, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &none) == 0);
  const auto replaced = store.replace(1, at(2));
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
  std::signal(SIGXFSZ, handled);
  CHECK(replaced.status().message() == "the configuration store cannot write " +
                                           folder.path("store/configuration.new") + ": File too large");
  CHECK(replaced.status().code() == ErrorCode::connection_failure);
  CHECK(store.read().value() == ConfigurationStore::Stored{1, at(1)});
  CHECK(store.replace(1, at(2)).value());
}

TEST_CASE("a folder: a lock that another process holds is not waited for without end", "[placement]") {
  const TemporaryFolder folder;
  FileStore store(folder.path("store"));
  REQUIRE(store.replace(0, at(1)).value());
  const int descriptor = ::open(folder.path("store/lock").c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(::flock(descriptor, LOCK_EX) == 0);
  const auto stored = store.read();
  CHECK(stored.status().message() ==
        "the configuration store cannot lock " + folder.path("store/lock") + ": another process holds it");
  CHECK(stored.status().code() == ErrorCode::connection_failure);
  ::close(descriptor);
  CHECK(store.read().ok());
}

}  // namespace file_store_test
}  // namespace namdb::placement
