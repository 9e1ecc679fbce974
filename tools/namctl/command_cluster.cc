#include "tools/namctl/command_cluster.h"

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "tools/namctl/cluster_file.h"
#include "tools/namctl/cluster_view.h"
#include "tools/namctl/command_dev.h"
#include "tools/namctl/dev_cluster.h"
#include "tools/namctl/output.h"

namespace namdb::namctl {
namespace {

bool by_address(const ClusterFlags& flags) {
  return !flags.memory.empty() || !flags.compute.empty();
}

Result<ClusterAddress> locate(const ClusterFlags& flags) {
  if (by_address(flags)) return ClusterAddress{flags.key, flags.memory, flags.compute};
  const std::filesystem::path data = std::filesystem::absolute(flags.data).lexically_normal();
  Result<DevCluster> cluster = dev_state(data);
  if (!cluster.ok()) return cluster.status();
  ClusterAddress address{key_file(data), {}, {}};
  for (const DaemonState& daemon : cluster->daemons) {
    (daemon.name.starts_with("memory-") ? address.memory : address.compute).push_back(daemon.address);
  }
  return address;
}

std::string text(const char* format, auto... values) {
  char line[256];
  std::snprintf(line, sizeof line, format, values...);
  return line;
}

double mebibytes(std::uint64_t bytes) {
  return static_cast<double>(bytes) / (1 << 20);
}

void print_memory(const Output& output, const MemoryView& server) {
  if (!server.status.ok()) {
    output.line("memory server " + server.address + ": DOWN, " + server.status.message());
    return;
  }
  const control::StatusReply& reply = server.reply;
  output.line(text("memory server %u at %s: up %.0f s, fabric %s, %d channels", reply.server_id(),
                   server.address.c_str(), static_cast<double>(reply.uptime_ns()) / 1e9,
                   reply.fabric().c_str(), reply.peers_size()));
  output.line(text("  region %.1f MiB (%s pages), free %.1f MiB, overflow %.1f MiB",
                   mebibytes(reply.region_bytes()), reply.huge_pages() ? "2 MiB" : "ordinary",
                   mebibytes(reply.free_bytes()), mebibytes(reply.overflow_bytes())));
  output.line(text("  versions moved %" PRIu64 ", collected %" PRIu64 ", records reclaimed %" PRIu64,
                   reply.versions_moved(), reply.versions_collected(), reply.records_reclaimed()));
  for (const control::TableUse& table : reply.tables()) {
    output.line(text("  table %-24s buckets %8.1f MiB, records %8.1f MiB, free %8.1f MiB",
                     table.name().c_str(), mebibytes(table.bucket_bytes()), mebibytes(table.record_bytes()),
                     mebibytes(table.free_record_bytes())));
  }
}

}  // namespace

int run_status(const ClusterFlags& flags, bool json) {
  const Output output(json);
  Result<ClusterAddress> address = locate(flags);
  if (!address.ok()) return report_error(output, address.status());
  Result<std::unique_ptr<ControlPlane>> control = ControlPlane::create(address->key);
  if (!control.ok()) return report_error(output, control.status());
  const ClusterView view = view_cluster(**control, *address);
  for (const MemoryView& server : view.memory) print_memory(output, server);
  for (const ComputeView& server : view.compute) {
    output.line(server.error.empty() ? "compute server " + server.address + ": up, version " + server.version
                                     : "compute server " + server.address + ": DOWN, " + server.error);
  }
  output.document(to_json(view));
  return view.all_answer() ? kExitOk : kExitOther;
}

// One line a memory server: what it holds, and what happened since the line before.
int run_top(const ClusterFlags& flags, double interval_s, std::uint32_t count, bool json) {
  const Output output(json);
  Result<ClusterAddress> address = locate(flags);
  if (!address.ok()) return report_error(output, address.status());
  Result<std::unique_ptr<ControlPlane>> control = ControlPlane::create(address->key);
  if (!control.ok()) return report_error(output, control.status());
  output.line(text("%-28s %10s %10s %8s %12s %12s %12s", "memory server", "region MiB", "free MiB",
                   "channels", "moved/s", "collected/s", "reclaimed/s"));
  std::vector<control::StatusReply> before(address->memory.size());
  const auto interval = std::chrono::duration<double>(interval_s);
  for (std::uint32_t sample = 0; count == 0 || sample < count; ++sample) {
    const ClusterView view = view_cluster(**control, *address);
    for (std::size_t i = 0; i < view.memory.size(); ++i) {
      const MemoryView& server = view.memory[i];
      if (!server.status.ok()) {
        output.line(text("%-28s DOWN: %s", server.address.c_str(), server.status.message().c_str()));
        before[i].Clear();
        continue;
      }
      const control::StatusReply& now = server.reply;
      // Another epoch is another process, whose counters began at 0.
      const bool same = before[i].epoch() == now.epoch();
      const double seconds =
          same ? static_cast<double>(now.uptime_ns() - before[i].uptime_ns()) / 1e9 : interval_s;
      const auto rate = [&](std::uint64_t (control::StatusReply::*counter)() const) {
        const std::uint64_t base = same ? (before[i].*counter)() : (now.*counter)();
        return static_cast<double>((now.*counter)() - base) / std::max(seconds, 1e-9);
      };
      output.line(text("%-28s %10.1f %10.1f %8d %12.0f %12.0f %12.0f", server.address.c_str(),
                       mebibytes(now.region_bytes()), mebibytes(now.free_bytes()), now.peers_size(),
                       rate(&control::StatusReply::versions_moved),
                       rate(&control::StatusReply::versions_collected),
                       rate(&control::StatusReply::records_reclaimed)));
      before[i] = now;
    }
    output.document(to_json(view), true);
    if (count == 0 || sample + 1 < count) std::this_thread::sleep_for(interval);
  }
  return kExitOk;
}

int run_shutdown(const ClusterFlags& flags, bool json) {
  const Output output(json);
  if (!by_address(flags)) {
    const std::filesystem::path data = std::filesystem::absolute(flags.data).lexically_normal();
    // A folder without a cluster is a mistake here, other than for dev down.
    if (!has_cluster_file(data)) return report_error(output, read_cluster_file(data).status());
    Result<std::uint32_t> stopped = dev_down(data, 20, [&](std::string_view line) { output.line(line); });
    if (!stopped.ok()) return report_error(output, stopped.status());
    output.document({{"stopped", *stopped}});
    return kExitOk;
  }
  if (!flags.compute.empty()) {
    return report_error(output, {ErrorCode::configuration, "compute servers are stopped where they run",
                                 "systemctl stop nam-computed, or SIGTERM"});
  }
  Result<std::unique_ptr<ControlPlane>> control = ControlPlane::create(flags.key);
  if (!control.ok()) return report_error(output, control.status());
  int exit_code = kExitOk;
  nlohmann::json stopped = nlohmann::json::array();
  for (const std::string& server : flags.memory) {
    control::ShutdownReply reply;
    const Status status = (*control)->call(server, control::SHUTDOWN, control::ShutdownRequest(), reply);
    if (!status.ok()) {
      std::fprintf(stderr, "namctl: %s: %s\n", server.c_str(), status.message().c_str());
      exit_code = kExitOther;
    } else {
      output.line("shutting down " + server);
      stopped.push_back(server);
    }
  }
  output.document({{"stopped", stopped}});
  return exit_code;
}

}  // namespace namdb::namctl
