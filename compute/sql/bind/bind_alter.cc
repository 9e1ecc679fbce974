// ALTER TABLE: each of its commands changes a draft of the table.
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "compute/sql/bind/bind_column.h"
#include "compute/sql/bind/bind_definition.h"
#include "compute/sql/bind/bind_role.h"
#include "compute/sql/bind/check_status.h"
#include "compute/sql/bind/table_draft.h"
#include "compute/sql/value/generated_column.h"
#include "compute/sql/value/sequence_default.h"

namespace namdb::sql {
namespace {

struct Commands {
  StatementBinder& binder;
  TableDraft& draft;
  std::vector<AlterTablePlan::Notice>& notices;
};

std::string of_relation(const Commands& commands, std::string_view kind, std::string_view name) {
  return std::string(kind) + " \"" + std::string(name) + "\" of relation \"" + commands.draft.table().name +
         "\"";
}

bool cascades(const Json& command) {
  return text(command, "behavior") == "DROP_CASCADE";
}

Status add_column(Commands& commands, const Json& command) {
  Definition& definition = commands.draft.definition();
  const Json& body = *node(*find(command, "def")).body;
  const std::string_view name = text(body, "colname");
  if (definition.find(name) != nullptr) {
    std::string exists = of_relation(commands, "column", name) + " already exists";
    if (!flag(command, "missing_ok")) return Status(ErrorCode::duplicate_column, std::move(exists));
    commands.notices.push_back({"42701", std::move(exists) + ", skipping"});
    return {};
  }
  const bool had_key = definition.has_key;
  NAMDB_SQL_CHECK(bind_column_definition(commands.binder, body, definition));
  NAMDB_SQL_CHECK(commands.draft.add_value());
  return definition.has_key && !had_key ? commands.draft.use_key() : Status();
}

Status drop_column(Commands& commands, const Json& command) {
  const std::string_view name = text(command, "name");
  if (flag(command, "missing_ok") && !commands.draft.column(name).ok()) {
    commands.notices.push_back(
        {"00000", of_relation(commands, "column", name) + " does not exist, skipping"});
    return {};
  }
  return commands.draft.drop_column(name, cascades(command));
}

Status set_column_default(Commands& commands, const Json& command) {
  NAMDB_SQL_ASSIGN(layout::Column* const column, commands.draft.column(text(command, "name")));
  const auto filled = sequence_default_of(*column);
  if (filled && filled->is_identity()) {
    return Status(ErrorCode::syntax_error,
                  of_relation(commands, "column", column->name) + " is an identity column");
  }
  if (is_generated(*column)) {
    return Status(
        ErrorCode::syntax_error, of_relation(commands, "column", column->name) + " is a generated column",
        find(command, "def") != nullptr ? ""
                                        : "Use ALTER TABLE ... ALTER COLUMN ... DROP EXPRESSION instead.");
  }
  // A column that owns a sequence goes on to do so, whatever its default is.
  const std::optional<SequenceDefault> owned = owned_sequence_of(*column);
  column->default_text.reset();
  if (owned) column->default_text = sequence_default_text({owned->name, SequenceDefault::Kind::owned});
  const Json* const value = find(command, "def");
  if (value == nullptr) return {};
  NAMDB_SQL_CHECK(set_default(commands.binder, *column, *value));
  const std::optional<SequenceDefault> still = owned_sequence_of(*column);
  if (owned && (!still || still->name != owned->name))
    return unsupported("another DEFAULT of a column that owns a sequence");
  return {};
}

Status add_identity_to(Commands& commands, const Json& command) {
  NAMDB_SQL_ASSIGN(layout::Column* const column, commands.draft.column(text(command, "name")));
  const auto refused = [&](std::string_view why) {
    return Status(ErrorCode::object_not_in_prerequisite_state,
                  of_relation(commands, "column", column->name) + " " + std::string(why));
  };
  if (!column->not_null) return refused("must be declared NOT NULL before identity can be added");
  const auto filled = sequence_default_of(*column);
  if (filled && filled->is_identity()) return refused("is already an identity column");
  if (is_generated(*column)) return refused("is a generated column");
  if (has_default(*column)) return refused("already has a default value");
  if (owned_sequence_of(*column)) return unsupported("IDENTITY of a column that owns a sequence");
  return add_identity(*column, *node(*find(command, "def")).body, commands.draft.definition());
}

Status drop_identity(Commands& commands, const Json& command) {
  NAMDB_SQL_ASSIGN(layout::Column* const column, commands.draft.column(text(command, "name")));
  const auto filled = sequence_default_of(*column);
  if (!filled || !filled->is_identity()) {
    std::string message = of_relation(commands, "column", column->name) + " is not an identity column";
    if (!flag(command, "missing_ok"))
      return Status(ErrorCode::object_not_in_prerequisite_state, std::move(message));
    commands.notices.push_back({"00000", std::move(message) + ", skipping"});
    return {};
  }
  column->default_text.reset();
  return {};
}

Status drop_expression(Commands& commands, const Json& command) {
  NAMDB_SQL_ASSIGN(layout::Column* const column, commands.draft.column(text(command, "name")));
  if (is_generated(*column)) return commands.draft.drop_expression(column->name);
  std::string message = of_relation(commands, "column", column->name) + " is not a stored generated column";
  if (!flag(command, "missing_ok"))
    return Status(ErrorCode::object_not_in_prerequisite_state, std::move(message));
  commands.notices.push_back({"00000", std::move(message) + ", skipping"});
  return {};
}

Status add_constraint(Commands& commands, const Json& command) {
  Definition& definition = commands.draft.definition();
  const Json& body = *node(*find(command, "def")).body;
  const std::string_view name = text(body, "conname");
  if (!name.empty() && commands.draft.has_constraint(name)) {
    return Status(ErrorCode::duplicate_object, "constraint \"" + std::string(name) + "\" for relation \"" +
                                                   definition.table + "\" already exists");
  }
  if (!text(body, "indexname").empty()) return unsupported("a constraint USING INDEX");
  const bool had_key = definition.has_key;
  NAMDB_SQL_CHECK(bind_table_constraint(body, definition));
  return definition.has_key && !had_key ? commands.draft.use_key() : Status();
}

Status drop_constraint(Commands& commands, const Json& command) {
  const std::string_view name = text(command, "name");
  NAMDB_SQL_ASSIGN(const bool dropped, commands.draft.drop_constraint(name, cascades(command)));
  if (dropped) return {};
  std::string missing = of_relation(commands, "constraint", name) + " does not exist";
  if (!flag(command, "missing_ok")) return Status(ErrorCode::undefined_object, std::move(missing));
  commands.notices.push_back({"00000", std::move(missing) + ", skipping"});
  return {};
}

Status set_type(Commands& commands, const Json& command) {
  return commands.draft.set_type(*node(*find(command, "def")).body, text(command, "name"));
}

Status set_not_null(Commands& commands, const Json& command) {
  return commands.draft.set_not_null(text(command, "name"));
}

Status drop_not_null(Commands& commands, const Json& command) {
  return commands.draft.drop_not_null(text(command, "name"));
}

Status validate_constraint(Commands& commands, const Json& command) {
  const std::string_view name = text(command, "name");
  if (commands.draft.validate_constraint(name)) return {};
  return Status(ErrorCode::undefined_object, of_relation(commands, "constraint", name) + " does not exist");
}

struct Command {
  std::string_view kind;
  Status (*run)(Commands& commands, const Json& command);
};
constexpr std::array kCommands = {Command{"AT_AddColumn", add_column},
                                  Command{"AT_DropColumn", drop_column},
                                  Command{"AT_ColumnDefault", set_column_default},
                                  Command{"AT_AddIdentity", add_identity_to},
                                  Command{"AT_DropIdentity", drop_identity},
                                  Command{"AT_DropExpression", drop_expression},
                                  Command{"AT_SetNotNull", set_not_null},
                                  Command{"AT_DropNotNull", drop_not_null},
                                  Command{"AT_AlterColumnType", set_type},
                                  Command{"AT_AddConstraint", add_constraint},
                                  Command{"AT_DropConstraint", drop_constraint},
                                  Command{"AT_ValidateConstraint", validate_constraint}};

// "SET STATISTICS" of AT_SetStatistics.
std::string shown_command(std::string_view kind) {
  if (kind.starts_with("AT_")) kind.remove_prefix(3);
  std::string shown = "ALTER TABLE ...";
  for (const char c : kind) {
    if (c >= 'A' && c <= 'Z') shown += ' ';
    shown += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return shown;
}

Status run_command(Commands& commands, const Json& command) {
  const std::string_view kind = text(command, "subtype");
  for (const Command& known : kCommands) {
    if (known.kind != kind) continue;
    NAMDB_SQL_CHECK(only(command, "ALTER TABLE", {"subtype", "name", "def", "behavior", "missing_ok"}));
    return known.run(commands, command);
  }
  return unsupported(shown_command(kind));
}

}  // namespace

Result<Plan> bind_alter_table(StatementBinder& binder, const Json& body) {
  NAMDB_SQL_CHECK(only(body, "ALTER TABLE", {"relation", "cmds", "objtype", "missing_ok"}));
  NAMDB_SQL_ASSIGN(std::optional<Plan> owner, bind_relation_owner(binder, body));
  if (owner) return *std::move(owner);
  if (text(body, "objtype") != "OBJECT_TABLE") return unsupported("ALTER of this kind of relation");
  Plan plan;
  plan.tag = "ALTER TABLE";
  Result<storage::TableRef> table = bind_changed_table(binder, *find(body, "relation"));
  if (!table.ok()) {
    if (!flag(body, "missing_ok") || table.status().code() != ErrorCode::undefined_table)
      return table.status();
    AlterTablePlan nothing;
    nothing.notices.push_back({"00000", table.status().message() + ", skipping"});
    plan.body = std::move(nothing);
    return plan;
  }
  NAMDB_SQL_ASSIGN(TableDraft draft, TableDraft::of(binder, std::move(table).value()));
  std::vector<AlterTablePlan::Notice> notices;
  Commands commands{binder, draft, notices};
  for (const Json& item : list(body, "cmds")) NAMDB_SQL_CHECK(run_command(commands, *node(item).body));
  const std::vector<std::string> cascaded = draft.cascaded();
  NAMDB_SQL_ASSIGN(AlterTablePlan alter, std::move(draft).finish());
  if (cascaded.size() == 1) notices.push_back({"00000", "drop cascades to " + cascaded.front()});
  if (cascaded.size() > 1)
    notices.push_back({"00000", "drop cascades to " + std::to_string(cascaded.size()) + " other objects"});
  alter.notices = std::move(notices);
  plan.body = std::move(alter);
  return plan;
}

}  // namespace namdb::sql
