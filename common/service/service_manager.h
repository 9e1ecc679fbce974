// Messages of a daemon to the service manager (systemd) that started it; without a manager they do nothing.
// Any thread.
#pragma once

#include <cstdint>
#include <string>

namespace namdb::service {

// The daemon serves: units that wait for it go on.
void tell_ready(const std::string& status);
// A line for `systemctl status`.
void tell_status(const std::string& status);
// The start goes on: it may take so much longer from now on.
void tell_progress(const std::string& status, std::uint64_t patience_ns);
void tell_stopping();
// The process is well. Within watchdog_interval_ns() of the call before; else the manager ends the process.
void tell_alive();
// 0: the manager does not watch the process.
std::uint64_t watchdog_interval_ns();

}  // namespace namdb::service
