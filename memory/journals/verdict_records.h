// Records of decisions in the log, of 64-bit words:
//
//   RecordKind::voided, verdict  {slot} {counter}...: these commits are undone, are committed
//   RecordKind::through, closed  {slot in the high 32 bits, counter}: the slot has ended, and all its commits
//                                up to that one are decided; closed: by the decider
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace namdb::memory {

std::vector<std::byte> counters_record(std::uint32_t slot, std::span<const std::uint32_t> counters);
std::array<std::byte, 8> end_record(std::uint32_t slot, std::uint32_t through);

}  // namespace namdb::memory
