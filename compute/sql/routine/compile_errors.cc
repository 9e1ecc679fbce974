// RAISE, EXCEPTION and GET DIAGNOSTICS of a routine in PL/pgSQL.
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "compute/sql/bind/check_status.h"
#include "compute/sql/routine/routine_compiler.h"
#include "compute/sql/syntax/condition_names.h"

namespace namdb::sql {
namespace {

// PostgreSQL's levels of messages.
constexpr std::int64_t kInfo = 17;
constexpr std::int64_t kNotice = 18;
constexpr std::int64_t kWarning = 19;
constexpr std::int64_t kError = 21;

// "no % of %": the parts between the values; "%%" is a sign itself.
std::vector<std::string> message_parts(std::string_view format) {
  std::vector<std::string> parts(1);
  for (std::size_t at = 0; at < format.size(); ++at) {
    if (format[at] != '%') {
      parts.back() += format[at];
    } else if (at + 1 < format.size() && format[at + 1] == '%') {
      parts.back() += '%';
      ++at;
    } else {
      parts.emplace_back();
    }
  }
  return parts;
}

Result<std::string> sqlstate_named(std::string_view name) {
  std::optional<std::string> sqlstate = sqlstate_of_condition(name);
  if (sqlstate) return *std::move(sqlstate);
  return Status(ErrorCode::undefined_object,
                "unrecognized exception condition \"" + std::string(name) + "\"");
}

}  // namespace

Result<Step::Body> RoutineCompiler::compile_raise(const Json& body) {
  RaiseStep raise;
  const std::int64_t level = integer(body, "elog_level");
  raise.severity = level == kError     ? ""
                   : level == kWarning ? "WARNING"
                   : level == kNotice  ? "NOTICE"
                   : level == kInfo    ? "INFO"
                                       : "LOG";
  const std::string_view condition_name = text(body, "condname");
  const std::string_view format = text(body, "message");
  const Json& options = list(body, "options");
  if (condition_name.empty() && find(body, "message") == nullptr && options.empty()) {
    if (handlers_.empty()) {
      return Status(ErrorCode::syntax_error,
                    "RAISE without parameters cannot be used outside an exception handler");
    }
    raise.again = true;
    return Step::Body(std::move(raise));
  }
  raise.sqlstate = "P0001";
  if (!condition_name.empty()) {
    NAMDB_SQL_ASSIGN(raise.sqlstate, sqlstate_named(condition_name));
    raise.message = {std::string(condition_name)};
    raise.has_message = true;
  }
  if (find(body, "message") != nullptr) {
    raise.message = message_parts(format);
    raise.has_message = true;
  }
  if (raise.message.empty()) raise.message = {raise.sqlstate};
  for (const Json& item : list(body, "params")) {
    NAMDB_SQL_ASSIGN(ExprPtr shown, value(item));
    raise.values.push_back(std::move(shown));
  }
  if (find(body, "message") != nullptr && raise.values.size() + 1 != raise.message.size()) {
    return Status(ErrorCode::syntax_error, raise.values.size() + 1 > raise.message.size()
                                               ? "too many parameters specified for RAISE"
                                               : "too few parameters specified for RAISE");
  }
  for (const Json& item : options) {
    const Json& option = *node(item).body;
    enum : std::int64_t { kErrcode = 0, kMessage = 1, kDetail = 2, kHint = 3 };
    NAMDB_SQL_ASSIGN(ExprPtr given, value(*find(option, "expr"), Type{TypeId::text}));
    switch (integer(option, "opt_type")) {
      case kErrcode:
        raise.sqlstate_value = std::move(given);
        break;
      case kMessage:
        raise.message_value = std::move(given);
        break;
      case kDetail:
        raise.detail = std::move(given);
        break;
      case kHint:
        raise.hint = std::move(given);
        break;
      default:
        return unsupported("RAISE ... USING with this option");
    }
  }
  return Step::Body(std::move(raise));
}

Status RoutineCompiler::compile_handlers(const Json& exceptions, BlockStep& block) {
  block.sqlstate_slot = scope_.add_slot("sqlstate", {TypeId::text});
  block.message_slot = scope_.add_slot("sqlerrm", {TypeId::text});
  scope_.enter({});
  for (const auto& [name, slot] :
       {std::pair{"sqlstate", block.sqlstate_slot}, std::pair{"sqlerrm", block.message_slot}}) {
    RoutineVariable variable;
    variable.name = name;
    variable.is_constant = true;
    variable.slot = slot;
    scope_.declare(made_datum_++, std::move(variable));
  }
  handlers_.push_back({block.sqlstate_slot, block.message_slot});
  for (const Json& item : list(exceptions, "exc_list")) {
    const Json& body = *node(item).body;
    BlockStep::Handler handler;
    for (const Json& wanted : list(body, "conditions")) {
      const std::string_view name = text(*node(wanted).body, "condname");
      std::string sqlstate;
      if (name != "others") {
        NAMDB_SQL_ASSIGN(sqlstate, sqlstate_named(name));
      }
      handler.sqlstates.push_back(std::move(sqlstate));
    }
    NAMDB_SQL_CHECK(compile_steps(list(body, "action"), handler.steps));
    block.handlers.push_back(std::move(handler));
  }
  handlers_.pop_back();
  scope_.leave();
  return {};
}

Result<Step::Body> RoutineCompiler::compile_diagnostics(const Json& body) {
  BlockStep block;
  for (const Json& item : list(body, "diag_items")) {
    const Json& wanted = *node(item).body;
    const std::string_view kind = text(wanted, "kind");
    std::optional<std::uint32_t> from;
    if (kind == "ROW_COUNT") from = routine_->row_count_slot;
    if (!handlers_.empty() && kind == "RETURNED_SQLSTATE") from = handlers_.back().sqlstate;
    if (!handlers_.empty() && kind == "MESSAGE_TEXT") from = handlers_.back().message;
    if (!from) return unsupported("GET DIAGNOSTICS ... " + std::string(kind));
    AssignStep assign;
    NAMDB_SQL_ASSIGN(assign.slot, assignable(static_cast<std::uint32_t>(integer(wanted, "target"))));
    assign.value = make_expr(ExprKind::parameter, routine_->slots[*from].type);
    assign.value->index = *from;
    std::vector<Type> none;
    ExpressionBinder expressions(none, input_.facts, nullptr);
    NAMDB_SQL_CHECK(convert(expressions, assign.value, routine_->slots[assign.slot].type));
    block.steps.push_back(Step{std::move(assign)});
  }
  return Step::Body(std::move(block));
}

}  // namespace namdb::sql
