// Ages of transactions: a stamp whose counter is the time at which the transaction began, in ticks of a
// 32-bit clock that wraps around. So two ages can be compared only if they are less than half a round (2^31
// ticks) apart. The slot makes ages unique.
#pragma once

#include <cstdint>

#include "common/layout/stamp.h"

namespace namdb::layout {

constexpr bool later(std::uint32_t left, std::uint32_t right) {
  return static_cast<std::int32_t>(left - right) > 0;
}

constexpr bool older(Stamp left, Stamp right) {
  return left.counter == right.counter ? left.slot < right.slot : later(right.counter, left.counter);
}

}  // namespace namdb::layout
