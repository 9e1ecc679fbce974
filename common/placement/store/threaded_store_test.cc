#include "common/placement/store/threaded_store.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "common/placement/store/open_store.h"
#include "common/placement/store/testing/temporary_folder.h"

namespace namdb::placement {
namespace threaded_store_test {

using reactor::Reactor;
using reactor::Task;
using testing::TemporaryFolder;

Configuration at(std::uint64_t number) {
  Configuration configuration(1);
  configuration.set(0, {number, "host:1"});
  return configuration;
}

Task<void> change_often(ConfigurationStore* store, std::uint64_t times, std::uint64_t* changed) {
  while (*changed < times) {
    const auto stored = co_await store->read();
    if (!stored.ok()) co_return;
    const std::uint64_t revision = stored.value().revision;
    Configuration next = at(revision + 1);
    const auto replaced = co_await store->replace(revision, std::move(next));
    if (!replaced.ok()) co_return;
    if (replaced.value()) ++*changed;
  }
}

Task<void> compete(Reactor* reactor, ConfigurationStore* first, ConfigurationStore* second,
                   std::vector<std::uint64_t>* changed) {
  reactor::Gate gate;
  for (std::size_t i = 0; i < changed->size(); ++i)
    reactor->spawn(gate, change_often(i % 2 == 0 ? first : second, 10, &(*changed)[i]));
  co_await gate.close();
  co_await first->close();
  co_await second->close();
}

TEST_CASE("tasks of a reactor compete for a folder", "[placement]") {
  const TemporaryFolder folder;
  auto reactor = Reactor::create();
  REQUIRE(reactor.ok());
  StoreOptions options;
  options.location = "file:" + folder.path("store");
  auto first = open_store(**reactor, options);
  auto second = open_store(**reactor, options);
  REQUIRE(first.ok());
  REQUIRE(second.ok());
  CHECK(first.value()->name() == options.location);
  std::vector<std::uint64_t> changed(4, 0);
  (*reactor)->run_until(compete(reactor->get(), first.value().get(), second.value().get(), &changed));
  CHECK(changed == std::vector<std::uint64_t>(4, 10));
  CHECK(make_store(options).value()->read().value().revision == 40);
}

// Its calls last until it is stopped.
class Stuck final : public BlockingStore {
 public:
  explicit Stuck(std::atomic<int>* begun) : begun_(begun) {}
  std::string name() const override { return "stuck"; }
  Result<ConfigurationStore::Stored> read() override {
    ++*begun_;
    while (!stopping()) std::this_thread::yield();
    return Status(ErrorCode::connection_failure, "stopped");
  }
  Result<bool> replace(std::uint64_t, const Configuration&) override { return read().status(); }

 private:
  std::atomic<int>* begun_;
};

Task<void> read_once(ConfigurationStore* store, std::vector<ErrorCode>* codes) {
  const auto stored = co_await store->read();
  if (!stored.ok()) codes->push_back(stored.status().code());
}

Task<void> close_under_way(Reactor* reactor, ConfigurationStore* store, const std::atomic<int>* begun,
                           std::vector<ErrorCode>* codes) {
  reactor::Gate gate;
  for (int i = 0; i < 3; ++i) reactor->spawn(gate, read_once(store, codes));
  while (*begun == 0) co_await reactor->sleep_for(kMillisecond_ns);
  co_await store->close();
  CHECK(gate.count() == 0);
  co_await gate.close();
}

TEST_CASE("closing ends the calls that are under way, and those that wait for them", "[placement]") {
  auto reactor = Reactor::create();
  REQUIRE(reactor.ok());
  std::atomic<int> begun{0};
  std::vector<ErrorCode> codes;
  ThreadedStore store(**reactor, std::make_unique<Stuck>(&begun));
  (*reactor)->run_until(close_under_way(reactor->get(), &store, &begun, &codes));
  CHECK(codes == std::vector<ErrorCode>(3, ErrorCode::connection_failure));
}

}  // namespace threaded_store_test
}  // namespace namdb::placement
