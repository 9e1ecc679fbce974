// The prepared statements of a session, by their names; the unnamed one is replaced by each new one. Belongs
// to its session.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "compute/sql/execute/portal.h"
#include "compute/sql/expression/session_objects.h"

namespace namdb::sql {

// Limits of one session: named statements, and portals, ...
inline constexpr std::size_t kMaxPrepared = 10'000;
// ... and the statements' text and plans (a plan may take a hundred times as much as its text).
inline constexpr std::size_t kMaxPrepared_bytes = 64 << 20;

class PreparedStatements {
 public:
  // `client_memory`: of all workers; null: none.
  explicit PreparedStatements(MemoryBudget* client_memory) : client_memory_(client_memory) {}

  // Null: there is none of that name. Empty: the unnamed one.
  std::shared_ptr<PreparedStatement> find(std::string_view name) const;
  bool contains(std::string_view name) const { return named_.contains(name); }
  // duplicate_prepared_statement, out_of_memory: there are too many, or they take too much.
  Status keep(std::string name, std::shared_ptr<PreparedStatement> prepared, std::int64_t now_us);
  void close(std::string_view name);
  // All that have a name.
  void close_all();
  // The statements that have a name.
  std::vector<PreparedObject> objects() const;

 private:
  MemoryBudget* client_memory_;
  std::shared_ptr<PreparedStatement> unnamed_;
  std::map<std::string, std::shared_ptr<PreparedStatement>, std::less<>> named_;
  std::size_t bytes_ = 0;
};

}  // namespace namdb::sql
