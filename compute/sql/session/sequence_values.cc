#include "compute/sql/session/sequence_values.h"

#include <utility>

#include "compute/sql/catalog/definition_text.h"
#include "compute/sql/session/find_relation.h"
#include "compute/sql/value/sequence_default.h"

namespace namdb::sql {

using reactor::Task;

namespace {

std::string quoted_sequence(const std::string& name) {
  return "\"" + name + "\"";
}

}  // namespace

Task<Result<Datum>> SequenceValues::next(std::string name) {
  std::string asked = name;
  const auto number = co_await sequences_->next(std::move(asked));
  if (!number.ok()) co_return number.status();
  values_[name] = *number;
  last_sequence_ = std::move(name);
  co_return Datum::of_integer(*number);
}

Task<Result<Datum>> SequenceValues::current(std::string name, std::string_view function) {
  const bool is_last = function == "lastval";
  const auto known = values_.find(name);
  const bool is_known = known != values_.end();
  const std::int64_t value = is_known ? known->second : 0;
  // Another session may have dropped it.
  bool is_there = false;
  if (is_known || !is_last) {
    std::string asked = name;
    const auto found = co_await sequences_->exists(std::move(asked));
    if (!found.ok()) co_return found.status();
    is_there = *found;
  }
  if (is_known && is_there) {
    // The rights of the others were checked by the caller.
    Status status;
    if (is_last) status = co_await rights_.check_sequence(function, std::move(name));
    if (!status.ok()) co_return status;
    co_return Datum::of_integer(value);
  }
  if (is_last) {
    co_return Status(ErrorCode::object_not_in_prerequisite_state,
                     "lastval is not yet defined in this session");
  }
  if (!is_there) co_return co_await missing_sequence(&engine_, std::move(name), SequenceCommand::alter);
  co_return Status(ErrorCode::object_not_in_prerequisite_state,
                   "currval of sequence \"" + name + "\" is not yet defined in this session");
}

Task<Result<Datum>> SequenceValues::set(std::string name, std::span<const Datum> arguments) {
  const std::int64_t value = arguments[1].integer;
  const bool is_called = arguments.size() < 3 || arguments[2].is_true();
  std::string asked = name;
  Status status = co_await sequences_->restart(std::move(asked), value, is_called);
  if (!status.ok()) co_return status;
  if (is_called) values_[name] = value;
  co_return Datum::of_integer(value);
}

Task<Result<Datum>> SequenceValues::serial(std::string table, std::string_view column) {
  const std::string wanted(column);
  std::string name = table;
  const auto found = co_await engine_.table(std::move(name));
  if (!found.ok()) {
    if (found.status().code() != ErrorCode::undefined_table) co_return found.status();
    // Views have none.
    if (engine_.cached_routine(storage::view_key(table)) != nullptr) co_return Datum();
    co_return Status(ErrorCode::undefined_table, "relation \"" + table + "\" does not exist");
  }
  const auto position = (*found)->schema.find(wanted);
  if (!position) {
    co_return Status(ErrorCode::undefined_column,
                     "column \"" + wanted + "\" of relation \"" + table + "\" does not exist");
  }
  const auto filled = owned_sequence_of((*found)->schema.columns()[*position]);
  if (!filled) co_return Datum();
  // It lasts until the statement's next one.
  serial_sequence_ = "public." + quoted_name(filled->name);
  co_return Datum::of_text(serial_sequence_);
}

void SequenceValues::forget_all() {
  values_.clear();
  last_sequence_.clear();
}

Task<Status> missing_sequence(txn::Engine* engine, std::string name, SequenceCommand command) {
  std::string wanted = name;
  const auto relation = co_await find_relation(engine, std::move(wanted));
  if (!relation.ok()) co_return relation.status();
  if (relation->table != nullptr)
    co_return Status(ErrorCode::wrong_object_type, quoted_sequence(name) + " is not a sequence");
  co_return Status(ErrorCode::undefined_table,
                   (command == SequenceCommand::alter ? "relation " : "sequence ") + quoted_sequence(name) +
                       " does not exist");
}

}  // namespace namdb::sql
