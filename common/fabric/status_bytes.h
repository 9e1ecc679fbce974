// A Status as bytes between two processes: its code's name, message and hint.
#pragma once

#include <string>
#include <string_view>

#include "common/base/error.h"

namespace namdb::fabric {

std::string encode_status(const Status& status);
// The Status in bytes that an unknown peer may have sent: never ok.
Status decode_status(std::string_view bytes);

}  // namespace namdb::fabric
