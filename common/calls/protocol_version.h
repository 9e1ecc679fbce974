// Of Hello and Welcome: clients and servers of one cluster have the same. It rises with each change that an
// older program would misread: of bytes in the region, of a call, or of a message in which an unknown field
// does harm. Programs of different versions with one protocol version work together.
#pragma once

#include <cstdint>

namespace namdb::calls {

inline constexpr std::uint32_t kProtocolVersion = 4;

}  // namespace namdb::calls
