// Hosts of regions, as they answer tools (common/placement/move_calls.h): which of them have regions, copies,
// or neither.
#pragma once

#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/placement/configuration.h"
#include "common/placement/move_calls.h"
#include "tools/namctl/control_client.h"

namespace namdb::namctl {

struct HostView {
  std::string address;
  Status status;  // why it did not answer
  placement::MoveReply reply;
  placement::Configuration configuration;
};

// For programs.
const char* name_of(placement::MoveState state);
// For people, behind a host's name.
std::string state_text(const HostView& host);
std::string progress_text(const placement::MoveReply& reply);

// MOVE; without `from` in the request it asks how the host is.
Result<placement::MoveReply> ask_host(ControlPlane& control, const std::string& address,
                                      const placement::MoveRequest& request = {});
Result<placement::Configuration> ask_configuration(ControlPlane& control, const std::string& address);
// Both.
HostView view_host(ControlPlane& control, const std::string& address);
// The hosts at these addresses, and all that their configurations name.
std::vector<HostView> view_hosts(ControlPlane& control, std::vector<std::string> addresses);
// All that the hosts know together.
placement::Configuration merge_configurations(const std::vector<HostView>& hosts);

// A line on a terminal that the next one replaces; nothing where standard error is not a terminal. "" clears
// it.
void show_progress(const std::string& line);

}  // namespace namdb::namctl
