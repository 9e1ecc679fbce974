#include "memory/journals/entry_check.h"

#include <string>

#include "common/layout/record.h"
#include "memory/region/item_fit.h"

namespace namdb::memory {

using layout::JournalItem;
using layout::JournalWrite;
using layout::RecordLayout;

namespace {

constexpr const char* kNoTable = "its table never was";

bool regions_fit(const layout::JournalEntry& entry, const Options& options) {
  bool here = false;
  for (std::size_t i = 0; i < entry.regions.size(); ++i) {
    if (entry.regions[i] >= options.server_count || (i != 0 && entry.regions[i] <= entry.regions[i - 1]))
      return false;
    here = here || entry.regions[i] == options.server_id;
  }
  return here;
}

}  // namespace

Status EntryCheck::check(const layout::JournalEntry& entry) const {
  if (!regions_fit(entry, options_)) {
    return Status(ErrorCode::protocol_violation, "it names regions that no commit of this database can have");
  }
  for (const JournalItem& item : entry.items) {
    const char* const fault = fault_of(item);
    if (fault == nullptr) continue;
    return Status(ErrorCode::protocol_violation,
                  "the item whose lock is at offset " + std::to_string(item.lock.offset()) +
                      " of memory server " + std::to_string(item.lock.server()) + ": " + fault);
  }
  return Status();
}

const RecordLayout* EntryCheck::shape_of(std::uint32_t table, bool& never) const {
  const auto found = tables_.all().find(table);
  if (found != tables_.all().end()) return &found->second->shape.record;
  never = table > tables_.last_id();
  return nullptr;
}

const char* EntryCheck::fault_of(const JournalItem& item) const {
  if (item.lock.server() != options_.server_id) return "it is not of this region";
  if (item.kind == JournalItem::Kind::update) {
    bool never = false;
    const RecordLayout* const shape = shape_of(layout::decode_body_header(item.image.data()).table, never);
    if (shape == nullptr) return never ? kNoTable : nullptr;
    return update_fits(region_, *shape, item) ? nullptr
                                              : "no record of its table can stand there, or change so";
  }
  for (std::uint32_t i = 0; i < item.new_records; ++i) {
    if (const char* const fault = fault_of(item.writes[i])) return fault;
  }
  return nullptr;
}

const char* EntryCheck::fault_of(const JournalWrite& new_record) const {
  if (new_record.bytes.size() < 8 + layout::kBodyPrefix_bytes) return "a new record is too short";
  bool never = false;
  const RecordLayout* const shape =
      shape_of(layout::decode_body_header(new_record.bytes.data() + 8).table, never);
  if (shape == nullptr) return never ? kNoTable : nullptr;
  return birth_fits(region_, *shape, new_record) ? nullptr : "its table can have no such new record";
}

}  // namespace namdb::memory
