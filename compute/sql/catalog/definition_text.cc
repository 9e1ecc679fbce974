#include "compute/sql/catalog/definition_text.h"

#include <algorithm>
#include <charconv>

#include "compute/sql/value/called_default.h"
#include "compute/sql/value/enumeration.h"
#include "compute/sql/value/generated_column.h"
#include "compute/sql/value/sequence_default.h"

namespace namdb::sql {
namespace {

// Words that SQL does not take as names of columns or tables, each between blanks.
constexpr std::string_view kReserved =
    " all analyse analyze and any array as asc asymmetric authorization between bigint binary bit "
    "boolean both case cast char character check coalesce collate collation column concurrently "
    "constraint create cross current_catalog current_date current_role current_schema current_time "
    "current_timestamp current_user dec decimal default deferrable desc distinct do else end "
    "except exists extract false fetch float for foreign freeze from full grant greatest group "
    "grouping having ilike in initially inner inout int integer intersect interval into is isnull "
    "join lateral leading least left like limit localtime localtimestamp national natural nchar "
    "none normalize not notnull null nullif numeric offset on only or order out outer overlaps "
    "overlay placing position precision primary real references returning right row select "
    "session_user setof similar smallint some substring symmetric table tablesample then time "
    "timestamp to trailing treat trim true union unique user using values varchar variadic verbose "
    "when where window with ";

bool is_reserved(std::string_view name) {
  return kReserved.find(" " + std::string(name) + " ") != std::string_view::npos;
}

std::string quoted(std::string_view text, char quote) {
  std::string out(1, quote);
  for (const char c : text) out.append(c == quote ? 2 : 1, c);
  return out + quote;
}

std::string column_list(const CatalogRelation& index, bool with_order, bool pretty = false) {
  std::string list;
  for (const layout::IndexColumn& column : Catalog::columns_of(index)) {
    if (!list.empty()) list += ", ";
    list += index_column_text(index.table->schema, column.column, pretty);
    if (with_order && column.descending) list += " DESC";
  }
  return "(" + list + ")";
}

std::string name_list(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + quote_identifier(name);
  return list;
}

std::string in_public(std::string_view name, bool hides_public) {
  return (hides_public ? "public." : "") + quote_identifier(name);
}

// Whether the first parenthesis is closed by the last one.
bool is_in_parentheses(std::string_view text) {
  if (!text.starts_with('(') || !text.ends_with(')')) return false;
  int depth = 0;
  char quote = 0;  // a quote in a string is doubled: it ends there and begins again
  for (const char letter : text.substr(0, text.size() - 1)) {
    if (quote != 0) {
      if (letter == quote) quote = 0;
      continue;
    }
    if (letter == '\'' || letter == '"') quote = letter;
    depth += letter == '(' ? 1 : letter == ')' ? -1 : 0;
    if (depth == 0) return false;
  }
  return true;
}

bool is_word(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
         (letter >= '0' && letter <= '9') || letter == '_';
}

// "lower(a)", and not "(a + b)" or "lower(a) = b".
bool is_call(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() && is_word(text[end])) ++end;
  return end > 0 && end < text.size() && is_in_parentheses(text.substr(end));
}

// The parts of a text that the word connects, outside of parentheses and quotes.
std::vector<std::string_view> parts_between(std::string_view text, std::string_view word) {
  std::vector<std::string_view> parts;
  int depth = 0;
  char quote = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char letter = text[i];
    if (quote != 0) {
      if (letter == quote) quote = 0;
    } else if (letter == '\'' || letter == '"') {
      quote = letter;
    } else {
      depth += letter == '(' ? 1 : letter == ')' ? -1 : 0;
    }
    if (depth != 0 || quote != 0 || !text.substr(i).starts_with(word)) continue;
    parts.push_back(text.substr(begin, i - begin));
    begin = i + word.size();
  }
  parts.push_back(text.substr(begin));
  return parts;
}

std::optional<Generation> generation_at(const layout::Schema& schema, std::uint32_t column) {
  const layout::Column& found = schema.columns()[column];
  return is_index_column(found) ? generation_of(found) : std::nullopt;
}

}  // namespace

std::string pretty_expression(std::string_view expression) {
  if (is_in_parentheses(expression)) expression = expression.substr(1, expression.size() - 2);
  for (const std::string_view word : {" AND ", " OR "}) {
    const std::vector<std::string_view> parts = parts_between(expression, word);
    if (parts.size() < 2) continue;
    std::string text;
    for (const std::string_view part : parts) {
      const bool is_bare = part.find(" AND ") == std::string_view::npos &&
                           part.find(" OR ") == std::string_view::npos &&
                           part.find(" ANY (") == std::string_view::npos;
      if (!text.empty()) text += word;
      text += is_bare ? pretty_expression(part) : std::string(part);
    }
    return text;
  }
  // "(name)::text".
  std::string text;
  for (std::size_t i = 0; i < expression.size(); ++i) {
    std::size_t end = i + 1;
    while (end < expression.size() && is_word(expression[end])) ++end;
    const bool is_name = expression[i] == '(' && end > i + 1 && expression.substr(end).starts_with(")::") &&
                         (i == 0 || !is_word(expression[i - 1]));
    if (!is_name) {
      text += expression[i];
      continue;
    }
    text += expression.substr(i + 1, end - i - 1);
    i = end;
  }
  return text;
}

std::optional<std::uint32_t> indexed_column(const layout::Schema& schema, std::uint32_t column) {
  const auto generation = generation_at(schema, column);
  if (!generation) return column;
  for (std::uint32_t i = 0; i < schema.columns().size(); ++i) {
    if (quote_identifier(schema.columns()[i].name) == generation->expression) return i;
  }
  return std::nullopt;
}

std::string index_column_text(const layout::Schema& schema, std::uint32_t column, bool pretty) {
  if (const auto own = indexed_column(schema, column)) {
    // One that is not calculated any more belongs to no index.
    return is_index_column(schema.columns()[*own]) ? "?" : quote_identifier(schema.columns()[*own].name);
  }
  const std::string expression = generation_at(schema, column)->expression;
  if (is_call(expression)) return pretty ? pretty_expression(expression) : expression;
  return "(" + (pretty ? pretty_expression(expression) : expression) + ")";
}

std::vector<std::string> index_column_names(const CatalogRelation& index) {
  const layout::Schema& schema = index.table->schema;
  std::vector<std::string> names;
  for (const layout::IndexColumn& part : Catalog::columns_of(index)) {
    const auto own = indexed_column(schema, part.column);
    std::string base = "expr";
    if (own) {
      base = schema.columns()[*own].name;
    } else if (const std::string text = index_column_text(schema, part.column, false); is_call(text)) {
      base = text.substr(0, text.find('('));
      for (char& letter : base) {
        if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
      }
    }
    std::string name = base;
    for (std::size_t i = 1; std::ranges::find(names, name) != names.end(); ++i)
      name = base + std::to_string(i);
    names.push_back(std::move(name));
  }
  return names;
}

std::string index_expressions_text(const CatalogRelation& index) {
  std::string text;
  for (const layout::IndexColumn& part : Catalog::columns_of(index)) {
    if (indexed_column(index.table->schema, part.column)) continue;
    if (!text.empty()) text += ", ";
    text += generation_at(index.table->schema, part.column)->expression;
  }
  return text;
}

std::string index_predicate_text(const CatalogRelation& index) {
  for (const layout::IndexColumn& part : Catalog::columns_of(index)) {
    const auto generation = generation_at(index.table->schema, part.column);
    if (generation && !generation->predicate.empty()) return generation->predicate;
  }
  return {};
}

std::string quoted_name(std::string_view name) {
  const bool plain = std::ranges::all_of(
      name, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; });
  const bool begins_well = !name.empty() && (name[0] < '0' || name[0] > '9');
  return plain && begins_well ? std::string(name) : quoted(name, '"');
}

std::string quote_identifier(std::string_view name) {
  return is_reserved(name) ? quoted(name, '"') : quoted_name(name);
}

std::string quote_literal(std::string_view text) {
  if (text.find('\\') == std::string_view::npos) return quoted(text, '\'');
  std::string escaped;
  for (const char c : text) escaped.append(c == '\\' ? 2 : 1, c);
  return "E" + quoted(escaped, '\'');
}

std::string shown_type_name(const Type& type, bool hides_public) {
  const bool is_stored = is_made(type.id) && hides_public;
  return (is_stored ? "public." : "") + type_name(type);
}

std::string default_text(const layout::Column& column, bool hides_public) {
  if (const auto generation = generation_of(column)) return generation->expression;
  if (const auto sequence = sequence_default_of(column))
    return "nextval(" + quote_literal(in_public(sequence->name, hides_public)) + "::regclass)";
  const std::string& text = *column.default_text;
  if (const std::optional<CalledDefault> called = called_default_of(column))
    return std::string(called->shown);
  if (enumeration_of(column) != 0) {
    const TypeId type = column_type(column).id;
    std::int64_t position = 0;
    std::from_chars(text.data(), text.data() + text.size(), position);
    return quote_literal(enumeration_label(type, position)) + "::" + shown_type_name({type}, hides_public);
  }
  if (column.type == layout::ColumnType::boolean) return text.starts_with('t') ? "true" : "false";
  const bool is_number = !column.is_string() && !tells_time(column);
  if (is_number && !text.starts_with('-') && text.find_first_not_of("0123456789.") == std::string::npos)
    return text;
  const TypeId type = column_type(column).id;
  // As a type without a length, character is bpchar.
  const std::string_view name = type == TypeId::bpchar ? internal_type_name(type) : type_name(type);
  return quote_literal(text) + "::" + std::string(name);
}

std::string index_text(const CatalogRelation& index, bool with_schema) {
  std::string text = index.is_unique_index() ? "CREATE UNIQUE INDEX " : "CREATE INDEX ";
  text += quote_identifier(index.name) + " ON ";
  if (with_schema) text += std::string(schema_name(index.schema)) + ".";
  text += quote_identifier(index.table->name) + " USING " + (index.is_hash_index() ? "hash " : "btree ");
  text += column_list(index, true, !with_schema);
  const std::string predicate = index_predicate_text(index);
  if (predicate.empty()) return text;
  return text + " WHERE " + (with_schema ? predicate : pretty_expression(predicate));
}

std::string view_text(const CatalogRelation& view) {
  return " " + view.view->query + ";";
}

std::string_view action_text(storage::ForeignKeyAction action) {
  switch (action) {
    case storage::ForeignKeyAction::restricted:
      return "RESTRICT";
    case storage::ForeignKeyAction::cascade:
      return "CASCADE";
    case storage::ForeignKeyAction::set_null:
      return "SET NULL";
    case storage::ForeignKeyAction::set_default:
      return "SET DEFAULT";
    case storage::ForeignKeyAction::no_action:
      break;
  }
  return "NO ACTION";
}

std::string constraint_text(const CatalogRelation& index, bool pretty, bool hides_public) {
  if (index.is_foreign_key()) {
    const storage::ForeignKey& key = *index.foreign_key;
    std::string text = "FOREIGN KEY (" + name_list(key.columns) + ") REFERENCES " +
                       in_public(index.referenced->name, hides_public) + "(" + name_list(key.referenced) +
                       ")";
    if (key.match_full) text += " MATCH FULL";
    if (key.on_update != storage::ForeignKeyAction::no_action)
      text += " ON UPDATE " + std::string(action_text(key.on_update));
    if (key.on_delete != storage::ForeignKeyAction::no_action)
      text += " ON DELETE " + std::string(action_text(key.on_delete));
    if (key.deferrable) text += " DEFERRABLE";
    if (key.initially_deferred) text += " INITIALLY DEFERRED";
    if (key.not_valid) text += " NOT VALID";
    return text;
  }
  if (index.is_check()) {
    const std::string& condition = index.check->expression;
    return pretty && is_in_parentheses(condition) ? "CHECK " + condition : "CHECK (" + condition + ")";
  }
  return (index.is_primary_key() ? "PRIMARY KEY " : "UNIQUE ") + column_list(index, false);
}

std::string relation_text(const CatalogRelation& relation, bool hides_public) {
  const std::string name = quote_identifier(relation.name);
  if (hides_public && relation.schema == kPublicSchemaOid) return "public." + name;
  return relation.schema == kInformationSchemaOid ? std::string(kInformationSchema) + "." + name : name;
}

}  // namespace namdb::sql
