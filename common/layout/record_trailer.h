// The views of a record's trailer, the word behind its body (record.h). A database uses it for one purpose:
//
//   overflow head   where displaced versions are moved out of the ring (RecordLayout::moves_versions): the
//                   link to the newest overflow entry, 0 = none. Only the memory server writes it.
//   lease           where records have timestamps: the newest timestamp at which a reader counts on the
//                   current version. Raised by CAS by readers; it only grows.
//   read lease      where rows are leased for a time: the moment until which readers count on the current
//                   version, in memory server 0's time, 0 = none. Raised by CAS by readers; writers wait for
//                   it.
//   waiter          otherwise: slot and priority of the oldest transaction that waits for the record's lock,
//                   as in lock words, 0 = none. Set by CAS by the waiter, also in the place of
//                   a younger one; cleared by it, or by others once it is dead.
#pragma once

#include <cstdint>

#include "common/layout/record.h"

namespace namdb::layout {

inline std::uint32_t overflow_head_offset(const RecordLayout& layout) {
  return layout.trailer_offset();
}
inline std::uint32_t lease_offset(const RecordLayout& layout) {
  return layout.trailer_offset();
}
inline std::uint32_t read_lease_offset(const RecordLayout& layout) {
  return layout.trailer_offset();
}
inline std::uint32_t waiter_offset(const RecordLayout& layout) {
  return layout.trailer_offset();
}

}  // namespace namdb::layout
