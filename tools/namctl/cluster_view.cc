#include "tools/namctl/cluster_view.h"

#include <cstdlib>
#include <utility>

#include "proto/control.pb.h"
#include "tools/namctl/compute_connection.h"
#include "tools/namctl/output.h"

namespace namdb::namctl {
namespace {

ComputeView view_compute(const std::string& address) {
  ComputeView view;
  view.address = address;
  ComputeConnection connection(address);
  view.error = connection.error();
  if (!view.error.empty()) return view;
  view.version = connection.server_version();
  const auto rows = connection.query("SELECT name, metric, value FROM namdb_statistics");
  if (!rows.ok()) return view;
  for (const auto& row : *rows) {
    view.statistics[row[0].value_or("")][row[1].value_or("")] =
        std::strtoull(row[2].value_or("0").c_str(), nullptr, 10);
  }
  return view;
}

std::vector<std::string> copies_in_sync(ControlPlane& control, const std::string& server,
                                        std::uint32_t server_id) {
  const auto configuration = ask_configuration(control, server);
  if (!configuration.ok() || server_id >= configuration->regions()) return {};
  return configuration->place(server_id).copies;
}

}  // namespace

std::uint64_t ComputeView::total(const std::string& metric) const {
  std::uint64_t sum = 0;
  for (const auto& [type, metrics] : statistics) {
    const auto found = metrics.find(metric);
    if (found != metrics.end()) sum += found->second;
  }
  return sum;
}

bool ClusterView::all_answer() const {
  bool all = true;
  for (const MemoryView& server : memory) all &= server.status.ok();
  for (const ComputeView& server : compute) all &= server.error.empty();
  return all;
}

void keep_region_hosts(ControlPlane& control, ClusterAddress& address) {
  if (address.copies == 1) return;
  std::erase_if(address.memory, [&control](const std::string& server) {
    const auto reply = ask_host(control, server);
    return reply.ok() && reply->state != placement::MoveState::here;
  });
}

ClusterView view_cluster(ControlPlane& control, const ClusterAddress& address, std::uint32_t sample_records) {
  ClusterView view;
  view.copies = address.copies;
  control::StatusRequest request;
  request.set_sample_records(sample_records);
  for (const std::string& server : address.memory) {
    MemoryView memory{server, {}, {}};
    memory.status = control.call(server, control::STATUS, request, memory.reply);
    const bool perhaps_vacant = !memory.status.ok() && memory.status.code() == ErrorCode::cannot_connect_now;
    if (perhaps_vacant) {
      HostView host = view_host(control, server);
      if (host.status.ok() && host.reply.state != placement::MoveState::here) {
        view.others.push_back(std::move(host));
        continue;
      }
    }
    if (memory.status.ok()) memory.copies = copies_in_sync(control, server, memory.reply.server_id());
    view.memory.push_back(std::move(memory));
  }
  for (const std::string& server : address.compute) view.compute.push_back(view_compute(server));
  return view;
}

std::string limit_text(const control::StatusReply& reply) {
  return reply.limit_bytes() <= reply.region_bytes() ? std::string()
                                                     : text(" (limit %.1f)", mebibytes(reply.limit_bytes()));
}

}  // namespace namdb::namctl
