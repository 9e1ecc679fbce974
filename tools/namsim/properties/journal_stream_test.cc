// A slot's journal is a stream without gaps: a reader at its host that goes on from where it stopped meets
// every entry, whichever transactions abort, and never searches.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "common/layout/journal.h"
#include "tools/namsim/cluster/cluster.h"
#include "tools/namsim/workloads/tables.h"

namespace namdb::sim {
namespace {

using reactor::Task;

// Reads on in the rings of all slots.
class StreamReader {
 public:
  explicit StreamReader(Cluster& cluster) : cluster_(cluster) {}
  void read_on() {
    for (const auto& [id, stream] : cluster_.memory(0).server->journals().all()) {
      const auto ring = std::as_bytes(std::span(cluster_.memory(0).words))
                            .subspan(stream->ring().offset, stream->ring().bytes);
      for (bool more = true; more;) more = read_one(id, ring);
    }
  }
  std::uint64_t entries() const { return entries_; }
  std::uint64_t pads() const { return pads_; }
  std::uint64_t longest_bytes() const {
    std::uint64_t longest = 0;
    for (const auto& [id, position] : positions_) longest = std::max(longest, position);
    return longest;
  }

 private:
  bool read_one(std::uint32_t slot, std::span<const std::byte> ring) {
    std::uint64_t& position = positions_[slot];
    const layout::StreamPlace place{slot, 0, position};
    const auto here = ring.subspan(position % ring.size());
    if (const auto pad = layout::read_journal_pad(here, place)) {
      position += *pad;
      ++pads_;
      return true;
    }
    const auto entry = layout::read_journal_entry(here, place);
    if (!entry) return false;
    position = entry->end();
    ++entries_;
    return true;
  }

  Cluster& cluster_;
  std::map<std::uint32_t, std::uint64_t> positions_;
  std::uint64_t entries_ = 0;
  std::uint64_t pads_ = 0;
};

struct Outcomes {
  std::uint64_t commits = 0;
  std::uint64_t aborts = 0;
};

// Transactions that each add one to two of four rows; a conflict aborts.
Task<void> add_to_rows(compute::Worker* worker, std::int64_t client, StreamReader* reader,
                       Outcomes* outcomes) {
  auto table = co_await worker->table("t");
  REQUIRE(table.ok());
  const auto session = worker->open_session();
  for (std::int64_t i = 0; i < 400; ++i) {
    const auto transaction = worker->begin(*session);
    const layout::Key first = key_of((*table)->schema, client % 4);
    const layout::Key second = key_of((*table)->schema, (client + 1 + i % 3) % 4);
    const txn::RowId one = transaction->get(*table, first.bytes());
    const txn::RowId two = transaction->get(*table, second.bytes());
    Status status = co_await transaction->fetch();
    for (const txn::RowId row : {one, two}) {
      if (status.ok()) status = transaction->update(row).set_integer(1, transaction->row(row).integer(1) + 1);
    }
    if (status.ok()) status = co_await transaction->commit();
    reader->read_on();
    INFO(status.to_string());
    CHECK((status.ok() || status.info().retry));
    ++(status.ok() ? outcomes->commits : outcomes->aborts);
  }
}

}  // namespace

TEST_CASE("a reader that goes on where it stopped meets every journal entry, whatever aborts", "[journal]") {
  for (const char* protocol : {"si", "occ", "nowait"}) {
    fabric::sim::SimWorld world(3);
    ClusterOptions options;
    options.memory.journal_bytes = 4U << 10;
    options.memory.protocol = protocol;
    Cluster cluster(world, options);
    for (int i = 0; i < 2; ++i) cluster.add_compute();
    StreamReader reader(cluster);
    const auto run = [&](Task<Status> task) { return world.run(cluster.node(0), std::move(task)); };
    REQUIRE(run(create_table(cluster.worker(0), "t", bigints({"id", "value"}), 64, 2)).ok());
    std::vector<layout::Row> rows;
    const layout::Schema schema = bigints({"id", "value"});
    for (std::int64_t id = 0; id < 4; ++id) {
      layout::Row& row = rows.emplace_back(schema);
      REQUIRE(row.writer().set_integer(0, id).ok());
      REQUIRE(row.writer().set_integer(1, 0).ok());
    }
    REQUIRE(run(put_rows(cluster.worker(0), "t", &rows)).ok());
    reader.read_on();
    const std::uint64_t before = reader.entries();

    Outcomes outcomes;
    reactor::Gate gate;
    for (std::size_t client = 0; client < 4; ++client) {
      const std::size_t compute = client % 2;
      cluster.node(compute).spawn(
          gate, add_to_rows(&cluster.worker(compute), static_cast<std::int64_t>(client), &reader, &outcomes));
    }
    REQUIRE(world.run_until([&] { return gate.count() == 0; }, 60 * kSecond_ns));
    reader.read_on();
    CHECK(outcomes.commits > 100);
    CHECK(outcomes.aborts > 10);
    CHECK(reader.entries() == before + outcomes.commits);
    CHECK(reader.longest_bytes() > 3 * options.memory.journal_bytes);
    CHECK(reader.pads() > 0);
    for (std::size_t compute = 0; compute < 2; ++compute)
      REQUIRE(cluster.stop_compute(compute, 10 * kSecond_ns));
    CHECK(cluster.check_at_rest(10 * kSecond_ns) == "");
  }
}

}  // namespace namdb::sim
