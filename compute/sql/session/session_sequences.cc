// nextval(), currval(), lastval(), setval() and pg_get_serial_sequence(); and the sequences of tables.
#include <string>
#include <utility>
#include <vector>

#include "compute/sql/catalog/definition_text.h"
#include "compute/sql/session/session.h"
#include "compute/sql/value/sequence_default.h"

namespace namdb::sql {

using reactor::Task;

namespace {

constexpr std::uint32_t kMaxSequenceNames = 1000;

Status no_sequences() {
  return Status(ErrorCode::feature_not_supported, "there are no sequences here");
}

constexpr std::size_t kMaxIdentifier_bytes = 63;

// A name as text, as a cast to regclass reads it: in lower case unless it is quoted, perhaps behind the
// schema.
std::string relation_of(std::string_view text) {
  std::string name;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      if (quoted && i + 1 < text.size() && text[i + 1] == '"') {
        name += text[++i];
      } else {
        quoted = !quoted;
      }
    } else if (c == '.' && !quoted && name == "public") {
      name.clear();
    } else {
      name += !quoted && c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
  }
  // As PostgreSQL, and its parser, shortens names.
  std::size_t end = std::min(name.size(), kMaxIdentifier_bytes);
  while (end < name.size() && end > 0 && (name[end] & 0xc0) == 0x80) --end;
  name.resize(end);
  return name;
}

}  // namespace

Task<Result<Datum>> Session::sequence_function(std::string_view name, std::span<const Datum> arguments) {
  if (environment_.sequences == nullptr) co_return no_sequences();
  if (name == "lastval") {
    const auto last = sequence_values_.find(last_sequence_);
    if (last != sequence_values_.end()) co_return Datum::of_integer(last->second);
    co_return Status(ErrorCode::object_not_in_prerequisite_state,
                     "lastval is not yet defined in this session");
  }
  std::string relation = relation_of(arguments[0].text);
  if (name == "pg_get_serial_sequence") {
    const std::string_view column = arguments[1].text;
    co_return co_await serial_sequence(std::move(relation), column);
  }
  if (name == "currval") {
    const auto current = sequence_values_.find(relation);
    if (current != sequence_values_.end()) co_return Datum::of_integer(current->second);
    co_return Status(ErrorCode::object_not_in_prerequisite_state,
                     "currval of sequence \"" + relation + "\" is not yet defined in this session");
  }
  if (read_only()) {
    co_return Status(ErrorCode::read_only_transaction,
                     "cannot execute " + std::string(name) + "() in a read-only transaction");
  }
  if (name == "nextval") co_return co_await next_value(std::move(relation));
  co_return co_await set_value(std::move(relation), arguments);
}

Task<Result<Datum>> Session::next_value(std::string name) {
  std::string asked = name;
  const auto number = co_await environment_.sequences->next(std::move(asked));
  if (!number.ok()) co_return number.status();
  sequence_values_[name] = *number;
  last_sequence_ = std::move(name);
  co_return Datum::of_integer(*number);
}

Task<Result<Datum>> Session::set_value(std::string name, std::span<const Datum> arguments) {
  const std::int64_t value = arguments[1].integer;
  const bool is_called = arguments.size() < 3 || arguments[2].is_true();
  std::string asked = name;
  Status status = co_await environment_.sequences->restart(std::move(asked), value, is_called);
  if (!status.ok()) co_return status;
  if (is_called) sequence_values_[name] = value;
  co_return Datum::of_integer(value);
}

Task<Result<Datum>> Session::serial_sequence(std::string table, std::string_view column) {
  const std::string wanted(column);
  std::string name = table;
  const auto found = co_await engine_.table(std::move(name));
  if (!found.ok()) {
    if (found.status().code() != ErrorCode::undefined_table) co_return found.status();
    co_return Status(ErrorCode::undefined_table, "relation \"" + table + "\" does not exist");
  }
  const auto position = (*found)->schema.find(wanted);
  if (!position) {
    co_return Status(ErrorCode::undefined_column,
                     "column \"" + wanted + "\" of relation \"" + table + "\" does not exist");
  }
  const auto filled = sequence_default_of((*found)->schema.columns()[*position]);
  if (!filled) co_return Datum();
  // It lasts until the statement's next one.
  serial_sequence_ = "public." + quoted_name(filled->name);
  co_return Datum::of_text(serial_sequence_);
}

// --- the sequences of tables ---

Task<Status> Session::create_sequences(const std::vector<std::uint32_t>* filled_columns,
                                       txn::TableDefinition* definition) {
  if (filled_columns->empty()) co_return Status();
  if (environment_.sequences == nullptr) co_return no_sequences();
  std::vector<layout::Column> columns(definition->schema.columns());
  std::vector<std::string> made;
  Status status;
  for (const std::uint32_t column : *filled_columns) {
    SequenceDefault filled = *sequence_default_of(columns[column]);
    const std::string wanted = filled.name;
    for (std::uint32_t number = 1; number <= kMaxSequenceNames; ++number) {
      std::string name = filled.name;
      status =
          co_await environment_.sequences->create(std::move(name), 1, greatest_number(columns[column].type));
      if (status.ok() || status.code() != ErrorCode::duplicate_table) break;
      filled.name = wanted.substr(0, 58) + std::to_string(number);
    }
    if (!status.ok()) break;
    made.push_back(filled.name);
    columns[column].default_text = sequence_default_text(filled);
  }
  if (!status.ok()) {
    const Status dropped = co_await environment_.sequences->drop(std::move(made));
    static_cast<void>(dropped);  // the first error tells more
    co_return status;
  }
  const layout::Schema& schema = definition->schema;
  auto named = layout::Schema::create(std::move(columns), schema.key(), schema.partition());
  if (!named.ok()) co_return named.status();
  definition->schema = std::move(named).value();
  co_return Status();
}

Task<Status> Session::drop_sequences(const layout::Schema* schema) {
  std::vector<std::string> names;
  for (const layout::Column& column : schema->columns()) {
    if (auto filled = sequence_default_of(column)) names.push_back(std::move(filled->name));
  }
  if (names.empty() || environment_.sequences == nullptr) co_return Status();
  co_return co_await environment_.sequences->drop(std::move(names));
}

}  // namespace namdb::sql
