// Coroutine frames from per-thread free lists, so that a transaction in steady state allocates nothing.
// A frame is freed on the thread that made it: tasks never change their executor.
#pragma once

#include <cstddef>

namespace namdb::reactor {

void* allocate_frame(std::size_t bytes);
void free_frame(void* frame, std::size_t bytes) noexcept;

}  // namespace namdb::reactor
