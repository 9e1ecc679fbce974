// The sizes of fields of more than a word (wide_value.h).
#pragma once

#include <cstdint>

namespace namdb::layout {

inline constexpr std::uint32_t kIntervalField_bytes = 16;
inline constexpr std::uint32_t kDecimalField_bytes = 17;

}  // namespace namdb::layout
