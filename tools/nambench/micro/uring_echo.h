// The capacity of a connection without a database: two threads, a bare io_uring each, one loopback TCP
// connection. The client keeps a number of requests under way; the server answers each with a response of the
// given size. On both sides all bytes that are ready leave in one send, as in the tcp fabric.
#pragma once

#include <cstdint>

#include "common/base/error.h"

namespace namdb::nambench {

struct EchoOptions {
  std::uint32_t request_bytes = 16;
  std::uint32_t response_bytes = 64;
  std::uint32_t outstanding = 64;
  std::uint64_t messages = 100'000;
  std::uint64_t spin_ns = 10'000;  // before a side sleeps, giving its core away meanwhile
};

// Nanoseconds for all messages.
Result<std::uint64_t> run_echo(const EchoOptions& options);

}  // namespace namdb::nambench
