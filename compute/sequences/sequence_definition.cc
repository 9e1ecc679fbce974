#include "compute/sequences/sequence_definition.h"

#include <string>

namespace namdb::txn {
namespace {

std::int64_t greatest_of(std::uint32_t value_bytes) {
  return std::numeric_limits<std::int64_t>::max() >> (64 - 8 * value_bytes);
}

std::int64_t smallest_of(std::uint32_t value_bytes) {
  return -greatest_of(value_bytes) - 1;
}

std::string type_of(std::uint32_t value_bytes) {
  return value_bytes == 2 ? "smallint" : value_bytes == 4 ? "integer" : "bigint";
}

std::string in_words(std::string_view word, std::int64_t value) {
  return std::string(word) + " (" + std::to_string(value) + ")";
}

Status wrong(std::string message) {
  return Status(ErrorCode::invalid_parameter_value, std::move(message));
}

Status check_between(std::string_view word, std::int64_t value, const SequenceDefinition& definition) {
  if (value < definition.least)
    return wrong(in_words(std::string(word) + " value", value) + " cannot be less than " +
                 in_words("MINVALUE", definition.least));
  if (value > definition.most)
    return wrong(in_words(std::string(word) + " value", value) + " cannot be greater than " +
                 in_words("MAXVALUE", definition.most));
  return {};
}

Status check_in_type(std::string_view word, std::int64_t value, std::uint32_t value_bytes) {
  if (value >= smallest_of(value_bytes) && value <= greatest_of(value_bytes)) return {};
  return wrong(in_words(word, value) + " is out of range for sequence data type " + type_of(value_bytes));
}

}  // namespace

Result<SequenceDefinition> apply_change(SequenceDefinition definition, const SequenceChange& change,
                                        bool is_new) {
  const std::uint32_t before_bytes = definition.value_bytes;
  definition.value_bytes = change.value_bytes.value_or(before_bytes);
  // The bounds of the type that it had become those of the new one.
  const bool new_type = !is_new && change.value_bytes.has_value();
  const bool had_greatest = new_type && definition.most == greatest_of(before_bytes);
  const bool had_smallest = new_type && definition.least == smallest_of(before_bytes);
  definition.increment = change.increment.value_or(definition.increment);
  if (definition.increment == 0) return wrong("INCREMENT must not be zero");
  definition.cycles = change.cycles.value_or(definition.cycles);
  definition.block_numbers = change.block_numbers.value_or(definition.block_numbers);
  const bool ascends = definition.increment > 0;
  if (change.most) {
    definition.most = *change.most;
  } else if (is_new || change.most_is_default || had_greatest) {
    definition.most = ascends || had_greatest ? greatest_of(definition.value_bytes) : -1;
  }
  Status status = check_in_type("MAXVALUE", definition.most, definition.value_bytes);
  if (!status.ok()) return status;
  if (change.least) {
    definition.least = *change.least;
  } else if (is_new || change.least_is_default || had_smallest) {
    definition.least = !ascends || had_smallest ? smallest_of(definition.value_bytes) : 1;
  }
  status = check_in_type("MINVALUE", definition.least, definition.value_bytes);
  if (!status.ok()) return status;
  if (definition.least >= definition.most) {
    return wrong(in_words("MINVALUE", definition.least) + " must be less than " +
                 in_words("MAXVALUE", definition.most));
  }
  if (change.start) {
    definition.start = *change.start;
  } else if (is_new) {
    definition.start = ascends ? definition.least : definition.most;
  }
  status = check_between("START", definition.start, definition);
  if (!status.ok()) return status;
  return definition;
}

Status check_restart(const SequenceDefinition& definition, std::int64_t value) {
  return check_between("RESTART", value, definition);
}

}  // namespace namdb::txn
