// The concurrency-control protocols that a database can be created with, and what each declares of the bytes
// in the region and of the moment when commits are visible there. A database runs one of them for its whole
// life: memory server 0 remembers which, records are laid out for it, and every compute server learns of it
// when it connects. A protocol's decisions are in compute/txn/concurrency_control.h.
#pragma once

#include <span>
#include <string_view>

#include "common/base/error.h"
#include "common/protocols/stages.h"

namespace namdb::protocol {

struct ProtocolTraits {
  std::string_view name;
  std::string_view description;  // for people, one line
  // Transactions are serializable; otherwise they have snapshot isolation.
  bool serializable = false;
  // Records keep no displaced versions: RecordLayout::ring_slots is 0.
  bool single_version = false;
  // Versions and rows have timestamps (record.h), and each memory server floors of them (timestamp_floors.h).
  bool timestamps = false;
  // Strict serializability: in the serial order a transaction comes after all that committed before it began.
  // Otherwise only the transactions of one session are ordered so; still, each row that a transaction reads
  // was the newest at some moment of the transaction, except with `by_clocks`.
  bool strict = true;
  // Transactions read from snapshots of the timestamp vector: a commit is visible, and so over, once it is
  // published there. Otherwise both are so once it is installed.
  bool visible_by_publish = false;
  // Rows are locked as they are read by key, and other words say who waits for them or shares them; so
  // readers can share locks of them (--read-locks).
  bool locks_rows = false;
  // Rows are locked, or leased, as they are read by key, in the same round trip.
  bool locks_reads = false;
  // Rows that are only read are leased, until a moment that their records name.
  bool leases_reads = false;
  // Rows that are locked or leased as they are read are READ with their trailer word
  // (common/layout/record_trailer.h), which names a waiting transaction, or the time until which readers
  // count on the row.
  bool reads_trailer = false;
  // Transactions are put in order before they run: memory server 0 has lanes for that (order_lanes.h).
  bool ordered = false;
  // Where not strict: compute servers' clocks decide what is seen, so that rows may be older than the
  // transaction.
  bool by_clocks = false;

  bool has(Stage stage) const {
    return stage == Stage::validate ? serializable : stage == Stage::renew ? timestamps : true;
  }
  // Other transactions wait until a commit is visible, or over. So it installs in the batch that logs it,
  // where that is possible, and is answered once it is installed. Otherwise a commit is answered once it is
  // logged.
  bool installs_with_log() const { return visible_by_publish || ordered; }
  // Words of records, of bucket chains or of floors are swapped (CAS) in that stage, and not only written by
  // the holder of their lock.
  bool swaps(Stage stage) const;
  // Whether calls do all such swaps: under that code no compute server CASes.
  bool swaps_by_calls(StageCode code) const;
};

inline constexpr std::string_view kDefaultProtocol = "si";

std::span<const ProtocolTraits> protocol_traits();
// Null: no protocol has that name.
const ProtocolTraits* find_protocol(std::string_view name);

// For tests: find_protocol() finds this one, too, as long as it lives. One at a time; made before the first
// find_protocol(), and outlived by `traits`.
class ExtraTraits {
 public:
  explicit ExtraTraits(const ProtocolTraits& traits);
  ExtraTraits(const ExtraTraits&) = delete;
  ExtraTraits& operator=(const ExtraTraits&) = delete;
  ~ExtraTraits();
};

// The stage code of that text (stages.h), for a database of that protocol. Error invalid_parameter_value: the
// text is malformed, or names a stage that the protocol does not have.
Result<StageCode> parse_stages(const ProtocolTraits& protocol, std::string_view text);

}  // namespace namdb::protocol
