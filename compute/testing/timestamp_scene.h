// A transaction of a protocol with timestamps, on bytes: it reads rows, and finds its place among the others.
#pragma once

#include <string>

#include "common/layout/timestamp_floors.h"
#include "compute/testing/protocol_scene.h"

namespace namdb::protocol::testing {

class TimestampScene : public ProtocolScene {
 public:
  // `now`: the clocks' time, for protocols that use them.
  TimestampScene(const char* protocol, std::uint64_t now) : ProtocolScene({.protocol = protocol}) {
    worker.executor.advance(now);
    no_rows();
  }

  // A row with that key: version, lease.
  void row(layout::GlobalAddress record, std::int64_t key, std::uint64_t timestamp, std::uint64_t lease,
           std::int64_t value = 5) {
    stored({.stamp = {16, 10},
            .value = value,
            .timestamp = timestamp,
            .ring_slot = layout::kNoRingSlot,
            .key = key},
           record);
    bytes.lease(record, lease);
  }
  // Another transaction commits a newer version of it.
  void overwrite(layout::GlobalAddress record, std::int64_t key, std::uint64_t timestamp) {
    const layout::RecordLayout& layout = worker.table->record;
    if (layout.ring_slots != 0) {
      const std::byte* const current = worker.fabric.at(record + 8);
      bytes.write(record + layout.ring_payload_offset(1), {current, layout.body_bytes()});
    }
    bytes.record(record, {.stamp = {30, 7}, .value = 6, .timestamp = timestamp, .ring_slot = 1, .key = key});
  }
  layout::GlobalAddress floor() const {
    return {0, layout::timestamp_floor_offset(layout::floor_of(kTable))};
  }
  layout::GlobalAddress forgotten() const { return {0, layout::timestamp_floor_offset(0)}; }

  // The end of a transaction that has only read: its timestamp, or the error.
  std::string commit_reads() {
    const Status status = worker.run(validation().confirm_reads(true));
    return status.ok() ? "at " + std::to_string(timestamps().commit_timestamp()) : words_of(status);
  }
  // The same of one that writes the row.
  std::string commit_write(txn::RowId row) {
    REQUIRE(transaction->update(row).set_integer(1, 9).ok());
    txn::BatchSet batches(worker.cluster);
    const ChainLocks chains(worker.state, batches, worker.counters);
    control().lock_stamp({kOwnSlot, 1000});
    timestamps().read_behind_lock(access(row), batches);
    timestamps().read_behind_locks(batches);
    REQUIRE(worker.run(batches.run(worker.counters)).ok());
    const Validation::Locked locked{chains, false, false};
    const Status status = worker.run(validation().validate(locked));
    return status.ok() ? "at " + std::to_string(timestamps().commit_timestamp()) : words_of(status);
  }
};

}  // namespace namdb::protocol::testing
