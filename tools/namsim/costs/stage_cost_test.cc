// The costs of two-sided stages beside those of one-sided ones, for the workloads' own procedures under every
// protocol, which are exact. The table is in docs/internals/protocols.md.
#include <cstdio>

#include "common/layout/protocol.h"
#include "tools/namsim/testing/procedure_bench.h"

namespace namdb::sim {
namespace stage_cost_test {

using namespace procedure_bench;

ClusterOptions options_of(std::string_view protocol, std::string_view stages) {
  ClusterOptions options =
      budget_cluster(1, txn::SnapshotSource::Mode::reads, txn::SnapshotSharing::own,
                     txn::CommitWrites::changed, layout::VectorSpread::whole, memory::Durability::memory);
  options.memory.protocol = protocol;
  options.memory.stages = *layout::StageCode::parse(stages);
  return options;
}

OperationCounters send_payment(std::string_view protocol, std::string_view stages) {
  Bench bench(options_of(protocol, stages));
  load_smallbank(bench);
  const std::vector<Value> arguments{std::int64_t{1}, std::int64_t{2}, std::int64_t{100}};
  bench.cost("smallbank_send_payment", arguments);
  bench.world.run_for(kMillisecond_ns);
  return bench.cost("smallbank_send_payment", arguments);
}

OperationCounters new_order(std::string_view protocol, std::string_view stages) {
  Bench bench(options_of(protocol, stages));
  load_tpcc(bench, {.warehouses = 1, .items = 100, .customers_per_district = 10, .orders_per_district = 10});
  bench.cost("tpcc_new_order", ten_items(1));
  bench.world.run_for(kSecond_ns);
  return bench.cost("tpcc_new_order", ten_items(1));
}

struct Costs {
  OperationCounters one_sided;
  OperationCounters two_sided;
};

Costs costs_of(std::string_view protocol, bool order) {
  const auto cost = order ? new_order : send_payment;
  return {cost(protocol, "one-sided"), cost(protocol, "two-sided")};
}

TEST_CASE("two-sided send-payment and new-order move fewer bytes than one-sided, in no more round trips",
          "[cost]") {
  for (const layout::ProtocolTraits& protocol : layout::protocol_traits()) {
    for (const bool order : {false, true}) {
      CAPTURE(protocol.name, order);
      const auto [one_sided, two_sided] = costs_of(protocol.name, order);
      CHECK(two_sided.bytes() < one_sided.bytes());
      // A publish that a transaction waits for goes behind the call.
      CHECK(two_sided.round_trips <= one_sided.round_trips + (protocol.name == "si" ? 1 : 0));
      CHECK(two_sided.compare_and_swaps == 0);
    }
  }
}

// Hidden: prints the table of docs/internals/protocols.md.
TEST_CASE("costs of two-sided stages", "[.stage-costs]") {
  for (const layout::ProtocolTraits& protocol : layout::protocol_traits()) {
    for (const bool order : {false, true}) {
      const auto [one_sided, two_sided] = costs_of(protocol.name, order);
      std::printf("%s | %s | %llu, %llu | %llu | %llu, %llu | %llu\n", std::string(protocol.name).c_str(),
                  order ? "new-order" : "send-payment",
                  static_cast<unsigned long long>(one_sided.one_sided()),
                  static_cast<unsigned long long>(one_sided.round_trips),
                  static_cast<unsigned long long>(one_sided.bytes()),
                  static_cast<unsigned long long>(two_sided.calls),
                  static_cast<unsigned long long>(two_sided.round_trips),
                  static_cast<unsigned long long>(two_sided.bytes()));
    }
  }
}

}  // namespace stage_cost_test
}  // namespace namdb::sim
