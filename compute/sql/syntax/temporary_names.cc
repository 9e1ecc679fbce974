#include "compute/sql/syntax/temporary_names.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

namespace namdb::sql {
namespace {

bool is_plain_schema(std::string_view schema) {
  return schema.empty() || schema == kTemporarySchema;
}

class Renaming {
 public:
  Renaming(const TemporaryNames& names, std::string_view kind)
      : names_(names),
        prefix_(names.prefix()),
        gives_alias_(kind == "SelectStmt" || kind == "InsertStmt" || kind == "UpdateStmt" ||
                     kind == "DeleteStmt" || kind == "ExplainStmt" || kind == "PrepareStmt" ||
                     kind == "DeclareCursorStmt" || kind == "CopyStmt") {}

  // Whether the RangeVar, what a statement changes, names a temporary table, which it then does by the other
  // name.
  bool rename(Json& range_var) const {
    const std::string name(text(range_var, "relname"));
    if (!is_plain_schema(text(range_var, "schemaname")) || !names_.has_table(name)) return false;
    set_name(range_var, name);
    if (gives_alias_ && !range_var.contains("alias")) range_var["alias"] = {{"aliasname", name}};
    return true;
  }

  void set_name(Json& range_var, const std::string& name) const {
    range_var["relname"] = prefix_ + name;
    range_var.erase("schemaname");
    range_var["relpersistence"] = "p";
  }

  void rename_all(Json& json) {
    if (!json.is_structured()) return;
    if (json.is_object() && json.contains("relname")) {
      if (!is_common(json)) rename(json);
      return;
    }
    // Of ON CONFLICT.
    const bool names_constraint = json.is_object() && json.contains("conname") && !json.contains("contype");
    if (names_constraint && names_.has_index(text(json, "conname")))
      json["conname"] = prefix_ + std::string(text(json, "conname"));
    const std::size_t outside = common_names_.size();
    const bool has_with = json.is_object() && json.contains("withClause");
    if (has_with) rename_with(json["withClause"]);
    for (auto& [member, child] : json.items()) {
      // FOR UPDATE OF names aliases.
      if (member == "lockedRels" || (has_with && member == "withClause")) continue;
      // WITH does not hide what the statement changes.
      if (member == "relation" && child.is_object() && child.contains("relname")) {
        rename(child);
      } else {
        rename_all(child);
      }
    }
    common_names_.resize(outside);
  }

  // Names of constraints with indexes, which are relations.
  void rename_constraints(Json& json) const {
    if (!json.is_structured()) return;
    const bool is_constraint = json.is_object() && json.contains("contype") && json.contains("conname");
    if (is_constraint && has_index(text(json, "contype")))
      json["conname"] = prefix_ + std::string(text(json, "conname"));
    for (Json& child : json) rename_constraints(child);
  }

  // The foreign keys' tables.
  Status check_references(const Json& json, bool is_temporary) const {
    if (!json.is_structured()) return {};
    if (json.is_object() && json.contains("pktable")) {
      const Json& table = *find(json, "pktable");
      const bool to_temporary =
          is_plain_schema(text(table, "schemaname")) && names_.has_table(text(table, "relname"));
      if (to_temporary != is_temporary) {
        return Status(ErrorCode::invalid_table_definition,
                      is_temporary ? "constraints on temporary tables may reference only temporary tables"
                                   : "constraints on permanent tables may reference only permanent tables");
      }
    }
    for (const Json& child : json) {
      if (Status status = check_references(child, is_temporary); !status.ok()) return status;
    }
    return {};
  }

 private:
  // Each query of WITH sees the names before its own one, those of WITH RECURSIVE see all.
  void rename_with(Json& clause) {
    const bool is_recursive = flag(clause, "recursive");
    const auto name_of = [](const Json& item) { return std::string(text(*node(item).body, "ctename")); };
    for (const Json& item : list(clause, "ctes")) {
      if (is_recursive) common_names_.push_back(name_of(item));
    }
    for (Json& item : clause["ctes"]) {
      rename_all(item);
      if (!is_recursive) common_names_.push_back(name_of(item));
    }
  }

  bool is_common(const Json& range_var) const {
    return text(range_var, "schemaname").empty() &&
           std::ranges::find(common_names_, text(range_var, "relname")) != common_names_.end();
  }

  static bool has_index(std::string_view constraint) {
    return constraint == "CONSTR_PRIMARY" || constraint == "CONSTR_UNIQUE";
  }

  const TemporaryNames& names_;
  std::string prefix_;
  bool gives_alias_;
  std::vector<std::string> common_names_;  // that WITH gives where the walk is: they hide tables
};

// The objects of DROP.
void rename_dropped(Json& body, const TemporaryNames& names) {
  const std::string kind(text(body, "removeType"));
  if (kind != "OBJECT_TABLE" && kind != "OBJECT_INDEX") return;
  for (Json& item : body["objects"]) {
    if (!item.contains("List")) continue;
    Json& parts = item["List"]["items"];
    const std::string name(text(*node(parts.back()).body, "sval"));
    const std::string_view schema =
        parts.size() == 2 ? text(*node(parts[0]).body, "sval") : std::string_view();
    if (parts.size() > 2 || !is_plain_schema(schema)) continue;
    const bool is_temporary = kind == "OBJECT_TABLE" ? names.has_table(name) : names.has_index(name);
    if (!is_temporary) continue;
    parts = Json::array({{{"String", {{"sval", std::string(names.prefix()) + name}}}}});
  }
}

// Begin the names of views, of types and of tables of long values, and end the prefixes of temporary ones.
constexpr std::string_view kMarks = "\x01\x02\x1f";

// The members of syntax trees whose strings are not names.
constexpr std::array<std::string_view, 8> kTexts = {"A_Const",        "vals",    "oldVal",  "newVal",
                                                    "newValNeighbor", "comment", "payload", "filename"};

// DELIMITER of COPY, PASSWORD of CREATE ROLE, the body of CREATE FUNCTION.
bool is_text_option(const Json& option) {
  const Json* const argument = find(option, "arg");
  return argument != nullptr && (argument->contains("String") || text(option, "defname") == "as");
}

bool has_marked_name(const Json& json) {
  if (json.is_string()) return json.get_ref<const std::string&>().find_first_of(kMarks) != std::string::npos;
  if (!json.is_structured()) return false;
  const bool skips_argument = json.is_object() && json.contains("defname") && is_text_option(json);
  for (const auto& [member, child] : json.items()) {
    if (json.is_object() && std::ranges::find(kTexts, member) != kTexts.end()) continue;
    if (skips_argument && member == "arg") continue;
    if (has_marked_name(child)) return true;
  }
  return false;
}

Status refused(std::string_view construct) {
  return unsupported(std::string(construct) + " of a temporary table");
}

}  // namespace

bool makes_temporary_table(Node statement) {
  if (statement.kind != "CreateStmt") return false;
  const Json* const relation = find(*statement.body, "relation");
  return relation != nullptr &&
         (text(*relation, "relpersistence") == "t" || text(*relation, "schemaname") == kTemporarySchema);
}

Status check_names(Node statement, std::string_view text) {
  // Without such a byte, and without an escape for one, there is nothing to look for.
  if (statement.body == nullptr) return {};
  const bool may_have_marks = text.find_first_of(kMarks) != std::string_view::npos ||
                              text.find("U&") != std::string_view::npos ||
                              text.find("u&") != std::string_view::npos;
  if (!may_have_marks || !has_marked_name(*statement.body)) return {};
  return Status(ErrorCode::invalid_name, "a name must not contain the characters U+0001, U+0002 and U+001F",
                "they are in names that the server makes");
}

Result<Json> with_temporary_names(Node statement, const TemporaryNames& names) {
  Json body = *statement.body;
  Renaming renaming(names, statement.kind);
  const std::string prefix(names.prefix());
  if (statement.kind == "CreateStmt" || statement.kind == "AlterTableStmt") {
    const bool makes = makes_temporary_table(statement);
    Json& relation = body["relation"];
    const bool is_temporary =
        makes || (statement.kind == "AlterTableStmt" && is_plain_schema(text(relation, "schemaname")) &&
                  names.has_table(text(relation, "relname")));
    if (Status status = renaming.check_references(body, is_temporary); !status.ok()) return status;
    if (!is_temporary) return body;
    if (makes && !is_plain_schema(text(relation, "schemaname"))) {
      return Status(ErrorCode::invalid_table_definition,
                    "cannot create temporary relation in non-temporary schema");
    }
    const std::string name(text(relation, "relname"));
    renaming.set_name(relation, name);
    renaming.rename_constraints(body);
    renaming.rename_all(body);
    if (statement.kind == "CreateStmt") return body;
    for (Json& item : body["cmds"]) {
      Json& command = item["AlterTableCmd"];
      const std::string constraint(text(command, "name"));
      if (text(command, "subtype") == "AT_DropConstraint" && names.has_index(constraint))
        command["name"] = prefix + constraint;
    }
    return body;
  }
  if (statement.kind == "DropStmt") {
    rename_dropped(body, names);
    return body;
  }
  if (statement.kind == "IndexStmt") {
    if (renaming.rename(body["relation"]) && body.contains("idxname"))
      body["idxname"] = prefix + std::string(text(body, "idxname"));
    return body;
  }
  if (statement.kind == "RenameStmt" && body.contains("relation")) {
    const std::string kind(text(body, "renameType"));
    const bool is_index = kind == "OBJECT_INDEX" && names.has_index(text(body["relation"], "relname"));
    const bool is_renamed = renaming.rename(body["relation"]);
    if (is_index || (is_renamed && kind != "OBJECT_COLUMN")) return refused("RENAME");
    return body;
  }
  const std::string before = statement.kind == "ViewStmt" ? body.dump() : std::string();
  renaming.rename_all(body);
  if (statement.kind == "ViewStmt" && body.dump() != before) return refused("a view");
  return body;
}

}  // namespace namdb::sql
