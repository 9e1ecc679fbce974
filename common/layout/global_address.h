// A place in the cluster's memory: memory-server id and byte offset in its region, in 64 bits.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace namdb::layout {

using ServerId = std::uint16_t;

struct GlobalAddress {
  std::uint64_t value = 0;

  constexpr GlobalAddress() = default;
  constexpr explicit GlobalAddress(std::uint64_t raw) : value(raw) {}
  constexpr GlobalAddress(ServerId server, std::uint64_t offset)
      : value((std::uint64_t{server} << 48) | offset) {}

  constexpr ServerId server() const { return static_cast<ServerId>(value >> 48); }
  constexpr std::uint64_t offset() const { return value & kOffsetMask; }
  // Offset 0 is the region map's, so that no record, bucket or journal lives there.
  constexpr bool null() const { return offset() == 0; }
  constexpr GlobalAddress operator+(std::uint64_t bytes) const { return GlobalAddress(value + bytes); }
  friend constexpr auto operator<=>(GlobalAddress, GlobalAddress) = default;

  static constexpr std::uint64_t kOffsetMask = (std::uint64_t{1} << 48) - 1;
};

static_assert(sizeof(GlobalAddress) == 8);

}  // namespace namdb::layout

template <>
struct std::hash<namdb::layout::GlobalAddress> {
  std::size_t operator()(namdb::layout::GlobalAddress address) const noexcept {
    return address.value * 0x9e3779b97f4a7c15ULL;
  }
};
