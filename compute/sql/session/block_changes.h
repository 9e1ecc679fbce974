// The schema changes of a block: the relations that it has made, which a rollback drops again, and those that
// it drops when it commits, which its statements do not see any more. Belongs to one session.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace namdb::sql {

struct TemporaryTable;

enum class RelationKind : std::uint8_t { table, index, view, type };

struct BlockChanges {
  struct Created {
    RelationKind kind = RelationKind::table;
    std::string name;
    std::uint32_t id = 0;
    std::shared_ptr<const TemporaryTable> replaced = nullptr;  // had the name, and was gone already
  };
  struct Dropped {
    RelationKind kind = RelationKind::table;
    std::uint32_t id = 0;
  };
  using Drops = std::map<std::string, Dropped>;

  std::vector<Created> created;
  Drops dropped;
  std::vector<std::string> unsettled;  // tables with new foreign keys
  std::uint64_t drop_changes = 0;      // how often `dropped` has changed, in all blocks of the session

  // Nothing if the name is one of a drop already.
  void drop(std::string name, Dropped relation) {
    ++drop_changes;
    dropped.emplace(std::move(name), relation);
  }
  // From now on the block drops these, and no others.
  Drops exchange_drops(Drops drops) {
    ++drop_changes;
    return std::exchange(dropped, std::move(drops));
  }
};

}  // namespace namdb::sql
