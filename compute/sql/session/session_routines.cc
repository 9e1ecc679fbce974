// Procedures and functions that are written in SQL: CREATE, DROP, and what their calls need of them.
#include <algorithm>
#include <string>
#include <utility>

#include "compute/sql/bind/bind_routine.h"
#include "compute/sql/routine/compile_routine.h"
#include "compute/sql/routine/routine_source.h"
#include "compute/sql/session/catalog_definitions.h"
#include "compute/sql/session/routine_types.h"
#include "compute/sql/session/session.h"

namespace namdb::sql {

using reactor::Task;

namespace {

// A compiled procedure takes about so many times the memory of its text.
constexpr std::size_t kCompiled_factor = 100;

using Kind = DropRoutinePlan::Kind;

std::string_view name_of(Kind kind) {
  return kind == Kind::procedure ? "procedure" : kind == Kind::function ? "function" : "routine";
}

// "f(integer, text)": as messages name a routine that is there.
std::string identity_of(const RoutineSignature& signature) {
  return signature.name + "(" + types_text(parameter_types(signature, true)) + ")";
}

// Whether `there` may give its place to `made`: of CREATE OR REPLACE.
Status check_replacement(const RoutineSignature& there, const RoutineSignature& made) {
  if (there.is_function != made.is_function)
    return Status(ErrorCode::wrong_object_type, "cannot change routine kind",
                  "\"" + there.name + "\" is a " + (there.is_function ? "function" : "procedure") + ".");
  if (!there.is_function) return {};
  const std::string hint = "Use DROP FUNCTION " + identity_of(there) + " first.";
  const bool same_result = there.returns_set == made.returns_set &&
                           there.returns_nothing == made.returns_nothing && there.result == made.result &&
                           parameter_types(there, false) == parameter_types(made, false);
  if (!same_result) {
    const bool other_row =
        there.returns_set == made.returns_set && there.result_columns > 1 && made.result_columns > 1;
    return Status(ErrorCode::invalid_function_definition, "cannot change return type of existing function",
                  hint)
        .with_detail(other_row ? "Row type defined by OUT parameters is different." : "");
  }
  for (std::size_t i = 0; i < there.parameters.size(); ++i) {
    const RoutineParameter& before = there.parameters[i];
    const RoutineParameter& now = made.parameters[i];
    if (!before.name.empty() && before.name != now.name) {
      return Status(ErrorCode::invalid_function_definition,
                    "cannot change name of input parameter \"" + before.name + "\"", hint);
    }
    if (before.default_value != nullptr && now.default_value == nullptr) {
      return Status(ErrorCode::invalid_function_definition,
                    "cannot remove parameter defaults from existing function", hint);
    }
  }
  return {};
}

}  // namespace

Task<Result<std::shared_ptr<const RoutineSignature>>> Session::find_routine(std::string name) {
  storage::RoutineRef routine = engine_.cached_routine(name);
  if (routine == nullptr) {
    Result<storage::RoutineRef> found = co_await engine_.routine(std::move(name));
    if (!found.ok()) co_return found.status();
    routine = std::move(found).value();
  }
  if (routine == nullptr) co_return std::shared_ptr<const RoutineSignature>();
  co_return read_signature(routine, facts_, environment_.routines);
}

Task<Status> Session::look_up_routines(std::vector<std::string> names, BindInput* input) {
  for (const auto& [name, view] : input->views)
    names.insert(names.end(), view->routines.begin(), view->routines.end());
  for (std::string& name : names) {
    if (environment_.procedures.find(name) != nullptr || input->routines.contains(name)) continue;
    std::string wanted = name;
    Result<std::shared_ptr<const RoutineSignature>> found = co_await find_routine(std::move(wanted));
    if (!found.ok() && types_.may_name_new_type(found.status())) {
      if (Status status = co_await types_.read(); !status.ok()) co_return status;
      wanted = name;
      found = co_await find_routine(std::move(wanted));
    }
    if (!found.ok()) co_return found.status();
    if (*found != nullptr) input->routines.emplace(std::move(name), *std::move(found));
  }
  co_return Status();
}

Task<Result<std::shared_ptr<const CompiledRoutine>>> Session::compiled_routine(
    std::shared_ptr<const RoutineSignature> signature) {
  const std::string zone = facts_.zone().name();
  // The block of DO is run once. For other sessions the tables are there that the block drops.
  const bool shares = signature->routine->version != 0 && block_.dropped.empty();
  RoutineCache* const cache = shares ? environment_.routines : nullptr;
  if (cache != nullptr) {
    auto compiled = cache->compiled(*signature->routine, zone, engine_.catalog_version());
    if (compiled != nullptr) co_return compiled;
  }
  const std::string* const definition = &signature->routine->definition;
  Result<std::shared_ptr<const CompiledRoutine>> compiled = co_await compile(signature, definition);
  if (compiled.ok() && cache != nullptr) cache->add(*compiled, zone);
  co_return compiled;
}

Task<Result<std::unique_ptr<RoutineSource>>> Session::read_routine(
    std::shared_ptr<const RoutineSignature> signature, const std::string* definition) {
  std::variant<std::unique_ptr<RoutineSource>, SyntaxError> parsed;
  const auto parse_it = [&] { parsed = RoutineSource::parse(signature, *definition); };
  Status status;
  if (parser_.is_long(definition->size())) {
    status = co_await parser_.run_on_planning_thread(parse_it);
  } else {
    parse_it();
  }
  if (!status.ok()) co_return status;
  if (const auto* error = std::get_if<SyntaxError>(&parsed)) co_return error->status;
  co_return std::move(std::get<0>(parsed));
}

Task<Result<std::shared_ptr<const CompiledRoutine>>> Session::compile(
    std::shared_ptr<const RoutineSignature> signature, const std::string* definition) {
  auto source = co_await read_routine(signature, definition);
  if (!source.ok()) co_return source.status();
  BindInput input;
  input.procedures = &environment_.procedures;
  input.facts = &facts_;
  input.catalog_version = engine_.catalog_version();
  Status status = co_await look_up((*source)->tables(environment_.procedures), (*source)->called(), &input);
  if (!status.ok()) co_return status;
  std::optional<Result<std::shared_ptr<CompiledRoutine>>> compiled;
  const auto compile_it = [&] { compiled.emplace(compile_routine(**source, std::move(input))); };
  if (parser_.is_long(definition->size())) {
    status = co_await parser_.run_on_planning_thread(compile_it);
  } else {
    compile_it();
  }
  if (!status.ok()) co_return status;
  if (!compiled->ok() && types_.may_name_new_type(compiled->status())) {
    status = co_await types_.read();
    if (!status.ok()) co_return status;
    co_return co_await compile(std::move(signature), definition);
  }
  if (!compiled->ok()) co_return compiled->status();
  const std::shared_ptr<CompiledRoutine> routine = std::move(*compiled).value();
  routine->memory = MemoryShare(environment_.client_memory);
  const std::size_t bytes = definition->size() * kCompiled_factor;
  status = routine->memory.resize(bytes);
  if (!status.ok() && environment_.routines != nullptr) {
    environment_.routines->clear();
    status = routine->memory.resize(bytes);
  }
  if (!status.ok()) co_return status;
  co_return std::shared_ptr<const CompiledRoutine>(routine);
}

void Session::show_message(ResultSink& sink, std::string_view severity, std::string_view sqlstate,
                           std::string_view message) {
  const std::string_view usual = severity == "WARNING" ? "01000" : "00000";
  notify(sink, severity, sqlstate.empty() ? usual : sqlstate, message);
}

Task<Status> Session::create_routine(const CreateRoutinePlan& plan, ResultSink& sink) {
  if (Status status = rights_.check_may_create(); !status.ok()) co_return status;
  // A syntax error is one of CREATE; tables may come later, except for a procedure in SQL, as in PostgreSQL.
  if (plan.signature->language == RoutineLanguage::sql) {
    const std::string* const definition = &plan.definition.text;
    const auto compiled = co_await compile(plan.signature, definition);
    if (!compiled.ok()) co_return compiled.status();
  } else {
    const std::string* const definition = &plan.definition.text;
    const auto source = co_await read_routine(plan.signature, definition);
    if (!source.ok()) co_return source.status();
  }
  // The catalog as it is now: another server may have changed it.
  const auto all = co_await engine_.routines();
  if (!all.ok()) co_return all.status();
  std::string name = plan.definition.name;
  const auto there = co_await find_routine(std::move(name));
  if (!there.ok()) co_return there.status();
  txn::RoutineDefinition definition = plan.definition;
  if (*there != nullptr) {
    const bool is_function = plan.signature->is_function && (*there)->is_function;
    const bool same = parameter_types(**there, is_function) == parameter_types(*plan.signature, is_function);
    if (!same) {
      co_return Status(
          ErrorCode::feature_not_supported,
          std::string("another ") + (plan.signature->is_function ? "function" : "procedure") + " \"" +
              definition.name + "\" with other parameters is not supported",
          "a name has one procedure or function: drop the other one first, or choose another name");
    }
    if (!plan.replaces) {
      co_return Status(ErrorCode::duplicate_function,
                       "function \"" + definition.name + "\" already exists with same argument types");
    }
    Status replaceable =
        rights_.check_object_owner({storage::ObjectKind::routine, 0, definition.name},
                                   (*there)->is_function ? "function" : "procedure", definition.name);
    if (!replaceable.ok()) co_return replaceable;
    replaceable = check_replacement(**there, *plan.signature);
    if (!replaceable.ok()) co_return replaceable;
    definition.replaces_version = (*there)->routine->version;
  }
  definition.owner = rights_.owner_of_new();
  if (state_ == State::block) {
    notify(sink, "WARNING", "01000",
           std::string(plan.signature->is_function ? "CREATE FUNCTION" : "CREATE PROCEDURE") +
               " takes effect at once: ROLLBACK does not undo it");
  }
  const bool is_new = *there == nullptr;
  Status status = co_await engine_.create_routine(std::move(definition));
  if (!status.ok()) co_return status;
  storage::RoutineRef replacement = engine_.cached_routine(plan.definition.name);
  const bool is_own = replacement != nullptr && replacement->definition == plan.definition.text;
  status = co_await type_uses_.hold_types(plan.signature.get());
  if (!status.ok() && !is_new && is_own) {
    storage::RoutineRef before = (*there)->routine;
    co_await type_uses_.undo_replacement(std::move(before), std::move(replacement));
  }
  if (status.ok() || !is_new) co_return status;
  if (const storage::RoutineRef made = engine_.cached_routine(plan.definition.name); made != nullptr) {
    name = plan.definition.name;
    static_cast<void>(co_await engine_.drop_routine(std::move(name), made->version));
  }
  co_return status;
}

Task<Status> Session::drop_routines(const DropRoutinePlan& plan, ResultSink& sink) {
  const auto all = co_await engine_.routines();
  if (!all.ok()) co_return all.status();
  std::vector<storage::RoutineRef> found;
  for (const DropRoutinePlan::Dropped& dropped : plan.routines) {
    if (environment_.procedures.find(dropped.name) != nullptr) {
      co_return Status(ErrorCode::insufficient_privilege,
                       "procedure \"" + dropped.name + "\" cannot be dropped",
                       "it comes from a library that the operator has loaded");
    }
    std::string name = dropped.name;
    const auto there = co_await find_routine(std::move(name));
    if (!there.ok()) co_return there.status();
    bool fits = *there != nullptr;
    const bool other_kind =
        fits && plan.kind != Kind::routine && (*there)->is_function != (plan.kind == Kind::function);
    if (fits && dropped.types) fits = has_types(**there, *dropped.types);
    if (fits && other_kind && dropped.types) {
      co_return Status(ErrorCode::wrong_object_type, dropped.name + "(" + types_text(*dropped.types) +
                                                         ") is not a " + std::string(name_of(plan.kind)));
    }
    fits = fits && !other_kind;
    if (fits) {
      Status status =
          rights_.check_object_owner({storage::ObjectKind::routine, 0, dropped.name},
                                     (*there)->is_function ? "function" : "procedure", dropped.name);
      if (!status.ok()) co_return status;
      found.push_back((*there)->routine);
    } else if (plan.if_exists) {
      notify(sink, "NOTICE", "00000",
             std::string(name_of(plan.kind)) + " " + dropped.name + "(" +
                 (dropped.types ? types_text(*dropped.types) : "") + ") does not exist, skipping");
    } else {
      co_return missing_routine(dropped.name, name_of(plan.kind), dropped.types);
    }
  }
  if (state_ == State::block && !found.empty()) {
    notify(sink, "WARNING", "01000",
           std::string(plan.kind == Kind::function ? "DROP FUNCTION" : "DROP PROCEDURE") +
               " takes effect at once: ROLLBACK does not undo it");
  }
  for (const storage::RoutineRef& routine : found) {
    std::string name = routine->name;
    Status status = co_await engine_.drop_routine(std::move(name), routine->version);
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

}  // namespace namdb::sql
