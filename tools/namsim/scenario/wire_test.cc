// Simulated streams, and the SQL port on them.
#include <catch2/catch.hpp>
#include <set>

#include "tools/namsim/scenario/scenario.h"
#include "tools/namsim/testing/seeds.h"

namespace namdb::sim {
namespace {

using fabric::sim::SimWorld;
using reactor::Task;

Task<std::string> read_all(reactor::ByteStream* stream, std::size_t* reads) {
  std::string text;
  char buffer[100];
  for (;;) {
    const auto got = co_await stream->read_some(buffer, sizeof(buffer));
    if (!got.ok()) co_return text + "!";
    if (*got == 0) co_return text;
    ++*reads;
    text.append(buffer, *got);
  }
}

Task<Status> write_and_end(reactor::ByteStream* stream, const std::string* text) {
  for (std::size_t at = 0; at < text->size(); at += 50) stream->write(std::string_view(*text).substr(at, 50));
  Status drained = co_await stream->drain();
  stream->shutdown_write();
  co_return drained;
}

std::string sample_text() {
  std::string text;
  for (int i = 0; i < 100; ++i) text += std::to_string(i) + " ";
  return text;
}

struct Transfer {
  std::string text;
  std::size_t reads = 0;
  std::uint64_t took_ns = 0;
};

Transfer transfer(std::uint64_t seed, const StreamOptions& options) {
  SimWorld world(seed);
  fabric::sim::SimNode& node = world.add_node("node");
  StreamPair pair = connect_streams(world, node, options);
  const std::string text = sample_text();
  Transfer result;
  reactor::Gate gate;
  node.spawn(gate, [](reactor::ByteStream* stream, const std::string* all) -> Task<void> {
    const Status drained = co_await write_and_end(stream, all);
    static_cast<void>(drained);
  }(pair.client.get(), &text));
  result.text = world.run(node, read_all(pair.server.get(), &result.reads));
  result.took_ns = world.now_ns();
  world.run_until_idle();
  return result;
}

}  // namespace

TEST_CASE("what is written on a simulated stream arrives in order, late, and in short reads", "[wire]") {
  StreamOptions options;
  const Transfer whole = transfer(1, options);
  CHECK(whole.text == sample_text());
  options.most_bytes = 1;
  options.most_pieces = 5;
  const Transfer pieces = transfer(1, options);
  CHECK(pieces.text == sample_text());
  CHECK(pieces.reads == sample_text().size());
  options.piece.min_ns = kMillisecond_ns;
  CHECK(transfer(1, options).took_ns > whole.took_ns + kMillisecond_ns);
}

TEST_CASE("a simulated stream that breaks loses a suffix, and both ends notice", "[wire]") {
  StreamOptions options;
  options.cut_probability = 0.3;
  options.most_pieces = 3;
  std::set<std::size_t> lengths;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Transfer broken = transfer(seed, options);
    if (broken.text == sample_text()) continue;
    REQUIRE(broken.text.ends_with("!"));
    broken.text.pop_back();
    CHECK(sample_text().starts_with(broken.text));
    lengths.insert(broken.text.size());
  }
  CHECK(lengths.size() > 5);
}

TEST_CASE("an end that is closed reads an error, and its peer the end of what had been sent", "[wire]") {
  SimWorld world(1);
  fabric::sim::SimNode& node = world.add_node("node");
  StreamPair pair = connect_streams(world, node, {});
  pair.server->write("bye");
  world.run_until_idle();
  pair.server->close();
  std::size_t reads = 0;
  CHECK(world.run(node, read_all(pair.server.get(), &reads)) == "!");
  CHECK(world.run(node, read_all(pair.client.get(), &reads)) == "bye");
}

TEST_CASE("clients on connections that break see lists that are strict snapshot isolated", "[wire]") {
  std::uint64_t unknown = 0;
  std::uint64_t committed = 0;
  const std::uint64_t seeds = Seeds::share_of(30);
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    Scenario scenario = Scenario::of_seed(seed, "wire");
    scenario.resize({.kills = 0});
    scenario.workload_options.streams.cut_probability = 0.01;
    const Verdict verdict = run_and_compare(scenario, history::strict_snapshot_isolation());
    INFO("seed " << seed);
    REQUIRE(verdict.anomaly == "");
    committed += verdict.committed;
    for (const history::Transaction& transaction : verdict.history.transactions())
      unknown += transaction.outcome == history::Outcome::unknown ? 1 : 0;
  }
  CHECK(committed > 16 * seeds);
  CHECK(unknown > seeds / 3);
}

}  // namespace namdb::sim
