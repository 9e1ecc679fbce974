// Operations, calls, round trips and bytes: the project's noise-free performance figures. A round trip is a
// dependent wait: a coroutine that awaits one or several posted batches and calls together counts one.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace namdb::fabric {

struct Operation;

struct OperationCounters {
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  std::uint64_t compare_and_swaps = 0;
  std::uint64_t fetch_adds = 0;
  std::uint64_t read_bytes = 0;
  std::uint64_t write_bytes = 0;
  std::uint64_t calls = 0;
  std::uint64_t call_bytes = 0;   // requests only; replies are counted as they arrive
  std::uint64_t batches = 0;      // doorbells asked for
  std::uint64_t round_trips = 0;  // counted by the waiter
  // Repetitions that contention or a torn read caused; contained in the figures above.
  std::uint64_t rereads = 0;

  void count(std::span<const Operation> operations);
  std::uint64_t one_sided() const { return reads + writes + compare_and_swaps + fetch_adds; }
  // Payload bytes moved; atomics move 8 bytes each.
  std::uint64_t bytes() const {
    return read_bytes + write_bytes + call_bytes + 8 * (compare_and_swaps + fetch_adds);
  }
  OperationCounters& operator+=(const OperationCounters& other);
  OperationCounters operator-(const OperationCounters& earlier) const;
};

}  // namespace namdb::fabric
