// The plan of a statement, made once: names are resolved, types are known, the access path is chosen. A plan
// is immutable and may be run any number of times, until the catalog changes.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "compute/sql/expression/expression.h"
#include "compute/sql/plan/command_plan.h"
#include "compute/sql/plan/role_plan.h"
#include "compute/sql/plan/schema_plan.h"
#include "compute/sql/plan/select_plan.h"
#include "compute/sql/plan/source_plan.h"
#include "compute/sql/plan/write_plan.h"
#include "compute/sql/system/memory_budget.h"

namespace namdb::sql {

// A rare and large form of a plan, in a place of its own: the many small ones need not have its size.
template <typename T>
struct Boxed {
  Boxed(T value) : pointer(std::make_unique<T>(std::move(value))) {}  // NOLINT: it stands for the form
  std::unique_ptr<T> pointer;
};

struct Plan {
  using Body =
      std::variant<std::monostate, SelectPlan, InsertPlan, UpdatePlan, DeletePlan, WithPlan, TruncatePlan,
                   CopyFromPlan, CopyToPlan, CallPlan, CallRoutinePlan, CreateRoutinePlan, DropRoutinePlan,
                   CreateViewPlan, DropViewPlan, EnumerationPlan, Boxed<CreateTablePlan>,
                   Boxed<AlterTablePlan>, DropTablePlan, CreateIndexPlan, DropIndexPlan, ReindexPlan,
                   SequencePlan, TransactionPlan, LockPlan, ConstraintsPlan, SetPlan, ShowPlan,
                   DeallocatePlan, DiscardPlan, ClosePlan, NothingPlan, ExplainPlan, PreparePlan, ExecutePlan,
                   DeclarePlan, FetchPlan, RolePlan>;
  // monostate: an empty statement.
  Body body;
  // "SELECT", "INSERT", ...: the command tag without its counts, and the kind under which it is counted.
  std::string_view tag;
  std::vector<ResultColumn> columns;
  std::vector<Type> parameters;
  std::uint64_t catalog_version = 0;
  std::uint64_t names_version = 0;    // of the session, whose names may mean something else later
  std::vector<std::uint32_t> tables;  // the ids of those that the statement, or its procedure, names
  std::vector<RequiredRight> rights;  // that its user needs
  // The ids of the tables that it reads, and of those that it writes, without those of the functions that it
  // calls.
  std::vector<std::uint32_t> reads;
  std::vector<std::uint32_t> writes;
  bool calls_routines = false;  // functions that are written in SQL, which may read any table
  bool calls_volatile = false;  // ... and may write to any
  // These must not write: they are called in another number, or at other times, than the statement says.
  bool calls_read_only = false;
  bool knows_types = false;  // the session knew types that statements have made: it may name one
  MemoryShare memory;        // what the plan keeps, of the budget of all clients

  template <typename T>
  const T* as() const {
    if constexpr (std::is_same_v<T, CreateTablePlan> || std::is_same_v<T, AlterTablePlan>) {
      const auto* const boxed = std::get_if<Boxed<T>>(&body);
      return boxed == nullptr ? nullptr : boxed->pointer.get();
    } else {
      return std::get_if<T>(&body);
    }
  }
  bool is_schema_change() const {
    return as<CreateTablePlan>() || as<AlterTablePlan>() || as<DropTablePlan>() || as<CreateIndexPlan>() ||
           as<DropIndexPlan>() || as<ReindexPlan>() || as<CreateRoutinePlan>() || as<DropRoutinePlan>() ||
           as<CreateViewPlan>() || as<DropViewPlan>() || as<EnumerationPlan>() || as<SequencePlan>() ||
           as<RolePlan>();
  }
  // Perhaps of no columns: SELECT FROM t.
  bool gives_rows() const { return !columns.empty() || as<SelectPlan>(); }
  bool is_call() const { return as<CallPlan>() || as<CallRoutinePlan>(); }
  // Its columns are those of another statement of the session, which may change.
  bool depends_on_session() const {
    const auto* explain = as<ExplainPlan>();
    return as<ExecutePlan>() || as<FetchPlan>() ||
           (explain != nullptr && explain->statement->depends_on_session());
  }
  // Runs inside a transaction of the engine.
  bool is_transactional() const {
    return as<SelectPlan>() || as<InsertPlan>() || as<UpdatePlan>() || as<DeletePlan>() || as<WithPlan>() ||
           as<TruncatePlan>() || as<CopyFromPlan>() || as<CopyToPlan>() || is_call();
  }
};

}  // namespace namdb::sql
