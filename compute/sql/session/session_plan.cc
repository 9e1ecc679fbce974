// Preparing statements, binding parameters.
#include <algorithm>
#include <utility>

#include "compute/sql/plan/plan_memory.h"
#include "compute/sql/session/session.h"
#include "compute/sql/syntax/syntax.h"
#include "compute/sql/system/virtual_table.h"
#include "compute/sql/value/value_format.h"

namespace namdb::sql {

using reactor::Task;

namespace {

// Shorter parameters, which most are, count as a part of the session.
constexpr std::size_t kShortParameters_bytes = 16 << 10;

bool uses_catalog(const Plan& plan) {
  if (const auto* select = plan.as<SelectPlan>()) return select->source.table != nullptr;
  return plan.is_transactional() || plan.as<ExplainPlan>() != nullptr ||
         plan.as<CreateIndexPlan>() != nullptr;
}

std::string_view statistics_name(const Plan& plan) {
  if (const auto* call = plan.as<CallPlan>()) return call->definition->name;
  return plan.tag;
}

bool same_columns(const Plan& left, const Plan& right) {
  return std::ranges::equal(left.columns, right.columns, [](const ResultColumn& a, const ResultColumn& b) {
    return a.name == b.name && a.type == b.type;
  });
}

bool is_end_of_block(Node statement) {
  if (statement.kind != "TransactionStmt") return false;
  const std::string_view kind = text(*statement.body, "kind");
  return kind == "TRANS_STMT_COMMIT" || kind == "TRANS_STMT_ROLLBACK";
}

}  // namespace

Task<Status> Session::do_planning(std::size_t text_bytes, std::function<void()> work) {
  if (text_bytes <= kLongStatement_bytes || environment_.planning == nullptr) {
    work();
    co_return Status();
  }
  if (state_ == State::idle) start_clock();  // transaction_timeout counts while it waits
  co_return co_await environment_.planning->run(std::move(work), interrupt_);
}

Task<Session::Parsed> Session::parse(const std::string* text) {
  Parsed parsed{.result = {}, .text_bytes = text->size()};
  Status status = co_await do_planning(text->size(), [&parsed, text] { parsed.result = parse_sql(*text); });
  if (!status.ok()) parsed.result = SyntaxError{std::move(status)};
  co_return parsed;
}

void Session::forget(Parsed parsed) {
  if (parsed.text_bytes > kLongStatement_bytes && environment_.planning != nullptr)
    environment_.planning->destroy(std::move(parsed));
}

Task<Result<Plan>> Session::make_plan(Parsing parsing, std::vector<Type> declared) {
  const Node statement = parsing.statement;
  BindInput input;
  input.procedures = &environment_.procedures;
  input.parameters = std::move(declared);
  input.facts = &facts_;
  // Read before the lookups: a change in between makes the plan look older than it is, which is safe.
  input.catalog_version = engine_.catalog_version();
  for (std::string& name : tables_named_by(statement, environment_.procedures)) {
    storage::TableRef table = engine_.cached_table(name);
    if (table == nullptr && find_virtual_table("", name) == nullptr) {
      Result<storage::TableRef> found = co_await engine_.table(name);
      if (!found.ok() && found.status().code() != ErrorCode::undefined_table) co_return found.status();
      if (found.ok()) table = std::move(found).value();
    }
    if (table == nullptr) continue;
    input.indexes.emplace(table.get(), table->indexes);
    input.tables.emplace(std::move(name), std::move(table));
  }
  ErrorPlace place;
  input.place = &place;
  std::optional<Result<Plan>> plan;
  Status status = co_await do_planning(
      parsing.length_bytes, [&plan, statement, &input] { plan.emplace(bind_statement(statement, input)); });
  if (!status.ok()) co_return status;
  if (!plan->ok()) error_.position = place.position_in(*parsing.text);
  co_return std::move(*plan);
}

Task<Status> Session::plan_statement(Prepared& prepared, Parsing parsing) {
  if (state_ == State::failed && !parsing.statement.kind.empty() && !is_end_of_block(parsing.statement))
    co_return only_end_of_block();
  if (state_ == State::idle) start_clock();
  std::vector<Type> declared = prepared.declared;
  Result<Plan> plan = co_await make_plan(parsing, std::move(declared));
  if (!plan.ok()) co_return plan.status();
  Result<std::shared_ptr<const Plan>> kept = keep(std::move(plan).value());
  if (!kept.ok()) co_return kept.status();
  prepared.plan = std::move(kept).value();
  if (prepared.plan->is_transactional())
    prepared.statistics = &environment_.statistics.entry(statistics_name(*prepared.plan));
  co_return Status();
}

Result<std::shared_ptr<const Plan>> Session::keep(Plan plan) const {
  plan.memory = MemoryShare(environment_.client_memory);
  if (Status status = plan.memory.resize(memory_bytes(plan)); !status.ok()) return status;
  return std::make_shared<const Plan>(std::move(plan));
}

Task<Status> Session::plan_text(Prepared& prepared) {
  PlanCache* const plans = environment_.plans;
  if (plans != nullptr) {
    std::shared_ptr<const Plan> shared = plans->find(prepared.text, prepared.declared_oids);
    if (shared != nullptr && current(*shared)) {
      if (Status status = check_allowed(*shared); !status.ok()) co_return status;
      if (shared->is_transactional())
        prepared.statistics = &environment_.statistics.entry(statistics_name(*shared));
      prepared.plan = std::move(shared);
      co_return Status();
    }
  }
  Parsed parsed = co_await parse(&prepared.text);
  if (const SyntaxError* error = parsed.error()) {
    error_.position = error->position;
    co_return error->status;
  }
  Status status;
  if (parsed.tree().statement_count() > 1) {
    status = Status(ErrorCode::syntax_error, "cannot insert multiple commands into a prepared statement");
  } else {
    const Node statement = parsed.tree().statement_count() == 0 ? Node{} : parsed.tree().statement(0);
    const Parsing parsing{statement, prepared.text.size(), &prepared.text};
    status = co_await plan_statement(prepared, parsing);
  }
  forget(std::move(parsed));
  if (status.ok() && plans != nullptr) plans->add(prepared.text, prepared.declared_oids, prepared.plan);
  co_return status;
}

Task<Status> Session::prepare(std::string name, std::string text, std::vector<Oid> declared) {
  error_ = {};
  start_statement_timeout();
  if (name.empty()) unnamed_.reset();  // also if preparing the new one fails
  auto prepared = std::make_shared<Prepared>();
  for (const Oid oid : declared) {
    const std::optional<TypeId> type = type_from_oid(oid);
    if (!type) {
      co_return Status(ErrorCode::feature_not_supported,
                       "parameter type with OID " + std::to_string(oid) + " is not supported");
    }
    prepared->declared.push_back({*type});
  }
  if (!name.empty() && prepared_.contains(name)) {
    co_return Status(ErrorCode::duplicate_prepared_statement,
                     "prepared statement \"" + name + "\" already exists");
  }
  prepared->text = std::move(text);
  prepared->declared_oids = std::move(declared);
  Status status = co_await plan_text(*prepared);
  if (!status.ok()) co_return status;
  prepared->memory = MemoryShare(environment_.client_memory);
  status = prepared->memory.resize(prepared->size_bytes() + name.size());
  if (!status.ok()) co_return status;
  prepared->session_bytes = prepared->memory.bytes() + prepared->plan->memory.bytes();
  if (name.empty()) {
    unnamed_ = std::move(prepared);
  } else if (prepared_.size() >= kMaxPrepared) {
    co_return Status(ErrorCode::limit_exceeded,
                     "a session can have at most " + std::to_string(kMaxPrepared) + " prepared statements",
                     "close those that are no longer needed");
  } else if (prepared->session_bytes > kMaxPrepared_bytes - prepared_bytes_) {
    co_return Status(ErrorCode::out_of_memory,
                     "a session's prepared statements can take at most " +
                         std::to_string(kMaxPrepared_bytes) + " bytes of memory",
                     "close those that are no longer needed");
  } else {
    prepared_bytes_ += prepared->session_bytes;
    prepared_.emplace(std::move(name), std::move(prepared));
  }
  co_return Status();
}

bool Session::current(const Plan& plan) const {
  return plan.catalog_version == engine_.catalog_version() || !uses_catalog(plan);
}

bool Session::current(const Prepared& prepared) const {
  return current(*prepared.plan);
}

Task<Status> Session::renew(Prepared& prepared) {
  start_statement_timeout();
  co_return co_await plan_again(prepared, Origin::prepared);
}

Task<Status> Session::plan_again(Prepared& prepared, Origin origin) {
  const std::shared_ptr<const Plan> before = prepared.plan;
  Parsed parsed = co_await parse(&prepared.text);
  if (const SyntaxError* error = parsed.error()) co_return error->status;
  std::vector<Type> declared = prepared.declared;
  const Parsing parsing{parsed.tree().statement(0), prepared.text.size(), &prepared.text};
  Result<Plan> plan = co_await make_plan(parsing, std::move(declared));
  forget(std::move(parsed));
  if (!plan.ok()) co_return plan.status();
  if (!same_columns(*plan, *before)) {
    if (origin == Origin::prepared)
      co_return Status(ErrorCode::feature_not_supported, "cached plan must not change result type");
    co_return Status(ErrorCode::catalog_changed,
                     "a table was dropped and created again while the statement ran");
  }
  Result<std::shared_ptr<const Plan>> kept = keep(std::move(plan).value());
  if (!kept.ok()) co_return kept.status();
  prepared.plan = std::move(kept).value();
  co_return Status();
}

Prepared* Session::find_prepared(std::string_view name) {
  if (name.empty()) return unnamed_.get();
  const auto found = prepared_.find(name);
  return found == prepared_.end() ? nullptr : found->second.get();
}

Portal* Session::find_portal(std::string_view name) {
  if (name.empty()) return unnamed_portal_.valid ? &unnamed_portal_ : nullptr;
  const auto found = portals_.find(name);
  return found == portals_.end() || !found->second.valid ? nullptr : &found->second;
}

void Session::close_prepared(std::string_view name) {
  if (name.empty()) {
    unnamed_.reset();
  } else if (const auto found = prepared_.find(name); found != prepared_.end()) {
    prepared_bytes_ -= found->second->session_bytes;
    prepared_.erase(found);
  }
}

void Session::close_all_prepared() {
  prepared_.clear();
  prepared_bytes_ = 0;
}

void Session::close_portal(std::string_view name) {
  if (name.empty()) {
    unnamed_portal_.reset();
  } else if (const auto found = portals_.find(name); found != portals_.end()) {
    portal_bytes_ -= found->second.size_bytes;
    portals_.erase(found);
  }
}

namespace {

Status check_format_count(std::size_t formats, std::size_t count, std::string_view what) {
  if (formats <= 1 || formats == count) return {};
  return Status(ErrorCode::protocol_violation, "bind message has " + std::to_string(formats) + " " +
                                                   std::string(what) + " formats but " +
                                                   std::to_string(count) + " " + std::string(what) + "s");
}

Result<std::int16_t> format_of(std::span<const std::int16_t> formats, std::size_t index) {
  if (formats.empty()) return std::int16_t{0};
  const std::int16_t format = formats.size() == 1 ? formats[0] : formats[index];
  if (format != 0 && format != 1)
    return Status(ErrorCode::invalid_parameter_value, "unsupported format code: " + std::to_string(format));
  return format;
}

}  // namespace

Status Session::bind(const BindRequest& request) {
  const auto prepared = request.statement.empty() ? unnamed_ : [&]() -> std::shared_ptr<Prepared> {
    const auto found = prepared_.find(request.statement);
    return found == prepared_.end() ? nullptr : found->second;
  }();
  if (prepared == nullptr) {
    return Status(ErrorCode::undefined_prepared_statement,
                  request.statement.empty()
                      ? "unnamed prepared statement does not exist"
                      : "prepared statement \"" + std::string(request.statement) + "\" does not exist");
  }
  const Plan& plan = *prepared->plan;
  if (Status status = check_allowed(plan); !status.ok()) return status;
  if (request.parameters.size() != plan.parameters.size()) {
    return Status(ErrorCode::protocol_violation,
                  "bind message supplies " + std::to_string(request.parameters.size()) +
                      " parameters, but prepared statement \"" + std::string(request.statement) +
                      "\" requires " + std::to_string(plan.parameters.size()));
  }
  Status formats =
      check_format_count(request.parameter_formats.size(), request.parameters.size(), "parameter");
  if (formats.ok() && !plan.columns.empty())
    formats = check_format_count(request.result_formats.size(), plan.columns.size(), "result column");
  if (!formats.ok()) return formats;
  Portal* portal = &unnamed_portal_;
  if (!request.portal.empty()) {
    if (find_portal(request.portal) != nullptr) {
      return Status(ErrorCode::duplicate_portal,
                    "cursor \"" + std::string(request.portal) + "\" already exists");
    }
    if (portals_.size() >= kMaxPrepared)
      return Status(ErrorCode::limit_exceeded, "too many portals in one session");
    portal = &portals_[std::string(request.portal)];
  }
  std::size_t bytes = 0;
  for (const auto& value : request.parameters) bytes += value ? value->size() : 0;
  if (!request.portal.empty()) {
    portal_bytes_ -= std::exchange(portal->size_bytes, 0);
    const std::size_t size_bytes = bytes + request.parameters.size() * sizeof(Datum);
    if (size_bytes > kMaxPortal_bytes - portal_bytes_) {
      close_portal(request.portal);
      return Status(ErrorCode::limit_exceeded, "the parameters of a session's portals can have at most " +
                                                   std::to_string(kMaxPortal_bytes) + " bytes");
    }
    portal->size_bytes = size_bytes;
    portal_bytes_ += size_bytes;
  }
  portal->reset();
  portal->storage.clear();
  if (bytes > kShortParameters_bytes) {
    portal->memory = MemoryShare(environment_.client_memory);
    if (Status status = portal->memory.resize(bytes); !status.ok()) {
      close_portal(request.portal);
      return status;
    }
  }
  portal->parameters.resize(request.parameters.size());
  portal->storage.reserve(bytes);  // so that what borrows from it stays where it is
  Status status;
  for (std::size_t i = 0; i < request.parameters.size() && status.ok(); ++i) {
    portal->parameters[i] = Datum();
    if (!request.parameters[i]) continue;
    const Result<std::int16_t> format = format_of(request.parameter_formats, i);
    if (!format.ok()) {
      status = format.status();
      break;
    }
    const std::size_t begin = portal->storage.size();
    portal->storage += *request.parameters[i];
    const std::string_view value(portal->storage.data() + begin, portal->storage.size() - begin);
    const TypeId type = plan.parameters[i].id;
    const Oid declared = i < prepared->declared_oids.size() ? prepared->declared_oids[i] : 0;
    status = *format == 0 ? parse_text(value, type, facts_.now_us, portal->parameters[i])
                          : parse_binary(value, type, declared, portal->parameters[i]);
  }
  portal->result_formats.assign(plan.columns.size(), 0);
  for (std::size_t i = 0; i < plan.columns.size() && status.ok(); ++i) {
    const Result<std::int16_t> format = format_of(request.result_formats, i);
    if (format.ok()) {
      portal->result_formats[i] = *format;
    } else {
      status = format.status();
    }
  }
  if (!status.ok()) {
    close_portal(request.portal);
    return status;
  }
  portal->prepared = prepared;
  portal->plan = prepared->plan;
  portal->valid = true;
  return {};
}

}  // namespace namdb::sql
