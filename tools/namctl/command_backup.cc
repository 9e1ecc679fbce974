#include "tools/namctl/command_backup.h"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cinttypes>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>
#include <vector>

#include "common/base/clock.h"
#include "common/reactor/reactor.h"
#include "memory/log/file_disk.h"
#include "memory/log/folder_identity.h"
#include "memory/log/verify.h"
#include "tools/namctl/backup_copy.h"
#include "tools/namctl/control_client.h"
#include "tools/namctl/output.h"

namespace namdb::namctl {
namespace {

namespace fs = std::filesystem;
using MonotonicClock = std::chrono::steady_clock;

constexpr std::uint64_t kHold_ns = 60 * kSecond_ns;
constexpr std::chrono::seconds kRenew{5};
// Longer than the calls to all servers take; commits go on earlier.
constexpr std::uint64_t kPause_ns = 2 * kSecond_ns;
constexpr int kPauses = 5;

struct Server {
  std::string address;
  std::uint32_t id = 0;
  fs::path folder;
  std::uint64_t generation = 0;
  std::uint64_t hold = 0;
  LogPlace end;
  std::uint64_t position = 0;
  std::uint64_t bytes = 0;
};

class Backup {
 public:
  Backup(const Output& output, ControlPlane& control, fs::path folder)
      : output_(output), control_(control), folder_(std::move(folder)) {}

  Status run(const std::vector<std::string>& addresses) {
    Status status = make_folder();
    if (status.ok()) status = find(addresses);
    if (status.ok()) status = hold();
    if (status.ok()) status = choose_moment();
    for (Server& server : servers_) {
      if (status.ok()) status = copy(server);
    }
    // Until here nothing of what was copied has changed.
    if (status.ok()) status = renew(kHold_ns);
    for (const Server& server : servers_) {
      if (status.ok()) status = verify(server);
    }
    // A hold that cannot be given back ends by itself.
    if (!servers_.empty()) static_cast<void>(renew(0));
    return status;
  }
  nlohmann::json to_json() const {
    nlohmann::json servers = nlohmann::json::array();
    for (const Server& server : servers_) {
      servers.push_back({{"server_id", server.id},
                         {"folder", path_of(server).string()},
                         {"generation", server.generation},
                         {"position", server.position},
                         {"bytes", server.bytes}});
    }
    return {{"memory_servers", servers}};
  }

 private:
  fs::path path_of(const Server& server) const { return folder_ / ("memory-" + std::to_string(server.id)); }

  Status make_folder() {
    std::error_code error;
    fs::create_directories(folder_, error);
    if (!error) fs::permissions(folder_, fs::perms::owner_all, error);
    const bool empty = !error && fs::is_empty(folder_, error);
    if (error) {
      return Status(ErrorCode::configuration, "cannot use " + folder_.string() + ": " + error.message());
    }
    if (!empty)
      return Status(ErrorCode::configuration, folder_.string() + " is not empty", "name a new folder");
    return Status();
  }

  Status find(const std::vector<std::string>& addresses) {
    for (const std::string& address : addresses) {
      control::StatusReply reply;
      Status status = control_.call(address, control::STATUS, control::StatusRequest(), reply);
      if (!status.ok()) return status;
      if (!reply.has_disk()) {
        return Status(ErrorCode::configuration,
                      "memory server " + std::to_string(reply.server_id()) + " keeps no data on disk");
      }
      Server server;
      server.address = address;
      server.id = reply.server_id();
      server.folder = reply.disk().folder();
      if (::access((server.folder / memory::kIdentityName).c_str(), R_OK) != 0) {
        return Status(ErrorCode::configuration,
                      "cannot read " + server.folder.string() + ": " + std::strerror(errno),
                      "run the backup on the memory server's machine, as its user");
      }
      servers_.push_back(std::move(server));
    }
    return Status();
  }

  Status hold() {
    output_.line("checkpoint");
    std::vector<LongCall> calls;
    for (const Server& server : servers_) calls.emplace_back().address = server.address;
    control::CheckpointRequest request;
    request.set_step(control::CHECKPOINT_MAKE);
    request.set_hold_ns(kHold_ns);
    control_.call_all(calls, control::CHECKPOINT, request, [] {});
    Status status;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      control::CheckpointReply reply;
      if (calls[i].status.ok() && reply.ParseFromString(calls[i].reply)) {
        servers_[i].hold = reply.hold();
        servers_[i].generation = reply.checkpoint().generation();
      } else if (status.ok()) {
        status = calls[i].status;
      }
    }
    renewed_ = MonotonicClock::now();
    return status;
  }

  Status choose_moment() {
    for (int i = 0; i < kPauses; ++i) {
      bool paused = true;
      Status status;
      for (Server& server : servers_) {
        if (status.ok()) status = pause(server);
      }
      for (const Server& server : servers_) {
        control::CheckpointRequest request;
        request.set_step(control::CHECKPOINT_RESUME);
        control::CheckpointReply reply;
        const Status resumed = control_.call(server.address, control::CHECKPOINT, request, reply);
        paused = paused && resumed.ok() && reply.paused();
      }
      if (!status.ok()) return status;
      if (paused) return Status();
    }
    return Status(ErrorCode::connection_failure,
                  "the memory servers' logs could not be paused together: one always went on too soon");
  }

  Status pause(Server& server) {
    control::CheckpointRequest request;
    request.set_step(control::CHECKPOINT_PAUSE);
    request.set_pause_ns(kPause_ns);
    control::CheckpointReply reply;
    Status status = control_.call(server.address, control::CHECKPOINT, request, reply);
    server.end = {reply.segment(), reply.segment_offset()};
    server.position = reply.position();
    return status;
  }

  Status renew(std::uint64_t hold_ns) {
    Status first;
    for (const Server& server : servers_) {
      control::CheckpointRequest request;
      request.set_step(control::CHECKPOINT_HOLD);
      request.set_hold(server.hold);
      request.set_hold_ns(hold_ns);
      control::CheckpointReply reply;
      Status status = control_.call(server.address, control::CHECKPOINT, request, reply);
      if (first.ok()) first = std::move(status);
    }
    renewed_ = MonotonicClock::now();
    return first;
  }

  Status copy(Server& server) {
    output_.line("copies memory server " + std::to_string(server.id) + " from " + server.folder.string());
    const CopyProgress progress = [this, &server](std::uint64_t bytes) {
      server.bytes += bytes;
      return MonotonicClock::now() - renewed_ < kRenew ? Status() : renew(kHold_ns);
    };
    return copy_database(server.folder, path_of(server), server.end, progress);
  }

  Status verify(const Server& server) const {
    const std::string path = path_of(server).string();
    output_.line("verifies " + path);
    const Result<std::unique_ptr<reactor::Reactor>> reactor = reactor::Reactor::create();
    if (!reactor.ok()) return reactor.status();
    memory::FileDisk disk(*reactor.value(), memory::FileDisk::Access::read_only);
    const Result<memory::VerifyReport> report = reactor.value()->run_until(memory::verify_folder(disk, path));
    if (!report.ok()) return report.status();
    for (const memory::VerifyFinding& finding : report->findings)
      return Status(ErrorCode::corrupt_data, finding.text(),
                    "if namctl verify finds the same in the server's own folder, that is damaged");
    if (report->log_end != server.position) {
      return Status(ErrorCode::corrupt_data, path + ": the log ends at position " +
                                                 std::to_string(report->log_end) + ", not at " +
                                                 std::to_string(server.position));
    }
    return Status();
  }

  const Output& output_;
  ControlPlane& control_;
  fs::path folder_;
  std::vector<Server> servers_;
  MonotonicClock::time_point renewed_;
};

}  // namespace

int run_backup(const ClusterFlags& flags, const std::string& folder, bool json) {
  const Output output(json);
  Result<ClusterAddress> address = locate(flags);
  if (!address.ok()) return report_error(output, address.status());
  Result<std::unique_ptr<ControlPlane>> control = ControlPlane::create(address->access);
  if (!control.ok()) return report_error(output, control.status());
  Backup backup(output, **control, fs::absolute(folder).lexically_normal());
  keep_region_hosts(**control, *address);
  const Status status = backup.run(address->memory);
  if (!status.ok()) return report_error(output, status);
  output.line("the backup is in " + folder);
  output.document(backup.to_json());
  return kExitOk;
}

}  // namespace namdb::namctl
