// The routines that sessions of one worker have called, read and compiled: once for each version, and for
// each time zone, on which constants depend. Belongs to its worker's executor.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "compute/sql/plan/routine.h"

namespace namdb::sql {

class RoutineCache {
 public:
  // Null: it was not called yet.
  std::shared_ptr<const RoutineSignature> signature(const storage::Routine& routine, std::string_view zone) {
    Entry& entry = entry_of(routine, zone);
    return entry.signature;
  }
  void add(std::shared_ptr<const RoutineSignature> signature, std::string_view zone) {
    Entry& entry = entry_of(*signature->routine, zone);
    entry.signature = std::move(signature);
  }
  // Null: it was not compiled for that version of the catalog.
  std::shared_ptr<const CompiledRoutine> compiled(const storage::Routine& routine, std::string_view zone,
                                                  std::uint64_t catalog_version) {
    const Entry& entry = entry_of(routine, zone);
    const bool fits = entry.compiled != nullptr && entry.compiled->catalog_version == catalog_version;
    return fits ? entry.compiled : nullptr;
  }
  void add(std::shared_ptr<const CompiledRoutine> compiled, std::string_view zone) {
    bytes_ += compiled->memory.bytes();
    if (bytes_ > kMax_bytes) {
      clear();
      bytes_ = compiled->memory.bytes();
    }
    Entry& entry = entry_of(*compiled->signature->routine, zone);
    entry.compiled = std::move(compiled);
  }
  // Gives back all memory that no run needs.
  void clear() {
    entries_.clear();
    bytes_ = 0;
  }

 private:
  // Then all are forgotten: many may be of routines and zones that are out of use.
  static constexpr std::size_t kMaxEntries = 1000;
  static constexpr std::size_t kMax_bytes = 64 << 20;  // of all that were added, those that are replaced, too
  struct Entry {
    std::uint64_t version = 0;
    std::shared_ptr<const RoutineSignature> signature;
    std::shared_ptr<const CompiledRoutine> compiled;
  };
  Entry& entry_of(const storage::Routine& routine, std::string_view zone) {
    if (entries_.size() >= kMaxEntries) clear();
    Entry& entry = entries_[{routine.id, std::string(zone)}];
    if (entry.version != routine.version) entry = Entry{routine.version, nullptr, nullptr};
    return entry;
  }

  std::map<std::pair<std::uint32_t, std::string>, Entry> entries_;
  std::size_t bytes_ = 0;
};

}  // namespace namdb::sql
