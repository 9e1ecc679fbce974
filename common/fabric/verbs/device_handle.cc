#include "common/fabric/verbs/device_handle.h"

#include <sys/resource.h>

#include <cerrno>
#include <cstring>

namespace namdb::fabric::verbs {
namespace {

std::string locked_memory_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return "not limited";
  return std::to_string(limit.rlim_cur >> 10) + " KiB";
}

}  // namespace

Status DeviceHandle::refused(const std::string& what, int error) const {
  const std::string message = "the RDMA device " + name() + " refuses " + what + ": " + std::strerror(error);
  if (error != ENOMEM) return Status(ErrorCode::configuration, message);
  return Status(ErrorCode::configuration, message,
                "the limit of locked memory is " + locked_memory_limit() +
                    ": set LimitMEMLOCK=infinity in the systemd unit, or `ulimit -l unlimited`");
}

}  // namespace namdb::fabric::verbs
