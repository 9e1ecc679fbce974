// xxh3-64, the checksum under every self-certifying image in the region and on the wire.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace namdb {

std::uint64_t checksum64(std::span<const std::byte> bytes, std::uint64_t seed = 0);

}  // namespace namdb
