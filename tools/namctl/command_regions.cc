#include "tools/namctl/command_regions.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <vector>

#include "common/base/clock.h"
#include "common/placement/configuration.h"
#include "common/placement/move_calls.h"
#include "tools/namctl/control_client.h"
#include "tools/namctl/output.h"

namespace namdb::namctl {
namespace {

using placement::Configuration;
using placement::MoveReply;
using placement::MoveState;

constexpr std::chrono::milliseconds kLook{100};
// How long a host may be silent while it opens a region that has come to it, or ends.
constexpr std::chrono::seconds kSilence{60};
constexpr std::size_t kMostHosts = 1024;

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

class Drain {
 public:
  Drain(const Output& output, ControlPlane& control, std::string from, std::string to)
      : output_(output),
        control_(control),
        from_(std::move(from)),
        to_(std::move(to)),
        terminal_(::isatty(STDERR_FILENO) == 1) {}

  Status run() {
    Status status = check();
    if (!status.ok() || done_) return status;
    output_.line("memory server " + std::to_string(server_) + " moves from " + from_ + " to " + to_);
    status = copy();
    if (status.ok()) status = await_served();
    return status;
  }
  nlohmann::json to_json() const {
    return {{"server_id", server_},
            {"from", from_},
            {"to", to_},
            {"copied_bytes", copied_.copied_bytes},
            {"copy_seconds", in_seconds(copied_.duration_ns)},
            {"rounds", copied_.rounds}};
  }

 private:
  // That there is a region at the one, and none at the other. Done: it has moved already.
  Status check() {
    const auto old = ask_host(control_, from_, {});
    if (!old.ok()) return old.status();
    server_ = old->server_id;
    if (old->state == MoveState::departed) {
      const auto configuration = ask_configuration(control_, from_);
      if (!configuration.ok()) return configuration.status();
      const bool known = server_ < configuration->regions();
      const std::string where = known ? configuration->place(server_).address : "another host";
      done_ = where == to_;
      if (!done_) return Status(ErrorCode::configuration, "the region of " + from_ + " is at " + where);
      output_.line("memory server " + std::to_string(server_) + " is at " + to_ + " already");
      return Status();
    }
    if (old->state != MoveState::here) return Status(ErrorCode::configuration, from_ + " has no region");
    const auto next = ask_host(control_, to_, {});
    if (!next.ok()) return next.status();
    if (next->state == MoveState::here || next->state == MoveState::departed) {
      return Status(
          ErrorCode::configuration,
          to_ + (next->state == MoveState::here ? " has a region of its own" : " had a region once"),
          "start nam-memoryd with a new data folder there, and --join");
    }
    if (next->server_id != server_) {
      return Status(ErrorCode::configuration, to_ + " waits for the region of memory server " +
                                                  std::to_string(next->server_id) + ", and " + from_ +
                                                  " has that of memory server " + std::to_string(server_));
    }
    return Status();
  }

  Status copy() {
    auto reply = ask_host(control_, to_, {from_, to_});
    if (!reply.ok()) return reply.status();
    while (reply->state == MoveState::copies || reply->state == MoveState::claims) {
      copied_ = *reply;
      show(reply->state == MoveState::copies ? progress_text(*reply) : "asks for the region");
      std::this_thread::sleep_for(kLook);
      reply = ask_host(control_, to_, {});
      // It ends as a host without a region, and begins as a memory server.
      if (!reply.ok()) break;
    }
    show("");
    if (reply.ok() && reply->state == MoveState::waits) {
      return Status(
          ErrorCode::object_not_in_prerequisite_state,
          "the region has not moved: " + (reply->error.empty() ? "the host has restarted" : reply->error),
          "it is served where it was; try again");
    }
    return Status();
  }

  // The new host says so by itself once it has opened.
  Status await_served() {
    const auto began = std::chrono::steady_clock::now();
    Status status;
    bool opens = false;
    while (std::chrono::steady_clock::now() - began < kSilence || opens) {
      const auto reply = ask_host(control_, to_, {});
      status = reply.status();
      if (reply.ok() && reply->state == MoveState::here) {
        output_.line("memory server " + std::to_string(server_) + " is at " + to_ + " now; " +
                     progress_text(copied_));
        output_.line(from_ +
                     " says where it is as long as it runs: let all nam-computed and other memory "
                     "servers have the new address in their configuration before it is stopped");
        return Status();
      }
      if (reply.ok() && reply->state == MoveState::waits)
        return Status(ErrorCode::object_not_in_prerequisite_state,
                      "the region has not moved: " + reply->error, "it is served where it was; try again");
      opens = !status.ok() && status.code() == ErrorCode::cannot_connect_now;
      show(opens ? "opens the database" : "waits for an answer of " + to_);
      std::this_thread::sleep_for(kLook);
    }
    return Status(ErrorCode::connection_failure, to_ + " does not answer: " + status.message(),
                  "look at its log; once it runs it goes on by itself");
  }

  void show(const std::string& line) const {
    if (!terminal_) return;
    std::fprintf(stderr, "\r\033[K%s", line.c_str());
    std::fflush(stderr);
  }

  const Output& output_;
  ControlPlane& control_;
  std::string from_;
  std::string to_;
  bool terminal_;
  std::uint32_t server_ = 0;
  bool done_ = false;
  MoveReply copied_;
};

struct HostView {
  std::string address;
  Status status;
  MoveReply reply;
  Configuration configuration;
};

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
  }
  return "is in a state that this namctl does not know";
}

}  // namespace

int run_regions(const ClusterFlags& flags, bool json) {
  const Output output(json);
  Result<ClusterAddress> address = locate(flags);
  if (!address.ok()) return report_error(output, address.status());
  Result<std::unique_ptr<ControlPlane>> control = ControlPlane::create(address->access);
  if (!control.ok()) return report_error(output, control.status());
  std::vector<std::string> addresses = address->memory;
  bool all_good = true;
  nlohmann::json hosts = nlohmann::json::array();
  for (std::size_t i = 0; i < addresses.size() && i < kMostHosts; ++i) {
    const HostView host = view_host(**control, addresses[i]);
    if (!host.status.ok()) {
      all_good = false;
      output.line(host.address + ": DOWN, " + host.status.message());
      hosts.push_back({{"address", host.address}, {"up", false}, {"error", host.status.to_string()}});
      continue;
    }
    output.line(text("memory server %u at %s %s", unsigned{host.reply.server_id}, host.address.c_str(),
                     state_text(host).c_str()));
    hosts.push_back({{"address", host.address},
                     {"up", true},
                     {"server_id", host.reply.server_id},
                     {"state", name_of(host.reply.state)},
                     {"configuration", host.configuration.number()},
                     {"copied_bytes", host.reply.copied_bytes},
                     {"total_bytes", host.reply.total_bytes},
                     {"error", host.reply.error}});
    for (std::size_t region = 0; region < host.configuration.regions(); ++region) {
      const placement::Place& place = host.configuration.place(region);
      if (place.number != 0 && std::ranges::find(addresses, place.address) == addresses.end())
        addresses.push_back(place.address);
    }
  }
  output.document({{"hosts", hosts}});
  return all_good ? kExitOk : kExitOther;
}

int run_drain(const ClusterFlags& flags, const std::string& from, const std::string& to, bool json) {
  const Output output(json);
  ClusterFlags access = flags;
  // Addresses say how hosts are reached; a folder of dev up may add its key.
  if (access.memory.empty() && (!access.key.empty() || !access.fabric.empty())) access.memory = {from};
  Result<ClusterAddress> address = locate(access);
  if (!address.ok()) {
    access.memory = {from};
    address = locate(access);
  }
  if (!address.ok()) return report_error(output, address.status());
  Result<std::unique_ptr<ControlPlane>> control = ControlPlane::create(address->access);
  if (!control.ok()) return report_error(output, control.status());
  Drain drain(output, **control, from, to);
  const Status status = drain.run();
  if (!status.ok()) return report_error(output, status);
  output.document(drain.to_json());
  return kExitOk;
}

}  // namespace namdb::namctl
