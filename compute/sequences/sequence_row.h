// A sequence's row in the table of sequences: its definition and how far it is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/base/error.h"
#include "common/layout/row.h"
#include "compute/api/engine.h"
#include "compute/api/sequence_change.h"

namespace namdb::txn {

struct SequenceState {
  SequenceDefinition definition;
  // The last number that was given; or, unless it `is_given`, the one to be given first.
  std::int64_t last = 0;
  bool is_given = false;
  // Each change of the sequence draws a new epoch, except when a worker takes numbers. Numbers that were
  // taken under another epoch do not count any more. 0: the table has no column for epochs.
  std::int64_t epoch = 0;
};

struct NamedSequence {
  std::string name;
  SequenceState state;
};

// Numbers that a worker takes at once for a column.
inline constexpr std::int64_t kColumnBlockNumbers = 32;

// Numbers that follow each other.
struct SequenceBlock {
  std::int64_t next = 0;
  std::int64_t left = 0;  // numbers
  std::int64_t step = 1;

  std::int64_t take() {
    const std::int64_t number = next;
    if (--left != 0) next += step;
    return number;
  }
};

// The bytes of the smallest type that holds the number.
std::uint32_t bytes_for(std::int64_t last);

TableDefinition sequences_definition();
SequenceState read_sequence(const layout::RowView& row);
std::string read_sequence_name(const layout::RowView& row);
// feature_not_supported: the table has no columns for such options.
Status write_sequence(layout::RowWriter row, const SequenceState& state);
Status write_sequence_name(layout::RowWriter row, const std::string& name);

// Gives up to so many numbers, at least one. nullopt: there is none behind the last one.
std::optional<SequenceBlock> take_block(SequenceState& state, std::int64_t numbers);

}  // namespace namdb::txn
