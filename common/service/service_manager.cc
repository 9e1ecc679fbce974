#include "common/service/service_manager.h"

#include <systemd/sd-daemon.h>

namespace namdb::service {
namespace {

constexpr std::uint64_t kNanosecondsInMicrosecond = 1000;

// A line break would begin another variable.
std::string status_line(std::string status) {
  for (char& byte : status) {
    if (byte == '\n') byte = ' ';
  }
  return "STATUS=" + status;
}

}  // namespace

void tell_ready(const std::string& status) {
  ::sd_notify(0, ("READY=1\n" + status_line(status)).c_str());
}

void tell_status(const std::string& status) {
  ::sd_notify(0, status_line(status).c_str());
}

void tell_progress(const std::string& status, std::uint64_t patience_ns) {
  const std::string patience = std::to_string(patience_ns / kNanosecondsInMicrosecond);
  ::sd_notify(0, (status_line(status) + "\nEXTEND_TIMEOUT_USEC=" + patience).c_str());
}

void tell_stopping() {
  ::sd_notify(0, "STOPPING=1");
}

void tell_alive() {
  ::sd_notify(0, "WATCHDOG=1");
}

std::uint64_t watchdog_interval_ns() {
  std::uint64_t interval_us = 0;
  return ::sd_watchdog_enabled(0, &interval_us) > 0 ? interval_us * kNanosecondsInMicrosecond : 0;
}

}  // namespace namdb::service
