// CREATE SEQUENCE, ALTER SEQUENCE and DROP SEQUENCE.
#include <charconv>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "compute/sql/bind/bind_statement.h"
#include "compute/sql/bind/check_status.h"

namespace namdb::sql {
namespace {

Result<std::uint32_t> bind_value_bytes(const Json& type_name) {
  NAMDB_SQL_ASSIGN(const Type type, bind_type(type_name, nullptr));
  if (type.id == TypeId::int2) return 2;
  if (type.id == TypeId::int4) return 4;
  if (type.id == TypeId::int8) return 8;
  return Status(ErrorCode::invalid_parameter_value, "sequence type must be smallint, integer, or bigint");
}

Result<std::int64_t> bind_number(const Json& argument) {
  const Node value = node(argument);
  if (value.kind == "Integer") return integer(*value.body, "ival");
  const std::string_view digits = text(*value.body, value.kind == "Float" ? "fval" : "sval");
  std::int64_t number = 0;
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error == std::errc::result_out_of_range) {
    return Status(ErrorCode::numeric_out_of_range,
                  "value \"" + std::string(digits) + "\" is out of range for type bigint");
  }
  if (error != std::errc() || stop != digits.data() + digits.size()) {
    return Status(ErrorCode::invalid_text,
                  "invalid input syntax for type bigint: \"" + std::string(digits) + "\"");
  }
  return number;
}

bool is_none(const Json& owner) {
  const std::vector<std::string_view> parts = names(list(*node(owner).body, "items"));
  return parts.size() == 1 && parts[0] == "none";
}

// An option without an argument: NO MINVALUE, NO MAXVALUE, RESTART.
Status bind_bare_option(std::string_view name, txn::SequenceChange& change) {
  if (name == "minvalue") {
    change.least_is_default = true;
  } else if (name == "maxvalue") {
    change.most_is_default = true;
  } else if (name == "restart") {
    change.restarts = true;
  } else {
    return unsupported("sequence option " + std::string(name));
  }
  return {};
}

Result<SequencePlan::Owner> bind_owner(const Json& argument) {
  if (is_none(argument)) return SequencePlan::Owner();
  const std::vector<std::string_view> parts = names(list(*node(argument).body, "items"));
  if (parts.size() == 1) {
    return Status(ErrorCode::syntax_error, "invalid OWNED BY option",
                  "Specify OWNED BY table.column or OWNED BY NONE.");
  }
  if (parts.size() > 2) NAMDB_SQL_CHECK(check_schema(parts[parts.size() - 3]));
  return SequencePlan::Owner{std::string(parts[parts.size() - 2]), std::string(parts.back())};
}

Status bind_sequence_option(const Json& element, txn::SequenceChange& change) {
  const std::string_view name = text(element, "defname");
  const Json* const argument = find(element, "arg");
  if (argument == nullptr) return bind_bare_option(name, change);
  if (name == "as") {
    NAMDB_SQL_ASSIGN(change.value_bytes, bind_value_bytes(*node(*argument).body));
    return {};
  }
  if (name == "cycle") {
    change.cycles = flag(*node(*argument).body, "boolval");
    return {};
  }
  NAMDB_SQL_ASSIGN(const std::int64_t number, bind_number(*argument));
  if (name == "increment") {
    change.increment = number;
  } else if (name == "minvalue") {
    change.least = number;
  } else if (name == "maxvalue") {
    change.most = number;
  } else if (name == "start") {
    change.start = number;
  } else if (name == "restart") {
    change.restarts = true;
    change.restart = number;
  } else if (name != "cache") {
    return unsupported("sequence option " + std::string(name));
  } else if (number <= 0) {
    return Status(ErrorCode::invalid_parameter_value,
                  "CACHE (" + std::to_string(number) + ") must be greater than zero");
  } else {
    change.block_numbers = number;
  }
  return {};
}

Status bind_sequence_options(StatementBinder& binder, const Json& options, SequencePlan& plan) {
  std::set<std::string_view> given;
  for (const Json& item : options) {
    const Json& element = *node(item).body;
    if (!given.insert(text(element, "defname")).second) {
      return located(binder.input.place, element,
                     Status(ErrorCode::syntax_error, "conflicting or redundant options"));
    }
    if (text(element, "defname") == "owned_by") {
      NAMDB_SQL_ASSIGN(plan.owner, bind_owner(*find(element, "arg")));
      continue;
    }
    NAMDB_SQL_CHECK(bind_sequence_option(element, plan.change));
  }
  return {};
}

Plan plan_of(std::string_view tag, SequencePlan sequence) {
  Plan plan;
  plan.tag = tag;
  plan.body = std::move(sequence);
  return plan;
}

}  // namespace

Status bind_identity_options(const Json& options, ColumnSequence& sequence) {
  std::set<std::string_view> given;
  for (const Json& item : options) {
    const Json& element = *node(item).body;
    const std::string_view name = text(element, "defname");
    if (!given.insert(name).second)
      return Status(ErrorCode::syntax_error, "conflicting or redundant options");
    if (name != "sequence_name") {
      NAMDB_SQL_CHECK(bind_sequence_option(element, sequence.options));
      continue;
    }
    const std::vector<std::string_view> parts = names(list(*node(*find(element, "arg")).body, "items"));
    if (parts.size() > 1) NAMDB_SQL_CHECK(check_schema(parts[parts.size() - 2]));
    sequence.name = parts.back();
  }
  return {};
}

Result<Plan> bind_create_sequence(StatementBinder& binder, const Json& body) {
  NAMDB_SQL_CHECK(only(body, "CREATE SEQUENCE", {"sequence", "options", "if_not_exists"}));
  SequencePlan create;
  create.command = SequenceCommand::create;
  const Json& relation = *find(body, "sequence");
  NAMDB_SQL_CHECK(check_schema(text(relation, "schemaname")));
  NAMDB_SQL_ASSIGN(std::string name, relation_name(relation));
  create.names.push_back(std::move(name));
  create.is_conditional = flag(body, "if_not_exists");
  NAMDB_SQL_CHECK(bind_sequence_options(binder, list(body, "options"), create));
  return plan_of("CREATE SEQUENCE", std::move(create));
}

Result<Plan> bind_alter_sequence(StatementBinder& binder, const Json& body) {
  NAMDB_SQL_CHECK(only(body, "ALTER SEQUENCE", {"sequence", "options", "missing_ok"}));
  SequencePlan alter;
  alter.command = SequenceCommand::alter;
  NAMDB_SQL_ASSIGN(std::string name, relation_name(*find(body, "sequence")));
  alter.names.push_back(std::move(name));
  alter.is_conditional = flag(body, "missing_ok");
  NAMDB_SQL_CHECK(bind_sequence_options(binder, list(body, "options"), alter));
  return plan_of("ALTER SEQUENCE", std::move(alter));
}

Plan drop_sequences(std::vector<std::string> names, bool if_exists) {
  SequencePlan drop;
  drop.command = SequenceCommand::drop;
  drop.names = std::move(names);
  drop.is_conditional = if_exists;
  return plan_of("DROP SEQUENCE", std::move(drop));
}

}  // namespace namdb::sql
