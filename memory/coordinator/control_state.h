// Control state as a value, and what may be done with it: read it from bytes, apply an entry, check it.
//
//   state(n) = state(n - 1) + entry n        version counts the entries; state 0 is empty
//
// Entries are applied in order. One that the state has already changes nothing, so a log may begin before a
// checkpoint's state; one that comes too early is an error. Lists in a state are sorted, so equal states are
// equal bytes. Bytes come from disk and are checked like any outside input. Pure functions; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/base/error.h"
#include "memory/options.h"
#include "proto/control_state.pb.h"

namespace namdb::memory {

// Raised when a reader of an older format would take a message for something else.
inline constexpr std::uint32_t kControlFormat = 1;
// So many ids are logged ahead of their use.
inline constexpr std::uint32_t kIdsAhead = 1024;

// The entry that creates a database with these options.
control::ControlEntry first_control_entry(const Options& options, std::uint64_t database_id);

// Errors corrupt_data: the message is malformed; configuration: a newer program wrote them. The message
// names the field and the program.
Result<control::ControlEntry> read_control_entry(std::span<const std::byte> bytes);
Result<control::TableRecord> read_table_record(std::span<const std::byte> bytes);
// Also checks it as check_control_state() does.
Result<control::ControlState> read_control_state(std::span<const std::byte> bytes);

// Error corrupt_data when an earlier entry is missing, or when the entry cannot be one for this state, which
// is void then.
Status apply_control_entry(control::ControlState& state, const control::ControlEntry& entry);

// Whether a catalog and slots can be like that: ids, names, shapes, order. Error corrupt_data. State 0 is
// sound.
Status check_control_state(const control::ControlState& state);
// Whether a server with these options serves this database. Error configuration, with the flag's name.
// The fault in the parts of an index, which lie on `server_count` memory servers; empty: there is none.
std::string check_index_parts(const control::IndexDescriptor& index, std::uint32_t server_count);
Status check_database_settings(const control::DatabaseSettings& settings, const Options& options);

}  // namespace namdb::memory
