// A sequence's definition as CREATE SEQUENCE and ALTER SEQUENCE make it.
#pragma once

#include "common/base/error.h"
#include "compute/api/sequence_change.h"

namespace namdb::txn {

// `is_new`: of CREATE SEQUENCE. invalid_parameter_value.
Result<SequenceDefinition> apply_change(SequenceDefinition definition, const SequenceChange& change,
                                        bool is_new);
// Error if the sequence cannot go on with that number.
Status check_restart(const SequenceDefinition& definition, std::int64_t value);

}  // namespace namdb::txn
