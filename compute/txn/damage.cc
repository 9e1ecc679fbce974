#include "compute/txn/damage.h"

#include <cinttypes>
#include <cstdio>
#include <string>

namespace namdb::protocol {

Status damaged(const storage::Table& table, std::string_view what, layout::GlobalAddress address) {
  char place[64];
  std::snprintf(place, sizeof place, "server %u, offset 0x%" PRIx64, static_cast<unsigned>(address.server()),
                address.offset());
  return Status(
      ErrorCode::corrupt_data,
      std::string(what) + " of table \"" + table.name + "\" at " + place + " is damaged",
      "its bytes do not fit their checksum, and nobody writes them: the memory server's machine may "
      "have faulty memory");
}

}  // namespace namdb::protocol
