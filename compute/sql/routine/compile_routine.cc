#include "compute/sql/routine/compile_routine.h"

#include <utility>

#include "compute/sql/bind/check_status.h"
#include "compute/sql/plan/plan_memory.h"
#include "compute/sql/routine/read_ahead.h"
#include "compute/sql/routine/routine_compiler.h"

namespace namdb::sql {
namespace {

VariableScope::Conflict conflict_of(const RoutineSource& source) {
  if (source.signature()->language == RoutineLanguage::sql) return VariableScope::Conflict::use_column;
  const std::string& wanted = source.tree().variable_conflict;
  if (wanted == "use_variable") return VariableScope::Conflict::use_variable;
  if (wanted == "use_column") return VariableScope::Conflict::use_column;
  return VariableScope::Conflict::error;
}

// The number of the variable FOUND among the datums.
std::uint32_t found_datum(const Json& datums) {
  for (std::uint32_t i = 0; i < datums.size(); ++i) {
    const Node datum = node(datums[i]);
    if (datum.kind == "PLpgSQL_var" && text(*datum.body, "refname") == "found") return i;
  }
  return static_cast<std::uint32_t>(datums.size());
}

}  // namespace

Result<std::shared_ptr<CompiledRoutine>> compile_routine(const RoutineSource& source, BindInput input) {
  return RoutineCompiler(source, std::move(input)).compile();
}

RoutineCompiler::RoutineCompiler(const RoutineSource& source, BindInput input)
    : source_(source),
      input_(std::move(input)),
      routine_(std::make_shared<CompiledRoutine>()),
      scope_(routine_->slots, conflict_of(source)) {
  input_.variables = &scope_;
  input_.place = nullptr;  // it would be one in the body's text
}

Result<std::shared_ptr<CompiledRoutine>> RoutineCompiler::compile() {
  routine_->signature = source_.signature();
  routine_->catalog_version = input_.catalog_version;
  declare_parameters();
  const bool in_sql = source_.signature()->language == RoutineLanguage::sql;
  NAMDB_SQL_CHECK(in_sql ? compile_sql() : compile_plpgsql());
  plan_reads_ahead(*routine_);
  return routine_;
}

void RoutineCompiler::declare_parameters() {
  const RoutineSignature& signature = *source_.signature();
  scope_.enter(signature.name);
  // A function in SQL cannot name its output parameters.
  const bool inputs_only = signature.is_function && signature.language == RoutineLanguage::sql;
  std::uint32_t datum = 0;
  std::uint32_t numbered = 0;
  for (const RoutineParameter& parameter : signature.parameters) {
    RoutineVariable variable;
    variable.name = inputs_only && !parameter.is_input() ? std::string() : parameter.name;
    variable.slot = scope_.add_slot(parameter.name, parameter.type);
    if (!inputs_only || parameter.is_input()) ++numbered;
    if (parameter.gives()) routine_->result_slot = variable.slot;
    scope_.declare(datum++, std::move(variable));
  }
  scope_.set_numbered(numbered);
  if (signature.is_function && !signature.has_outputs())
    routine_->result_slot = scope_.add_slot("result", signature.result);
  routine_->found_slot = scope_.add_slot("found", {TypeId::boolean});
  routine_->row_count_slot = scope_.add_slot("row_count", {TypeId::int8});
}

Status RoutineCompiler::compile_plpgsql() {
  const Json& function = source_.tree().function;
  const std::uint32_t found = found_datum(list(function, "datums"));
  RoutineVariable variable;
  variable.name = "found";
  variable.slot = routine_->found_slot;
  scope_.declare(found, std::move(variable));
  declared_datum_ = found + 1;
  loop_datum_ = found + 1;
  const Json* const action = find(function, "action");
  if (action == nullptr || node(*action).kind != "PLpgSQL_stmt_block") return unsupported("this body");
  NAMDB_SQL_CHECK(match_step(node(*action)));
  NAMDB_SQL_ASSIGN(Step::Body block, compile_block(*node(*action).body));
  routine_->block = std::move(std::get<BlockStep>(block));
  return {};
}

// The last statement gives the values of the output parameters.
Status RoutineCompiler::compile_sql() {
  std::vector<std::uint32_t> outputs;
  for (std::uint32_t i = 0; i < source_.signature()->parameters.size(); ++i) {
    if (source_.signature()->parameters[i].gives()) outputs.push_back(i);
  }
  const std::size_t count = source_.statements().statement_count();
  const RoutineSignature& signature = *source_.signature();
  bool gave = signature.is_function ? signature.returns_nothing || count > 0 : outputs.empty();
  for (std::size_t i = 0; i < count; ++i) {
    NAMDB_SQL_ASSIGN(auto statement, plan_of(source_.statements().statement(i)));
    if (signature.is_function && i + 1 == count && !signature.returns_nothing) {
      NAMDB_SQL_ASSIGN(Step last, compile_last_query(std::move(statement)));
      routine_->block.steps.push_back(std::move(last));
      break;
    }
    QueryStep query;
    if (!signature.is_function && i + 1 == count && !outputs.empty()) {
      gave = statement->columns.size() == outputs.size();
      for (std::size_t j = 0; gave && j < outputs.size(); ++j) {
        NAMDB_SQL_ASSIGN(SlotTarget target, target_of(outputs[j], statement->columns[j].type));
        query.targets.push_back(std::move(target));
      }
      query.into = true;
    }
    query.plan = std::move(statement);
    routine_->block.steps.push_back(Step{std::move(query)});
  }
  if (gave) return {};
  return return_mismatch(
      "the last statement must be SELECT or INSERT/UPDATE/DELETE RETURNING, with a column for each output "
      "parameter");
}

Result<std::uint32_t> RoutineCompiler::next_datum(std::string_view name, bool declared,
                                                  std::uint32_t& after) const {
  const Json& datums = list(source_.tree().function, "datums");
  for (std::uint32_t i = after; i < datums.size(); ++i) {
    const Node datum = node(datums[i]);
    if (datum.kind != "PLpgSQL_var" || text(*datum.body, "refname") != name) continue;
    const Json* const type = find(*datum.body, "datatype");
    const bool is_declared = type != nullptr && text(*node(*type).body, "typname") != "UNKNOWN";
    if (is_declared != declared) continue;
    after = i + 1;
    return i;
  }
  return unsupported("the declaration of \"" + std::string(name) + "\"");
}

Status RoutineCompiler::match_datums(const Json& steps) {
  for (const Json& item : steps) NAMDB_SQL_CHECK(match_step(node(item)));
  return {};
}

// Blocks and loops are visited in the order of the text, in which the datums were made.
Status RoutineCompiler::match_step(Node step) {
  const Json& body = *step.body;
  // libpg_query puts a block of its own around one with EXCEPTION.
  if (step.kind == "PLpgSQL_stmt_block" && find(body, "lineno") != nullptr) {
    const std::vector<std::vector<std::string>>& declared = source_.tree().declared;
    if (next_block_ >= declared.size()) return unsupported("a name that is BEGIN");
    std::vector<Declared>& variables = declared_[&body];
    for (const std::string& name : declared[next_block_++]) {
      NAMDB_SQL_ASSIGN(const std::uint32_t datum, next_datum(name, true, declared_datum_));
      variables.push_back({name, datum});
    }
  }
  if (step.kind == "PLpgSQL_stmt_fori") {
    const std::string_view name = text(*node(*find(body, "var")).body, "refname");
    NAMDB_SQL_ASSIGN(loop_datums_[&body], next_datum(name, false, loop_datum_));
  }
  for (const char* const member : {"then_body", "body"}) NAMDB_SQL_CHECK(match_datums(list(body, member)));
  for (const char* const member : {"elsif_list", "case_when_list"}) {
    for (const Json& item : list(body, member))
      NAMDB_SQL_CHECK(match_datums(list(*node(item).body, "stmts")));
  }
  for (const char* const member : {"else_body", "else_stmts"})
    NAMDB_SQL_CHECK(match_datums(list(body, member)));
  const Json* const exceptions = find(body, "exceptions");
  if (exceptions == nullptr) return {};
  for (const Json& item : list(*node(*exceptions).body, "exc_list"))
    NAMDB_SQL_CHECK(match_datums(list(*node(item).body, "action")));
  return {};
}

Status RoutineCompiler::declare_variable(const std::string& name, std::uint32_t datum, BlockStep& block) {
  const Json& body = *node(list(source_.tree().function, "datums")[datum]).body;
  const RoutineSource::DeclaredType& declared =
      source_.type(text(*node(*find(body, "datatype")).body, "typname"));
  const Json* const initial = find(body, "default_val");
  RoutineVariable variable;
  variable.name = name;
  variable.is_constant = flag(body, "isconst");
  using Kind = RoutineSource::DeclaredType::Kind;
  if (declared.kind == Kind::record || declared.kind == Kind::row_of_table) {
    if (initial != nullptr) return unsupported("the default of a record");
    variable.is_record = true;
    variable.has_row_type = declared.kind == Kind::row_of_table;
    if (declared.kind == Kind::row_of_table) NAMDB_SQL_CHECK(declare_row(declared, variable));
    if (variable.fields) {
      for (const RoutineVariable::Field& field : *variable.fields)
        block.initial.push_back({field.slot, nullptr});
    }
  } else {
    NAMDB_SQL_ASSIGN(const Type type, declared_type(declared));
    AssignStep step;
    if (initial != nullptr) {
      NAMDB_SQL_ASSIGN(step.value, value(*initial, type));
    }
    variable.slot = scope_.add_slot(name, type, flag(body, "notnull"));
    step.slot = variable.slot;
    block.initial.push_back(std::move(step));
  }
  scope_.declare(datum, std::move(variable));
  return {};
}

Result<Type> RoutineCompiler::declared_type(const RoutineSource::DeclaredType& declared) {
  if (declared.kind == RoutineSource::DeclaredType::Kind::plain) {
    const Json& target = *node(list(*declared.tree.statement(0).body, "targetList")[0]).body;
    const Node cast = node(*find(target, "val"));
    if (cast.kind != "TypeCast") return unsupported("the type of this variable");
    return bind_type(*find(*cast.body, "typeName"), input_.facts);
  }
  if (declared.names.size() == 1) {
    const RoutineVariable* const variable = scope_.named(declared.names[0]);
    if (variable != nullptr && !variable->is_record) return routine_->slots[variable->slot].type;
    return Status(ErrorCode::undefined_object, "variable \"" + declared.names[0] + "\" does not exist");
  }
  const std::string& table_name = declared.names[declared.names.size() - 2];
  const auto table = input_.tables.find(table_name);
  if (table == input_.tables.end())
    return Status(ErrorCode::undefined_table, "relation \"" + table_name + "\" does not exist");
  for (const layout::Column& column : table->second->schema.columns()) {
    if (column.name == declared.names.back()) return column_type(column);
  }
  return Status(ErrorCode::undefined_column,
                "column \"" + declared.names.back() + "\" of relation \"" + table_name + "\" does not exist");
}

Status RoutineCompiler::declare_row(const RoutineSource::DeclaredType& declared, RoutineVariable& record) {
  const auto table = input_.tables.find(declared.names.back());
  if (table == input_.tables.end())
    return Status(ErrorCode::undefined_table, "relation \"" + declared.names.back() + "\" does not exist");
  Source row;
  row.table = table->second;
  std::vector<ResultColumn> columns;
  for (const Scope::Column& column : columns_of(row)) {
    if (!column.hidden) columns.push_back({column.name, column.type});
  }
  add_fields(record, columns);
  return {};
}

void RoutineCompiler::add_fields(RoutineVariable& record, const std::vector<ResultColumn>& columns) {
  record.fields.emplace();
  for (const ResultColumn& column : columns)
    record.fields->push_back({column.name, scope_.add_slot(record.name + "." + column.name, column.type)});
}

}  // namespace namdb::sql
