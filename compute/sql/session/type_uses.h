// The uses of types that statements have made: columns of tables and views, functions, and texts of the
// catalog. A type that is in use is not dropped. Everything here is read from the catalog of now.
//
// Belongs to its session.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "common/base/error.h"
#include "common/reactor/task.h"
#include "compute/api/engine.h"
#include "compute/sql/expression/expression.h"
#include "compute/sql/plan/routine_cache.h"
#include "compute/sql/session/block_changes.h"
#include "compute/sql/session/dependents.h"
#include "compute/sql/session/known_types.h"
#include "compute/sql/session/statement_parser.h"
#include "compute/sql/value/enumeration.h"

namespace namdb::sql {

class TypeUses {
 public:
  // All outlive it. `routines`: may be null.
  TypeUses(txn::Engine& engine, SessionFacts& facts, const BlockChanges& block, RoutineCache* routines,
           KnownTypes& types, StatementParser& parser)
      : engine_(engine), facts_(facts), block_(block), routines_(routines), types_(types), parser_(parser) {}

  // Called after a definition that uses types was made. From then on no session that does not see this use
  // drops or renames one of these types. Error undefined_object: a type is gone, so the definition has to go,
  // too.
  reactor::Task<Status> hold_types(const txn::TableDefinition* definition);
  reactor::Task<Status> hold_types(const View* view);
  reactor::Task<Status> hold_types(const RoutineSignature* signature);
  // A routine or view whose types are not there takes the text back that it had before. Nothing if `made` is
  // null, or another one has taken its place.
  reactor::Task<void> undo_replacement(storage::RoutineRef before, storage::RoutineRef made);
  reactor::Task<Status> check_type_unnamed(const Enumeration* type);
  // feature_not_supported: an expression of a table contains the text, or a view does, and it names the type,
  // or the table has such columns.
  reactor::Task<Status> check_not_in_texts(const Enumeration* type, std::string text, std::string what);
  reactor::Task<Status> find_type_dependents(std::uint32_t id, Dependents* dependents);

 private:
  // Types that a definition uses, by id, with the names that its texts give them; empty: no text does.
  using UsedTypes = std::map<std::uint32_t, std::string>;
  reactor::Task<Status> hold_types(UsedTypes used);
  reactor::Task<Status> add_named_types(std::string query, UsedTypes* used);
  reactor::Task<Result<bool>> names_type(std::string query, const Enumeration* type);

  txn::Engine& engine_;
  SessionFacts& facts_;
  const BlockChanges& block_;
  RoutineCache* routines_;
  KnownTypes& types_;
  StatementParser& parser_;
};

}  // namespace namdb::sql
