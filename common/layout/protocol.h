// The concurrency-control protocols that a database can be created with, and what each declares of the bytes
// in the region. A database runs one of them for its whole life: memory server 0 remembers which, records are
// laid out for it, and every compute server learns of it when it connects. What a protocol does is
// compute/protocol/protocol.h.
#pragma once

#include <span>
#include <string_view>

namespace namdb::layout {

struct ProtocolTraits {
  std::string_view name;
  std::string_view description;  // for people, one line
  // Transactions are serializable; otherwise they have snapshot isolation.
  bool serializable = false;
  // Records keep no displaced versions: RecordLayout::ring_slots is 0.
  bool single_version = false;
  // Versions and rows have timestamps (record.h), and each memory server a floor of them (region_map.h).
  bool timestamps = false;
  // The serial order is that of time: who begins goes after all that has committed. Otherwise that is so
  // within a session only, though every row that is read was the newest at some moment of the transaction,
  // but for `by_clocks`.
  bool strict = true;
  // Where not: compute servers' clocks decide what is seen, so that rows may be older than the transaction.
  bool by_clocks = false;
};

inline constexpr std::string_view kDefaultProtocol = "si";

std::span<const ProtocolTraits> protocol_traits();
// Null: there is none of that name.
const ProtocolTraits* find_protocol(std::string_view name);

}  // namespace namdb::layout
