// Of Hello and Welcome: clients and servers of one cluster have the same.
#pragma once

#include <cstdint>

namespace namdb::calls {

inline constexpr std::uint32_t kProtocolVersion = 1;

}  // namespace namdb::calls
