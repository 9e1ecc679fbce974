// The tables that keep long values (compute/api/long_value_tables.h) follow the tables whose values they
// keep: they are dropped with such a table, or belong to the table that has taken its place.
#pragma once

#include <cstdint>

#include "common/base/error.h"
#include "common/reactor/task.h"
#include "compute/api/engine.h"

namespace namdb::sql {

reactor::Task<Status> drop_long_values(txn::Engine* engine, std::uint32_t table);
reactor::Task<Status> rename_long_values(txn::Engine* engine, std::uint32_t from, std::uint32_t to);

}  // namespace namdb::sql
