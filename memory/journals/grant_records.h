// Records of grants in the log (memory/region/grant_numbers.h), of 64-bit words:
//
//   RecordKind::grants  {mark}: numbers up to it may have been handed out
//   RecordKind::block   {table} {offset} {bytes} {taken}: a block of records was taken, before any entry that
//                       names a place in it
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "memory/region/grant_numbers.h"

namespace namdb::memory {

std::vector<std::byte> mark_record(std::uint64_t mark);
std::vector<std::byte> block_record(const RecordBlock& block);
// nullopt where the bytes are not a record of grants.
std::optional<std::uint64_t> read_mark_record(std::span<const std::byte> record);
std::optional<RecordBlock> read_block_record(std::span<const std::byte> record);

}  // namespace namdb::memory
