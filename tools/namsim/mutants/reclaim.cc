// Memory that is used again: a location is a hint until key and incarnation in the body agree.
#include <cstring>
#include <map>
#include <tuple>

#include "proto/control.pb.h"
#include "tools/namsim/mutants/heartbeat.h"
#include "tools/namsim/mutants/look.h"
#include "tools/namsim/mutants/mutants.h"
#include "tools/namsim/workloads/churn_workload.h"

namespace namdb::sim {
namespace {

// A compute server believes that the record at an address is what it was when it first read it: key and
// incarnation of every later body are made so.
class LocationBelieved final : public Mutant {
 public:
  void after(Posting& posting) override {
    const Look look(cluster());
    const layout::Schema schema = ChurnWorkload::schema();
    for (const fabric::Operation& operation : posting.asked) {
      if (operation.kind != fabric::OperationKind::read) continue;
      if (operation.length_bytes != look.record().current_bytes()) continue;
      const layout::GlobalAddress address(static_cast<layout::ServerId>(posting.server),
                                          operation.remote_offset);
      const std::span<std::byte> body(operation.local + 8, look.record().body_bytes());
      if (!layout::certify_body(body, address)) continue;
      layout::BodyHeader header = layout::decode_body_header(body.data());
      std::byte* const key = layout::body_payload(body).data() + schema.key_offset();
      const auto [known, fresh] =
          known_.try_emplace({posting.compute, address.value, header.table},
                             Identity{header.incarnation, {key, key + schema.key_bytes()}});
      if (fresh) continue;
      header.incarnation = known->second.incarnation;
      std::memcpy(key, known->second.key.data(), known->second.key.size());
      layout::seal_body(body, address, header);
    }
  }

 private:
  struct Identity {
    std::uint32_t incarnation;
    std::vector<std::byte> key;
  };
  std::map<std::tuple<std::size_t, std::uint64_t, std::uint32_t>, Identity> known_;
};

// Workers say that no older transaction runs and that no cached address is left, whatever is true.
class ReuseAcknowledgedAtOnce final : public HeartbeatMutant {
 protected:
  void alter(control::HeartbeatRequest& heartbeat, const control::HeartbeatReply& known) override {
    heartbeat.set_acknowledged_epoch(known.reuse_epoch());
    heartbeat.set_acknowledged_versions(known.version_epoch());
  }
};

}  // namespace

std::vector<MutantCase> reuse_mutants() {
  return {
      {"a location is used without its check of key and incarnation", "compute/txn/lookup.cc", Churn{}, 1,
       "its companion says", make_mutant<LocationBelieved>},
      {"deleted records are reclaimed and used again unacknowledged", "compute/txn/transaction_registry.h",
       Churn{}, 17, "its companion says", make_mutant<ReuseAcknowledgedAtOnce>},
  };
}

}  // namespace namdb::sim
