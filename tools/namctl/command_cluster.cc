#include "tools/namctl/command_cluster.h"

#include <algorithm>
#include <cinttypes>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "common/layout/vector_parts.h"
#include "proto/control.pb.h"
#include "tools/namctl/cluster_file.h"
#include "tools/namctl/cluster_json.h"
#include "tools/namctl/cluster_view.h"
#include "tools/namctl/command_dev.h"
#include "tools/namctl/dev_cluster.h"
#include "tools/namctl/disk_view.h"
#include "tools/namctl/index_view.h"
#include "tools/namctl/output.h"

namespace namdb::namctl {
namespace {

bool by_address(const ClusterFlags& flags) {
  return !flags.memory.empty() || !flags.compute.empty();
}

std::string partition_text(const control::TableUse& table) {
  std::string text;
  for (const std::string& column : table.partition_columns()) {
    text += (text.empty() ? ", placed by " : ", ") + column;
  }
  return text;
}

std::string stages_text(const control::StatusReply& reply) {
  const std::string& stages = reply.stages();
  std::string text = stages == "one-sided" || stages == "two-sided" ? stages : "two-sided " + stages;
  if (!reply.preset().empty()) text += " (preset " + reply.preset() + ")";
  if (reply.timestamp_vector() == layout::name_of(layout::VectorSpread::partitioned))
    text += ", timestamp vector partitioned";
  if (reply.shared_read_locks()) text += ", read locks shared";
  return text;
}

std::string copies_text(const MemoryView& server, std::uint32_t wanted) {
  std::string text = "copies in sync:";
  for (const std::string& copy : server.copies) text += (text.ends_with(':') ? " " : ", ") + copy;
  if (server.copies.empty()) text += " none";
  if (server.copies.size() + 1 < wanted) text += ", FEWER than " + std::to_string(wanted - 1) + " as wanted";
  return text;
}

void print_memory(const Output& output, const MemoryView& server, std::uint32_t wanted_copies) {
  if (!server.status.ok()) {
    output.line("memory server " + server.address + ": DOWN, " + server.status.message());
    return;
  }
  const control::StatusReply& reply = server.reply;
  output.line(text("memory server %u at %s: up %.0f s, fabric %s, %d channels, protocol %s, %s",
                   reply.server_id(), server.address.c_str(), in_seconds(reply.uptime_ns()),
                   reply.fabric().c_str(), reply.peers_size(), reply.protocol().c_str(),
                   stages_text(reply).c_str()));
  output.line(text("  region %.1f MiB%s (%s pages), free %.1f MiB, overflow %.1f MiB",
                   mebibytes(reply.region_bytes()), limit_text(reply).c_str(),
                   reply.huge_pages() ? "2 MiB" : "ordinary", mebibytes(reply.free_bytes()),
                   mebibytes(reply.overflow_bytes())));
  if (!server.copies.empty() || wanted_copies > 1) output.line("  " + copies_text(server, wanted_copies));
  output.line(text("  versions moved %" PRIu64 ", collected %" PRIu64 ", records reclaimed %" PRIu64,
                   reply.versions_moved(), reply.versions_collected(), reply.records_reclaimed()));
  if (reply.server_id() == 0)
    output.line(text("  slots of dead compute servers: %" PRIu64 " undecided, %" PRIu64 " decided",
                     reply.slots_dead(), reply.slots_decided()));
  if (reply.entries_refused() != 0) {
    output.line(text("  %" PRIu64
                     " journal entries REFUSED: a compute server wrote what cannot be; see the log",
                     reply.entries_refused()));
  }
  for (const std::string& line : disk_lines(reply)) output.line("  " + line);
  for (const control::TableUse& table : reply.tables()) {
    output.line(text("  table %-24s buckets %8.1f MiB (%" PRIu64
                     " main, doubled %u times), records %8.1f MiB, free %8.1f MiB%s",
                     table.name().c_str(), mebibytes(table.bucket_bytes()), table.bucket_count(),
                     table.doublings(), mebibytes(table.record_bytes()), mebibytes(table.free_record_bytes()),
                     partition_text(table).c_str()));
  }
  if (reply.other_tables() + reply.other_indexes() == 0) return;
  output.line(text("  and %" PRIu64 " smaller tables (%.1f MiB), %" PRIu64 " smaller indexes (%.1f MiB)",
                   reply.other_tables(), mebibytes(reply.other_table_bytes()), reply.other_indexes(),
                   mebibytes(reply.other_index_bytes())));
}

void print_compute(const Output& output, const ComputeView& server) {
  if (!server.error.empty()) {
    output.line("compute server " + server.address + ": DOWN, " + server.error);
    return;
  }
  output.line(text("compute server %s: up, version %s, damaged reads %" PRIu64, server.address.c_str(),
                   server.version.c_str(), server.damaged_reads()));
  for (const auto& [type, metrics] : server.statistics) {
    if (!metrics.contains("commits")) continue;  // of the server, not of a kind of transactions
    const auto metric = [&known = metrics](const char* name) {
      const auto found = known.find(name);
      return found != known.end() ? found->second : 0;
    };
    const std::uint64_t commits = std::max<std::uint64_t>(metric("commits"), 1);
    output.line(text("  %-28s %12" PRIu64 " commits, %10" PRIu64 " retries, %6.2f round trips each",
                     type.c_str(), metric("commits"), metric("retries"),
                     static_cast<double>(metric("round_trips")) / static_cast<double>(commits)));
  }
}

}  // namespace

Result<ClusterAddress> locate(const ClusterFlags& flags) {
  if (by_address(flags))
    return ClusterAddress{{flags.key, flags.fabric, flags.encryption}, flags.memory, flags.compute, 0};
  const std::filesystem::path data = std::filesystem::absolute(flags.data).lexically_normal();
  Result<DevCluster> cluster = dev_state(data);
  if (!cluster.ok()) return cluster.status();
  const ClusterFile& settings = cluster->settings;
  ClusterAddress address{
      {key_file(data), settings.fabric, settings.fabric_encryption}, {}, {}, settings.copies};
  for (const DaemonState& daemon : cluster->daemons) {
    (daemon.name.starts_with("memory-") ? address.memory : address.compute).push_back(daemon.address);
  }
  return address;
}

int run_status(const ClusterFlags& flags, bool json) {
  const Output output(json);
  Result<ClusterAddress> address = locate(flags);
  if (!address.ok()) return report_error(output, address.status());
  Result<std::unique_ptr<ControlPlane>> control = ControlPlane::create(address->access);
  if (!control.ok()) return report_error(output, control.status());
  const ClusterView view = view_cluster(**control, *address);
  for (const MemoryView& server : view.memory) print_memory(output, server, view.copies);
  for (const HostView& host : view.others)
    output.line("host " + host.address + ", of memory server " + std::to_string(host.reply.server_id) + ": " +
                state_text(host));
  for (const IndexView& index : view_indexes(view)) output.line(index_line(index));
  for (const ComputeView& server : view.compute) print_compute(output, server);
  output.document(to_json(view));
  return view.all_answer() ? kExitOk : kExitOther;
}

int run_shutdown(const ClusterFlags& flags, bool json) {
  const Output output(json);
  if (!by_address(flags)) {
    const std::filesystem::path data = std::filesystem::absolute(flags.data).lexically_normal();
    // A folder without a cluster is a mistake here, other than for dev down.
    if (!has_cluster_file(data)) return report_error(output, read_cluster_file(data).status());
    Result<std::uint32_t> stopped =
        dev_down(data, 20, false, [&](std::string_view line) { output.line(line); });
    if (!stopped.ok()) return report_error(output, stopped.status());
    output.document({{"stopped", *stopped}});
    return kExitOk;
  }
  if (!flags.compute.empty()) {
    return report_error(output, {ErrorCode::configuration, "compute servers are stopped where they run",
                                 "systemctl stop nam-computed, or SIGTERM"});
  }
  Result<std::unique_ptr<ControlPlane>> control =
      ControlPlane::create({flags.key, flags.fabric, flags.encryption});
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
