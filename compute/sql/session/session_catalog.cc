// Procedures and functions as the system catalogs show them.
#include <charconv>
#include <string>
#include <utility>

#include "compute/sql/bind/bind_routine.h"
#include "compute/sql/catalog/definition_text.h"
#include "compute/sql/expression/expression_text.h"
#include "compute/sql/session/catalog_definitions.h"
#include "compute/sql/session/session.h"

namespace namdb::sql {

using reactor::Task;

namespace {

using Mode = RoutineParameter::Mode;

char letter_of(Mode mode) {
  return mode == Mode::in ? 'i' : mode == Mode::out ? 'o' : mode == Mode::in_out ? 'b' : 't';
}

// "a integer, OUT b text"; of the columns of TABLE, or of the other parameters.
std::string parameters_text(const RoutineSignature& signature, bool of_table, bool with_defaults) {
  std::string text;
  for (const RoutineParameter& parameter : signature.parameters) {
    if ((parameter.mode == Mode::table) != of_table) continue;
    if (!text.empty()) text += ", ";
    if (parameter.mode == Mode::in && !signature.is_function) text += "IN ";
    if (parameter.mode == Mode::out) text += "OUT ";
    if (parameter.mode == Mode::in_out) text += "INOUT ";
    if (!parameter.name.empty()) text += quoted_name(parameter.name) + " ";
    text += type_name(parameter.type.id);
    if (with_defaults && parameter.default_value != nullptr)
      text += " DEFAULT " + expression_text(*parameter.default_value, {});
  }
  return text;
}

std::string result_text(const RoutineSignature& signature) {
  if (!signature.is_function) return {};
  const std::string columns = parameters_text(signature, true, false);
  if (!columns.empty()) return "TABLE(" + columns + ")";
  const std::string type = signature.returns_nothing      ? "void"
                           : signature.result_columns > 1 ? "record"
                                                          : std::string(type_name(signature.result.id));
  return (signature.returns_set ? "SETOF " : "") + type;
}

double number_or(const std::string& text, double otherwise) {
  double number = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::string number_text(double number) {
  std::string text = std::to_string(number);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

// The CREATE OR REPLACE statement, as PostgreSQL writes it.
std::string definition_of(const RoutineSignature& signature, const CatalogRoutine& routine) {
  const std::string word = signature.is_function ? "function" : "procedure";
  std::string text = "CREATE OR REPLACE " + std::string(signature.is_function ? "FUNCTION" : "PROCEDURE") +
                     " public." + quoted_name(signature.name) + "(" + routine.arguments + ")\n";
  if (signature.is_function) text += " RETURNS " + routine.result_text + "\n";
  text += std::string(" LANGUAGE ") + (signature.language == RoutineLanguage::sql ? "sql" : "plpgsql") + "\n";
  std::string options;
  if (routine.volatility != 'v') options += routine.volatility == 'i' ? " IMMUTABLE" : " STABLE";
  if (routine.parallel != 'u')
    options += std::string(" PARALLEL ") + (routine.parallel == 's' ? "SAFE" : "RESTRICTED");
  if (routine.is_strict) options += " STRICT";
  if (routine.cost != 100) options += " COST " + number_text(routine.cost);
  if (routine.returns_set && routine.rows != 1000) options += " ROWS " + number_text(routine.rows);
  if (!options.empty()) text += options + "\n";
  if (signature.is_expression) {
    // The last word RETURN of the statement begins its body.
    std::string words = signature.routine->definition;
    for (char& c : words) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    return text + signature.routine->definition.substr(words.rfind("RETURN")) + "\n";
  }
  std::string tag = "$" + word;
  while (signature.body.find(tag + "$") != std::string::npos) tag += 'x';
  tag += '$';
  return text + "AS " + tag + signature.body + tag + "\n";
}

CatalogRoutine routine_of(const RoutineSignature& signature) {
  CatalogRoutine routine;
  routine.oid = Catalog::routine_oid(*signature.routine);
  routine.name = signature.name;
  routine.kind = signature.is_function ? 'f' : 'p';
  routine.language = signature.language == RoutineLanguage::sql ? kLanguageSqlOid : kLanguagePlpgsqlOid;
  routine.is_strict = signature.is_strict;
  routine.returns_set = signature.returns_set;
  routine.volatility = signature.volatility == RoutineVolatility::immutable ? 'i'
                       : signature.volatility == RoutineVolatility::stable  ? 's'
                                                                            : 'v';
  routine.parallel = signature.parallel.empty() ? 'u' : signature.parallel.front();
  routine.cost = number_or(signature.cost, 100);
  routine.rows = number_or(signature.rows, signature.returns_set ? 1000 : 0);
  const bool is_row = signature.is_function ? signature.result_columns > 1 : signature.has_outputs();
  routine.result = is_row                                                ? kRecordOid
                   : signature.returns_nothing || !signature.is_function ? kVoidOid
                                                                         : type_oid(signature.result.id);
  for (const RoutineParameter& parameter : signature.parameters) {
    routine.parameters.push_back({parameter.name, parameter.type.id, letter_of(parameter.mode)});
    if (parameter.default_value != nullptr) ++routine.defaults;
  }
  routine.source = signature.body;
  routine.arguments = parameters_text(signature, false, true);
  routine.identity_arguments = parameters_text(signature, false, false);
  routine.result_text = result_text(signature);
  routine.definition = definition_of(signature, routine);
  return routine;
}

// Of a library.
CatalogRoutine routine_of(const procedure::Definition& definition) {
  RoutineSignature signature;
  signature.name = definition.name;
  const auto add = [&signature](const procedure::Parameter& parameter, Mode mode) {
    RoutineParameter& added = signature.parameters.emplace_back();
    added.name = parameter.name;
    added.type = Type{column_type(parameter.type, parameter.precision, parameter.scale).id};
    added.mode = mode;
  };
  for (const procedure::Parameter& parameter : definition.parameters) add(parameter, Mode::in);
  for (const procedure::Parameter& result : definition.results) add(result, Mode::out);
  CatalogRoutine routine;
  routine.oid = Catalog::library_routine_oid(definition.name);
  routine.name = definition.name;
  routine.kind = 'p';
  routine.language = kLanguageCOid;
  routine.cost = 1;
  routine.result = definition.results.empty() ? kVoidOid : kRecordOid;
  for (const RoutineParameter& parameter : signature.parameters)
    routine.parameters.push_back({parameter.name, parameter.type.id, letter_of(parameter.mode)});
  routine.source = definition.name;
  routine.arguments = parameters_text(signature, false, true);
  routine.identity_arguments = routine.arguments;
  return routine;
}

}  // namespace

Task<Result<std::vector<CatalogRoutine>>> Session::catalog_routines() {
  std::vector<CatalogRoutine> made;
  for (const auto& [name, definition] : environment_.procedures.all())
    made.push_back(routine_of(*definition));
  Result<std::vector<storage::RoutineRef>> all = co_await engine_.routines();
  if (!all.ok()) co_return all.status();
  for (const storage::RoutineRef& routine : *all) {
    if (!is_procedure(*routine)) continue;
    Result<std::shared_ptr<const RoutineSignature>> signature =
        read_signature(routine, facts_, environment_.routines);
    if (signature.ok()) made.push_back(routine_of(**signature));
  }
  co_return made;
}

}  // namespace namdb::sql
