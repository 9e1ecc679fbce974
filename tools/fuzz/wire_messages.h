// Messages of clients for the target `wire`: the pieces of its first and its changed inputs.
#pragma once

#include <string>
#include <vector>

namespace namdb::fuzz {

// Messages behind the start-up packet, one of each kind and form.
const std::vector<std::string>& wire_messages();
// Start-up packets.
const std::vector<std::string>& wire_startups();

}  // namespace namdb::fuzz
