// A configuration as the store keeps it: JSON, for people who look into the store, with a checksum.
//
//   {"format": 1, "database_id": "00c0ffee00c0ffee", "checksum": "89abcdef",
//    "regions": [{"number": 3, "primary": "m0:7400", "copies": ["m1:7400"]}]}
//
// The checksum (CRC-32C) covers the encoded configuration (configuration.h).
#pragma once

#include <string>
#include <string_view>

#include "common/base/error.h"
#include "common/placement/configuration.h"

namespace namdb::placement {

// Error configuration: it could not be read back, since it is malformed or an address is not text.
Result<std::string> write_stored(const Configuration& configuration);
// Outside input. Error configuration: the text is malformed, is damaged, or has a newer format.
Result<Configuration> read_stored(std::string_view text);

}  // namespace namdb::placement
