// CRC-32C, the checksum of bytes on their way: it finds every run of up to 32 flipped bits. Images in the
// region have a longer one (checksum.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace namdb {

// The CRC-32C of `bytes`. For bytes in pieces, `before` is the result for the pieces before.
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before = 0);

}  // namespace namdb
