// CALL: arguments to the procedure's values, the procedure, its results to one row.
#include <optional>
#include <vector>

#include "compute/procedure/resolve_tables.h"
#include "compute/sql/execute/procedure_transaction.h"
#include "compute/sql/execute/run.h"
#include "compute/sql/value/characters.h"
#include "compute/sql/value/value_format.h"

namespace namdb::sql {
namespace {

using procedure::Value;

Value to_value(const Datum& datum, const procedure::Parameter& parameter) {
  if (datum.null) return {};
  switch (parameter.type) {
    case layout::ColumnType::double_precision:
    case layout::ColumnType::real:
      return datum.real;
    case layout::ColumnType::numeric:
      return static_cast<std::int64_t>(datum.unscaled);
    case layout::ColumnType::character:
      return std::string(without_trailing_blanks(datum.text));
    case layout::ColumnType::varchar:
    case layout::ColumnType::text:
    case layout::ColumnType::uuid:
    case layout::ColumnType::bytea:
    case layout::ColumnType::json:
      return std::string(datum.text);
    default:
      return datum.integer;
  }
}

// Arguments beyond 18 digits do not fit a numeric parameter's scaled integer.
Status check_range(const Datum& datum, const procedure::Parameter& parameter) {
  if (datum.null || parameter.type != layout::ColumnType::numeric) return {};
  if (datum.scale == parameter.scale && datum.unscaled >= INT64_MIN && datum.unscaled <= INT64_MAX) return {};
  return Status(ErrorCode::numeric_out_of_range,
                "numeric argument \"" + parameter.name + "\" is out of range");
}

Status to_datum(const Value& value, const procedure::Parameter& result, Datum& out) {
  out = Datum();
  if (std::holds_alternative<std::monostate>(value)) return {};
  const Type type = column_type(result.type, result.precision, result.scale);
  const bool is_real = type.type_class() == TypeClass::real;
  if (type.has_bytes() && std::holds_alternative<std::string>(value)) {
    out = Datum::of_text(std::get<std::string>(value));
    return type.is_string() ? check_utf8(out.text) : Status();
  }
  if (is_real && std::holds_alternative<double>(value)) {
    out = Datum::of_real(std::get<double>(value));
    return {};
  }
  if (!type.has_bytes() && !is_real && std::holds_alternative<std::int64_t>(value)) {
    const std::int64_t number = std::get<std::int64_t>(value);
    out = type.id == TypeId::numeric ? Datum::of_decimal({number, result.scale}) : Datum::of_integer(number);
    return {};
  }
  return Status(ErrorCode::internal,
                "the procedure gave result \"" + result.name + "\" a value of another type");
}

}  // namespace

reactor::Task<Status> run_call(Run& run, const CallPlan& plan, std::span<const ResultColumn> columns) {
  const procedure::Definition& definition = *plan.definition;
  const EvalContext context = run.context();
  std::vector<Value>& arguments = run.call_scratch.arguments;
  arguments.resize(plan.arguments.size());
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    Datum value;
    const auto evaluate_it = [&] { return evaluate(*plan.arguments[i], context, value); };
    Status status = evaluate_it();
    if (run.work.paused()) status = co_await run.resume(evaluate_it);
    if (!status.ok()) co_return status;
    if (Status fits = check_range(value, definition.parameters[i]); !fits.ok()) co_return fits;
    arguments[i] = to_value(value, definition.parameters[i]);
  }
  std::vector<Value>& results = run.call_scratch.results;
  results.assign(definition.results.size(), Value());
  std::optional<ProcedureTransaction> guarded;
  if (ProcedureTransaction::is_needed(plan.tables)) guarded.emplace(*run.transaction);
  txn::Transaction& transaction = guarded ? static_cast<txn::Transaction&>(*guarded) : *run.transaction;
  procedure::Context procedure_context(transaction, plan.tables, arguments, results, run.facts.now_us);
  Status status = co_await definition.run(procedure_context);
  if (!status.ok() || columns.empty()) co_return status;
  std::vector<Datum>& row = run.call_scratch.row;
  row.resize(results.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    status = to_datum(results[i], definition.results[i], row[i]);
    if (!status.ok()) co_return status;
  }
  run.sink.add_row(row);
  run.affected = 1;
  co_return Status();
}

}  // namespace namdb::sql
