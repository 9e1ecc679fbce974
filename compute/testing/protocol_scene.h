// A protocol in one transaction, on bytes that a test has put there: its decision about a record that was
// READ, and the end of a transaction that asks for it.
#pragma once

#include <optional>
#include <string>

#include "compute/commit/chain_locks.h"
#include "compute/commit/engine_transaction.h"
#include "compute/testing/bytes.h"
#include "compute/txn/locking.h"
#include "compute/txn/lookup_runner.h"
#include "compute/txn/timestamps.h"
#include "compute/txn/validation.h"
#include "compute/txn/visibility.h"

namespace namdb::protocol::testing {

inline std::string words_of(ReadDecision decision) {
  switch (decision) {
    case ReadDecision::visible:
      return "visible";
    case ReadDecision::invisible:
      return "invisible";
    case ReadDecision::locked_by_other:
      return "locked by other";
    case ReadDecision::torn:
      return "torn";
    case ReadDecision::conflict:
      return "conflict";
    case ReadDecision::unknown_slot:
      return "unknown slot";
  }
  return "nothing";
}

inline std::string words_of(const Status& status) {
  return status.ok() ? "ok" : std::string(status.info().name);
}

class ProtocolScene {
 public:
  explicit ProtocolScene(const TestOptions& options) : worker(options), bytes(worker) { again(); }
  ~ProtocolScene() {
    if (transaction) transaction->abort();
  }

  // The session's next transaction.
  void again() {
    transaction.reset();
    transaction.emplace(worker.state, session, *worker.worker_protocol);
  }
  ConcurrencyControl& control() { return transaction->control(); }
  Visibility& visibility() { return control().visibility(); }
  // Those that the protocol has.
  Locking& locking() { return *control().locking(); }
  Validation& validation() { return *control().validation(); }
  Timestamps& timestamps() { return *control().timestamps(); }
  Status begin() { return worker.run(begin_reading(&*transaction)); }

  // The decision about a record with that header word and body, of one READ.
  std::string decide(layout::HeaderWord header, const Version& version) {
    bytes.record(kRecord, header, version);
    return decide_at(kRecord, kRecord + 8, true);
  }
  // Of an old version in the ring of a record with that header word.
  std::string decide_old(layout::HeaderWord header, const Version& version) {
    bytes.word(kRecord, header.value());
    bytes.ring(kRecord, 0, version);
    return decide_at(kRecord, kRecord + worker.table->record.ring_payload_offset(0), false);
  }

  // The record of that key, and the bucket that leads there.
  void stored(const Version& version, layout::GlobalAddress record = kRecord) {
    layout::Bucket bucket = bytes.bucket_at(bytes.main_bucket(version.key));
    bucket.table = kTable;
    bucket.generation = kGeneration;
    for (layout::BucketEntry& entry : bucket.entries) {
      if (!entry.free()) continue;
      entry = bytes.entry(version.key, record, version.incarnation);
      break;
    }
    bytes.put(bytes.main_bucket(version.key), bucket);
    bytes.record(record, version);
  }
  // All chains are empty.
  void no_rows() {
    for (std::uint64_t i = 0; i < kBuckets; ++i)
      bytes.bucket({0, kArray_offset + i * layout::kBucket_bytes}, {.lock = {}});
  }
  txn::RowId get(std::int64_t key) { return transaction->get(worker.table, key_of(*worker.table, key)); }
  txn::RowId read(std::int64_t key) { return transaction->read(worker.table, key_of(*worker.table, key)); }
  Status fetch() { return worker.run(transaction->fetch()); }
  // The row as the transaction sees it: a value, "not found", or the error.
  std::string fetched(txn::RowId row) {
    const Status status = fetch();
    return status.ok() ? seen(row) : words_of(status);
  }
  std::string seen(txn::RowId row) const {
    if (!transaction->found(row)) return "not found";
    return std::to_string(value_of(*worker.table, transaction->row(row).bytes()));
  }
  Access& access(txn::RowId row) { return transaction->accesses()[row]; }

  TestWorker worker;
  Bytes bytes;
  SessionState session;
  std::optional<EngineTransaction> transaction;

 private:
  std::string decide_at(layout::GlobalAddress record, layout::GlobalAddress body_address, bool current) {
    const std::span<const std::byte> body(worker.fabric.at(body_address), worker.table->record.body_bytes());
    REQUIRE(layout::certify_body(body, record));
    const layout::BodyHeader header = layout::decode_body_header(body.data());
    return words_of(visibility().check_visibility({bytes.header(record), header, current}));
  }
};

}  // namespace namdb::protocol::testing
