// What no operation may be, on any queue pair. Bounds of the region are the device's business.
#pragma once

#include <cstdint>
#include <span>

#include "common/fabric/fabric.h"
#include "common/fabric/verbs/device.h"

namespace namdb::fabric::verbs {

inline const char* refuse_operations(std::span<const Operation> operations, Device& device) {
  for (const Operation& operation : operations) {
    if (operation.kind > OperationKind::fetch_add) return "an operation of no kind";
    if (operation.length_bytes == 0 || operation.length_bytes % 8 != 0)
      return "a length that is no multiple of 8";
    if (operation.length_bytes > kMaxOperation_bytes) return "a length beyond the largest operation";
    if (operation.kind >= OperationKind::compare_and_swap && operation.length_bytes != 8)
      return "an atomic of other than 8 bytes";
    if (operation.remote_offset % 8 != 0) return "an offset that is no multiple of 8";
    if (reinterpret_cast<std::uintptr_t>(operation.local) % 8 != 0)
      return "a local buffer that is not aligned";
    if (!device.local_key(operation.local, operation.length_bytes))
      return "a local buffer that is not registered";
  }
  return nullptr;
}

}  // namespace namdb::fabric::verbs
