// Snapshots: a copy of the vector counts only when two READs of it, the second posted after the first
// completed, are equal; nothing is merged into it.
#include <algorithm>
#include <cstring>
#include <map>

#include "common/calls/hot_calls.h"
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

// The READs behind the vector's first one do not wait for it.
class Unfenced final : public Mutant {
 public:
  void before(Posting& posting) override {
    for (fabric::Operation& operation : posting.operations) {
      if (operation.kind == fabric::OperationKind::read) operation.fence = false;
    }
  }
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

// Every third transaction uses the copy of the one before it, which is older than the session's own commit.
class OldCopyUsed final : public Mutant {
 public:
  void after(Posting& posting) override {
    const Look look(cluster());
    State& state = states_[posting.compute];
    for (const fabric::Operation& operation : posting.asked) {
      if (!look.vector_read(posting, operation)) continue;
      if (look.first_vector_read(posting)) ++state.snapshots;
      if (state.snapshots % 3 == 0) {
        answer(operation, state.copy);
      } else {
        state.copy = bytes_of(operation);
      }
    }
  }

 private:
  struct State {
    std::uint64_t snapshots = 0;
    Bytes copy;
  };
  std::map<std::size_t, State> states_;
};

// A copy counts although the vector has become longer than what it covers.
class LengthIgnored final : public Mutant {
 public:
  void after(Posting& posting) override {
    const Look look(cluster());
    for (const fabric::Operation& operation : posting.asked) {
      if (!look.vector_read(posting, operation)) continue;
      const std::uint64_t covered = (operation.length_bytes - layout::kVectorWords_offset) / 8;
      std::byte* const length = operation.local + layout::kVectorLength_offset;
      layout::store_word(length, std::min(covered, layout::load_word(length)));
    }
  }
};

// The handler of SNAPSHOT has turns of others between the parts of the vector that it copies.
class SlowSnapshotCall : public Mutant {
 public:
  reactor::Task<Status> on_call(fabric::Service* inner, std::size_t server, fabric::PeerId peer,
                                std::uint16_t method, std::string_view request, std::string* reply) override {
    if (method != calls::kSnapshotMethod || server != 0)
      co_return co_await inner->on_call(peer, method, request, *reply);
    co_await collect(reply);
    for (int attempt = 0; twice() && attempt < 1000; ++attempt) {
      const std::string first = *reply;
      co_await collect(reply);
      if (*reply == first) break;
    }
    co_return Status();
  }

 protected:
  virtual bool twice() const { return true; }

 private:
  reactor::Task<void> collect(std::string* reply) {
    const MemoryProcess& memory = cluster().memory(0);
    const std::uint64_t begin = memory.server->region().map().vector_offset / 8;
    const std::uint64_t words =
        layout::vector_bytes(memory.words[begin + layout::kVectorLength_offset / 8]) / 8;
    reply->clear();
    for (std::uint64_t i = 0; i < words; ++i) {
      reply->append(reinterpret_cast<const char*>(&memory.words[begin + i]), 8);
      Random& random = cluster().world().random();
      const std::uint64_t pause_ns = random.below(random.chance(0.2) ? 40'000 : 200);
      if (i * 8 >= layout::kVectorWords_offset) co_await memory.node->sleep_for(pause_ns);
    }
  }
};

// ... and collects once.
class SnapshotCallCollectsOnce final : public SlowSnapshotCall {
 protected:
  bool twice() const override { return false; }
};

// Every third answer to SNAPSHOT is the one before it.
class OldAnswerToSnapshot final : public Mutant {
 public:
  reactor::Task<Status> on_call(fabric::Service* inner, std::size_t server, fabric::PeerId peer,
                                std::uint16_t method, std::string_view request, std::string* reply) override {
    static_cast<void>(server);
    Status status = co_await inner->on_call(peer, method, request, *reply);
    if (method != calls::kSnapshotMethod || !status.ok()) co_return status;
    State& state = states_[peer];
    if (++state.snapshots % 3 == 0) {
      *reply = state.answer;
    } else {
      state.answer = *reply;
    }
    co_return status;
  }

 private:
  struct State {
    std::uint64_t snapshots = 0;
    std::string answer;
  };
  std::map<fabric::PeerId, State> states_;
};

void snapshots_by_call(Scenario& scenario) {
  scenario.cluster.worker.snapshot_mode = txn::SnapshotSource::Mode::call;
}

void take_snapshots_by_reads(Scenario& scenario) {
  scenario.cluster.worker.snapshot_mode = txn::SnapshotSource::Mode::reads;
}

void take_snapshots_with_rows(Scenario& scenario) {
  scenario.cluster.worker.snapshot_mode = txn::SnapshotSource::Mode::together;
}

void shared_snapshots(Scenario& scenario) {
  snapshots_by_call(scenario);
  scenario.cluster.worker.snapshot_sharing = txn::SnapshotSharing::shared;
}

void prefetched_snapshots(Scenario& scenario) {
  snapshots_by_call(scenario);
  scenario.cluster.worker.snapshot_sharing = txn::SnapshotSharing::prefetched;
}

}  // namespace

std::vector<MutantCase> snapshot_mutants() {
  return {
      {"one READ of the vector is a snapshot", "compute/txn/snapshot.cc", Emphasis::snapshots, 28,
       "missed a write that its reads depend on", make_mutant<OneRead>},
      {"the second READ of the vector is posted with the first", "compute/txn/snapshot.cc",
       Emphasis::snapshots, 499, "missed a write that its reads depend on", make_mutant<TwoReadsAtOnce>},
      {"READs in the batch of the vector's first one do not wait for it", "compute/txn/snapshot.cc",
       Emphasis::snapshots, 1040, "missed a write that its reads depend on", make_mutant<Unfenced>, nullptr,
       take_snapshots_with_rows},
      {"own commits are merged into an older copy", "compute/txn/snapshot.cc", Emphasis::snapshots, 1,
       "missed a write that its reads depend on", make_mutant<OwnCommitsMerged>},
      {"a copy from before the session's own commit is used", "compute/protocol/si/snapshot_isolation.cc",
       Emphasis::snapshots, 1, "a session did not see what it wrote", make_mutant<OldCopyUsed>},
      {"a shared copy is older than the transaction that asks for it", "compute/txn/snapshot_fetcher.cc",
       Emphasis::snapshots, 1, "a session did not see what it wrote", make_mutant<OldAnswerToSnapshot>,
       nullptr, shared_snapshots},
      {"a copy that was taken ahead lacks the session's own commit",
       "compute/protocol/si/snapshot_isolation.cc", Emphasis::snapshots, 1,
       "a session did not see what it wrote", make_mutant<OldAnswerToSnapshot>, nullptr,
       prefetched_snapshots},
      {"a copy counts that does not cover the vector's length", "compute/txn/snapshot.cc",
       Emphasis::short_slots, 1, "a row stays out of reach", make_mutant<LengthIgnored>, nullptr,
       take_snapshots_by_reads},
      {"SNAPSHOT collects once", "memory/calls/snapshot.cc", Emphasis::snapshots, 1,
       "missed a write that its reads depend on", make_mutant<SnapshotCallCollectsOnce>,
       make_mutant<SlowSnapshotCall>, snapshots_by_call},
  };
}

}  // namespace namdb::sim
