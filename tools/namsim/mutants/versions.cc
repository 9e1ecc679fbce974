// Versions: bodies certify themselves, a ring slot is taken only when its version was moved, and an older
// version is searched for with READs that wait for one another.
#include <map>

#include "common/layout/hot_calls.h"
#include "memory/version_mover.h"
#include "tools/namsim/mutants/look.h"
#include "tools/namsim/mutants/mutants.h"

namespace namdb::sim {
namespace {

using layout::HeaderWord;

// A writer takes the next ring slot, moved or not: all of them look moved behind the lock.
class RingOverwritten final : public Mutant {
 public:
  void after(Posting& posting) override {
    const Look look(cluster());
    for (std::size_t i = 0; i < posting.asked.size(); ++i) {
      if (!look.record_lock(posting, i)) continue;
      std::byte* const record = posting.asked[i + 1].local;
      for (std::uint32_t slot = 0; slot < look.record().ring_slots; ++slot) {
        std::byte* const word = record + look.record().ring_header_offset(slot);
        layout::store_word(word, HeaderWord(layout::load_word(word)).with_moved().value());
      }
    }
  }
};

// The memory server sets moved before it has a copy that certifies: here, without any copy.
class MovedUncopied final : public Mutant {
 public:
  reactor::Task<Status> on_call(fabric::Service* inner, std::size_t server, fabric::PeerId peer,
                                std::uint16_t method, std::string_view request, std::string* reply) override {
    if (method == layout::kMoveVersionsMethod) set_moved(server, request);
    return inner->on_call(peer, method, request, *reply);
  }

 private:
  void set_moved(std::size_t server, std::string_view request) {
    const auto list = memory::RecordList::parse(request);
    if (!list.ok()) return;
    const Look look(cluster());
    for (const std::uint64_t record : (*list).offsets) {
      for (std::uint32_t slot = 0; slot < look.record().ring_slots; ++slot) {
        std::uint64_t& word =
            cluster().memory(server).words[(record + look.record().ring_header_offset(slot)) / 8];
        word = HeaderWord(word).with_moved().value();
      }
    }
  }
};

// A body is believed whatever its checksum says: each that is fetched gets the one that fits.
class TornBodyBelieved final : public Mutant {
 public:
  void after(Posting& posting) override {
    const Look look(cluster());
    for (const fabric::Operation& operation : posting.asked) {
      const bool record = operation.kind == fabric::OperationKind::read &&
                          (operation.length_bytes == look.record().current_bytes() ||
                           operation.length_bytes == look.record().locked_bytes());
      if (!record) continue;
      const layout::GlobalAddress address(static_cast<layout::ServerId>(posting.server),
                                          operation.remote_offset);
      layout::seal_body({operation.local + 8, look.record().body_bytes()}, address,
                        layout::decode_body_header(operation.local + 8));
    }
  }
};

// The overflow chain is entered where it began when the compute server first looked.
class OverflowHeadRemembered final : public Mutant {
 public:
  void after(Posting& posting) override {
    const Look look(cluster());
    for (const fabric::Operation& operation : posting.asked) {
      if (operation.kind != fabric::OperationKind::read || operation.length_bytes != 8) continue;
      const auto known = heads_.try_emplace({posting.compute, posting.server, operation.remote_offset},
                                            layout::load_word(operation.local));
      layout::store_word(operation.local, known.first->second);
    }
  }

 private:
  std::map<std::tuple<std::size_t, std::size_t, std::uint64_t>, std::uint64_t> heads_;
};

}  // namespace

std::vector<MutantCase> version_mutants() {
  return {
      {"a ring slot is overwritten unmoved", "compute/protocol/snapshot_isolation/commit.cc",
       Emphasis::old_versions, 2, make_mutant<RingOverwritten>},
      {"moved is set without a certified copy", "memory/version_mover.cc", Emphasis::old_versions, 1,
       make_mutant<MovedUncopied>},
      {"a torn body is believed", "compute/protocol/snapshot_isolation/lookup.cc", Emphasis::shared_slots, 1,
       make_mutant<TornBodyBelieved>},
      {"the overflow chain is entered at a remembered head", "compute/protocol/snapshot_isolation/lookup.cc",
       Emphasis::old_versions, 2, make_mutant<OverflowHeadRemembered>},
  };
}

}  // namespace namdb::sim
