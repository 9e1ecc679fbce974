#include "tools/namsim/workloads/procedure_client.h"

#include "common/base/check.h"
#include "compute/procedure/piece_watch.h"
#include "compute/procedure/resolve_tables.h"
#include "compute/sql/value/value_format.h"

namespace namdb::sim {
namespace {

using procedure::Value;

std::string literal(const Value& value, const procedure::Parameter& parameter) {
  if (std::holds_alternative<std::monostate>(value)) return "NULL";
  if (const auto* text = std::get_if<std::string>(&value)) return "'" + *text + "'";
  NAMDB_CHECK(std::holds_alternative<std::int64_t>(value));
  const std::int64_t number = std::get<std::int64_t>(value);
  if (parameter.type != layout::ColumnType::numeric) return std::to_string(number);
  std::string text;
  sql::append_text(text, sql::column_type(parameter.type, parameter.precision, parameter.scale),
                   sql::Datum::of_decimal({number, parameter.scale}));
  return text;
}

// Of what the workloads' procedures return; other types stay text.
Value value_of(const std::string& text, const procedure::Parameter& result) {
  if (text == "NULL") return {};
  const sql::Type type = sql::column_type(result.type, result.precision, result.scale);
  if (type.is_string() || type.id == sql::TypeId::timestamp) return text;
  sql::Arena arena;
  sql::Datum datum;
  NAMDB_CHECK(sql::parse_text(text, type.id, sql::TimeContext(), arena, datum).ok());
  return type.id == sql::TypeId::numeric ? static_cast<std::int64_t>(datum.unscaled) : datum.integer;
}

}  // namespace

ProcedureClient::ProcedureClient(txn::Engine& engine, const procedure::ProcedureRegistry& procedures,
                                 bool by_sql, const procedure::DeclaredPieces* pieces)
    : engine_(engine), procedures_(procedures), pieces_(pieces) {
  if (by_sql) {
    sql_ = std::make_unique<SqlClient>(engine, procedures);
  } else {
    session_ = engine.open_session();
  }
}

reactor::Task<Status> ProcedureClient::call(std::string procedure, std::vector<Value> arguments,
                                            std::vector<Value>* results) {
  const std::shared_ptr<const procedure::Definition> definition = procedures_.find(procedure);
  NAMDB_CHECK(definition != nullptr);
  if (sql_ != nullptr) co_return co_await call_by_sql(definition, std::move(arguments), results);
  auto tables = co_await procedure::resolve_tables(engine_, *definition);
  if (!tables.ok()) co_return tables.status();
  const auto transaction = engine_.begin(*session_);
  results->assign(definition->results.size(), Value());
  procedure::PieceWatch watch(*transaction);
  procedure::Context context(watch, *tables, arguments, *results, 0);
  Status status = co_await definition->run(context);
  const procedure::Chopping* const pieces = pieces_ == nullptr ? nullptr : pieces_->find(procedure);
  if (status.ok() && pieces != nullptr) status = watch.check(*pieces);
  status = co_await txn::confirm_error(transaction.get(), std::move(status));
  if (!status.ok()) co_return status;
  co_return co_await transaction->commit();
}

reactor::Task<Status> ProcedureClient::call_by_sql(std::shared_ptr<const procedure::Definition> definition,
                                                   std::vector<Value> arguments,
                                                   std::vector<Value>* results) {
  std::string text = "CALL " + definition->name + "(";
  for (std::size_t i = 0; i < arguments.size(); ++i)
    text += (i == 0 ? "" : ", ") + literal(arguments[i], definition->parameters[i]);
  const SqlAnswer answer = co_await sql_->run(text + ")");
  if (!answer.status.ok()) co_return answer.status;
  results->clear();
  for (std::size_t i = 0; i < definition->results.size(); ++i)
    results->push_back(value_of(answer.rows.at(0).at(i), definition->results[i]));
  co_return Status();
}

}  // namespace namdb::sim
