#include "tools/namctl/command_regions.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "common/placement/configuration.h"
#include "common/placement/move_calls.h"
#include "tools/namctl/control_client.h"
#include "tools/namctl/output.h"
#include "tools/namctl/region_hosts.h"

namespace namdb::namctl {
namespace {

using placement::MoveState;

// Of the region that the host has.
const std::vector<std::string>* copies_of(const HostView& host) {
  if (host.reply.state != MoveState::here || host.reply.server_id >= host.configuration.regions())
    return nullptr;
  return &host.configuration.place(host.reply.server_id).copies;
}

std::string host_line(const HostView& host) {
  std::string line = "memory server " + std::to_string(host.reply.server_id) + " at " + host.address + " " +
                     state_text(host);
  const std::vector<std::string>* const copies = copies_of(host);
  if (copies == nullptr || copies->empty()) return line;
  line += "; copies in sync at";
  for (const std::string& copy : *copies) line += (line.ends_with("at") ? " " : ", ") + copy;
  return line;
}

nlohmann::json host_json(const HostView& host) {
  nlohmann::json entry = {{"address", host.address},
                          {"up", true},
                          {"server_id", host.reply.server_id},
                          {"state", name_of(host.reply.state)},
                          {"configuration", host.configuration.number()},
                          {"copied_bytes", host.reply.copied_bytes},
                          {"total_bytes", host.reply.total_bytes},
                          {"error", host.reply.error}};
  if (!host.reply.from.empty()) entry["primary"] = host.reply.from;
  if (const std::vector<std::string>* const copies = copies_of(host)) entry["copies"] = *copies;
  return entry;
}

// The command itself, once hosts can be reached.
using Order = std::function<Status(const Output& output, ControlPlane& control,
                                   const std::vector<std::string>& addresses, nlohmann::json* document)>;

// `named`: an address that the command names; it says how hosts are reached if nothing else does.
int run_order(const ClusterFlags& flags, const std::string& named, bool json, const Order& order) {
  const Output output(json);
  ClusterFlags access = flags;
  // A folder of dev up may add its key.
  if (access.memory.empty() && !named.empty() && (!access.key.empty() || !access.fabric.empty()))
    access.memory = {named};
  Result<ClusterAddress> address = locate(access);
  if (!address.ok() && !named.empty()) {
    access.memory = {named};
    address = locate(access);
  }
  if (!address.ok()) return report_error(output, address.status());
  Result<std::unique_ptr<ControlPlane>> control = ControlPlane::create(address->access);
  if (!control.ok()) return report_error(output, control.status());
  nlohmann::json document;
  const Status status = order(output, **control, address->memory, &document);
  if (!status.ok()) return report_error(output, status);
  output.document(document);
  return kExitOk;
}

}  // namespace

int run_regions(const ClusterFlags& flags, bool json) {
  const Output output(json);
  Result<ClusterAddress> address = locate(flags);
  if (!address.ok()) return report_error(output, address.status());
  Result<std::unique_ptr<ControlPlane>> control = ControlPlane::create(address->access);
  if (!control.ok()) return report_error(output, control.status());
  bool all_good = true;
  nlohmann::json hosts = nlohmann::json::array();
  for (const HostView& host : view_hosts(**control, address->memory)) {
    if (!host.status.ok()) {
      all_good = false;
      output.line(host.address + ": DOWN, " + host.status.message());
      hosts.push_back({{"address", host.address}, {"up", false}, {"error", host.status.to_string()}});
      continue;
    }
    output.line(host_line(host));
    hosts.push_back(host_json(host));
  }
  output.document({{"hosts", hosts}});
  return all_good ? kExitOk : kExitOther;
}

int run_add(const ClusterFlags& flags, const std::string& address, bool json) {
  return run_order(
      flags, address, json,
      [&address](const Output& output, ControlPlane& control, const std::vector<std::string>&,
                 nlohmann::json* document) { return add_copy(output, control, address, document); });
}

int run_drain(const ClusterFlags& flags, const DrainOrder& order, bool json) {
  return run_order(
      flags, order.from, json,
      [&order](const Output& output, ControlPlane& control, const std::vector<std::string>&,
               nlohmann::json* document) { return drain_host(output, control, order, document); });
}

int run_rebalance(const ClusterFlags& flags, bool json) {
  return run_order(flags, "", json, &rebalance);
}

}  // namespace namdb::namctl
