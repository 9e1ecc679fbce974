// Which journal entries a host takes: all that sound compute servers write, and none that redo would refuse
// by lengths and places.
#include "memory/journals/entry_check.h"

#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/random.h"
#include "common/reactor/testing/manual_executor.h"
#include "memory/apply/redo.h"
#include "memory/log/testing/run_task.h"
#include "memory/testing/test_cluster.h"

namespace namdb::memory {
namespace entry_check_test {

using layout::GlobalAddress;
using layout::JournalItem;
using layout::ServerId;

constexpr std::uint64_t kRegion_bytes = 1U << 20;
constexpr std::uint32_t kHere = 5;  // ids of tables
constexpr std::uint32_t kDropped = 4;
constexpr std::uint32_t kNever = 6;
constexpr std::uint64_t kPlace = 512U << 10;

// Memory server 1 of 3, with a table.
struct CheckedHost {
  CheckedHost() : words(kRegion_bytes / 8) {
    options.extent_bytes = 64U << 10;
    options.vector_capacity = 16;
    options.server_id = 1;
    options.server_count = 3;
    region = std::move(*Region::create(std::as_writable_bytes(std::span(words)), options, 1));
    tables = std::make_unique<Tables>(executor, *region, options);
    for (const std::uint32_t id : {kDropped, kHere}) {
      control::TableDescriptor table = testing::accounts("t" + std::to_string(id));
      table.set_id(id);
      REQUIRE(testing::run_task(executor, tables->prepare(table)).ok());
    }
    REQUIRE((tables->discard(kDropped) && tables->release(kDropped)));
    check = std::make_unique<EntryCheck>(*region, *tables, options);
  }
  const layout::RecordLayout& shape() const { return tables->all().at(kHere)->shape.record; }

  reactor::testing::ManualExecutor executor;
  Options options;
  std::vector<std::uint64_t> words;
  std::unique_ptr<Region> region;
  std::unique_ptr<Tables> tables;
  std::unique_ptr<EntryCheck> check;
};

// An entry with an update and a new record, and all that may be wrong with it.
struct Draft {
  std::vector<ServerId> regions{0, 1};
  std::uint32_t table = kHere;
  GlobalAddress place{1, kPlace};
  ServerId lock_server = 1;
  std::int64_t longer_bytes = 0;  // image and record, than they should be
  std::uint64_t grant = 3;
  bool birth = true;

  // Its spans point into `bytes`.
  layout::JournalEntry entry(const CheckedHost& host, std::vector<std::byte>& bytes) const {
    const layout::RecordLayout& shape = host.shape();
    bytes.assign(shape.locked_bytes(), std::byte{});
    const auto body = std::span(bytes).subspan(8, shape.body_bytes());
    const GlobalAddress lock(lock_server, birth ? 4096 : place.offset());
    layout::seal_body(body, birth ? place : lock, {.stamp = {20, 1}, .table = table});
    bytes.resize(4096);
    layout::JournalEntry made;
    made.stamp = made.lock = {20, 1};
    made.regions.assign(regions.begin(), regions.end());
    JournalItem item;
    item.lock = lock;
    if (birth) {
      item.kind = JournalItem::Kind::chain;
      item.new_records = 1;
      const auto length = static_cast<std::size_t>(std::int64_t{shape.locked_bytes()} + longer_bytes);
      item.writes.push_back({place, std::span(bytes).first(length), grant});
    } else {
      const auto length = static_cast<std::size_t>(std::int64_t{shape.body_bytes()} + longer_bytes);
      item.image = std::span(bytes).subspan(8, length);
    }
    made.items.push_back(std::move(item));
    return made;
  }
};

Status check(const CheckedHost& host, const std::function<void(Draft&)>& change) {
  Status last;
  for (const bool birth : {true, false}) {
    Draft draft;
    draft.birth = birth;
    change(draft);
    std::vector<std::byte> bytes;
    const Status status = host.check->check(draft.entry(host, bytes));
    if (birth) last = status;
    CHECK(status.ok() == last.ok());  // one rule for both
  }
  return last;
}

// No table has a place: redo leaves out all that fits.
class NoPlaces final : public RecordPlaces {
 public:
  explicit NoPlaces(const Tables& tables) : tables_(tables) {}
  const layout::RecordLayout* shape(std::uint32_t table) const override {
    const auto found = tables_.all().find(table);
    return found == tables_.all().end() ? nullptr : &found->second->shape.record;
  }
  std::optional<std::uint64_t> life(std::uint32_t /*table*/, std::uint64_t /*offset*/) const override {
    return std::nullopt;
  }
  void born(std::uint32_t /*table*/, std::uint64_t /*offset*/, std::uint64_t /*grant*/) override {}
  void changed(std::uint64_t /*offset*/) override {}

 private:
  const Tables& tables_;
};

TEST_CASE("entries of tables that are here, or were, are taken", "[journals]") {
  const CheckedHost host;
  CHECK(check(host, [](Draft&) {}).ok());
  CHECK(check(host, [](Draft& draft) { draft.table = kDropped; }).ok());
  CHECK(check(host, [](Draft& draft) { draft.regions = {1}; }).ok());
  CHECK(check(host, [](Draft& draft) { draft.regions = {0, 1, 2}; }).ok());
  CHECK(check(host, [](Draft& draft) { draft.place = GlobalAddress(1, kRegion_bytes - 4096); }).ok());
}

TEST_CASE("entries with a place, a length, a table or regions that cannot be are refused by name",
          "[journals]") {
  const CheckedHost host;
  const std::vector<std::pair<std::function<void(Draft&)>, std::string>> wrong{
      {[](Draft& draft) { draft.table = kNever; }, "its table never was"},
      {[](Draft& draft) { draft.place = GlobalAddress(1, kRegion_bytes - 8); }, "its table can have no such"},
      {[](Draft& draft) { draft.place = GlobalAddress(1, kRegion_bytes + 8); }, "its table can have no such"},
      {[](Draft& draft) { draft.place = GlobalAddress(1, kPlace + 4); }, "its table can have no such"},
      {[](Draft& draft) { draft.longer_bytes = 8; }, "its table can have no such"},
      {[](Draft& draft) { draft.lock_server = 2; }, "it is not of this region"},
      {[](Draft& draft) { draft.regions = {0}; }, "it names regions"},
      {[](Draft& draft) { draft.regions = {}; }, "it names regions"},
      {[](Draft& draft) { draft.regions = {1, 0}; }, "it names regions"},
      {[](Draft& draft) { draft.regions = {1, 1}; }, "it names regions"},
      {[](Draft& draft) { draft.regions = {1, 3}; }, "it names regions"},
  };
  for (const auto& [change, words] : wrong) {
    const Status status = check(host, change);
    INFO(words << ": " << status.to_string());
    REQUIRE_FALSE(status.ok());
    CHECK(status.code() == ErrorCode::protocol_violation);
    CHECK(status.message().find(words) != std::string::npos);
  }
  std::vector<std::byte> bytes;
  Draft draft;
  draft.grant = 0;
  CHECK_FALSE(host.check->check(draft.entry(host, bytes)).ok());
  draft.grant = 3;
  draft.place = GlobalAddress(2, kPlace);
  CHECK_FALSE(host.check->check(draft.entry(host, bytes)).ok());
  draft.place = GlobalAddress(1, kPlace);
  draft.longer_bytes = 16 - std::int64_t{host.shape().locked_bytes()};
  CHECK_FALSE(host.check->check(draft.entry(host, bytes)).ok());
}

TEST_CASE("redo takes whatever the check takes, where the bodies are whole", "[journals]") {
  const CheckedHost host;
  NoPlaces places(*host.tables);
  Random random(7);
  int taken = 0;
  for (int round = 0; round < 20'000; ++round) {
    Draft draft;
    draft.birth = random.chance(0.5);
    draft.table = static_cast<std::uint32_t>(kDropped + random.below(3));
    draft.grant = random.below(3);
    const auto server = static_cast<ServerId>(random.chance(0.8) ? 1 : random.below(3));
    draft.place = GlobalAddress(
        server, random.chance(0.7) ? 8 * random.below(kRegion_bytes / 8) : random.below(2 * kRegion_bytes));
    draft.longer_bytes =
        random.chance(0.8) ? 0 : std::int64_t{8} * static_cast<std::int64_t>(random.below(5)) - 16;
    std::vector<std::byte> bytes;
    const layout::JournalEntry entry = draft.entry(host, bytes);
    if (!host.check->check(entry).ok()) continue;
    ++taken;
    Redo redo(*host.region, places);
    const Status status = redo.apply(entry);
    // A shorter image of an update does not certify, which only redo sees.
    if (!draft.birth && draft.longer_bytes != 0) continue;
    INFO(status.to_string());
    REQUIRE(status.ok());
  }
  CHECK(taken > 1000);
}

}  // namespace entry_check_test
}  // namespace namdb::memory
