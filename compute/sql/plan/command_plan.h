// The plans of the statements about transactions, settings, prepared statements and cursors.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compute/sql/expression/expression.h"
#include "compute/sql/plan/source_plan.h"

namespace namdb::sql {

struct Plan;

// LOCK TABLE ... IN ACCESS SHARE MODE, of tables that there are.
struct LockPlan {};

// SET CONSTRAINTS.
struct ConstraintsPlan {
  std::vector<std::string> names;  // none: ALL
  bool deferred = false;
};

enum class TransactionCommand : std::uint8_t {
  begin,
  commit,
  rollback,
  set_characteristics,
  savepoint,
  release_savepoint,
  rollback_to_savepoint
};

struct TransactionPlan {
  TransactionCommand command = TransactionCommand::begin;
  std::optional<std::string> isolation;
  std::optional<bool> read_only;
  bool for_session = false;  // SET SESSION CHARACTERISTICS
  std::string savepoint;     // its name
};

struct SetPlan {
  std::string name;                  // empty: RESET ALL
  std::optional<std::string> value;  // none: back to the default
  bool local = false;
};

struct ShowPlan {
  std::string name;  // "all": every setting
};

struct DeallocatePlan {
  std::string name;  // empty: all
};

struct DiscardPlan {
  bool all = false;
  bool sequences = false;  // what the session remembers of them; of ALL, too
  bool temporary = false;  // its temporary tables
};

// Closes portals, among which cursors are.
struct ClosePlan {
  std::string name;  // empty: all
};

// A statement that has nothing to do here: UNLISTEN, VACUUM, ANALYZE, COMMENT.
struct NothingPlan {
  std::string notice;  // tells why; empty: no notice
};

// WITH with INSERT, UPDATE or DELETE. Its queries run first, each to its end, and their rows are kept; then
// the statement itself runs, which reads none of the tables that they write.
struct WithPlan {
  struct Query {
    std::shared_ptr<const WorkingTable> rows;
    std::shared_ptr<const Plan> statement;  // SELECT, too
  };
  std::vector<Query> queries;
  std::shared_ptr<const Plan> statement;
};

struct ExplainPlan {
  bool analyze = false;
  bool as_json = false;
  std::unique_ptr<Plan> statement;  // may be that of EXECUTE: of the statement that it names
};

// PREPARE. The statement's text is in that of the command.
struct PreparePlan {
  std::string name;
  std::vector<Type> declared;  // unknown where the client left a type open
  std::shared_ptr<Plan> statement;
};

struct ExecutePlan {
  std::string name;
  std::shared_ptr<const Plan> statement;  // as it was prepared then; null: there was none of that name
  std::vector<ExprPtr> arguments;         // converted to the types of its parameters
};

// DECLARE ... CURSOR.
struct DeclarePlan {
  std::string name;
  bool binary = false;
  bool scrolls = false;
  bool only_forward = false;  // NO SCROLL
  bool holds = false;
  std::shared_ptr<Plan> query;  // its parameters are the command's
};

enum class FetchDirection : std::uint8_t { forward, backward, absolute, relative };

// FETCH and MOVE, of portals.
struct FetchPlan {
  static constexpr std::int64_t kAll = INT64_MAX;
  std::string name;
  FetchDirection direction = FetchDirection::forward;
  std::int64_t count = 1;  // kAll: all rows in that direction
  bool moves = false;      // gives no rows
};

}  // namespace namdb::sql
