#include "tools/namsql/catalog_view.h"

#include <algorithm>
#include <utility>

#include "tools/namsql/backslash_command.h"
#include "tools/namsql/operation_counts.h"
#include "tools/namsql/text.h"

namespace namdb::namsql {
namespace {

using Rows = std::vector<std::vector<Cell>>;

std::string matches(std::string_view column, std::string_view pattern) {
  return concat(column, " ~ ", quoted_literal(pattern_expression(pattern)));
}

// The relations of clients, as `\d` shows them; those of the server only where a pattern names them.
std::string relations(std::string_view kinds, bool with_table, const std::optional<std::string>& pattern) {
  return concat(
      "SELECT n.nspname AS \"Schema\", c.relname AS \"Name\", CASE c.relkind WHEN 'r' THEN 'table' WHEN 'p' "
      "THEN "
      "'partitioned table' WHEN 'v' THEN 'view' WHEN 'i' THEN 'index' WHEN 'S' THEN 'sequence' END AS "
      "\"Type\", "
      "pg_catalog.pg_get_userbyid(c.relowner) AS \"Owner\"",
      with_table ? ", t.relname AS \"Table\"" : "",
      " FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace",
      with_table ? " LEFT JOIN pg_catalog.pg_index i ON i.indexrelid = c.oid"
                   " LEFT JOIN pg_catalog.pg_class t ON t.oid = i.indrelid"
                 : "",
      " WHERE c.relkind IN (", kinds, ") AND ",
      pattern ? matches("c.relname", *pattern) : "n.nspname NOT IN ('pg_catalog', 'information_schema')",
      " ORDER BY 1, 2");
}

std::string text_of(const Cell& cell) {
  return cell.value_or("");
}

// Views of the server that its catalogs do not list.
struct ServerView {
  const char* name;
  const char* columns;
};
constexpr ServerView kServerViews[] = {
    {"namdb_statistics", "name metric value"},
    {"namdb_fabric", "worker memory_server name text amount"},
    {"namdb_tables", "schema_name table_name table_id size_hint row_bytes partition_columns"},
    {"namdb_columns",
     "schema_name table_name column_name position data_type not_null column_default key_position"},
    {"namdb_procedures", "schema_name procedure_name definition"},
    {"namdb_indexes",
     "schema_name table_name index_name index_id is_unique is_constraint is_ready columns method parts"},
    {"pg_stat_activity",
     "datname pid usename application_name client_addr client_port backend_start xact_start query_start "
     "state_change wait_event_type wait_event state query backend_type"},
};

class Describer {
 public:
  explicit Describer(Connection& connection) : connection_(connection) {}

  std::optional<std::vector<ResultTable>> describe(std::string_view pattern) {
    const auto found = connection_.ask(
        concat("SELECT c.oid, n.nspname, c.relname, c.relkind FROM pg_catalog.pg_class c JOIN "
               "pg_catalog.pg_namespace "
               "n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'p', 'v', 'i', 'S') AND ",
               matches("c.relname", pattern), " ORDER BY 2, 3"));
    if (!found) return std::nullopt;
    std::vector<ResultTable> tables;
    for (const auto& row : found->rows) {
      const std::string oid = quoted_literal(text_of(row[0]));
      const std::string name = concat(text_of(row[1]), ".", text_of(row[2]));
      const std::string kind = text_of(row[3]);
      ResultTable table;
      const bool read = kind == "i"   ? index(oid, name, table)
                        : kind == "S" ? sequence(oid, name, table)
                                      : relation(oid, name, kind, table);
      if (!read) return std::nullopt;
      table.counts_rows = false;
      tables.push_back(std::move(table));
    }
    return tables;
  }

 private:
  bool take(const std::string& statement, Rows& rows) {
    auto read = connection_.ask(statement);
    if (!read) return false;
    rows = std::move(read->rows);
    return true;
  }

  bool relation(const std::string& oid, const std::string& name, const std::string& kind,
                ResultTable& table) {
    table.title = concat(kind == "v" ? "View" : "Table", " \"", name, "\"");
    for (const char* column : {"Column", "Type", "Collation", "Nullable", "Default"})
      table.columns.push_back({column});
    if (!take(concat("SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), '', "
                     "CASE WHEN a.attnotnull THEN 'not null' ELSE '' END, "
                     "(SELECT pg_catalog.pg_get_expr(d.adbin, d.adrelid, true) FROM pg_catalog.pg_attrdef d "
                     "WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum AND a.atthasdef), a.attidentity "
                     "FROM pg_catalog.pg_attribute a WHERE a.attrelid = ",
                     oid, " AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum"),
              table.rows))
      return false;
    for (auto& row : table.rows) {
      const std::string identity = text_of(row.back());
      row.pop_back();
      if (identity == "a") row.back() = "generated always as identity";
      if (identity == "d") row.back() = "generated by default as identity";
    }
    Rows indexes;
    Rows checks;
    if (!take(concat("SELECT x.relname, i.indisprimary, i.indisunique, i.indisvalid, "
                     "pg_catalog.pg_get_indexdef(i.indexrelid, 0, true), k.contype "
                     "FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid "
                     "LEFT JOIN pg_catalog.pg_constraint k ON k.conrelid = i.indrelid AND k.conindid = "
                     "i.indexrelid "
                     "AND k.contype IN ('p', 'u') WHERE i.indrelid = ",
                     oid, " ORDER BY i.indisprimary DESC, x.relname"),
              indexes) ||
        !take(concat("SELECT k.conname, pg_catalog.pg_get_constraintdef(k.oid, true) FROM "
                     "pg_catalog.pg_constraint k "
                     "WHERE k.contype = 'c' AND k.conrelid = ",
                     oid, " ORDER BY 1"),
              checks))
      return false;
    if (!indexes.empty()) table.footers.emplace_back("Indexes:");
    for (const auto& row : indexes) {
      std::string line = concat("    \"", text_of(row[0]), "\"");
      if (row[1] == "t") {
        line += " PRIMARY KEY,";
      } else if (row[2] == "t") {
        line += row[5] == "u" ? " UNIQUE CONSTRAINT," : " UNIQUE,";
      }
      // The definition from its method on: btree (id).
      const std::string definition = text_of(row[4]);
      const std::size_t method = definition.find(" USING ");
      line += concat(" ", method == std::string::npos ? definition : definition.substr(method + 7));
      table.footers.push_back(line + (row[3] == "t" ? "" : " INVALID"));
    }
    if (!checks.empty()) table.footers.emplace_back("Check constraints:");
    for (const auto& row : checks)
      table.footers.push_back(concat("    \"", text_of(row[0]), "\" ", text_of(row[1])));
    return kind == "v" || foreign_keys(oid, table);
  }

  // Those of the table, and those that reference it.
  bool foreign_keys(const std::string& oid, ResultTable& table) {
    Rows own;
    Rows others;
    if (!take(concat("SELECT k.conname, pg_catalog.pg_get_constraintdef(k.oid, true) FROM "
                     "pg_catalog.pg_constraint k WHERE k.contype = 'f' AND k.conrelid = ",
                     oid, " ORDER BY 1"),
              own) ||
        !take(concat("SELECT k.conname, pg_catalog.pg_get_constraintdef(k.oid, true), "
                     "CAST(CAST(k.conrelid AS pg_catalog.regclass) AS text) FROM pg_catalog.pg_constraint k "
                     "WHERE k.contype = 'f' AND k.confrelid = ",
                     oid, " ORDER BY 1"),
              others))
      return false;
    if (!own.empty()) table.footers.emplace_back("Foreign-key constraints:");
    for (const auto& row : own)
      table.footers.push_back(concat("    \"", text_of(row[0]), "\" ", text_of(row[1])));
    if (!others.empty()) table.footers.emplace_back("Referenced by:");
    for (const auto& row : others)
      table.footers.push_back(concat("    TABLE \"", text_of(row[2]), "\" CONSTRAINT \"", text_of(row[0]),
                                     "\" ", text_of(row[1])));
    return true;
  }

  bool index(const std::string& oid, const std::string& name, ResultTable& table) {
    table.title = concat("Index \"", name, "\"");
    for (const char* column : {"Column", "Type", "Key?", "Definition"}) table.columns.push_back({column});
    Rows facts;
    if (!take(
            concat("SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), "
                   "CASE WHEN a.attnum <= i.indnkeyatts THEN 'yes' ELSE 'no' END, "
                   "pg_catalog.pg_get_indexdef(i.indexrelid, a.attnum, true) FROM pg_catalog.pg_attribute a "
                   "JOIN pg_catalog.pg_index i ON i.indexrelid = a.attrelid WHERE a.attrelid = ",
                   oid, " AND a.attnum > 0 ORDER BY a.attnum"),
            table.rows) ||
        !take(
            concat(
                "SELECT i.indisprimary, i.indisunique, i.indisvalid, m.amname, n.nspname, t.relname "
                "FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid "
                "JOIN pg_catalog.pg_am m ON m.oid = x.relam JOIN pg_catalog.pg_class t ON t.oid = i.indrelid "
                "JOIN pg_catalog.pg_namespace n ON n.oid = t.relnamespace WHERE i.indexrelid = ",
                oid),
            facts))
      return false;
    for (const auto& row : facts) {
      const std::string_view kind = row[0] == "t" ? "primary key, " : row[1] == "t" ? "unique, " : "";
      table.footers.push_back(concat(kind, text_of(row[3]), ", for table \"", text_of(row[4]), ".",
                                     text_of(row[5]), "\"", row[2] == "t" ? "" : ", invalid"));
    }
    return true;
  }

  bool sequence(const std::string& oid, const std::string& name, ResultTable& table) {
    table.title = concat("Sequence \"", name, "\"");
    table.columns = {{"Type"},
                     {"Start", ValueKind::number},
                     {"Minimum", ValueKind::number},
                     {"Maximum", ValueKind::number},
                     {"Increment", ValueKind::number},
                     {"Cycles?"},
                     {"Cache", ValueKind::number}};
    Rows owner;
    if (!take(concat("SELECT pg_catalog.format_type(seqtypid, NULL), seqstart, seqmin, seqmax, seqincrement, "
                     "CASE WHEN seqcycle THEN 'yes' ELSE 'no' END, seqcache FROM pg_catalog.pg_sequence "
                     "WHERE seqrelid = ",
                     oid),
              table.rows) ||
        !take(concat("SELECT n.nspname, t.relname, a.attname FROM pg_catalog.pg_depend d "
                     "JOIN pg_catalog.pg_class t ON t.oid = d.refobjid "
                     "JOIN pg_catalog.pg_namespace n ON n.oid = t.relnamespace "
                     "JOIN pg_catalog.pg_attribute a ON a.attrelid = t.oid AND a.attnum = d.refobjsubid "
                     "WHERE d.deptype IN ('a', 'i') AND d.objid = ",
                     oid),
              owner))
      return false;
    for (const auto& row : owner)
      table.footers.push_back(
          concat("Owned by: ", text_of(row[0]), ".", text_of(row[1]), ".", text_of(row[2])));
    return true;
  }

  Connection& connection_;
};

}  // namespace

std::optional<CatalogList> catalog_list(std::string_view command, const std::optional<std::string>& pattern) {
  if (command == "\\d")
    return CatalogList{"List of relations", relations("'r', 'p', 'v', 'S'", false, std::nullopt)};
  if (command == "\\dt") return CatalogList{"List of relations", relations("'r', 'p'", false, pattern)};
  if (command == "\\ds") return CatalogList{"List of relations", relations("'S'", false, pattern)};
  if (command == "\\di") return CatalogList{"List of relations", relations("'i'", true, pattern)};
  if (command == "\\dn")
    return CatalogList{
        "List of schemas",
        concat("SELECT n.nspname AS \"Name\", pg_catalog.pg_get_userbyid(n.nspowner) AS \"Owner\" FROM "
               "pg_catalog.pg_namespace n WHERE ",
               pattern ? matches("n.nspname", *pattern)
                       : "n.nspname NOT IN ('pg_catalog', 'information_schema')",
               " ORDER BY 1")};
  if (command == "\\du")
    return CatalogList{
        "List of roles",
        concat("SELECT r.rolname AS \"Role name\", CASE WHEN r.rolsuper THEN 'Superuser' ELSE '' END AS "
               "\"Attributes\" FROM pg_catalog.pg_roles r WHERE ",
               pattern ? matches("r.rolname", *pattern) : "r.rolname !~ '^pg_'", " ORDER BY 1"),
        false};
  if (command == "\\l")
    return CatalogList{
        "List of databases",
        "SELECT d.datname AS \"Name\", pg_catalog.pg_get_userbyid(d.datdba) AS \"Owner\", "
        "pg_catalog.pg_encoding_to_char(d.encoding) AS \"Encoding\", d.datcollate AS \"Collate\", "
        "d.datctype AS \"Ctype\" FROM pg_catalog.pg_database d ORDER BY 1"};
  return std::nullopt;
}

std::optional<std::vector<ResultTable>> describe(Connection& connection, std::string_view pattern) {
  // There is one schema: its name may stand before the dot.
  if (pattern.starts_with("public.")) pattern.remove_prefix(7);
  return Describer(connection).describe(pattern);
}

Names read_names(Connection& connection) {
  Names names;
  const auto rows_of = [&](const std::string& statement) -> Rows {
    return connection.ask(statement).value_or(ResultTable()).rows;
  };
  for (const auto& row : rows_of("SELECT table_name, column_name FROM namdb_columns ORDER BY 1, position"))
    names.columns[text_of(row[0])].push_back(text_of(row[1]));
  for (const ServerView& view : kServerViews) {
    for (const std::string& column : split_words(view.columns)) names.columns[view.name].push_back(column);
  }
  for (const auto& row : rows_of("SELECT index_name FROM namdb_indexes"))
    names.indexes.push_back(text_of(row[0]));
  for (const auto& row : rows_of("SELECT name FROM pg_catalog.pg_settings"))
    names.settings.push_back(text_of(row[0]));
  names.procedures = procedure_names(operation_counts(rows_of("SHOW namdb.statistics")));
  for (const auto& row : rows_of("SELECT procedure_name FROM namdb_procedures")) {
    if (std::ranges::find(names.procedures, text_of(row[0])) == names.procedures.end())
      names.procedures.push_back(text_of(row[0]));
  }
  return names;
}

}  // namespace namdb::namsql
