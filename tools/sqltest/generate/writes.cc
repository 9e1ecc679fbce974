#include "tools/sqltest/generate/writes.h"

#include <algorithm>

#include "tools/sqltest/generate/literals.h"

namespace namdb::sqltest {
namespace {

using Options = Expressions::Options;
constexpr std::size_t kTables = 6;

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

Tree Units::returning(const Source& source, bool aliased) {
  if (random_.chance(0.5)) return leaf("");
  if (random_.chance(0.2) && !aliased) return optional(leaf(" RETURNING *"));
  const Scope scope{{source}, nullptr};
  std::vector<Tree> items;
  for (std::uint64_t i = random_.between(1, 3); i > 0; --i)
    items.push_back(queries_.expressions().expression(pick_type(random_), scope, {1, false, false, true}));
  return optional(list_of(" RETURNING ", ", ", "", std::move(items)));
}

Tree Units::value_for(const Relation& table, const Column& column, bool may_repeat) {
  Tree tree = leaf("");
  if (table.name == "gen_pair" && contains(table.key, column.name)) {
    tree = leaf(std::to_string(random_.between(1, may_repeat ? 8 : 60)));
  } else if (column.type != "text" &&
             (contains(table.key, column.name) || contains(table.unique, column.name))) {
    tree = leaf(std::to_string(random_.between(1, random_.chance(may_repeat ? 0.5 : 0.1) ? 20 : 100000)));
    if (random_.chance(0.03)) tree = leaf("NULL");
  } else if (table.name == "gen_child" && column.name == "code") {
    tree = leaf(pick(random_, "'a' 'b' 'c' 'd' 'h' NULL 'zz'"));
  } else if (table.name == "gen_child" && column.name == "num") {
    tree = leaf(pick(random_, "0 2 4 8 10 NULL 7"));
  } else if (random_.chance(0.12)) {
    tree = leaf(random_.chance(0.5) ? "NULL" : "DEFAULT");
  } else if (random_.chance(0.25)) {
    tree = queries_.expressions().expression(column.type, {},
                                             {2, random_.chance(0.3), random_.chance(0.1), false});
  } else {
    tree = leaf(value_text(random_, column.type, random_.chance(0.7)));
  }
  tree.simplest = "NULL";
  return tree;
}

Tree Units::insert() {
  const Relation& table = relations()[random_.below(kTables)];
  std::vector<Column> columns;
  for (const Column& column : table.columns) {
    const bool key = contains(table.key, column.name) && !contains(table.given, column.name);
    if (key || random_.chance(contains(table.given, column.name) ? 0.05
                              : table.columns.size() > 10        ? 0.3
                                                                 : 0.85))
      columns.push_back(column);
  }
  if (columns.empty()) columns.push_back(table.columns.back());
  std::string names;
  for (const Column& column : columns) names += (names.empty() ? "" : ", ") + column.name;
  const Source source{table.name, table.columns};
  // The rows of a query come in any order: which one of several with the same key is inserted is not known.
  const bool from_query = random_.chance(0.2);
  const bool conflict = !table.key.empty() && table.given.empty() && !from_query && random_.chance(0.4);
  Tree rows = leaf("");
  if (from_query) {
    std::vector<std::string> types;
    for (const Column& column : columns) types.push_back(column.type);
    // Keys that come of a query are mostly there already.
    rows = queries_.query(types, nullptr, 0, false).tree;
    // The rows' order decides the numbers that they get.
    if (!table.given.empty()) rows = sequence("SELECT * FROM ({}) q LIMIT 0", {std::move(rows)});
  } else {
    std::vector<Tree> lists;
    for (std::uint64_t row = random_.chance(0.7) ? 1 : random_.between(2, 4); row > 0; --row) {
      std::vector<Tree> items;
      for (const Column& column : columns)
        items.push_back(value_for(table, column, conflict || random_.chance(0.1)));
      lists.push_back(list_of("(", ", ", ")", std::move(items), columns.size()));
    }
    rows = list_of("VALUES ", ", ", "", std::move(lists));
  }
  Tree action = leaf("");
  if (conflict) {
    std::string target;
    for (const std::string& column : table.key) target += (target.empty() ? "" : ", ") + column;
    if (random_.chance(0.4)) {
      action = optional(
          leaf(random_.chance(0.4) ? " ON CONFLICT DO NOTHING" : " ON CONFLICT (" + target + ") DO NOTHING"));
    } else {
      std::vector<Tree> sets;
      for (const Column& column : table.columns) {
        if (contains(table.key, column.name) || contains(table.unique, column.name) || !random_.chance(0.4))
          continue;
        Scope scope{{source, {"excluded", table.columns}}, nullptr};
        sets.push_back(sequence(
            column.name + " = {}",
            {queries_.expressions().expression(column.type, scope, {1, random_.chance(0.1), false, true})}));
      }
      Tree where = leaf("");
      if (random_.chance(0.3))
        where = optional(sequence(
            " WHERE {}", {queries_.expressions().condition({{source}, nullptr}, {1, false, false, true})}));
      if (!sets.empty())
        action = optional(sequence(" ON CONFLICT (" + target + ") DO UPDATE SET {}{}",
                                   {list_of("", ", ", "", std::move(sets)), std::move(where)}));
    }
  }
  return sequence("INSERT INTO " + table.name + " (" + names + ") {}{}{}",
                  {std::move(rows), std::move(action), returning(source, false)});
}

Tree Units::key_condition(const Relation& table, const std::string& alias) {
  std::vector<Tree> parts;
  for (const std::string& column : table.key) {
    const std::string value = table.name == "gen_parent" ? pick(random_, "'a' 'b' 'c' 'e' 'f'")
                              : column == "b"
                                  ? pick(random_, "0 3 6 9")
                                  : std::to_string(random_.between(1, table.name == "gen_pair" ? 6 : 30));
    parts.push_back(leaf(alias + "." + column + " = " + value));
  }
  return list_of("", " AND ", "", std::move(parts), table.key.size());
}

Tree Units::update() {
  const Relation& table = relations()[random_.below(kTables)];
  const bool aliased = random_.chance(0.3);
  const Source source{aliased ? "target" : table.name, table.columns};
  Scope scope{{source}, nullptr};
  const bool by_key = !table.key.empty() && random_.chance(0.5);
  std::vector<Tree> conditions;
  Tree from = leaf("");
  if (random_.chance(0.15)) {
    // Of the other table at most one row fits each row that changes.
    const Relation& other = relations()[0];
    scope.sources.push_back({"other", other.columns});
    from = leaf(" FROM gen_all other");
    std::string column;
    for (const Column& each : table.columns) {
      if (each.type == "int4" || each.type == "int8") column = each.name;
    }
    conditions.push_back(column.empty() ? leaf("other.id = 3")
                                        : leaf("other.id = " + source.alias + "." + column));
  }
  std::vector<Tree> sets;
  for (const Column& column : table.columns) {
    const bool alone = contains(table.key, column.name);
    if (alone || (contains(table.unique, column.name) && !by_key)) continue;
    if (!random_.chance(table.columns.size() > 10 ? 0.12 : 0.4)) continue;
    Tree value = random_.chance(0.5)
                     ? value_for(table, column, true)
                     : queries_.expressions().expression(
                           column.type, scope, {2, random_.chance(0.15), random_.chance(0.2), true});
    sets.push_back(sequence(column.name + " = {}", {std::move(value)}));
  }
  if (sets.empty()) sets.push_back(leaf(table.columns.back().name + " = NULL"));
  if (by_key) conditions.push_back(key_condition(table, source.alias));
  while (random_.chance(conditions.empty() ? 0.9 : 0.15)) {
    conditions.push_back(queries_.expressions().condition(scope, {1, false, random_.chance(0.5), true}));
    conditions.back().needs_parentheses = true;
  }
  Tree where = conditions.empty() ? leaf("") : list_of(" WHERE ", " AND ", "", std::move(conditions));
  return sequence("UPDATE " + table.name + (aliased ? " AS target" : "") + " SET {}{}{}{}",
                  {list_of("", ", ", "", std::move(sets)), std::move(from), std::move(where),
                   returning(source, aliased)});
}

Tree Units::remove() {
  const Relation& table = relations()[random_.below(kTables)];
  const Source source{table.name, table.columns};
  Scope scope{{source}, nullptr};
  std::vector<Tree> conditions;
  if (!table.key.empty() && random_.chance(0.6)) conditions.push_back(key_condition(table, table.name));
  Tree from = leaf("");
  if (random_.chance(0.1)) {
    from = leaf(" USING gen_bag other");
    scope.sources.push_back({"other", relations()[2].columns});
    conditions.push_back(leaf("other.k = 3"));
  }
  while (random_.chance(conditions.empty() ? 1.0 : 0.2)) {
    conditions.push_back(queries_.expressions().condition(scope, {1, false, random_.chance(0.5), true}));
    conditions.back().needs_parentheses = true;
  }
  const bool several = scope.sources.size() > 1;
  return sequence("DELETE FROM " + table.name + "{}{}{}",
                  {std::move(from), list_of(" WHERE ", " AND ", "", std::move(conditions)),
                   several ? leaf("") : returning(source, false)});
}

Tree Units::write_in_with() {
  const std::string rows = std::to_string(random_.between(1, 30));
  static constexpr std::string_view kForms =
      "WITH gone AS (DELETE FROM gen_bag WHERE k < {0} RETURNING k, t) SELECT count(*), max(t) FROM gone\n"
      "WITH moved AS (DELETE FROM gen_bag WHERE k = {0} RETURNING *) INSERT INTO gen_given (t, n) SELECT "
      "DISTINCT coalesce(t, ''), k FROM moved WHERE k > 5\n"
      "WITH made AS (INSERT INTO gen_pair (a, b, x) VALUES ({0}, 100, 'w') ON CONFLICT DO NOTHING RETURNING "
      "a, b) SELECT * FROM made\n"
      "WITH changed AS (UPDATE gen_all SET i4 = i4 WHERE id <= {0} RETURNING id, i4) SELECT c.id, c.i4, p.x "
      "FROM changed c LEFT JOIN gen_pair p ON p.a = c.id\n"
      "WITH source AS (SELECT id, t FROM gen_all WHERE id < {0}) UPDATE gen_bag SET t = source.t FROM source "
      "WHERE source.id = gen_bag.k RETURNING gen_bag.k, gen_bag.t\n"
      "WITH one AS (INSERT INTO gen_bag (k, t) VALUES ({0}, 'one') RETURNING k), two AS (DELETE FROM "
      "gen_pair WHERE a = {0} RETURNING a) SELECT one.k, two.a FROM one, two";
  std::string text = pick(random_, kForms);
  for (std::size_t at = text.find("{0}"); at != std::string::npos; at = text.find("{0}"))
    text.replace(at, 3, rows);
  return leaf(text);
}

Tree Units::write() {
  queries_.restart();
  const double form = random_.unit();
  if (form < 0.4) return insert();
  if (form < 0.75) return update();
  if (form < 0.93) return remove();
  return write_in_with();
}

Tree Units::mistake() {
  Tree tree = random_.chance(0.7) ? queries_.statement() : write();
  const std::uint64_t form = random_.below(5);
  const auto random_place = [&] { return tree_at(tree, random_.below(count_of(tree))); };
  if (form == 0) {
    // A word too many or too few.
    std::string text = text_of(tree);
    std::vector<std::size_t> blanks;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == ' ') blanks.push_back(i);
    }
    if (!blanks.empty()) {
      const std::size_t at = blanks[random_.below(blanks.size())];
      if (random_.chance(0.5)) {
        text.insert(at, " " + pick(random_, "SELECT FROM , ) ( WHERE AS NOT 1 x BY"));
      } else {
        text.erase(at, text.find_first_of(" ,()", at + 1) - at);
      }
    }
    return leaf(text);
  }
  for (int attempt = 0; attempt < 30; ++attempt) {
    Tree* place = random_place();
    const bool is_expression = expression_rules().contains(place->kind);
    if (!is_expression) continue;
    if (form == 1) {
      // A value of another type.
      const std::string kind = place->kind;
      *place = literal(random_, all_types()[random_.below(all_types().size())], true);
      place->kind = kind;
    } else if (form == 2) {
      *place = leaf(pick(random_, "nowhere r1.nowhere gen_all.id r99.id id t"), place->kind);
    } else if (form == 3) {
      *place = sequence(pick(random_,
                             "no_such_function({})\nlength({}, 1)\nabs({}, "
                             "{})\nsum({})\ncount(sum({}))\nlower()\n{} || 1 || {}\nsqrt('a')"),
                        {*place, leaf("1")}, place->kind);
      if (place->texts.size() == 2) place->children.pop_back();
      if (place->texts.size() == 1) place->children.clear();
    } else {
      *place = leaf(pick(random_,
                         "(SELECT 1, 2)\n(SELECT id FROM gen_all)\n(1, "
                         "2)\n*\nDEFAULT\n$1\n'x'::nosuchtype\ncurrent_time\n''::int4"),
                    place->kind);
    }
    return tree;
  }
  return leaf("SELECT * FROM no_such_table");
}

Unit Units::block() {
  Unit unit;
  unit.writes = unit.block = true;
  unit.statements.push_back(leaf("BEGIN"));
  bool savepoint = false;
  for (std::uint64_t i = random_.between(2, 6); i > 0; --i) {
    if (random_.chance(0.2)) {
      unit.statements.push_back(leaf("SAVEPOINT one"));
      savepoint = true;
    }
    unit.statements.push_back(random_.chance(0.6) ? write() : queries_.statement());
    if (savepoint && random_.chance(0.3)) {
      const bool release = random_.chance(0.3);
      unit.statements.push_back(leaf(release ? "RELEASE one" : "ROLLBACK TO one"));
      savepoint = !release;
    }
  }
  unit.statements.push_back(leaf(random_.chance(0.6) ? "COMMIT" : "ROLLBACK"));
  return unit;
}

Unit Units::next() {
  const double form = random_.unit();
  if (form < 0.03) return block();
  Unit unit;
  unit.writes = form < 0.13;
  unit.statements.push_back(form < 0.13 ? write() : form < 0.2 ? mistake() : queries_.statement());
  unit.mistaken = form >= 0.13 && form < 0.2;
  if (unit.mistaken) {
    const std::string text = text_of(unit.statements.front());
    unit.writes = text.find("INSERT") != std::string::npos || text.find("UPDATE") != std::string::npos ||
                  text.find("DELETE") != std::string::npos;
  }
  return unit;
}

}  // namespace namdb::sqltest
