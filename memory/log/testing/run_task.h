// Runs a task on an executor that a test turns by hand, to its end.
#pragma once

#include <optional>
#include <type_traits>
#include <utility>

#include "common/reactor/executor.h"
#include "common/reactor/testing/manual_executor.h"

namespace namdb::memory::testing {

template <typename T>
reactor::Task<void> keep_result(reactor::Task<T> task, std::optional<T>* result) {
  result->emplace(co_await task);
}

template <typename T>
T run_task(reactor::testing::ManualExecutor& executor, reactor::Task<T> task) {
  reactor::Gate gate;
  if constexpr (std::is_void_v<T>) {
    executor.spawn(gate, std::move(task));
    executor.run_until([&gate] { return gate.count() == 0; });
  } else {
    std::optional<T> result;
    executor.spawn(gate, keep_result(std::move(task), &result));
    executor.run_until([&gate] { return gate.count() == 0; });
    return std::move(*result);
  }
}

}  // namespace namdb::memory::testing
