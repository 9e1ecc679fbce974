// How many calls of one connection may be under way. The client keeps to it; a server ends the connection of
// a peer that does not, so that no peer makes it hold more.
#pragma once

#include <cstddef>

#include "common/base/clock.h"
#include "common/fabric/fabric.h"

namespace namdb::fabric::verbs {

inline constexpr std::size_t kClientCalls = 256;
inline constexpr std::size_t kClientCall_bytes = 16U << 20;
// How often a call is sent as a datagram before it goes over the connection; the first wait, which doubles.
inline constexpr std::uint32_t kDatagramTries = 5;
inline constexpr std::uint64_t kFirstResend_ns = 10 * kMillisecond_ns;
inline constexpr std::size_t kServerUnsent_bytes = kClientCalls * (std::size_t{kMaxCall_bytes} + 64);
static_assert(kClientCall_bytes >= kMaxCall_bytes, "one call must always be possible");

}  // namespace namdb::fabric::verbs
