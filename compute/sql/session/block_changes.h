// The schema changes of a block: the relations that it has made, which a rollback drops again, and those that
// it drops when it commits, which its statements do not see any more. Belongs to one session.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
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

  std::vector<Created> created;
  std::map<std::string, Dropped> dropped;
  std::vector<std::string> unsettled;  // tables with new foreign keys
};

}  // namespace namdb::sql
