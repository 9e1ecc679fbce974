#include "tools/sqltest/generate/expressions.h"

#include <algorithm>

#include "tools/sqltest/generate/literals.h"

namespace namdb::sqltest {
namespace {

template <typename T>
const T& pick_of(Random& random, const std::vector<T>& all) {
  return all[random.below(all.size())];
}

// Whether its text needs no parentheses inside another expression: one call, or one literal.
bool stands_alone(std::string_view text) {
  if (text.starts_with("CASE")) return true;
  const std::size_t open = text.find('(');
  if (open == std::string_view::npos || open == 0 || text.back() != ')') return false;
  if (text.substr(0, open).find_first_of(" {") != std::string_view::npos) return false;
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')' && --depth == 0 && i + 1 < text.size()) return false;
  }
  return true;
}

bool comparable(const std::string& type) {
  return std::ranges::find(comparable_types(), type) != comparable_types().end();
}

}  // namespace

std::string pick_type(Random& random) {
  static constexpr std::string_view kCommon =
      "int4 int4 int8 numeric numeric float8 bool text text text date timestamp interval jsonb";
  return random.chance(0.6) ? pick(random, kCommon) : pick_of(random, all_types());
}

std::vector<std::string> columns_of(Random& random, const Scope& scope, const std::string& type) {
  std::vector<std::string> names;
  for (const Scope* at = &scope; at != nullptr; at = at->outer) {
    for (const Source& source : at->sources) {
      for (const Column& column : source.columns) {
        if (column.type == type) names.push_back(source.alias + "." + column.name);
      }
    }
    if (!names.empty() && random.chance(0.7)) break;
  }
  return names;
}

Tree Expressions::leaf_of(const std::string& type, const Scope& scope, const Options& options) {
  const std::vector<std::string> names = columns_of(random_, scope, type);
  if (!names.empty() && random_.chance(0.75)) {
    Tree tree = leaf(pick_of(random_, names), type);
    // A column may give its place to a literal when a statement shrinks.
    tree.simplest = text_of(literal(random_, type, true));
    return tree;
  }
  return literal(random_, type, options.plain || random_.chance(0.5));
}

Tree Expressions::of_rule(const Rule& rule, const std::string& type, const Scope& scope, Options options) {
  --options.depth;
  std::string any = pick_type(random_);
  while (!comparable(any)) any = pick_of(random_, comparable_types());
  const std::string element = pick_of(random_, element_types());
  std::string format;
  std::vector<Tree> children;
  std::string_view rest = rule.text;
  for (std::size_t open = rest.find('{'); open != std::string_view::npos; open = rest.find('{')) {
    const std::size_t close = rest.find('}', open);
    std::string hole(rest.substr(open + 1, close - open - 1));
    format += rest.substr(0, open);
    format += "{}";
    rest.remove_prefix(close + 1);
    if (hole == "1") {
      children.push_back(leaf(text_of(children.front())));
      continue;
    }
    if (hole == "any") hole = any;
    if (hole == "element") hole = element;
    if (hole == "array") hole = element + "[]";
    if (std::optional<Tree> special = special_literal(random_, hole)) {
      children.push_back(std::move(*special));
    } else {
      children.push_back(expression(hole, scope, options));
    }
  }
  format += rest;
  // An expression that is written twice does not shrink.
  if (rule.text.find("{1}") != std::string::npos) children.front() = leaf(text_of(children.front()));
  Tree tree = sequence(format, std::move(children), type);
  tree.needs_parentheses = !stands_alone(rule.text);
  tree.simplest = text_of(literal(random_, type, true));
  return tree;
}

Tree Expressions::expression(const std::string& type, const Scope& scope, const Options& options) {
  if (options.depth <= 0 || random_.chance(0.2)) return leaf_of(type, scope, options);
  if (options.subqueries && random_.chance(0.06)) {
    Tree tree = subquery_(type, scope);
    tree.kind = type;
    tree.simplest = text_of(literal(random_, type, true));
    return tree;
  }
  const std::vector<Rule>& rules = expression_rules().at(type);
  for (int attempt = 0; attempt < 20; ++attempt) {
    const Rule& rule = pick_of(random_, rules);
    if (rule.rare && !random_.chance(0.03)) continue;
    if (!rule.may_fail || options.may_fail) return of_rule(rule, type, scope, options);
  }
  return leaf_of(type, scope, options);
}

Tree Expressions::column_condition(const Scope& scope, const Options& options) {
  std::vector<std::pair<std::string, std::string>> columns;
  for (const Source& source : scope.sources) {
    for (const Column& column : source.columns) {
      // Keys are asked for more often than others.
      const bool often = column.type == "int4" || column.type == "text";
      if (comparable(column.type))
        columns.insert(columns.end(), often ? 3 : 1, {source.alias + "." + column.name, column.type});
    }
  }
  if (columns.empty()) return expression("bool", scope, options);
  const auto& [name, type] = pick_of(random_, columns);
  static constexpr std::string_view kForms =
      "{} = {}\n{} = {}\n{} < {}\n{} >= {}\n{} <> {}\n{} BETWEEN {} AND {}\n{} IN ({}, {}, {})\n{} IS "
      "NULL\n{} IS NOT NULL\n"
      "{} > {}\n{} <= {}\n{} NOT IN ({}, {})\n{} = ANY (ARRAY[{}, {}])";
  const std::string form = pick(random_, kForms);
  std::vector<Tree> children = {leaf(name, type)};
  for (std::size_t at = form.find("{}", 2); at != std::string::npos; at = form.find("{}", at + 2)) {
    children.push_back(random_.chance(0.1) && options.depth > 0
                           ? expression(type, scope, options)
                           : literal(random_, type, random_.chance(0.8)));
  }
  Tree tree = sequence(form, std::move(children), "bool");
  tree.needs_parentheses = true;
  tree.simplest = "true";
  return tree;
}

Tree Expressions::condition(const Scope& scope, const Options& options) {
  if (options.subqueries && random_.chance(0.12)) {
    Tree tree = subquery_("bool", scope);
    tree.kind = "bool";
    tree.simplest = "true";
    return tree;
  }
  if (random_.chance(0.2)) return expression("bool", scope, options);
  if (random_.chance(0.25)) {
    Tree tree = list_of("", random_.chance(0.7) ? " OR " : " AND ", "",
                        {column_condition(scope, options), column_condition(scope, options)});
    tree.kind = "bool";
    tree.needs_parentheses = true;
    return tree;
  }
  return column_condition(scope, options);
}

Tree Expressions::aggregate(std::string& type, const Scope& scope, const Options& options) {
  static const std::vector<std::string> types = [] {
    std::vector<std::string> found;
    for (const auto& [name, rules] : expression_rules()) {
      if (name.starts_with("aggregate ")) found.push_back(name.substr(10));
    }
    return found;
  }();
  if (type.empty()) type = pick_of(random_, types);
  const auto rules = expression_rules().find("aggregate " + type);
  if (rules == expression_rules().end()) {
    // Types without aggregates of their own are made of a count.
    Tree count = leaf("count(*)");
    return type == "bool" ? sequence("{} > 2", {std::move(count)}) : literal(random_, type, true);
  }
  for (;;) {
    const Rule& rule = pick_of(random_, rules->second);
    const bool only_such =
        std::ranges::all_of(rules->second, [](const Rule& other) { return other.may_fail; });
    if (!rule.may_fail || options.may_fail || only_such || random_.chance(0.3)) {
      Tree tree = of_rule(rule, type, scope, options);
      tree.simplest.clear();
      return tree;
    }
  }
}

}  // namespace namdb::sqltest
