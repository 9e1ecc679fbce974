// Whose database a folder DIR/{identity,log,checkpoint} has: the text of its file `identity`, with format,
// database, server, state, the program that wrote it, and a checksum. Pure functions; memory/process reads
// and writes the file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/error.h"

namespace namdb::memory {

// 2: a region may have moved away from the folder (memory/placement), rows have long values, and journal
// rooms are checksummed in pieces. A folder of format 1 is opened, and is one of format 2 from then on.
inline constexpr std::uint32_t kFolderFormat = 2;
inline constexpr const char* kIdentityName = "identity";

struct FolderIdentity {
  std::uint32_t format = kFolderFormat;
  std::uint64_t database_id = 0;  // 16 hexadecimal digits, never 0
  std::uint16_t server_id = 0;
  bool complete = false;   // false: log and checkpoint are being created
  std::string written_by;  // a version of namdb
  friend bool operator==(const FolderIdentity&, const FolderIdentity&) = default;
};

std::string write_folder_identity(const FolderIdentity& identity);
// Outside input; messages name the field but no file. Errors corrupt_data; configuration: a newer format.
Result<FolderIdentity> read_folder_identity(std::string_view text);

}  // namespace namdb::memory
