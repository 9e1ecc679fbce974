// Snapshots: a copy of the vector counts only when two READs of it, the second posted after the first
// completed, are equal; nothing is merged into it.
#include <cstring>
#include <map>

#include "tools/namsim/mutants/look.h"
#include "tools/namsim/mutants/mutants.h"

namespace namdb::sim {
namespace {

using Bytes = std::vector<std::byte>;

Bytes bytes_of(const fabric::Operation& operation) {
  return {operation.local, operation.local + operation.length_bytes};
}

void answer(const fabric::Operation& operation, const Bytes& bytes) {
  if (bytes.size() == operation.length_bytes) std::memcpy(operation.local, bytes.data(), bytes.size());
}

// One READ is taken for a snapshot: the second is answered with what the first saw.
class OneRead final : public Mutant {
 public:
  void after(Posting& posting) override {
    const Look look(cluster());
    for (const fabric::Operation& operation : posting.asked) {
      if (!look.vector_read(posting, operation)) continue;
      if (look.first_vector_read(posting)) {
        first_[posting.compute] = bytes_of(operation);
      } else {
        answer(operation, first_[posting.compute]);
      }
    }
  }

 private:
  std::map<std::size_t, Bytes> first_;
};

// The second READ does not wait for the first: both are posted at once, whenever product code posts either.
class TwoReadsAtOnce final : public Mutant {
 public:
  void before(Posting& posting) override {
    const Look look(cluster());
    for (const fabric::Operation& operation : posting.asked) {
      if (!look.vector_read(posting, operation)) continue;
      fabric::Operation other = operation;
      posting.buffers.emplace_back(*posting.pool, operation.length_bytes);
      other.local = posting.buffers.back().data();
      posting.operations.push_back(other);
    }
  }
  void after(Posting& posting) override {
    const Look look(cluster());
    for (const fabric::Operation& operation : posting.asked) {
      if (!look.vector_read(posting, operation)) continue;
      Pair& pair = pairs_[posting.compute];
      const Bytes first = bytes_of(operation);
      const fabric::Operation& other = posting.operations.back();
      if (!look.first_vector_read(posting) && pair.first == pair.second) answer(operation, pair.second);
      pair = {first, bytes_of(other)};
    }
  }

 private:
  struct Pair {
    Bytes first;
    Bytes second;
  };
  std::map<std::size_t, Pair> pairs_;
};

// An older copy is used again, with the worker's own commits merged into it, so that it sees its own writes.
class OwnCommitsMerged final : public Mutant {
 public:
  void after(Posting& posting) override {
    const Look look(cluster());
    State& state = states_[posting.compute];
    for (const fabric::Operation& operation : posting.asked) {
      if (look.publish(posting, operation)) {
        state.own[operation.remote_offset] = layout::load_word(operation.local);
      }
      if (!look.vector_read(posting, operation)) continue;
      if (look.first_vector_read(posting)) ++state.snapshots;
      if (state.snapshots % 4 == 1 || state.copy.size() != operation.length_bytes) {
        state.copy = bytes_of(operation);
        continue;
      }
      // Catalog version and length stay true.
      std::memcpy(operation.local + layout::kVectorWords_offset,
                  state.copy.data() + layout::kVectorWords_offset,
                  operation.length_bytes - layout::kVectorWords_offset);
      for (const auto& [offset, word] : state.own) {
        const std::uint64_t at = offset - look.vector_offset();
        if (at + 8 <= operation.length_bytes) layout::store_word(operation.local + at, word);
      }
    }
  }

 private:
  struct State {
    std::uint64_t snapshots = 0;
    Bytes copy;
    std::map<std::uint64_t, std::uint64_t> own;
  };
  std::map<std::size_t, State> states_;
};

}  // namespace

std::vector<MutantCase> snapshot_mutants() {
  return {
      {"one READ of the vector is a snapshot", "compute/txn/snapshot.cc", Emphasis::snapshots, 7,
       make_mutant<OneRead>},
      {"the second READ of the vector is posted with the first", "compute/txn/snapshot.cc",
       Emphasis::snapshots, 900, make_mutant<TwoReadsAtOnce>},
      {"own commits are merged into an older copy", "compute/txn/snapshot.cc", Emphasis::snapshots, 1,
       make_mutant<OwnCommitsMerged>},
  };
}

}  // namespace namdb::sim
