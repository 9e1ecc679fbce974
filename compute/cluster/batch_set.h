// The operations of a stage: one batch a memory server, posted together and awaited together, in one round
// trip, however many servers. Its owner uses it again from stage to stage; buffers named in the batches live
// until run() has returned.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "common/calls/batch_calls.h"
#include "common/fabric/fabric.h"
#include "common/fabric/local_pool.h"
#include "common/layout/global_address.h"
#include "common/layout/stamp.h"
#include "common/reactor/pooled_allocator.h"
#include "common/reactor/stable_vector.h"
#include "compute/cluster/cluster.h"
#include "compute/cluster/find_set.h"

namespace namdb::txn {

class BatchSet {
 public:
  explicit BatchSet(Cluster& cluster) : cluster_(cluster), batches_(cluster.server_count()) {}

  fabric::Batch& at(layout::ServerId server) { return batches_[server]; }
  void read(layout::GlobalAddress from, std::byte* local, std::size_t length_bytes) {
    at(from.server()).read(from.offset(), local, static_cast<std::uint32_t>(length_bytes), fenced_);
  }
  // While on, a READ that is added waits for all READs and atomics of its channel before it.
  void fence_reads(bool on) { fenced_ = on; }
  void write(layout::GlobalAddress to, const std::byte* local, std::size_t length_bytes) {
    at(to.server()).write(to.offset(), local, static_cast<std::uint32_t>(length_bytes));
  }
  void compare_and_swap(layout::GlobalAddress word, std::uint64_t expected, std::uint64_t desired,
                        std::byte* old) {
    at(word.server()).compare_and_swap(word.offset(), expected, desired, old);
  }
  // Adds a lookup of a record by the memory server, which the next run() sends with the batches. `found` gets
  // the reply, which is valid until the next find().
  void find(layout::ServerId server, const calls::FindRequest& lookup, calls::FoundPieces* found) {
    if (finds_ == nullptr) finds_ = std::make_unique<FindSet>(cluster_);
    finds_->add(server, lookup, found);
  }
  // Adds an operation that installs the journal entry of that length, which stands at `entry` by then: behind
  // the operations so far for its memory server (common/calls/batch_calls.h). For stages that run by calls.
  void install(layout::GlobalAddress entry, std::uint32_t length_bytes) {
    add({.kind = calls::BatchOperation::Kind::install, .length_bytes = length_bytes, .bytes = {}}, entry,
        nullptr, nullptr);
  }
  // Likewise adds an operation that locks the record (calls::BatchOperation::record_of) if it is unlocked,
  // and reads it. `from` gets the header word that the lock replaced, or 0.
  void lock(layout::GlobalAddress address, std::uint64_t record, layout::HeaderWord lock, std::byte* local,
            std::size_t length_bytes, std::byte* from) {
    add({.kind = calls::BatchOperation::Kind::lock,
         .length_bytes = static_cast<std::uint32_t>(length_bytes),
         .bytes = {},
         .expected = record,
         .desired = lock.value()},
        address, local, from);
  }
  // The longest entry for that.
  static constexpr std::uint32_t kMostInstalled_bytes = calls::BatchOperation::kMost_bytes;
  bool empty() const;
  // Forgets operations that were not posted.
  void clear();
  // The same, of those for servers that cannot be reached any more.
  void clear_lacking();
  // True if only this server's batch holds operations.
  bool only(layout::ServerId server) const;
  // The one server whose batch holds operations; nullopt: none does, or several do.
  std::optional<layout::ServerId> only_server() const;

  // Posts everything, waits for all of it, clears the batches, and counts operations and one round trip. The
  // first error, if any; then the outcome of every operation is unknown, except those on servers that are
  // not lacking now (Cluster::lacks): their results are there.
  reactor::Task<Status> run(fabric::OperationCounters& counters);
  // The same, as one call a memory server where the database runs that stage two-sided. (Operations that are
  // too long for a call, as of scans, are posted all the same, if nothing with them swaps words.)
  reactor::Task<Status> run(fabric::OperationCounters& counters, protocol::Stage stage);
  // The same where no transaction waits for it: its time is not counted (stage_times.h).
  reactor::Task<Status> run_in_background(fabric::OperationCounters& counters, protocol::Stage stage);

  // Posts everything now, and counts it; run() then only waits.
  void post(fabric::OperationCounters& counters);
  // The operations that were posted last were complete at once: this worker's processor has copied the bytes
  // itself, so that they cost more than operations do.
  bool was_complete_at_once() const { return complete_at_once_; }
  // Counts the operations that were added; none of them is posted.
  void count(fabric::OperationCounters& counters) const;
  // Nothing but WRITEs and installs.
  bool only_writes() const;
  std::size_t written_bytes() const;
  // Copies the bytes that are to be written, so that the WRITEs use the copy, which this owns. only_writes().
  void copy_sources();

 private:
  // Done by calls only.
  struct Named {
    layout::ServerId server;
    std::size_t behind;  // so many operations
    calls::BatchOperation operation;
    std::byte* reply;
    std::byte* word;
  };
  // An operation of a batch, as a call has it.
  struct Asked {
    calls::BatchOperation operation;
    std::byte* reply = nullptr;  // null: it has none
    std::byte* word = nullptr;   // of a lock: the header word from which it was taken
  };
  void add(calls::BatchOperation operation, layout::GlobalAddress place, std::byte* reply, std::byte* word) {
    operation.offset = place.offset();
    named_.push_back({place.server(), at(place.server()).operations().size(), operation, reply, word});
  }
  reactor::PooledVector<Asked> operations_of_call(layout::ServerId server) const;
  reactor::Task<Status> run_timed(fabric::OperationCounters& counters, protocol::Stage stage);
  reactor::Task<Status> run_by_calls(fabric::OperationCounters& counters);
  reactor::Task<Status> run_with_finds(fabric::OperationCounters& counters, protocol::Stage stage);
  reactor::Task<Status> run_one_by_one(fabric::OperationCounters& counters);
  Cluster& cluster_;
  reactor::PooledVector<fabric::Batch> batches_;
  reactor::PooledVector<Named> named_;
  reactor::StableVector<fabric::Batch> singles_;  // without doorbell batching: an operation each
  std::unique_ptr<FindSet> finds_;
  fabric::LocalBuffer sources_;
  bool fenced_ = false;
  bool posted_ = false;
  bool complete_at_once_ = false;
};

}  // namespace namdb::txn
