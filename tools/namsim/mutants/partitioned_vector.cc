// A partitioned timestamp vector: its parts are confirmed together, a slot is placed before it publishes, and
// a publish is piggybacked only on an installation of which all goes where it goes.
#include <cstring>
#include <map>

#include "proto/control.pb.h"
#include "tools/namsim/mutants/look.h"
#include "tools/namsim/mutants/mutants.h"

namespace namdb::sim {
namespace {

using layout::HeaderWord;

std::uint64_t vector_offset(Cluster& cluster, std::size_t server) {
  return cluster.memory(server).server->region().map().vector_offset;
}

// Of the other parts than server 0's every second READ is answered with what the one before it saw.
class PartUnconfirmed final : public Mutant {
 public:
  void after(Posting& posting) override {
    if (posting.server == 0) return;
    for (const fabric::Operation& operation : posting.asked) {
      if (operation.kind != fabric::OperationKind::read || operation.length_bytes <= 8 ||
          operation.remote_offset != vector_offset(cluster(), posting.server))
        continue;
      std::vector<std::byte>& before = before_[{posting.compute, posting.server}];
      if (before.size() == operation.length_bytes) {
        std::memcpy(operation.local, before.data(), before.size());
        before.clear();
      } else {
        before.assign(operation.local, operation.local + operation.length_bytes);
      }
    }
  }

 private:
  std::map<std::pair<std::size_t, std::size_t>, std::vector<std::byte>> before_;
};

// PLACE_SLOT is answered, and nothing is placed.
class NeverPlaced final : public Mutant {
 public:
  reactor::Task<Status> on_call(fabric::Service* inner, std::size_t server, fabric::PeerId peer,
                                std::uint16_t method, std::string_view request, std::string* reply) override {
    static_cast<void>(server);
    if (method == control::PLACE_SLOT) co_return Status();
    co_return co_await inner->on_call(peer, method, request, *reply);
  }
};

// The same, once the slot's owner is dead.
class DeadNeverPlaced final : public Mutant {
 public:
  reactor::Task<Status> on_call(fabric::Service* inner, std::size_t server, fabric::PeerId peer,
                                std::uint16_t method, std::string_view request, std::string* reply) override {
    const memory::Peers& peers = cluster().memory(server).server->peers();
    control::PlaceSlotRequest place;
    if (method == control::PLACE_SLOT && peers.all().at(peer).memory_server &&
        place.ParseFromArray(request.data(), static_cast<int>(request.size()))) {
      control::PlaceSlotReply placed;
      placed.set_counter(place.counter());
      *reply = placed.SerializeAsString();
      co_return Status();
    }
    co_return co_await inner->on_call(peer, method, request, *reply);
  }
};

// A commit is published with the part of its installation that goes where its slot's word is, whatever goes
// to other memory servers.
class PiggybackedOnPart final : public Mutant {
 public:
  void before(Posting& posting) override {
    for (std::size_t i = 0; i < posting.asked.size(); ++i) {
      if (!Look::install_end(posting.asked, i)) continue;
      const layout::Stamp stamp = HeaderWord(layout::load_word(posting.asked[i].local)).stamp();
      const std::uint64_t word = word_of(posting.server, stamp.slot);
      if (word == 0) return;
      posting.write(word, posting.word(HeaderWord(stamp).value()), 8);
      return;
    }
  }

 private:
  // Where the slot's word stands on that server; 0 if it has none.
  std::uint64_t word_of(std::size_t server, std::uint32_t slot) {
    const std::uint64_t first = vector_offset(cluster(), server) + layout::kVectorWords_offset;
    const memory::Region& region = cluster().memory(server).server->region();
    for (std::uint64_t i = 0; i < region.vector_length(); ++i) {
      if (region.vector_word(i).stamp().slot == slot) return first + 8 * i;
    }
    return 0;
  }
};

void on_two_servers(Scenario& scenario) {
  scenario.cluster.memory.timestamp_vector = layout::VectorSpread::partitioned;
  scenario.resize({.memory_servers = 2});
}

// One client each, so that commits of a slot follow one another.
void inserts_on_two_servers(Scenario& scenario) {
  on_two_servers(scenario);
  scenario.resize({.clients = 1});
  scenario.cluster.worker.optimisations.passive_acknowledgement = false;
}

}  // namespace

std::vector<MutantCase> partitioned_vector_mutants() {
  return {
      {"a part of a partitioned vector is not confirmed", "compute/txn/snapshot.cc", Emphasis::snapshots, 7,
       "missed a write that its reads depend on", make_mutant<PartUnconfirmed>, nullptr, on_two_servers},
      {"a slot is not placed in its part", "compute/txn/execution_slot.cc", Emphasis::short_slots, 1,
       "lies behind the vector's length", make_mutant<NeverPlaced>, nullptr, on_two_servers},
      {"a dead slot's final counter is not placed in its part", "memory/coordinator/dead_slots.cc",
       Emphasis::kills, 8, "a row stays out of reach", make_mutant<DeadNeverPlaced>, nullptr, on_two_servers},
      {"a publish is piggybacked on a part of the installation", "compute/commit/commit.cc",
       Emphasis::inserts, 429, "missed a write that its reads depend on", make_mutant<PiggybackedOnPart>,
       nullptr, inserts_on_two_servers},
  };
}

}  // namespace namdb::sim
