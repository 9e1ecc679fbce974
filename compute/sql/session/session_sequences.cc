// nextval(), currval(), lastval(), setval() and pg_get_serial_sequence(); and the sequences of tables.
#include <string>
#include <utility>
#include <vector>

#include "compute/sequences/sequence_definition.h"
#include "compute/sql/catalog/definition_text.h"
#include "compute/sql/session/find_relation.h"
#include "compute/sql/session/session.h"
#include "compute/sql/value/sequence_default.h"

namespace namdb::sql {

using reactor::Task;

namespace {

constexpr std::uint32_t kMaxSequenceNames = 1000;

Status no_sequences() {
  return Status(ErrorCode::feature_not_supported, "there are no sequences here");
}

// As the options of a column's sequence have it; null: there are none.
Result<txn::SequenceDefinition> definition_of(const layout::Column& column, const ColumnSequence* given) {
  txn::SequenceChange change = given == nullptr ? txn::SequenceChange() : given->options;
  if (!change.value_bytes) change.value_bytes = txn::bytes_for(greatest_number(column.type));
  if (!change.block_numbers) change.block_numbers = txn::kColumnBlockNumbers;
  return txn::apply_change({}, change, /*is_new=*/true);
}

}  // namespace

Task<Result<Datum>> Session::sequence_function(std::string_view name, std::span<const Datum> arguments) {
  if (environment_.sequences == nullptr) co_return no_sequences();
  if (name == "lastval") co_return co_await sequence_values_.last(name);
  std::string relation = relation_in_text(arguments[0].text);
  if (name == "pg_get_serial_sequence") {
    const std::string_view column = arguments[1].text;
    co_return co_await sequence_values_.serial(std::move(relation), column);
  }
  if (!rights_.is_superuser()) {
    std::string sequence = relation;
    const auto exists = co_await environment_.sequences->exists(std::move(sequence));
    if (!exists.ok()) co_return exists.status();
    sequence = relation;
    Status status;
    if (*exists) status = co_await rights_.check_sequence(name, std::move(sequence));
    if (!status.ok()) co_return status;
  }
  if (name == "currval") co_return co_await sequence_values_.current(std::move(relation), name);
  if (read_only()) {
    co_return Status(ErrorCode::read_only_transaction,
                     "cannot execute " + std::string(name) + "() in a read-only transaction");
  }
  if (name == "nextval") co_return co_await sequence_values_.next(std::move(relation));
  co_return co_await sequence_values_.set(std::move(relation), arguments);
}

Status Session::check_sequence_owners(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    Status status = rights_.check_object_owner({storage::ObjectKind::sequence, 0, name}, "sequence", name);
    if (!status.ok()) return status;
  }
  return {};
}

Task<Status> Session::restart_sequences(std::vector<std::string> names) {
  if (environment_.sequences == nullptr) co_return no_sequences();
  co_return co_await environment_.sequences->restart_all(std::move(names));
}

Task<Status> Session::check_no_sequence(std::string name) {
  if (environment_.sequences == nullptr) co_return Status();
  std::string asked = name;
  const auto found = co_await environment_.sequences->exists(std::move(asked));
  if (!found.ok()) co_return found.status();
  if (!*found) co_return Status();
  co_return Status(ErrorCode::duplicate_table, "relation \"" + name + "\" already exists");
}

// --- the sequences of tables ---

Task<Status> Session::check_default_sequences(const layout::Schema* schema) {
  for (const layout::Column& column : schema->columns()) {
    const auto filled = sequence_default_of(column);
    if (!filled || filled->is_owned()) continue;
    if (environment_.sequences == nullptr) co_return no_sequences();
    std::string name = filled->name;
    const auto found = co_await environment_.sequences->exists(std::move(name));
    if (!found.ok()) co_return found.status();
    if (!*found) co_return co_await missing_sequence(&engine_, filled->name, SequenceCommand::alter);
  }
  co_return Status();
}

Task<Result<std::vector<CatalogSequence>>> Session::catalog_sequences() {
  std::vector<CatalogSequence> shown;
  if (environment_.sequences == nullptr) co_return shown;
  auto all = co_await environment_.sequences->list();
  if (!all.ok()) co_return all.status();
  for (txn::NamedSequence& sequence : *all) {
    shown.push_back(
        {std::move(sequence.name), sequence.state.definition, sequence.state.last, sequence.state.is_given});
  }
  co_return shown;
}

Task<Status> Session::create_new_sequence(std::string name, const txn::SequenceDefinition* definition) {
  std::string wanted = name;
  const auto relation = co_await find_relation(&engine_, std::move(wanted));
  if (!relation.ok()) co_return relation.status();
  if (relation->table != nullptr)
    co_return Status(ErrorCode::duplicate_table, "relation \"" + name + "\" already exists");
  co_return co_await environment_.sequences->create(std::move(name), *definition);
}

Task<Status> Session::create_sequences(const std::vector<std::uint32_t>* filled_columns,
                                       const std::map<std::string, ColumnSequence>* options,
                                       txn::TableDefinition* definition, std::uint32_t owner) {
  if (filled_columns->empty()) co_return Status();
  if (environment_.sequences == nullptr) co_return no_sequences();
  std::vector<layout::Column> columns(definition->schema.columns());
  std::vector<std::string> made;
  Status status;
  for (const std::uint32_t column : *filled_columns) {
    SequenceDefault filled = *sequence_default_of(columns[column]);
    const auto given = options->find(columns[column].name);
    const bool is_named = given != options->end() && !given->second.name.empty();
    if (is_named) filled.name = given->second.name;
    const auto state = definition_of(columns[column], given == options->end() ? nullptr : &given->second);
    status = state.status();
    if (!status.ok()) break;
    const std::string wanted = filled.name;
    for (std::uint32_t number = 1; number <= kMaxSequenceNames; ++number) {
      std::string name = filled.name;
      status = co_await create_new_sequence(std::move(name), &*state);
      if (status.ok() || is_named || status.code() != ErrorCode::duplicate_table) break;
      filled.name = wanted.substr(0, 58) + std::to_string(number);
    }
    if (!status.ok()) break;
    made.push_back(filled.name);
    columns[column].default_text = sequence_default_text(filled);
    std::string owned = filled.name;
    status = co_await own_sequence(std::move(owned), owner);
    if (!status.ok()) break;
  }
  if (!status.ok()) {
    static_cast<void>(co_await drop_and_disown(std::move(made)));  // the first error tells more
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
    if (auto filled = owned_sequence_of(column)) names.push_back(std::move(filled->name));
  }
  if (names.empty() || environment_.sequences == nullptr) co_return Status();
  co_return co_await drop_and_disown(std::move(names));
}

Task<Status> Session::drop_and_disown(std::vector<std::string> sequences) {
  std::vector<std::string> gone = sequences;
  Status status = co_await environment_.sequences->drop(std::move(sequences));
  if (!status.ok()) co_return status;
  co_return co_await disown_sequences(std::move(gone));
}

}  // namespace namdb::sql
