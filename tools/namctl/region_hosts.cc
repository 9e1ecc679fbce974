#include "tools/namctl/region_hosts.h"

#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <utility>

#include "tools/namctl/output.h"

namespace namdb::namctl {

using placement::Configuration;
using placement::MoveReply;
using placement::MoveState;

namespace {

constexpr std::size_t kMostHosts = 1024;

}  // namespace

const char* name_of(MoveState state) {
  switch (state) {
    case MoveState::waits:
      return "waits";
    case MoveState::copies:
      return "copies";
    case MoveState::claims:
      return "claims";
    case MoveState::here:
      return "here";
    case MoveState::departed:
      return "departed";
    case MoveState::follows:
      return "follows";
    case MoveState::in_sync:
      return "in sync";
  }
  return "unknown";
}

Result<MoveReply> ask_host(ControlPlane& control, const std::string& address,
                           const placement::MoveRequest& request) {
  const auto bytes = control.call_bytes(address, placement::kMoveMethod, encode(request));
  if (!bytes.ok()) return bytes.status();
  const auto reply = placement::decode_move_reply(*bytes);
  if (!reply) return Status(ErrorCode::protocol_violation, address + " answered nonsense");
  return *reply;
}

Result<Configuration> ask_configuration(ControlPlane& control, const std::string& address) {
  const auto bytes = control.call_bytes(address, placement::kConfigurationMethod, "");
  if (!bytes.ok()) return bytes.status();
  const auto configuration = Configuration::decode(*bytes);
  if (!configuration) return Status(ErrorCode::protocol_violation, address + " answered nonsense");
  return *configuration;
}

std::string progress_text(const MoveReply& reply) {
  const double seconds = in_seconds(std::max<std::uint64_t>(reply.duration_ns, 1));
  const double rate = mebibytes(reply.copied_bytes) / seconds;
  const std::uint64_t rest = reply.total_bytes - std::min(reply.total_bytes, reply.copied_bytes);
  std::string line = text("%.1f of %.1f MiB in %.1f s, %.1f MiB/s", mebibytes(reply.copied_bytes),
                          mebibytes(std::max(reply.total_bytes, reply.copied_bytes)), seconds, rate);
  if (rest != 0 && rate > 0) line += text(", %.0f s left", mebibytes(rest) / rate);
  if (reply.rounds > 1) line += text(", round %" PRIu64, reply.rounds);
  return line;
}

std::string state_text(const HostView& host) {
  const MoveReply& reply = host.reply;
  switch (reply.state) {
    case MoveState::here:
      return "has the region";
    case MoveState::departed: {
      const bool known = reply.server_id < host.configuration.regions();
      return "had the region, which is at " +
             (known ? host.configuration.place(reply.server_id).address : std::string("another host"));
    }
    case MoveState::copies:
      return "copies the region from " + reply.from + ": " + progress_text(reply);
    case MoveState::claims:
      return "has a copy, and asks " + reply.from + " for the region";
    case MoveState::waits:
      return "waits for the region" + (reply.error.empty() ? "" : "; the last move failed: " + reply.error);
    case MoveState::follows:
      return "follows the region at " + reply.from + ": " + progress_text(reply);
    case MoveState::in_sync:
      return "has a copy in sync of the region at " + reply.from;
  }
  return "is in a state that this namctl does not know";
}

HostView view_host(ControlPlane& control, const std::string& address) {
  HostView host;
  host.address = address;
  const auto reply = ask_host(control, address, {});
  host.status = reply.status();
  if (!reply.ok()) return host;
  host.reply = *reply;
  const auto configuration = ask_configuration(control, address);
  host.status = configuration.status();
  if (configuration.ok()) host.configuration = *configuration;
  return host;
}

std::vector<HostView> view_hosts(ControlPlane& control, std::vector<std::string> addresses) {
  std::vector<HostView> hosts;
  const auto add = [&addresses](const std::string& address) {
    if (!address.empty() && std::ranges::find(addresses, address) == addresses.end())
      addresses.push_back(address);
  };
  for (std::size_t i = 0; i < addresses.size() && i < kMostHosts; ++i) {
    hosts.push_back(view_host(control, addresses[i]));
    const Configuration& known = hosts.back().configuration;
    for (std::size_t region = 0; region < known.regions(); ++region) {
      const placement::Place& place = known.place(region);
      if (place.number != 0) add(place.address);
      for (const std::string& copy : place.copies) add(copy);
    }
  }
  return hosts;
}

Configuration merge_configurations(const std::vector<HostView>& hosts) {
  Configuration all;
  for (const HostView& host : hosts) {
    if (all.regions() == 0) all = host.configuration;
    all.learn(host.configuration);
  }
  return all;
}

void show_progress(const std::string& line) {
  static const bool terminal = ::isatty(STDERR_FILENO) == 1;
  if (!terminal) return;
  std::fprintf(stderr, "\r\033[K%s", line.c_str());
  std::fflush(stderr);
}

}  // namespace namdb::namctl
