#include "tools/sqltest/generate/queries.h"

#include <algorithm>

#include "tools/sqltest/generate/literals.h"

namespace namdb::sqltest {
namespace {

using Options = Expressions::Options;

bool can_be_ordered(const std::vector<std::string>& types) {
  return std::ranges::all_of(types, [](const std::string& type) {
    return type != "json" && std::ranges::find(comparable_types(), type) != comparable_types().end();
  });
}

Tree condition_list(std::string before, std::vector<Tree> conditions) {
  for (Tree& condition : conditions) condition.needs_parentheses = true;
  return optional(list_of(std::move(before), " AND ", "", std::move(conditions)));
}

}  // namespace

bool has_order(const Tree& statement) {
  const Tree* at = &statement;
  while (at->kind != kOrderKind) {
    if (at->children.empty()) return false;
    // An order stands last, except for its LIMIT.
    at = at->children.front().kind == kOrderKind ? &at->children.front() : &at->children.back();
  }
  return true;
}

Queries::Queries(Random& random)
    : random_(random), expressions_(random, [this](const std::string& type, const Scope& scope) {
        return subquery(type, scope);
      }) {}

std::string Queries::new_alias(std::string_view prefix) {
  return std::string(prefix) + std::to_string(++aliases_);
}

Source Queries::source_of(const Relation& relation) {
  return {new_alias("r"), relation.columns};
}

std::vector<std::string> Queries::some_types(std::size_t most) {
  std::vector<std::string> types(1 + random_.below(most));
  for (std::string& type : types) type = pick_type(random_);
  return types;
}

Tree Queries::order_of(const std::vector<std::string>& names, bool with_limit) {
  std::vector<Tree> items;
  for (const std::string& name : names) {
    items.push_back(leaf(name + (random_.chance(0.3) ? " DESC" : "") +
                         (random_.chance(0.15)   ? " NULLS FIRST"
                          : random_.chance(0.15) ? " NULLS LAST"
                                                 : "")));
  }
  Tree order = list_of(" ORDER BY ", ", ", "", std::move(items), names.size());
  order.kind = kOrderKind;
  if (!with_limit) return optional(std::move(order));
  Tree limit = optional(leaf(" LIMIT " + pick(random_, "1 2 3 5 10 0 100")));
  Tree offset = random_.chance(0.3) ? optional(leaf(" OFFSET " + pick(random_, "1 2 7 0"))) : leaf("");
  return optional(sequence("{}{}{}", {std::move(order), std::move(limit), std::move(offset)}));
}

Tree Queries::order_by_all(const std::vector<std::string>& types, bool limit) {
  if (!can_be_ordered(types) || !random_.chance(0.5)) return leaf("");
  std::vector<std::string> ordinals;
  for (std::size_t i = 0; i < types.size(); ++i) ordinals.push_back(std::to_string(i + 1));
  return order_of(ordinals, limit && random_.chance(0.4));
}

Tree Queries::item(Scope& scope, std::vector<std::string>& order, int depth, bool only_table, bool small) {
  const auto add_key = [&](const Source& source, const std::vector<std::string>& key) {
    if (key.empty()) {
      order.assign(1, "");  // no order is total any more
    } else if (order.empty() || !order.front().empty()) {
      for (const std::string& column : key) order.push_back(source.alias + "." + column);
    }
  };
  if (!only_table && depth > 0 && random_.chance(0.15)) {
    Query inner = query(some_types(3), nullptr, depth - 1, true);
    Source source{new_alias("q"), inner.columns};
    std::string names;
    for (Column& column : source.columns) {
      column.name = new_alias("c");
      names += (names.empty() ? "" : ", ") + column.name;
    }
    Tree tree = sequence("({}) AS " + source.alias + " (" + names + ")", {std::move(inner.tree)});
    add_key(source, {});
    scope.sources.push_back(std::move(source));
    return tree;
  }
  if (!only_table && random_.chance(small ? 0.4 : 0.08)) {
    Source source{new_alias("f"), {}};
    std::string text =
        pick(random_,
             "generate_series(1, 4)\ngenerate_series(10, 1, -3)\ngen_upto(3)\nunnest('{3,1,2}'::int[])\n"
             "generate_series(5, 4)\nunnest('{a,b,NULL}'::text[])");
    source.columns = {{"v", text.find("text") != std::string::npos ? "text" : "int4"}};
    add_key(source, text.find("NULL") == std::string::npos ? std::vector<std::string>{"v"}
                                                           : std::vector<std::string>{});
    Tree tree = leaf(text + " AS " + source.alias + " (v)");
    scope.sources.push_back(std::move(source));
    return tree;
  }
  const std::vector<Relation>& all = relations();
  const bool named = !named_.empty() && random_.chance(0.6);
  const Relation& relation = named                 ? named_[random_.below(named_.size())]
                             : random_.chance(0.3) ? all.front()
                                                   : all[random_.below(only_table ? 6 : all.size())];
  Source source = source_of(relation);
  add_key(source, relation.key);
  Tree tree = leaf(relation.name + " " + (random_.chance(0.5) ? "AS " : "") + source.alias);
  scope.sources.push_back(std::move(source));
  return tree;
}

Tree Queries::join_condition(const Scope& scope, std::size_t left_sources) {
  // Columns of one type on both sides.
  std::vector<std::string> equalities;
  const Source& right = scope.sources.back();
  for (std::size_t i = 0; i < left_sources; ++i) {
    for (const Column& left : scope.sources[i].columns) {
      for (const Column& column : right.columns) {
        if (column.type != left.type || !can_be_ordered({left.type})) continue;
        const std::string text =
            scope.sources[i].alias + "." + left.name + " = " + right.alias + "." + column.name;
        equalities.insert(equalities.end(), left.type == "int4" ? 4 : 1, text);
      }
    }
  }
  std::vector<Tree> parts;
  if (!equalities.empty()) parts.push_back(leaf(equalities[random_.below(equalities.size())]));
  if (equalities.empty() || random_.chance(0.25))
    parts.push_back(expressions_.condition(scope, {1, false, false, true}));
  if (parts.size() > 1) parts.back().needs_parentheses = true;
  return list_of("", " AND ", "", std::move(parts));
}

Queries::From Queries::from(Scope& scope, int depth) {
  From from;
  const std::uint64_t count = random_.chance(0.6) ? 1 : random_.between(2, 3);
  Tree first = item(scope, from.order, depth, false, false);
  std::vector<Tree> items;
  Tree joined = std::move(first);
  for (std::uint64_t i = 1; i < count; ++i) {
    const std::size_t left = scope.sources.size();
    const std::uint64_t form = random_.below(10);
    if (form < 2) {
      // The comma: the condition stands in WHERE.
      Tree right = item(scope, from.order, depth, false, false);
      Tree condition = join_condition(scope, left);
      items.push_back(std::move(joined));
      joined = std::move(right);
      condition.needs_parentheses = true;
      from.conditions.push_back(std::move(condition));
    } else if (form < 3) {
      Tree right = item(scope, from.order, depth, false, true);
      joined = sequence("{} CROSS JOIN {}", {std::move(joined), std::move(right)});
    } else {
      const bool outer = form >= 6;
      Tree right = item(scope, from.order, depth, outer, false);
      // Names of tables before a comma are not in sight of ON.
      Scope visible;
      for (std::size_t at = items.size(); at < scope.sources.size(); ++at)
        visible.sources.push_back(scope.sources[at]);
      Tree condition = join_condition(visible, visible.sources.size() - 1);
      const std::string_view format = form == 9 && i == 1 && random_.chance(0.3) ? "{} FULL JOIN {} ON {}"
                                      : outer                                    ? "{} LEFT JOIN {} ON {}"
                                                                                 : "{} JOIN {} ON {}";
      joined = sequence(format, {std::move(joined), std::move(right), std::move(condition)});
    }
  }
  items.push_back(std::move(joined));
  from.tree = list_of(" FROM ", ", ", "", std::move(items), items.size());
  from.tree.least = from.tree.children.size();
  if (!from.order.empty() && from.order.front().empty()) from.order.clear();
  return from;
}

Query Queries::select(const std::vector<std::string>& types, const Scope* outer, int depth, bool limit) {
  Scope scope;
  scope.outer = outer;
  From source = from(scope, depth);
  const bool distinct = can_be_ordered(types) && random_.chance(0.1);
  Query query;
  std::vector<Tree> items;
  const bool one_source = scope.sources.size() == 1;
  const Options options{one_source ? 3 : 2, one_source && random_.chance(0.25), true, false};
  for (const std::string& type : types) {
    Tree item = expressions_.expression(type, scope, options);
    std::string name;
    if (random_.chance(0.3)) {
      name = new_alias("n");
      item = sequence("{} AS " + name, {std::move(item)});
    }
    query.columns.push_back({name, type});
    items.push_back(std::move(item));
  }
  std::vector<Tree> conditions = std::move(source.conditions);
  while (random_.chance(conditions.empty() ? 0.65 : 0.3))
    conditions.push_back(expressions_.condition(scope, {2, false, true, random_.chance(0.7)}));
  Tree order = leaf("");
  if (random_.chance(0.4)) {
    if (!source.order.empty() && !distinct) {
      // Something before the key, which decides in the end.
      std::vector<std::string> names = source.order;
      const std::vector<std::string> first = columns_of(random_, scope, pick_type(random_));
      if (!first.empty() && random_.chance(0.5)) {
        const std::string& name = first[random_.below(first.size())];
        if (name.find(".js") == std::string::npos && name.find('.') != std::string::npos)
          names.insert(names.begin(), name);
      }
      order = order_of(names, limit && random_.chance(0.5));
    } else {
      order = order_by_all(types, limit);
    }
  }
  const std::size_t least = items.size();
  query.tree =
      sequence(distinct ? "SELECT DISTINCT {}{}{}{}" : "SELECT {}{}{}{}",
               {list_of("", ", ", "", std::move(items), outer == nullptr && limit ? 1 : least),
                std::move(source.tree), condition_list(" WHERE ", std::move(conditions)), std::move(order)});
  return query;
}

Query Queries::grouped(const std::vector<std::string>& types, const Scope* outer, int depth, bool limit) {
  Scope scope;
  scope.outer = outer;
  From source = from(scope, depth);
  std::vector<Tree> groups;
  Scope seen;  // what stands outside of aggregates: the groups' expressions, as if they were columns
  seen.sources.push_back({"", {}});
  std::vector<std::pair<std::string, std::string>> texts;  // type, text
  for (std::uint64_t i = random_.below(3); i > 0; --i) {
    const std::string type = comparable_types()[random_.below(comparable_types().size())];
    const std::vector<std::string> names = columns_of(random_, {scope.sources, nullptr}, type);
    std::string text =
        names.empty() || random_.chance(0.2)
            ? text_of(expressions_.expression(type, {scope.sources, nullptr}, {1, false, false, true}))
            : names[random_.below(names.size())];
    // A constant in GROUP BY is a column's number, or an error.
    if (text.find('.') == std::string::npos || text.find("r") == std::string::npos) continue;
    texts.emplace_back(type, text);
    groups.push_back(leaf(text));
  }
  Query query;
  std::vector<Tree> items;
  for (const std::string& wanted : types) {
    std::string type = wanted;
    Tree item = leaf("");
    const auto group = std::ranges::find(texts, type, &std::pair<std::string, std::string>::first);
    if (group != texts.end() && random_.chance(0.7)) {
      item = leaf(group->second);
    } else {
      item = expressions_.aggregate(type, {scope.sources, nullptr}, {1, false, false, true});
      if (type == "numeric" && random_.chance(0.3)) item = sequence("round({}, 2)", {std::move(item)});
    }
    query.columns.push_back({"", type});
    items.push_back(std::move(item));
  }
  std::vector<Tree> conditions = std::move(source.conditions);
  while (random_.chance(conditions.empty() ? 0.5 : 0.2))
    conditions.push_back(expressions_.condition(scope, {1, false, depth > 0, true}));
  Tree having = leaf("");
  if (random_.chance(0.2)) {
    std::string type = "int8";
    having = optional(sequence(
        " HAVING {} > {}", {expressions_.aggregate(type, {scope.sources, nullptr}, {1, false, false, true}),
                            leaf(pick(random_, "0 1 2 3 5"))}));
  }
  Tree by = groups.empty() ? leaf("") : list_of(" GROUP BY ", ", ", "", std::move(groups), texts.size());
  query.tree = sequence("SELECT {}{}{}{}{}{}",
                        {list_of("", ", ", "", std::move(items), types.size()), std::move(source.tree),
                         condition_list(" WHERE ", std::move(conditions)), std::move(by), std::move(having),
                         order_by_all(types, limit)});
  return query;
}

Query Queries::set_operation(const std::vector<std::string>& types, const Scope* outer, int depth,
                             bool limit) {
  std::string word = pick(random_, "UNION\nUNION ALL\nINTERSECT\nEXCEPT\nUNION\nINTERSECT ALL\nEXCEPT ALL");
  if (!can_be_ordered(types)) word = "UNION ALL";
  Query left = query(types, outer, depth - 1, false);
  Query right = query(types, outer, depth - 1, false);
  left.tree = sequence("({}) " + word + " ({}){}",
                       {std::move(left.tree), std::move(right.tree), order_by_all(types, limit)});
  return left;
}

Query Queries::values(const std::vector<std::string>& types, const Scope* outer) {
  Query query;
  for (const std::string& type : types) query.columns.push_back({"", type});
  const Scope nothing{{}, outer};
  std::vector<Tree> rows;
  for (std::uint64_t row = random_.between(1, 3); row > 0; --row) {
    std::vector<Tree> items;
    for (const std::string& type : types)
      items.push_back(expressions_.expression(type, nothing, {1, false, false, false}));
    const std::size_t least = items.size();
    rows.push_back(list_of("(", ", ", ")", std::move(items), least));
  }
  query.tree = list_of("VALUES ", ", ", "", std::move(rows));
  return query;
}

Query Queries::query(const std::vector<std::string>& types, const Scope* outer, int depth, bool limit) {
  Query made;
  const double form = random_.unit();
  if (depth > 0 && form < 0.12) {
    made = set_operation(types, outer, depth, limit);
  } else if (form < 0.17) {
    made = values(types, outer);
  } else if (form < 0.37) {
    made = grouped(types, outer, depth, limit);
  } else {
    made = select(types, outer, depth, limit);
  }
  made.tree.kind = "query";
  return made;
}

Tree Queries::subquery(const std::string& type, const Scope& scope) {
  const std::string value = pick_type(random_);
  if (type == "bool" && random_.chance(0.9)) {
    const std::uint64_t form = random_.below(6);
    if (form < 2) {
      Query inner = query({"int4"}, &scope, 0, false);
      return sequence(form == 0 ? "EXISTS ({})" : "NOT EXISTS ({})", {std::move(inner.tree)});
    }
    const std::string compared =
        std::ranges::find(comparable_types(), value) == comparable_types().end() ? "int4" : value;
    Tree left = expressions_.expression(compared, scope, {1, false, false, true});
    Query inner = query({compared}, random_.chance(0.5) ? &scope : nullptr, 0, false);
    static constexpr std::string_view kForms =
        "{} IN ({})\n{} NOT IN ({})\n{} = ANY ({})\n{} < ALL ({})\n{} >= SOME ({})\n{} <> ALL ({})";
    left.needs_parentheses = true;
    Tree tree = sequence(pick(random_, kForms), {std::move(left), std::move(inner.tree)});
    tree.needs_parentheses = true;
    return tree;
  }
  // One row: an aggregate, one that a key finds, or the first one.
  const std::uint64_t form = random_.below(3);
  if (form == 0) {
    std::string aggregate = type;
    Scope inner{{}, &scope};
    const Relation& relation = relations()[random_.below(6)];
    inner.sources.push_back(source_of(relation));
    Tree from_tree = leaf(" FROM " + relation.name + " " + inner.sources.front().alias);
    Tree item = expressions_.aggregate(aggregate, {inner.sources, nullptr}, {1, false, false, true});
    Tree where = condition_list(" WHERE ", {expressions_.condition(inner, {1, false, false, true})});
    return sequence("(SELECT {}{}{})", {std::move(item), std::move(from_tree), std::move(where)});
  }
  Scope inner{{}, &scope};
  const Relation& relation = relations().front();
  inner.sources.push_back(source_of(relation));
  const std::string& alias = inner.sources.front().alias;
  Tree item = expressions_.expression(type, inner, {1, false, false, true});
  Tree id = expressions_.expression("int4", {{}, &scope}, {0, false, false, true});
  if (form == 1)
    return sequence("(SELECT {} FROM gen_all " + alias + " WHERE " + alias + ".id = {})",
                    {std::move(item), std::move(id)});
  return sequence(
      "(SELECT {} FROM gen_all " + alias + " WHERE " + alias + ".id > {} ORDER BY " + alias + ".id LIMIT 1)",
      {std::move(item), std::move(id)});
}

Tree Queries::values_of_one_row() {
  Scope scope;
  Tree source = leaf("");
  if (random_.chance(0.4)) {
    const Relation& relation = relations().front();
    scope.sources.push_back({"r", relation.columns});
    source = optional(leaf(" FROM gen_all r WHERE r.id = " + std::to_string(random_.between(1, 30))));
  }
  std::vector<Tree> items;
  for (const std::string& type : some_types(4))
    items.push_back(
        expressions_.expression(type, scope, {static_cast<int>(random_.between(1, 4)), true, false, false}));
  return sequence("SELECT {}{}", {list_of("", ", ", "", std::move(items)), std::move(source)});
}

Tree Queries::with_statement() {
  const std::vector<std::string> types = some_types(3);
  Query inner = query(types, nullptr, 1, true);
  Relation named{new_alias("w"), {}, {}, {}, {}, false};
  std::string names;
  for (const Column& column : inner.columns) {
    named.columns.push_back({new_alias("c"), column.type});
    names += (names.empty() ? "" : ", ") + named.columns.back().name;
  }
  const std::string name = named.name;
  named_.push_back(std::move(named));
  Query outer = query(some_types(4), nullptr, 1, true);
  named_.clear();
  return sequence("WITH " + name + " (" + names + ") AS ({}) {}",
                  {std::move(inner.tree), std::move(outer.tree)});
}

Tree Queries::recursive_statement() {
  const std::string most = std::to_string(random_.between(2, 12));
  Relation named{"steps", {{"n", "int4"}, {"t", "text"}}, {}, {}, {}, false};
  static constexpr std::string_view kForms =
      "WITH RECURSIVE steps (n, t) AS (SELECT 1, 'a' UNION ALL SELECT n + 1, t || 'b' FROM steps WHERE n < \n"
      "WITH RECURSIVE steps (n, t) AS (SELECT 0, 'x'::text UNION SELECT (n + 3) % 7, 'x' FROM steps WHERE n "
      "< \n"
      "WITH RECURSIVE steps (n, t) AS (SELECT num, code FROM gen_parent WHERE num < 5 UNION SELECT p.num, "
      "p.code FROM steps s "
      "JOIN gen_parent p ON p.num = s.n + 2 WHERE s.n < \n"
      "WITH RECURSIVE steps (n, t) AS (VALUES (1, 'v') UNION ALL SELECT s.n + r.b, r.x FROM steps s JOIN "
      "gen_pair r ON r.a = s.n "
      "WHERE r.b > 0 AND s.n < ";
  const std::string form = pick(random_, kForms);
  named_.push_back(named);
  Query outer = query(some_types(3), nullptr, 0, true);
  named_.clear();
  return sequence(form + most + ") {}", {std::move(outer.tree)});
}

Tree Queries::statement() {
  restart();
  const double form = random_.unit();
  if (form < 0.3) return values_of_one_row();
  if (form < 0.36) return with_statement();
  if (form < 0.38) return recursive_statement();
  return query(some_types(4), nullptr, 2, true).tree;
}

}  // namespace namdb::sqltest
