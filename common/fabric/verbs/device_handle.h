// An opened device: its context and protection domain, what it can do, and the status of its refusals. Device
// (device.h) opens and closes it; the parts that a Device consists of refer to it.
#pragma once

#include <infiniband/verbs.h>

#include <string>

#include "common/base/error.h"

namespace namdb::fabric::verbs {

struct DeviceHandle {
  ibv_context* context = nullptr;
  ibv_pd* domain = nullptr;
  ibv_device_attr attributes{};

  std::string name() const { return ibv_get_device_name(context->device); }
  // An error of the device (configuration), with the limit of locked memory where that may be the cause.
  Status refused(const std::string& what, int error) const;
};

}  // namespace namdb::fabric::verbs
