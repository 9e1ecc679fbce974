// Tables and indexes as messages of the control plane, and back.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "common/base/error.h"
#include "common/layout/schema.h"
#include "compute/api/table.h"
#include "proto/control_types.h"

namespace namdb::txn {

// Outside input: error corrupt_data when the description is malformed.
Result<std::shared_ptr<storage::Table>> table_from_descriptor(const control::TableDescriptor& descriptor,
                                                              std::size_t server_count);
// The same for an index of that table.
Result<storage::IndexRef> index_from_descriptor(const control::IndexDescriptor& descriptor,
                                                const storage::Table& table, std::size_t server_count);
// The same for a hash index of that table, whose entries are in the other table.
Result<storage::IndexRef> hash_index_from_descriptor(const control::TableDescriptor& descriptor,
                                                     const storage::Table& table, storage::TableRef entries);
control::Column descriptor_of(const layout::Column& column);
control::TableDescriptor descriptor_of(const std::string& name, const layout::Schema& schema);

}  // namespace namdb::txn
