// Versions: bodies certify themselves, a ring slot is taken only when its version was moved, and an older
// version is searched for with READs that wait for one another.
#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "common/calls/hot_calls.h"
#include "common/layout/overflow_group.h"
#include "common/layout/record_trailer.h"
#include "memory/reclaim/version_mover.h"
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
      for (std::uint32_t slot = 0; slot < look.record().ring_slots; ++slot) {
        std::byte* const word = posting.asked[i + 1].local + 8 * slot;
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
    if (method == calls::kMoveVersionsMethod) set_moved(server, request);
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
      if (operation.kind != fabric::OperationKind::read ||
          operation.length_bytes != look.record().current_bytes())
        continue;
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
      if (operation.kind != fabric::OperationKind::read ||
          operation.length_bytes != layout::versions_bytes(look.record()))
        continue;
      const auto known = heads_.try_emplace({posting.compute, posting.server, operation.remote_offset},
                                            layout::load_word(operation.local));
      layout::store_word(operation.local, known.first->second);
    }
  }

 private:
  std::map<std::tuple<std::size_t, std::size_t, std::uint64_t>, std::uint64_t> heads_;
};

// A writer chooses its ring slot by words that it read behind an earlier lock of the record.
class RingWordsRemembered final : public Mutant {
 public:
  void after(Posting& posting) override {
    const Look look(cluster());
    for (std::size_t i = 0; i < posting.asked.size(); ++i) {
      if (!look.record_lock(posting, i)) continue;
      std::byte* const words = posting.asked[i + 1].local;
      std::vector<std::byte> now(words, words + 8 * look.record().ring_slots);
      auto& before = words_[{posting.compute, posting.server, posting.asked[i].remote_offset}];
      if (before.size() == now.size()) std::copy(before.begin(), before.end(), words);
      before = std::move(now);
    }
  }

 private:
  std::map<std::tuple<std::size_t, std::size_t, std::uint64_t>, std::vector<std::byte>> words_;
};

// A commit installs its version over the displaced one without keeping that in the ring.
class DisplacedNotKept final : public Mutant {
 public:
  void before(Posting& posting) override {
    for (std::size_t i = posting.operations.size(); i-- > 3;) {
      if (!Look::install_end(posting.operations, i)) continue;
      const auto at = posting.operations.begin() + static_cast<std::ptrdiff_t>(i);
      posting.operations.erase(at - 3, at - 1);
      i -= 2;
    }
  }
};

// The content of the ring slot that a link names is taken for the version that the link means.
class LinkIgnored final : public Mutant {
 public:
  void after(Posting& posting) override {
    const Look look(cluster());
    for (const fabric::Operation& operation : posting.asked) {
      if (operation.kind != fabric::OperationKind::read) continue;
      if (operation.length_bytes == look.record().current_bytes()) {
        see(look, posting, operation);
      } else if (operation.length_bytes == layout::versions_bytes(look.record())) {
        believe(look, posting, operation);
      }
    }
  }

 private:
  static layout::GlobalAddress address_of(const Posting& posting, std::uint64_t offset) {
    return {static_cast<layout::ServerId>(posting.server), offset};
  }
  void see(const Look& look, const Posting& posting, const fabric::Operation& operation) {
    const std::span<const std::byte> body(operation.local + 8, look.record().body_bytes());
    if (layout::certify_body(body, address_of(posting, operation.remote_offset)))
      versions_[{posting.compute, posting.server, operation.remote_offset}] =
          layout::decode_body_header(body.data());
  }
  void believe(const Look& look, const Posting& posting, const fabric::Operation& operation) {
    const std::uint32_t head = layout::overflow_head_offset(look.record());
    const std::uint64_t record = operation.remote_offset - head;
    const auto current = versions_.find({posting.compute, posting.server, record});
    if (current == versions_.end()) return;
    const layout::GlobalAddress address = address_of(posting, record);
    std::vector<std::byte> ring(operation.local, operation.local + operation.length_bytes);
    const auto body = [&](std::uint32_t slot) {
      return std::span(ring).subspan(look.record().ring_payload_offset(slot) - head,
                                     look.record().body_bytes());
    };
    layout::BodyHeader version = current->second;
    for (std::uint32_t steps = 0; steps < look.record().ring_slots && !version.birth(); ++steps) {
      if (version.ring_slot >= look.record().ring_slots) break;
      if (!layout::certify_body(body(version.ring_slot), address)) break;
      layout::BodyHeader before = layout::decode_body_header(body(version.ring_slot).data());
      before.stamp = version.displaced.stamp();
      layout::seal_body(body(version.ring_slot), address, before);
      version = before;
    }
    if (!lead_back(look.record().ring_slots, body)) std::ranges::copy(ring, operation.local);
  }
  // Product code would follow links that lead back for ever.
  template <typename BodyOf>
  static bool lead_back(std::uint32_t ring_slots, const BodyOf& body) {
    for (std::uint32_t first = 0; first < ring_slots; ++first) {
      layout::BodyHeader version = layout::decode_body_header(body(first).data());
      for (std::uint32_t steps = 0; version.ring_slot < ring_slots; ++steps) {
        const layout::BodyHeader before = layout::decode_body_header(body(version.ring_slot).data());
        if (before.stamp != version.displaced.stamp()) break;
        if (steps == ring_slots) return true;
        version = before;
      }
    }
    return false;
  }

  std::map<std::tuple<std::size_t, std::size_t, std::uint64_t>, layout::BodyHeader> versions_;  // by record
};

}  // namespace

std::vector<MutantCase> version_mutants() {
  return {
      {"a ring slot is overwritten unmoved", "compute/commit/commit.cc", Emphasis::old_versions, 2,
       "a version was lost", make_mutant<RingOverwritten>},
      {"a ring slot is chosen by what was read before the lock", "compute/commit/commit.cc",
       Emphasis::old_versions, 9, "a version was lost", make_mutant<RingWordsRemembered>},
      {"the displaced version is not kept", "compute/commit/commit.cc", Emphasis::old_versions, 2,
       "a version was lost", make_mutant<DisplacedNotKept>},
      {"moved is set without a certified copy", "memory/reclaim/version_mover.cc", Emphasis::old_versions, 2,
       "a version was lost", make_mutant<MovedUncopied>},
      {"a torn body is believed", "compute/txn/lookup.cc", Emphasis::shared_slots, 1,
       "missed a write that its reads depend on", make_mutant<TornBodyBelieved>},
      {"a ring slot's version is taken for the one that the link means", "compute/txn/lookup.cc",
       Emphasis::old_versions, 35, "missed a write that its reads depend on", make_mutant<LinkIgnored>},
      {"the overflow chain is entered at a remembered head", "compute/txn/lookup.cc", Emphasis::old_versions,
       2, "a version was lost", make_mutant<OverflowHeadRemembered>},
  };
}

}  // namespace namdb::sim
