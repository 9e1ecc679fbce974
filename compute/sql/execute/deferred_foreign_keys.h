// The foreign keys of one transaction whose checks wait for its end: the values by which its statements
// may have broken them, and the words of SET CONSTRAINTS. The check at the end asks about these values again,
// as the rows are then, so that a note too many does no harm.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compute/api/table.h"
#include "compute/sql/execute/foreign_key_rows.h"
#include "compute/sql/execute/gathered_memory.h"

namespace namdb::sql {

class DeferredForeignKeys {
 public:
  // Children have no parent, or parents are gone that may have children.
  enum class Kind : std::uint8_t { children, parents };
  struct Pending {
    std::string child;  // the table
    std::string key;    // the foreign key
    Kind kind = Kind::children;
    std::unique_ptr<ForeignKeyValues> values;
  };
  // As SET CONSTRAINTS has them; they may be put back.
  struct Modes {
    std::optional<bool> all;  // whether they are deferred
    std::map<std::string, bool, std::less<>> by_name;
  };

  // Whether the check of the key waits.
  bool defers(const storage::ForeignKey& key) const;
  // `values`: of the child's columns, or of the parent's.
  Status note(Run& run, const ForeignKeyGraph& graph, const ForeignKeyGraph::Reference& reference, Kind kind,
              std::span<const Datum> values);
  bool empty() const { return pending_.empty(); }
  // Hands over all notes; those that are still to wait are given back by keep().
  std::vector<Pending> take();
  void keep(Pending pending) { pending_.push_back(std::move(pending)); }

  Modes& modes() { return modes_; }
  // The transaction has ended.
  void forget();

 private:
  // Before the notes, which count in it.
  std::unique_ptr<GatheredMemory> memory_;
  std::vector<Pending> pending_;
  Modes modes_;
};

}  // namespace namdb::sql
