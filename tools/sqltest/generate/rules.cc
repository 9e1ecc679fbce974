#include "tools/sqltest/generate/rules.h"

#include <sstream>

#include "tools/sqltest/generate/rule_lines.h"

namespace namdb::sqltest {
namespace {

std::vector<std::string> words_of(std::string_view text) {
  std::istringstream input{std::string(text)};
  std::vector<std::string> words;
  for (std::string word; input >> word;) words.push_back(word);
  return words;
}

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
}

std::map<std::string, std::vector<Rule>> parse_rules() {
  std::map<std::string, std::vector<Rule>> rules;
  std::istringstream lines{std::string(rule_lines())};
  for (std::string line; std::getline(lines, line);) {
    const std::size_t bar = line.find('|');
    if (bar == std::string::npos) continue;
    std::vector<std::string> words = words_of(std::string_view(line).substr(0, bar));
    const std::string text = line.substr(bar + 2);
    const bool rare = words.back() == "~";
    if (rare) words.pop_back();
    const bool may_fail = words.back() == "!";
    if (may_fail) words.pop_back();
    if (words.front() == "aggregate") {
      rules["aggregate " + words[1]].push_back({text, may_fail, rare});
      continue;
    }
    std::vector<std::string> types = words;
    if (words.front() == "=") types = all_types();
    if (words.front() == "any") types = comparable_types();
    for (const std::string& type : types) {
      Rule rule{text, may_fail, rare};
      replace_all(rule.text, "{=}", "{" + type + "}");
      rules[type].push_back(std::move(rule));
    }
  }
  return rules;
}

}  // namespace

const std::map<std::string, std::vector<Rule>>& expression_rules() {
  static const std::map<std::string, std::vector<Rule>> rules = parse_rules();
  return rules;
}

const std::vector<std::string>& all_types() {
  static const std::vector<std::string> types = words_of(
      "int2 int4 int8 numeric float4 float8 bool text varchar bpchar bytea date time timestamp timestamptz "
      "interval uuid "
      "jsonb json gen_mood int4[] text[] numeric[] float8[] date[] bool[] int8[] timestamp[]");
  return types;
}

const std::vector<std::string>& comparable_types() {
  static const std::vector<std::string> types = words_of(
      "int2 int4 int8 numeric float4 float8 bool text varchar bpchar bytea date time timestamp timestamptz "
      "interval uuid "
      "jsonb gen_mood int4[] text[] numeric[] date[]");
  return types;
}

const std::vector<std::string>& element_types() {
  static const std::vector<std::string> types = words_of("int4 text numeric float8 date bool int8 timestamp");
  return types;
}

}  // namespace namdb::sqltest
