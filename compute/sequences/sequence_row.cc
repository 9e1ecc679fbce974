#include "compute/sequences/sequence_row.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "compute/api/table.h"

namespace namdb::txn {
namespace {

enum SequenceColumn : std::uint32_t {
  kName,
  kLast,
  kMost,
  // Tables of a time when sequences had no options lack the others.
  kLeast,
  kIncrement,
  kStart,
  kBlock,
  kValueBytes,
  kCycles,
  kIsGiven,
  kEpoch,  // and tables of a later time lack this one
};

bool has_options(const layout::Schema& schema) {
  return schema.columns().size() > kIsGiven;
}

bool has_epoch(const layout::Schema& schema) {
  return schema.columns().size() > kEpoch;
}

std::uint64_t distance(std::int64_t from, std::int64_t to) {
  return from < to ? static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from)
                   : static_cast<std::uint64_t>(from) - static_cast<std::uint64_t>(to);
}

// The numbers that follow `number`, up to the bound.
std::uint64_t room_behind(const SequenceDefinition& definition, std::int64_t number) {
  const bool ascends = definition.increment > 0;
  const std::int64_t bound = ascends ? definition.most : definition.least;
  if (ascends ? number >= bound : number <= bound) return 0;
  return distance(number, bound) / distance(definition.increment, 0);
}

}  // namespace

std::uint32_t bytes_for(std::int64_t last) {
  constexpr std::int64_t kSmall = 32'767;
  constexpr std::int64_t kMiddle = 2'147'483'647;
  return last <= kSmall ? 2 : last <= kMiddle ? 4 : 8;
}

TableDefinition sequences_definition() {
  using layout::ColumnType;
  std::vector<layout::Column> columns = {{.name = "name", .type = ColumnType::varchar, .length_bytes = 63},
                                         {.name = "last_value", .not_null = true},
                                         {.name = "most", .not_null = true},
                                         {.name = "least", .not_null = true},
                                         {.name = "increment", .not_null = true},
                                         {.name = "start", .not_null = true},
                                         {.name = "block", .not_null = true},
                                         {.name = "value_bytes", .not_null = true},
                                         {.name = "cycles", .type = ColumnType::boolean, .not_null = true},
                                         {.name = "is_called", .type = ColumnType::boolean, .not_null = true},
                                         {.name = "epoch", .not_null = true}};
  TableDefinition made;
  made.name = storage::kSequencesTable;
  made.schema = std::move(*layout::Schema::create(std::move(columns), {kName}));
  return made;
}

SequenceState read_sequence(const layout::RowView& row) {
  SequenceState state;
  state.last = row.integer(kLast);
  SequenceDefinition& definition = state.definition;
  definition.most = row.integer(kMost);
  if (!has_options(row.schema())) {
    definition.block_numbers = kColumnBlockNumbers;
    definition.value_bytes = bytes_for(definition.most);
    // Such a row has the number behind the last one.
    state.is_given = state.last > definition.most || state.last == std::numeric_limits<std::int64_t>::max();
    return state;
  }
  definition.least = row.integer(kLeast);
  definition.increment = row.integer(kIncrement);
  definition.start = row.integer(kStart);
  definition.block_numbers = row.integer(kBlock);
  definition.value_bytes = static_cast<std::uint32_t>(row.integer(kValueBytes));
  definition.cycles = row.integer(kCycles) != 0;
  state.is_given = row.integer(kIsGiven) != 0;
  if (has_epoch(row.schema())) state.epoch = row.integer(kEpoch);
  return state;
}

Status write_sequence(layout::RowWriter row, const SequenceState& state) {
  const SequenceDefinition& definition = state.definition;
  const layout::Schema& schema = row.view().schema();
  const bool options = has_options(schema);
  const bool plain = definition.increment == 1 && definition.least == 1 && !definition.cycles;
  if (!options && !plain) {
    return Status(ErrorCode::feature_not_supported,
                  "sequences with options are not supported in a database whose first sequence had none");
  }
  const bool behind = !options && state.is_given && state.last != std::numeric_limits<std::int64_t>::max();
  Status status = row.set_integer(kLast, behind ? state.last + 1 : state.last);
  if (!status.ok()) return status;
  status = row.set_integer(kMost, definition.most);
  if (!status.ok() || !options) return status;
  const std::pair<SequenceColumn, std::int64_t> values[] = {{kLeast, definition.least},
                                                            {kIncrement, definition.increment},
                                                            {kStart, definition.start},
                                                            {kBlock, definition.block_numbers},
                                                            {kValueBytes, definition.value_bytes},
                                                            {kCycles, definition.cycles ? 1 : 0},
                                                            {kIsGiven, state.is_given ? 1 : 0}};
  for (const auto& [column, value] : values) {
    if (Status set = row.set_integer(column, value); !set.ok()) return set;
  }
  return has_epoch(schema) ? row.set_integer(kEpoch, state.epoch) : Status();
}

std::string read_sequence_name(const layout::RowView& row) {
  return std::string(row.text(kName));
}

Status write_sequence_name(layout::RowWriter row, const std::string& name) {
  return row.set_text(kName, name);
}

std::optional<SequenceBlock> take_block(SequenceState& state, std::int64_t numbers) {
  const SequenceDefinition& definition = state.definition;
  std::int64_t first = state.last;
  if (state.is_given && room_behind(definition, state.last) != 0) {
    first = state.last + definition.increment;
  } else if (state.is_given) {
    if (!definition.cycles) return std::nullopt;
    first = definition.increment > 0 ? definition.least : definition.most;
  }
  const std::uint64_t wanted = static_cast<std::uint64_t>(std::max<std::int64_t>(numbers, 1)) - 1;
  const std::uint64_t more = std::min(wanted, room_behind(definition, first));
  // Within the bounds, so that only the product may wrap, and the sum wraps back.
  state.last = static_cast<std::int64_t>(static_cast<std::uint64_t>(first) +
                                         more * static_cast<std::uint64_t>(definition.increment));
  state.is_given = true;
  return SequenceBlock{first, static_cast<std::int64_t>(more) + 1, definition.increment};
}

}  // namespace namdb::txn
