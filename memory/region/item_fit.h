// Whether an item of a journal entry is possible, by lengths and places alone: reads neither the record nor
// the bytes of the new body. Asked before the entry goes into the log (memory/journals/entry_check.h), and
// again when it is redone (memory/apply/redo.h).
#pragma once

#include "common/layout/global_address.h"
#include "common/layout/journal.h"
#include "common/layout/record.h"
#include "memory/region/region.h"

namespace namdb::memory {

// A record of that shape can begin there.
inline bool record_fits(const Region& region, const layout::RecordLayout& shape,
                        layout::GlobalAddress record) {
  return record.server() == region.map().server_id && record.offset() % 8 == 0 && !record.null() &&
         record.offset() <= region.bytes() && region.bytes() - record.offset() >= shape.record_bytes();
}

// For a new record, which has a body's prefix at least.
inline bool birth_fits(const Region& region, const layout::RecordLayout& shape,
                       const layout::JournalWrite& record) {
  return record.bytes.size() == shape.locked_bytes() && record.grant != 0 &&
         record_fits(region, shape, record.address);
}

// For an update.
inline bool update_fits(const Region& region, const layout::RecordLayout& shape,
                        const layout::JournalItem& item) {
  return item.image.size() <= shape.body_bytes() && record_fits(region, shape, item.lock);
}

}  // namespace namdb::memory
