// Conflicts: the comparisons before a write. They find two inserts of one key, a version that the snapshot
// does not see, and a cached location that is stale.
#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <tuple>

#include "tools/namsim/mutants/look.h"
#include "tools/namsim/mutants/mutants.h"
#include "tools/namsim/workloads/churn_workload.h"

namespace namdb::sim {
namespace {

using fabric::Operation;
using layout::Bucket;
using layout::BucketEntry;
using layout::HeaderWord;

layout::GlobalAddress address_of(const Posting& posting, std::uint64_t offset) {
  return {static_cast<layout::ServerId>(posting.server), offset};
}

// An insert takes its chain's lock, whatever the lookup saw, and does not compare the entries behind it: a
// rival that came since stays unseen. (The entries are shown with other hashes, and written back with
// theirs.)
class RivalNotCompared final : public Mutant {
 public:
  void before(Posting& posting) override {
    for (std::size_t i = 0; i < posting.asked.size(); ++i) {
      Operation& operation = posting.operations[i];
      if (Look::chain_lock(posting, i)) {
        const HeaderWord word(cluster().memory(posting.server).words[operation.remote_offset / 8]);
        if (!word.locked()) operation.expected = word.value();
      } else if (operation.kind == fabric::OperationKind::write &&
                 operation.length_bytes == layout::kBucketBody_bytes) {
        show_true_hashes(posting, operation);
      }
    }
  }
  void after(Posting& posting) override {
    for (std::size_t i = 0; i < posting.asked.size(); ++i) {
      if (!Look::chain_lock(posting, i)) continue;
      const Operation& cas = posting.operations[i];
      if (layout::load_word(cas.local) != cas.expected) continue;
      layout::store_word(cas.local, posting.asked[i].expected);
      for (std::size_t k = i + 1; k < posting.asked.size() && bucket_read(posting.asked[k]); ++k)
        hide_hashes(posting, posting.asked[k]);
    }
  }

 private:
  static constexpr std::uint64_t kOther = 0x5555;  // too little for another chain

  static bool bucket_read(const Operation& operation) {
    return operation.kind == fabric::OperationKind::read && operation.length_bytes == layout::kBucket_bytes;
  }
  void hide_hashes(const Posting& posting, const Operation& operation) {
    Bucket bucket{};
    std::memcpy(&bucket, operation.local, sizeof bucket);
    if (!bucket.certified(address_of(posting, operation.remote_offset))) return;
    for (BucketEntry& entry : bucket.entries) {
      if (entry.free()) continue;
      hidden_[{posting.compute, entry.location, entry.key_hash ^ kOther}] = entry.key_hash;
      entry.key_hash ^= kOther;
    }
    bucket.seal(address_of(posting, operation.remote_offset));
    std::memcpy(operation.local, &bucket, sizeof bucket);
  }
  void show_true_hashes(Posting& posting, Operation& operation) {
    Bucket bucket{};
    auto* const bytes = reinterpret_cast<std::byte*>(&bucket);
    std::memcpy(bytes + layout::kBucketBody_offset, operation.local, layout::kBucketBody_bytes);
    const auto address = address_of(posting, operation.remote_offset - layout::kBucketBody_offset);
    if (!bucket.certified(address)) return;
    for (BucketEntry& entry : bucket.entries) {
      const auto hidden = hidden_.find({posting.compute, entry.location, entry.key_hash});
      if (hidden != hidden_.end()) entry.key_hash = hidden->second;
    }
    bucket.seal(address);
    posting.buffers.emplace_back(*posting.pool, layout::kBucketBody_bytes);
    std::memcpy(posting.buffers.back().data(), bytes + layout::kBucketBody_offset, layout::kBucketBody_bytes);
    operation.local = posting.buffers.back().data();
  }

  // The hash that was shown instead of the true one.
  std::map<std::tuple<std::size_t, std::uint64_t, std::uint64_t>, std::uint64_t> hidden_;
};

// A commit displaces whatever version is there, seen by its snapshot or not: lookups show the newest version
// that the snapshot sees as the current one, and its lock is taken from whatever the header is.
class FirstCommitterIgnored final : public Mutant {
 public:
  void before(Posting& posting) override {
    const Look look(cluster());
    for (std::size_t i = 0; i < posting.asked.size(); ++i) {
      if (!look.record_lock(posting, i) || !shown_before(posting, posting.asked[i])) continue;
      const HeaderWord word(cluster().memory(posting.server).words[posting.asked[i].remote_offset / 8]);
      if (!word.locked()) posting.operations[i].expected = word.value();
    }
  }
  void after(Posting& posting) override {
    const Look look(cluster());
    for (const Operation& operation : posting.asked) {
      if (look.vector_read(posting, operation)) note_snapshot(posting.compute, operation);
    }
    for (std::size_t i = 0; i < posting.asked.size(); ++i) {
      const Operation& operation = posting.asked[i];
      const bool lookup = operation.kind == fabric::OperationKind::read &&
                          operation.length_bytes == look.record().current_bytes();
      if (lookup) show_visible(look, posting, operation);
      if (!look.record_lock(posting, i)) continue;
      const std::vector<std::byte>* const shown = shown_before(posting, operation);
      const Operation& cas = posting.operations[i];
      if (shown == nullptr || layout::load_word(cas.local) != cas.expected) continue;
      layout::store_word(cas.local, operation.expected);
    }
  }

 private:
  using Place = std::tuple<std::size_t, std::size_t, std::uint64_t>;  // compute, server, record

  void note_snapshot(std::size_t compute, const Operation& operation) {
    auto& snapshot = snapshots_[compute];
    snapshot.clear();
    for (std::uint32_t at = layout::kVectorWords_offset; at + 8 <= operation.length_bytes; at += 8) {
      const layout::Stamp stamp = HeaderWord(layout::load_word(operation.local + at)).stamp();
      snapshot[stamp.slot] = stamp.counter;
    }
  }
  bool visible(std::size_t compute, layout::Stamp stamp) {
    const auto& snapshot = snapshots_[compute];
    const auto word = snapshot.find(stamp.slot);
    return word == snapshot.end() || stamp.counter <= word->second;
  }
  void show_visible(const Look& look, const Posting& posting, const Operation& operation) {
    const auto address = address_of(posting, operation.remote_offset);
    const std::uint32_t length = look.record().body_bytes();
    if (!layout::certify_body({operation.local + 8, length}, address)) return;
    const layout::BodyHeader current = layout::decode_body_header(operation.local + 8);
    const Place place{posting.compute, posting.server, operation.remote_offset};
    shown_.erase(place);
    if (visible(posting.compute, current.stamp) || current.birth()) return;
    const std::uint64_t ring = operation.remote_offset + look.record().ring_payload_offset(current.ring_slot);
    const auto* const memory =
        reinterpret_cast<const std::byte*>(&cluster().memory(posting.server).words[ring / 8]);
    const std::vector<std::byte> older(memory, memory + length);
    if (!layout::certify_body(older, address)) return;
    const layout::BodyHeader header = layout::decode_body_header(older.data());
    if (header.stamp != current.displaced.stamp() || !visible(posting.compute, header.stamp)) return;
    layout::store_word(operation.local, header.header_word().value());
    std::memcpy(operation.local + 8, older.data(), length);
    shown_[place] = older;
  }
  // The body that a lookup was shown, if the CAS is from its stamp.
  const std::vector<std::byte>* shown_before(const Posting& posting, const Operation& cas) const {
    const auto shown = shown_.find({posting.compute, posting.server, cas.remote_offset});
    if (shown == shown_.end()) return nullptr;
    const layout::BodyHeader header = layout::decode_body_header(shown->second.data());
    return header.header_word().value() == cas.expected ? &shown->second : nullptr;
  }

  std::map<std::size_t, std::map<std::uint32_t, std::uint32_t>> snapshots_;
  std::map<Place, std::vector<std::byte>> shown_;
};

// A key whose record was found in another place than remembered is written there under the lock of no record.
class StaleRetryUnlocked final : public Mutant {
 public:
  void before(Posting& posting) override {
    const Look look(cluster());
    for (std::size_t i = 0; i < posting.asked.size(); ++i) {
      const Operation& cas = posting.asked[i];
      if (!look.record_lock(posting, i)) continue;
      if (moved_.erase({posting.compute, posting.server, cas.remote_offset}) == 0) continue;
      // Swaps a word of its own choice, which no other transaction has.
      posting.operations[i].expected = ~std::uint64_t{0};
    }
  }
  void after(Posting& posting) override {
    const Look look(cluster());
    for (std::size_t i = 0; i < posting.asked.size(); ++i) {
      const Operation& operation = posting.asked[i];
      if (look.record_lock(posting, i) && posting.operations[i].expected == ~std::uint64_t{0})
        layout::store_word(operation.local, operation.expected);
      if (operation.kind == fabric::OperationKind::read &&
          operation.length_bytes == look.record().current_bytes())
        see_record(look, posting, operation);
    }
  }

 private:
  void see_record(const Look& look, const Posting& posting, const Operation& operation) {
    const std::span<const std::byte> body(operation.local + 8, look.record().body_bytes());
    if (!layout::certify_body(body, address_of(posting, operation.remote_offset))) return;
    const layout::Schema schema = ChurnWorkload::schema();
    const auto key = layout::body_payload(body).subspan(schema.key_offset(), schema.key_bytes());
    const std::uint32_t table = layout::decode_body_header(body.data()).table;
    const auto known = places_.try_emplace(
        {posting.compute, posting.server, table, std::vector<std::byte>(key.begin(), key.end())},
        operation.remote_offset);
    if (known.second || known.first->second == operation.remote_offset) return;
    known.first->second = operation.remote_offset;
    moved_.insert({posting.compute, posting.server, operation.remote_offset});
  }

  using Key = std::tuple<std::size_t, std::size_t, std::uint32_t, std::vector<std::byte>>;
  std::map<Key, std::uint64_t> places_;
  std::set<std::tuple<std::size_t, std::size_t, std::uint64_t>> moved_;
};

// The header word decides which version a body is, not the body's own stamp.
class HeaderDecides final : public Mutant {
 public:
  void after(Posting& posting) override {
    const Look look(cluster());
    for (const Operation& operation : posting.asked) {
      if (operation.kind != fabric::OperationKind::read ||
          operation.length_bytes != look.record().current_bytes())
        continue;
      const auto address = address_of(posting, operation.remote_offset);
      const std::span<std::byte> body(operation.local + 8, look.record().body_bytes());
      const HeaderWord header(layout::load_word(operation.local));
      if (!layout::certify_body(body, address) || header.stamp().slot == layout::kCollectorSlot) continue;
      layout::BodyHeader altered = layout::decode_body_header(body.data());
      altered.stamp = header.stamp();
      layout::seal_body(body, address, altered);
    }
  }
};

}  // namespace

std::vector<MutantCase> conflict_mutants() {
  const char* const commit = "compute/commit/commit.cc";
  return {
      {"two inserts of one key: the rival's entry is not looked for behind the lock",
       "compute/commit/chain_locks.cc", Emphasis::inserts, 2, "have one key", make_mutant<RivalNotCompared>,
       nullptr,
       // The double knows buckets that are written whole.
       [](Scenario& scenario) { scenario.cluster.worker.commit_writes = txn::CommitWrites::whole; }},
      {"a commit displaces a version that its snapshot does not see", commit, Emphasis::snapshots, 1,
       "lost update", make_mutant<FirstCommitterIgnored>},
      {"a record that was not where it was remembered is written without its lock", commit, Churn{}, 211,
       "its companion says", make_mutant<StaleRetryUnlocked>},
      {"the header word decides visibility", "compute/txn/lookup.cc", Emphasis::snapshots, 3, "a row is gone",
       make_mutant<HeaderDecides>},
  };
}

}  // namespace namdb::sim
