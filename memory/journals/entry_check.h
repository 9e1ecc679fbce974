// Which journal entries this host takes into its log. They come from compute servers, which are not trusted,
// and a log whose entries cannot be redone would keep the database shut. So the check refuses every entry
// that redo would refuse by lengths and places alone (memory/region/item_fit.h), and every entry that names a
// region which no decider could ask.
//
//   regions     ascending, of this database, and this host's among them
//   items       of this host's region
//   updates     of tables that are here, or were: redo leaves out those that were dropped
//   new records likewise, each with a body's prefix and a grant number
//
// The bytes of bodies are not checked, and neither are the records in the region: that would cost a checksum
// or a cache miss for each item, while this check costs some nanoseconds. Where such an entry does not fit,
// --force unfit-entries opens the database (memory/opening/log_replay.h).
//
// One executor's thread; nothing suspends.
#pragma once

#include <cstdint>

#include "common/base/error.h"
#include "common/layout/journal.h"
#include "memory/options.h"
#include "memory/region/region.h"
#include "memory/region/tables.h"

namespace namdb::memory {

class EntryCheck {
 public:
  // All outlive this.
  EntryCheck(const Region& region, const Tables& tables, const Options& options)
      : region_(region), tables_(tables), options_(options) {}

  // `entry` has its items. Error protocol_violation says what does not fit.
  Status check(const layout::JournalEntry& entry) const;

 private:
  // Why the item is refused; null: it is accepted. No string is made for an accepted item.
  const char* fault_of(const layout::JournalItem& item) const;
  const char* fault_of(const layout::JournalWrite& new_record) const;
  // Null for a table that is not here; `never` says that it never was.
  const layout::RecordLayout* shape_of(std::uint32_t table, bool& never) const;

  const Region& region_;
  const Tables& tables_;
  const Options& options_;
};

}  // namespace namdb::memory
