// Doubles of rules of copies (docs/internals/copies.md): each lacks one, and runs with copies find it.
#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>

#include "tools/namsim/scenario/copies_run.h"

namespace namdb::sim {
namespace copies_doubles {

using placement::Configuration;
using placement::ConfigurationStore;
using placement::Place;
using placement::testing::MemoryStore;

// The store, as the host at an address sees it: doubles change its words.
class SeenStore : public ConfigurationStore {
 public:
  SeenStore(std::unique_ptr<MemoryStore> store, std::string address)
      : store_(std::move(store)), address_(std::move(address)) {}
  std::string name() const override { return store_->name(); }
  reactor::Task<Result<bool>> replace(std::uint64_t revision, Configuration next) override {
    co_return co_await store_->replace(revision, std::move(next));
  }
  reactor::Task<void> close() override { co_await store_->close(); }

 protected:
  std::unique_ptr<MemoryStore> store_;
  std::string address_;
};

// Only a host that the store lists may take over: this one reads that it is listed, once it has been.
class Unlisted final : public SeenStore {
 public:
  using SeenStore::SeenStore;
  reactor::Task<Result<Stored>> read() override {
    auto stored = co_await store_->read();
    if (!stored.ok()) co_return stored.status();
    Configuration& configuration = stored->configuration;
    for (std::size_t region = 0; region < configuration.regions(); ++region) {
      // Hosts of a region have its name, and a number behind it.
      Place place = configuration.place(region);
      const std::string name = "sim:m" + std::to_string(region);
      if (place.number == 0 || place.address == address_ || !address_.starts_with(name)) continue;
      was_listed_ = was_listed_ || place.has_copy(address_);
      if (!was_listed_) continue;
      if (!place.has_copy(address_))
        place.copies.insert(std::ranges::lower_bound(place.copies, address_), address_);
      configuration.set(region, std::move(place));
    }
    co_return std::move(stored);
  }

 private:
  bool was_listed_ = false;
};

// A primary that is deposed learns it from the store: this one goes by its own words.
class Stubborn final : public SeenStore {
 public:
  using SeenStore::SeenStore;
  reactor::Task<Result<Stored>> read() override {
    auto stored = co_await store_->read();
    if (!stored.ok()) co_return stored.status();
    Configuration& configuration = stored->configuration;
    const std::size_t own = region();
    deposed_ = false;
    if (own >= configuration.regions()) co_return std::move(stored);
    if (configuration.place(own).address == address_) {
      believed_ = configuration.place(own);
    } else if (believed_.number != 0) {
      deposed_ = true;
      configuration.set(own, believed_);
    }
    co_return std::move(stored);
  }
  reactor::Task<Result<bool>> replace(std::uint64_t revision, Configuration next) override {
    const Place place = next.place(region());
    if (deposed_) {
      believed_ = place;
      co_return true;
    }
    const auto replaced = co_await store_->replace(revision, std::move(next));
    if (replaced.ok() && *replaced && place.address == address_) believed_ = place;
    co_return replaced;
  }

 private:
  // "sim:m1-2" is a host of region 1.
  std::size_t region() const { return static_cast<std::size_t>(address_[5] - '0'); }

  Place believed_;
  bool deposed_ = false;
};

template <typename Store>
CopyRules with_store() {
  CopyRules rules;
  rules.store = [](std::unique_ptr<MemoryStore> store, std::string address) {
    return std::make_unique<Store>(std::move(store), std::move(address));
  };
  return rules;
}

// The seed that shows it, by what is lost, or read though it is old: a run that gets stuck does not count.
std::uint64_t caught(const CopyRules& rules, std::uint64_t first, std::uint64_t count) {
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const CopiesVerdict verdict = run_with_copies(seed, rules);
    if (!verdict.wrong_data) continue;
    WARN("seed " << seed << ": " << verdict.anomaly);
    return seed;
  }
  return 0;
}

}  // namespace copies_doubles

using namespace copies_doubles;

TEST_CASE("a primary that answers before its copies have acknowledged is caught", "[copies_doubles]") {
  CopyRules rules;
  rules.waits_for_copies = false;
  CHECK(caught(rules, 34, 40) != 0);
}

TEST_CASE("a copy that takes over though it is not in sync is caught", "[copies_doubles]") {
  CHECK(caught(with_store<Unlisted>(), 36, 40) != 0);
}

TEST_CASE("a deposed primary that goes on is caught", "[copies_doubles]") {
  CHECK(caught(with_store<Stubborn>(), 136, 40) != 0);
}

TEST_CASE("a cluster without leases, of workers and of rounds, is caught", "[copies_doubles]") {
  CopyRules rules;
  rules.leases = false;
  CHECK(caught(rules, 606, 60) != 0);
}

}  // namespace namdb::sim
