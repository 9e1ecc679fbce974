#include "compute/sql/execute/run.h"

#include <algorithm>

#include "common/layout/long_value.h"
#include "compute/sql/execute/schema_names.h"
#include "compute/sql/expression/function.h"
#include "compute/sql/expression/subquery.h"
#include "compute/sql/value/array.h"
#include "compute/sql/value/characters.h"
#include "compute/sql/value/interval.h"
#include "compute/sql/value/time_precision.h"
#include "compute/sql/value/wide_datum.h"

namespace namdb::sql {

Status Interrupt::check() const {
  if (canceled_.load(std::memory_order_relaxed))
    return Status(ErrorCode::query_canceled, "canceling statement due to user request");
  if (deadline_ns_ != ~std::uint64_t{0} && clock_.now_ns() >= deadline_ns_)
    return Status(ErrorCode::query_canceled, "canceling statement due to statement timeout");
  if (check_client_) return check_client_();
  return {};
}

void Interrupt::set_lock_timeout(std::uint64_t lock_timeout_ns) {
  lock_timeout_ns_ = lock_timeout_ns;
  met_.clear();
}

Status Interrupt::check_wait(layout::GlobalAddress held, std::uint64_t since_ns) const {
  std::uint64_t waited_ns = clock_.now_ns() - since_ns;
  const auto before = std::ranges::find(met_, held, &Met::held);
  if (before != met_.end() && !held.null()) waited_ns += before->waited_ns;
  if (waited_ns < lock_timeout_ns_) return {};
  return Status(ErrorCode::lock_not_available, "canceling statement due to lock timeout");
}

Status Interrupt::add_conflict(const txn::MetLock& lock) {
  const auto before = std::ranges::find(met_, lock.held, &Met::held);
  const std::uint64_t before_ns = before == met_.end() ? 0 : before->waited_ns;
  if (before != met_.end()) met_.erase(before);
  met_.push_back({lock.held, before_ns});
  if (lock.held.null()) return {};
  Status status = check_wait(lock.held, lock.since_ns);
  met_.back().waited_ns += clock_.now_ns() - lock.since_ns;
  return status;
}

void Interrupt::add_pause(std::uint64_t since_ns) {
  if (!met_.empty()) met_.back().waited_ns += clock_.now_ns() - since_ns;
}

reactor::Task<Status> Run::take_turn() {
  if (LongValues* const values = work.waiting_long_values()) {
    Status status = co_await waiting.bring_long_values(this, values);
    work.begin_turn();
    co_return status.ok() ? interrupt.check() : status;
  }
  const Expr* const call = work.waiting_call();
  if (work.waits_for_catalog()) {
    Status status = co_await read_catalog();
    work.begin_turn();
    co_return status;
  }
  if (call == nullptr) {
    co_await engine.executor().yield();
    work.begin_turn();
    co_return interrupt.check();
  }
  auto value = co_await call_waiting();
  // The work of a function in SQL counts for this turn.
  const std::uint64_t units = call->routine == nullptr ? 0 : work.units();
  work.begin_turn();
  work.charge(units);
  if (!value.ok()) co_return value.status();
  work.remember(*call, {true, *value, {}});
  // Functions that call each other may never come to another place where a turn ends.
  if (work.due()) {
    co_await engine.executor().yield();
    work.begin_turn();
  }
  co_return interrupt.check();
}

reactor::Task<Status> Run::read_catalog() {
  if (state.catalog != nullptr) co_return Status();
  Result<std::vector<storage::TableRef>> tables = co_await engine.tables();
  if (!tables.ok()) co_return tables.status();
  Result<std::vector<CatalogRoutine>> shown = co_await waiting.catalog_routines();
  if (!shown.ok()) co_return shown.status();
  const Result<std::vector<storage::RoutineRef>> routines = co_await engine.routines();
  if (!routines.ok()) co_return routines.status();
  std::vector<ViewRef> views;
  std::vector<TypeId> enumerations;
  for (const storage::RoutineRef& routine : *routines) {
    if (is_type(*routine)) {
      Result<Enumeration> enumeration = enumeration_of(*routine);
      if (!enumeration.ok()) co_return enumeration.status();
      enumerations.push_back(enumeration_type(enumeration->id));
      know_enumeration(std::move(enumeration).value());
    }
    if (!storage::is_view(*routine)) continue;
    Result<ViewRef> view = view_of(*routine);
    if (!view.ok()) co_return view.status();
    ViewRef shown_view = std::move(view).value();
    if (facts.hides_public) {
      auto with_names = std::make_shared<View>(*shown_view);
      with_names->query = with_schemas(*shown_view);
      shown_view = std::move(with_names);
    }
    views.push_back(std::move(shown_view));
  }
  Result<std::vector<CatalogSequence>> sequences = co_await waiting.catalog_sequences();
  if (!sequences.ok()) co_return sequences.status();
  waiting.follow_roles();
  state.catalog = std::make_shared<const Catalog>(std::move(*tables), std::move(views), std::move(*shown),
                                                  std::move(*sequences), std::move(enumerations),
                                                  facts.database, facts.hides_public);
  co_return Status();
}

reactor::Task<Result<Datum>> Run::value_of_subquery(const Expr* expr) {
  const std::vector<Datum> arguments = work.waiting_arguments();
  const std::size_t tests = tested_columns(*expr);
  auto rows = std::make_unique<SubqueryRows>();
  const std::span<const Datum> read = std::span<const Datum>(arguments).subspan(tests);
  Status status = co_await waiting.run_subquery(this, expr, read, rows.get());
  if (!status.ok()) co_return status;
  Datum value;
  status = subquery_value(*expr, std::span<const Datum>(arguments).first(tests), *rows, arena, value);
  if (!status.ok()) co_return status;
  value = arena.keep(value);
  // Other rows have the same.
  if (read.empty()) state.subqueries.add(*expr->subquery, std::move(rows));
  co_return value;
}

reactor::Task<Result<Datum>> Run::call_waiting() {
  if (is_subquery(*work.waiting_call())) co_return co_await value_of_subquery(work.waiting_call());
  const std::vector<Datum> arguments = work.waiting_arguments();
  if (work.waiting_call()->routine != nullptr)
    co_return co_await waiting.call_routine(this, work.waiting_call(), arguments);
  const Datum argument = arguments.empty() ? Datum() : arguments[0];
  const Function& function = *work.waiting_call()->function;
  switch (function.waiting) {
    case Waiting::transaction_id:
      co_return co_await waiting.transaction_id(transaction);
    case Waiting::transaction_outcome:
      co_return co_await waiting.transaction_outcome(argument.integer);
    case Waiting::sleep: {
      Status status = co_await let_pass(argument.real);
      if (!status.ok()) co_return status;
      co_return Datum::of_text("");
    }
    case Waiting::sequence: {
      auto value = co_await waiting.sequence_function(function.name, arguments);
      if (value.ok()) *value = arena.keep(*value);
      co_return value;
    }
    case Waiting::setting: {
      auto value = co_await waiting.setting_function(function.name, arguments, &sink);
      if (value.ok()) *value = arena.keep(*value);
      co_return value;
    }
    case Waiting::session_lock:
    case Waiting::transaction_lock:
      co_return co_await waiting.lock_function(function.name, arguments, &sink);
    case Waiting::no:
      break;
  }
  co_return Status(ErrorCode::internal, "a function that does not wait");
}

// In slices, since a cancel request of another thread does not wake the sleeper.
reactor::Task<Status> Run::let_pass(double seconds) {
  constexpr std::uint64_t kSlice_ns = 5 * kMillisecond_ns;
  if (!(seconds > 0)) co_return Status();
  reactor::Executor& executor = engine.executor();
  const double bounded = std::min(seconds, 1e9);
  const std::uint64_t end_ns = executor.now_ns() + static_cast<std::uint64_t>(bounded * 1e9);
  while (executor.now_ns() < end_ns) {
    if (Status status = interrupt.check(); !status.ok()) co_return status;
    const std::uint64_t wake_ns = std::min(end_ns, executor.now_ns() + kSlice_ns);
    co_await executor.sleep_until(wake_ns);
  }
  co_return Status();
}

namespace {

Status store_unbounded(layout::RowWriter& row, std::uint32_t column, std::string_view text) {
  const layout::Column& definition = row.view().schema().columns()[column];
  if (text.size() <= definition.length_bytes) return row.set_text(column, text);
  return Status(ErrorCode::string_too_long,
                "value too long for column \"" + definition.name + "\": at most " +
                    std::to_string(definition.length_bytes) + " bytes",
                "create the table WITH (text_bytes = ...)");
}

}  // namespace

Status cut_elements(const layout::Column& column, Arena& arena, Datum& value) {
  const std::uint32_t length_characters = element_length(column);
  if (length_characters == 0 || value.null || value.text.empty()) return {};
  ArrayWriter kept(TypeId::varchar_array);
  ArrayReader reader(TypeId::varchar_array, value);
  Datum element;
  while (reader.next(element)) {
    const std::size_t keep = element.null ? 0 : prefix_bytes(element.text, length_characters);
    if (!element.null && !without_trailing_blanks(element.text.substr(keep)).empty()) {
      return Status(
          ErrorCode::string_too_long,
          "value too long for type " + type_name(Type{TypeId::varchar, column_type(column).modifier}));
    }
    if (!element.null) element.text = element.text.substr(0, keep);
    kept.add(element);
  }
  value = kept.finish(arena);
  return {};
}

Status store_value(layout::RowWriter& row, std::uint32_t column, const Datum& value) {
  const layout::Column& definition = row.view().schema().columns()[column];
  if (value.null) {
    row.set_null(column);
    return {};
  }
  switch (definition.type) {
    case layout::ColumnType::double_precision:
    case layout::ColumnType::real:
      row.set_real(column, value.real);
      return {};
    case layout::ColumnType::numeric: {
      const Result<std::int64_t> scaled =
          to_scaled_integer(value.decimal(), definition.precision, definition.scale);
      if (!scaled.ok()) return scaled.status();
      return row.set_integer(column, *scaled);
    }
    case layout::ColumnType::decimal: {
      const Result<Decimal> number =
          definition.precision == 0 ? Result<Decimal>(value.decimal())
                                    : to_precision(value.decimal(), definition.precision, definition.scale);
      if (!number.ok()) return number.status();
      row.set_wide(column, wide_field_of(*number).data());
      return {};
    }
    case layout::ColumnType::interval:
      row.set_wide(column,
                   wide_field_of(restricted(value.interval(), column_type(definition).modifier)).data());
      return {};
    case layout::ColumnType::character:
    case layout::ColumnType::varchar: {
      if (layout::is_unbounded_varchar(definition)) return store_unbounded(row, column, value.text);
      std::string_view text = value.text;
      const std::size_t keep = prefix_bytes(text, definition.length_bytes);
      if (!without_trailing_blanks(text.substr(keep)).empty()) {
        return Status(ErrorCode::string_too_long,
                      "value too long for type " + type_name(column_type(definition)));
      }
      text = text.substr(0, keep);
      if (definition.type == layout::ColumnType::character) text = without_trailing_blanks(text);
      if (text.size() > definition.length_bytes) {
        return Status(ErrorCode::string_too_long,
                      "value too long for type " + type_name(column_type(definition)) + " of column \"" +
                          definition.name + "\": " + std::to_string(text.size()) + " bytes",
                      "a column's length counts bytes of UTF-8");
      }
      return row.set_text(column, text);
    }
    case layout::ColumnType::uuid:
      return row.set_text(column, value.text);
    default:
      if (!definition.is_string()) {
        const bool rounds = definition.length_bytes != 0 && enumeration_of(definition) == 0;  // timestamp(3)
        return row.set_integer(column,
                               rounds ? at_precision(value.integer, column_type(definition)) : value.integer);
      }
      if (element_length(definition) != 0) [[unlikely]] {
        Arena arena;
        Datum cut = value;
        Status status = cut_elements(definition, arena, cut);
        return status.ok() ? store_unbounded(row, column, cut.text) : status;
      }
      return store_unbounded(row, column, value.text);
  }
}

}  // namespace namdb::sql
