#include "memory/opening/log_replay.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "common/layout/words.h"
#include "memory/coordinator/catalog.h"
#include "memory/coordinator/control_state.h"
#include "memory/journals/grant_records.h"
#include "memory/journals/journal_record.h"
#include "memory/journals/log_sink.h"

namespace namdb::memory {

using layout::load_word;

namespace {

// Updates of the log that are kept in mind while an entry is not decided: some hundred megabytes.
constexpr std::size_t kMostDisplaced = 16U << 20;

Status unreadable(const std::string& what) {
  return Status(ErrorCode::corrupt_data, "it is no " + what);
}

template <typename Descriptor>
bool holds(const google::protobuf::RepeatedPtrField<Descriptor>& all, std::uint32_t id) {
  return std::ranges::any_of(all, [id](const Descriptor& each) { return each.id() == id; });
}

template <typename Field, typename Keep>
void keep_if(Field& field, Keep keep) {
  const auto removed = [&keep](const auto& each) { return !keep(each); };
  field.erase(std::remove_if(field.begin(), field.end(), removed), field.end());
}

}  // namespace

LogReplay::LogReplay(Region& region, Tables& tables, Restorer& restorer, const Options& options,
                     control::ControlState& state)
    : region_(region),
      tables_(tables),
      restorer_(restorer),
      options_(options),
      state_(state),
      places_(region, restorer),
      redo_(region, places_) {}

void LogReplay::restore(const control::CheckpointState& checkpoint) {
  for (const control::SlotJournal& known : checkpoint.journals()) {
    SlotJournal& journal = journals_[known.slot()];
    journal.through = known.through();
    if (!known.decided()) journal.finished = known.through();
    journal.ended = known.ended();
    journal.decided = known.decided();
    journal.voided.insert(known.voids().begin(), known.voids().end());
    journal.committed.insert(known.commits().begin(), known.commits().end());
  }
}

Status LogReplay::apply(const LogRecord& record) {
  ++counts_.records;
  counts_.bytes += record.end - record.begin;
  Status status = apply_kind(record);
  if (status.ok()) return status;
  return Status(status.code(),
                "the log's record at position " + std::to_string(record.begin) +
                    " cannot be redone: " + status.message(),
                status.hint());
}

Status LogReplay::apply_kind(const LogRecord& record) {
  switch (static_cast<RecordKind>(record.kind)) {
    case RecordKind::entry:
      return apply_entry(record.bytes);
    case RecordKind::voided:
      return apply_verdicts(record.bytes, false);
    case RecordKind::verdict:
      return apply_verdicts(record.bytes, true);
    case RecordKind::through:
      return apply_ends(record.bytes, false);
    case RecordKind::closed:
      return apply_ends(record.bytes, true);
    case RecordKind::control:
      return apply_control(record.bytes);
    case RecordKind::table:
      return apply_table(record.bytes);
    case RecordKind::grants: {
      const auto mark = read_mark_record(record.bytes);
      if (!mark) return unreadable("mark of grants");
      region_.grants().pass(*mark);
      return Status();
    }
    case RecordKind::block: {
      const auto block = read_block_record(record.bytes);
      if (!block) return unreadable("block of records");
      ++counts_.blocks;
      return restorer_.block(*block);
    }
  }
  return Status(ErrorCode::configuration,
                "its kind " + std::to_string(record.kind) + " is not known to this program",
                "use the version of namdb that wrote it, or a later one");
}

Status LogReplay::restore_table(const control::TableDescriptor& descriptor) {
  if (tables_.all().contains(descriptor.id())) return Status();
  return tables_.restore(descriptor).status();
}

Status LogReplay::apply_control(std::span<const std::byte> bytes) {
  auto entry = read_control_entry(bytes);
  if (!entry.ok()) return entry.status();
  if (entry->version() <= state_.version()) {
    if (!settles_) return Status();  // the checkpoint has it
    // The primary has lost a part of its log since, which this one has.
    return Status(ErrorCode::corrupt_data, "control entry " + std::to_string(entry->version()) +
                                               " is there a second time, with another log before it");
  }
  Status status = lossy_ ? pass_gap(*entry) : Status();
  if (!status.ok()) return status;
  status = apply_control_entry(state_, *entry);
  if (!status.ok()) return status;
  ++counts_.control_entries;
  for (const control::TableDescriptor& table : entry->tables()) {
    status = restore_table(table);
    if (!status.ok()) return status;
  }
  return Status();
}

void LogReplay::tolerate_loss() {
  lossy_ = true;
  redo_.count_homeless();
}

Status LogReplay::pass_gap(control::ControlEntry& entry) {
  const std::uint64_t next = state_.version() + 1;
  if (next == 1 && entry.version() > next) {
    return Status(ErrorCode::corrupt_data,
                  "the first control entry, which has the settings of the database, is lost, and the "
                  "checkpoint has none",
                  "restore the folder from a backup: --force cannot help here");
  }
  if (entry.version() > next) {
    lost_.push_back("control entries " + std::to_string(next) + " to " + std::to_string(entry.version() - 1) +
                    ": what they changed of tables, indexes and slots");
    state_.set_version(entry.version() - 1);
    gap_ = true;
  }
  if (!gap_) return Status();
  keep_if(*entry.mutable_dropped_tables(), [this](std::uint32_t id) { return holds(state_.tables(), id); });
  keep_if(*entry.mutable_dropped_indexes(), [this](std::uint32_t id) { return holds(state_.indexes(), id); });
  keep_if(*entry.mutable_dropped_routines(),
          [this](std::uint32_t id) { return holds(state_.routines(), id); });
  keep_if(*entry.mutable_dropped_roles(), [this](std::uint32_t id) { return holds(state_.roles(), id); });
  keep_if(*entry.mutable_dropped_rights(), [this](std::uint32_t id) { return holds(state_.rights(), id); });
  return Status();
}

void LogReplay::mend_state() {
  auto& tables = *state_.mutable_tables();
  auto& indexes = *state_.mutable_indexes();
  auto& routines = *state_.mutable_routines();
  std::uint32_t next_table = state_.marks().next_table();
  std::uint32_t next_slot = state_.marks().next_slot();
  for (const control::TableDescriptor& table : tables) next_table = std::max(next_table, table.id() + 1);
  for (const control::IndexDescriptor& index : indexes) next_table = std::max(next_table, index.id() + 1);
  for (const control::RoutineDescriptor& routine : routines)
    next_table = std::max(next_table, routine.id() + 1);
  for (const control::RoleDescriptor& role : state_.roles()) next_table = std::max(next_table, role.id() + 1);
  for (const control::ObjectRights& rights : state_.rights())
    next_table = std::max(next_table, rights.id() + 1);
  for (const std::uint32_t slot : state_.closed().slots()) next_slot = std::max(next_slot, slot + 1);
  for (const auto& [slot, journal] : journals_) next_slot = std::max(next_slot, slot + 1);
  // Lost entries may have raised them, and ids been given out without a trace.
  state_.mutable_marks()->set_next_table(next_table + kIdsAhead);
  state_.mutable_marks()->set_next_slot(next_slot + kIdsAhead);

  // Of two with one name the older was dropped.
  std::map<std::string, std::uint32_t> newest;
  const auto named = [](const control::IndexDescriptor& index) {
    return index.replaces() == 0 && index.replaced_version() == 0;
  };
  const auto note = [&newest](const auto& descriptor) {
    std::uint32_t& id = newest[descriptor.name()];
    id = std::max(id, descriptor.id());
  };
  for (const control::TableDescriptor& table : tables) note(table);
  for (const control::IndexDescriptor& index : indexes) {
    if (named(index)) note(index);
  }
  const auto drop = [this](const char* what, const auto& descriptor) {
    lost_.push_back(std::string(what) + " \"" + descriptor.name() + "\" with id " +
                    std::to_string(descriptor.id()) + ": it does not go with what is there");
    return false;
  };
  keep_if(tables,
          [&](const auto& table) { return newest.at(table.name()) == table.id() || drop("a table", table); });
  const control::ControlState before = state_;
  keep_if(tables, [&](const auto& table) {
    return !table.has_hash_index() || holds(before.tables(), table.hash_index().table()) ||
           drop("a hash index", table);
  });
  keep_if(indexes, [&](const auto& index) {
    return (holds(tables, index.table()) && (!named(index) || newest.at(index.name()) == index.id())) ||
           drop("an index", index);
  });
  std::map<std::string, std::uint32_t> newest_routine;  // ids ascend
  for (const control::RoutineDescriptor& routine : routines) newest_routine[routine.name()] = routine.id();
  keep_if(routines, [&](const auto& routine) {
    return newest_routine.at(routine.name()) == routine.id() || drop("a routine", routine);
  });
  mend_roles();
}

void LogReplay::mend_roles() {
  auto& roles = *state_.mutable_roles();
  std::map<std::string, std::uint32_t> newest;  // ids ascend
  for (const control::RoleDescriptor& role : roles) newest[role.name()] = role.id();
  keep_if(roles, [&](const control::RoleDescriptor& role) {
    if (newest.at(role.name()) == role.id()) return true;
    lost_.push_back("a role \"" + role.name() + "\" with id " + std::to_string(role.id()) +
                    ": it does not go with what is there");
    return false;
  });
  const control::ControlState before = state_;
  const auto is_role = [&before](std::uint32_t id) { return id == 0 || holds(before.roles(), id); };
  for (control::RoleDescriptor& role : roles) {
    keep_if(*role.mutable_member_of(), [&](const control::RoleMembership& membership) {
      return is_role(membership.role()) && is_role(membership.grantor());
    });
  }
  std::map<std::pair<std::uint64_t, std::string>, std::uint32_t> newest_rights;
  const auto object_of = [](const control::ObjectRights& rights) {
    const auto kind = static_cast<std::uint32_t>(rights.kind());
    return std::pair(std::uint64_t{rights.table()} << 32 | kind, rights.name());
  };
  const auto is_view = [&before](const std::string& name) {
    return std::ranges::any_of(before.routines(), [&name](const control::RoutineDescriptor& routine) {
      return routine.name() == Catalog::view_key(name);
    });
  };
  auto& all_rights = *state_.mutable_rights();
  for (const control::ObjectRights& rights : all_rights) newest_rights[object_of(rights)] = rights.id();
  keep_if(all_rights, [&](const control::ObjectRights& rights) {
    bool is_there = true;
    if (rights.kind() == control::OBJECT_TABLE) is_there = holds(before.tables(), rights.table());
    if (rights.kind() == control::OBJECT_VIEW) is_there = is_view(rights.name());
    return is_there && newest_rights.at(object_of(rights)) == rights.id();
  });
  for (control::ObjectRights& rights : all_rights) {
    const bool has_lost_owner = !is_role(rights.owner());
    if (has_lost_owner) rights.set_owner(0);
    // A view without an owner reads all that there is: it is for superusers only.
    if (has_lost_owner && rights.kind() == control::OBJECT_VIEW) {
      rights.set_has_grants(true);
      rights.clear_grants();
    }
    keep_if(*rights.mutable_grants(), [&](const control::Grant& grant) {
      return is_role(grant.grantee()) && is_role(grant.grantor());
    });
  }
}

Status LogReplay::apply_table(std::span<const std::byte> bytes) {
  const auto record = read_table_record(bytes);
  if (!record.ok()) return record.status();
  return restore_table(record->table());
}

Status LogReplay::redo(std::span<const std::byte> bytes) {
  const auto record = read_journal_record(bytes, options_.server_id);
  return record ? redo_.apply(record->entry) : unreadable("journal entry of this memory server");
}

Status LogReplay::apply_entry(std::span<const std::byte> bytes) {
  const auto record = read_journal_record(bytes, options_.server_id);
  if (!record) return unreadable("journal entry of this memory server");
  ++counts_.entries;
  SlotJournal& journal = journals_[record->entry.stamp.slot];
  journal.through = std::max(journal.through, record->entry.through);
  journal.finished = std::max(journal.finished, record->entry.through);
  if (options_.server_count == 1) {
    journal.add_logged(record->entry.stamp.counter);
    return redo_.apply(record->entry);
  }
  journal.undecided.try_emplace(record->entry.stamp.counter, bytes.begin(), bytes.end());
  return settle(journal);
}

void LogReplay::SlotJournal::add_logged(std::uint32_t counter) {
  logged.push_back(counter);
  if (logged.size() < 2 * unfinished + kFewLogged) return;
  std::erase_if(logged, [this](std::uint32_t each) { return each <= finished; });
  unfinished = logged.size();
}

Status LogReplay::apply_verdicts(std::span<const std::byte> bytes, bool committed) {
  if (bytes.size() < 16 || bytes.size() % 8 != 0 || load_word(bytes.data()) > ~std::uint32_t{0})
    return unreadable("verdict");
  SlotJournal& journal = journals_[static_cast<std::uint32_t>(load_word(bytes.data()))];
  for (std::size_t at = 8; at < bytes.size(); at += 8) {
    const std::uint64_t counter = load_word(bytes.data() + at);
    if (counter > layout::kMaxCounter) return unreadable("verdict");
    (committed ? journal.committed : journal.voided).insert(static_cast<std::uint32_t>(counter));
  }
  return settle(journal);
}

Status LogReplay::apply_ends(std::span<const std::byte> bytes, bool by_decider) {
  if (bytes.empty() || bytes.size() % 8 != 0) return unreadable("end of a journal");
  for (std::size_t at = 0; at < bytes.size(); at += 8) {
    const std::uint64_t word = load_word(bytes.data() + at);
    SlotJournal& journal = journals_[static_cast<std::uint32_t>(word >> 32)];
    journal.through = std::max(journal.through, static_cast<std::uint32_t>(word));
    if (!by_decider) journal.finished = std::max(journal.finished, static_cast<std::uint32_t>(word));
    journal.ended = true;
    journal.decided = journal.decided || by_decider;
    Status status = settle(journal);
    if (!status.ok()) return status;
  }
  return Status();
}

Status LogReplay::settle(SlotJournal& journal) {
  for (auto entry = journal.undecided.begin(); entry != journal.undecided.end();) {
    const auto& [counter, bytes] = *entry;
    // `through` finishes voided ones, too: they are undone.
    if (journal.voided.contains(counter)) {
      ++counts_.voided;
    } else if (counter <= journal.through || journal.committed.contains(counter)) {
      Status status = redo(bytes);
      if (!status.ok()) return status;
    } else {
      ++entry;
      continue;
    }
    entry = journal.undecided.erase(entry);
  }
  return Status();
}

Status LogReplay::decide(std::uint32_t slot, const std::vector<std::uint32_t>& counters, bool committed) {
  SlotJournal& journal = journals_[slot];
  (committed ? journal.committed : journal.voided).insert(counters.begin(), counters.end());
  return settle(journal);
}

Status LogReplay::end(std::uint32_t slot, std::uint32_t final_counter) {
  SlotJournal& journal = journals_[slot];
  journal.through = std::max(journal.through, final_counter);
  journal.ended = true;
  journal.decided = true;
  return settle(journal);
}

Result<bool> LogReplay::forget_settled() {
  settles_ = true;
  std::erase_if(undecided_then_, [this](const std::pair<std::uint32_t, std::uint32_t>& entry) {
    return !journals_[entry.first].undecided.contains(entry.second);
  });
  if (!undecided_then_.empty()) {
    if (redo_.displaced_in_age() < kMostDisplaced) return false;
    return Status(ErrorCode::out_of_memory,
                  "slot " + std::to_string(undecided_then_.front().first) +
                      " has an entry in the log that has not been decided for long");
  }
  Result<bool> more = redo_.end_earlier_ages();
  if (!more.ok() || *more) return more;
  redo_.begin_age();
  for (const auto& [slot, journal] : journals_) {
    for (const auto& [counter, bytes] : journal.undecided) undecided_then_.emplace_back(slot, counter);
  }
  return false;
}

void LogReplay::end_log() {
  if (gap_) mend_state();
}

Status LogReplay::finish() {
  lost_.clear();
  for (const auto& [table, count] : redo_.homeless()) {
    lost_.push_back("up to " + std::to_string(count) + " new rows of the table with id " +
                    std::to_string(table) + ", for which the lost part had the table or the place");
  }
  Status status = redo_.finish();
  for (const std::string& unfit : redo_.unfit()) lost_.push_back("a change: " + unfit);
  if (redo_.unfit_count() > redo_.unfit().size())
    lost_.push_back(std::to_string(redo_.unfit_count() - redo_.unfit().size()) + " more such changes");
  return status;
}

}  // namespace namdb::memory
