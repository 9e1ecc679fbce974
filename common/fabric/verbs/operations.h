// Checks of operations that hold on any queue pair. The device checks the bounds of the region. Errors:
// internal, or limit_exceeded where the device has no room for the memory that it names.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "common/fabric/fabric.h"
#include "common/fabric/verbs/device.h"

namespace namdb::fabric::verbs {

inline const char* refuse_operation(const Operation& operation) {
  if (operation.kind > OperationKind::fetch_add) return "an operation of no kind";
  if (operation.length_bytes == 0 || operation.length_bytes % 8 != 0)
    return "a length that is no multiple of 8";
  if (operation.length_bytes > kMaxOperation_bytes) return "a length beyond the largest operation";
  if (operation.kind >= OperationKind::compare_and_swap && operation.length_bytes != 8)
    return "an atomic of other than 8 bytes";
  if (operation.remote_offset % 8 != 0) return "an offset that is no multiple of 8";
  if (reinterpret_cast<std::uintptr_t>(operation.local) % 8 != 0) return "a local buffer that is not aligned";
  return nullptr;
}

inline Status refuse_operations(std::span<const Operation> operations, Device& device) {
  for (const Operation& operation : operations) {
    if (const char* reason = refuse_operation(operation)) {
      return Status(ErrorCode::internal, std::string("a batch has ") + reason);
    }
    if (device.local_key(operation.local, operation.length_bytes)) continue;
    const Status& why = device.registration_status();
    if (why.ok()) return Status(ErrorCode::internal, "a batch has a local buffer that is not registered");
    return Status(ErrorCode::limit_exceeded, why.message(), why.hint());
  }
  return Status();
}

}  // namespace namdb::fabric::verbs
