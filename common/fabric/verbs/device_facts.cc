// A device's own reports: its attributes and ports, and its events.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include "common/fabric/verbs/device.h"
#include "common/fabric/verbs/device_choice.h"

namespace namdb::fabric::verbs {
namespace {

const char* link_name(const ibv_port_attr& port) {
  return port.link_layer == IBV_LINK_LAYER_ETHERNET ? "RoCE v2" : "InfiniBand";
}

}  // namespace

const ibv_port_attr& Device::port_attributes(std::uint8_t port) {
  const auto [found, is_new] = ports_.try_emplace(port);
  if (is_new) ibv_query_port(handle_.context, port, &found->second);
  return found->second;
}

std::string Device::describe(std::uint8_t port) {
  std::string text = "the RDMA device " + name();
  if (handle_.attributes.fw_ver[0] != '\0') text += ", firmware " + std::string(handle_.attributes.fw_ver);
  const ibv_port_attr& attributes = port_attributes(port);
  text += ", port " + std::to_string(port) + " (" + link_name(attributes) + ", path MTU " +
          std::to_string(bytes_of_mtu(attributes.active_mtu)) + ")";
  const bool with_cpu = handle_.attributes.atomic_cap == IBV_ATOMIC_GLOB;
  text +=
      with_cpu ? ", atomics that are atomic with the CPU's" : ", atomics that are atomic among themselves";
  return text + ", " + std::to_string(handle_.attributes.max_qp_rd_atom) + " READs and atomics at a time";
}

std::uint64_t Device::page_bytes(std::uint64_t memory_page_bytes) const {
  const std::uint64_t known = handle_.attributes.page_size_cap & (2 * memory_page_bytes - 1);
  return known == 0 ? memory_page_bytes : std::bit_floor(known);
}

void Device::describe(std::uint8_t port, const ibv_gid& gid, Facts& facts) {
  const ibv_port_attr& attributes = port_attributes(port);
  facts.say("device", name());
  facts.say("firmware", handle_.attributes.fw_ver);
  facts.say("link", link_name(attributes));
  facts.say("gid", gid_text(gid));
  facts.say("port_state", ibv_port_state_str(attributes.state));
  facts.say("atomics",
            handle_.attributes.atomic_cap == IBV_ATOMIC_GLOB ? "with the CPU" : "among themselves");
  facts.say("last_device_event", last_event_);
  facts.count("port", port);
  if (const auto index = gid_index_of(handle_.context, port, gid); index) facts.count("gid_index", *index);
  facts.count("port_mtu_bytes", bytes_of_mtu(attributes.active_mtu));
  facts.count("smallest_page_bytes", handle_.attributes.page_size_cap & -handle_.attributes.page_size_cap);
  // At most, of one queue pair or of the device.
  for (const auto& [name, limit] : {std::pair{"limit_send_queue", handle_.attributes.max_qp_wr},
                                    {"limit_reads_at_a_time", handle_.attributes.max_qp_rd_atom},
                                    {"limit_receive_buffers", handle_.attributes.max_srq_wr},
                                    {"limit_queue_pairs", handle_.attributes.max_qp},
                                    {"limit_registrations", handle_.attributes.max_mr},
                                    {"limit_windows", handle_.attributes.max_mw}}) {
    facts.count(name, static_cast<std::uint64_t>(limit));
  }
  facts.say("on_demand_paging", on_demand_paging_ ? "granted, not used" : "not granted");
  facts.count("device_events", events_);
  facts.count("device_queue_pairs", static_cast<std::uint64_t>(std::count_if(
                                        queue_pairs_.begin(), queue_pairs_.end(),
                                        [](const auto& known) { return known.second.counters != nullptr; })));
  facts.count("receive_buffers", receives_->count());
  facts.count("receive_buffers_replaced", receives_->replaced());
}

void Device::describe_hardware(std::uint8_t port, Facts& facts) const {
  const std::filesystem::path folder =
      std::filesystem::path(handle_.context->device->ibdev_path) / "ports" / std::to_string(port);
  for (const char* kind : {"counters", "hw_counters"}) {
    std::vector<std::filesystem::path> files;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder / kind, error)) {
      files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    for (const std::filesystem::path& file : files) {
      std::uint64_t value = 0;
      if (file.filename() != "lifespan" && std::ifstream(file) >> value) {
        facts.count("hardware_" + file.filename().string(), value);
      }
    }
  }
}

EndpointCounters Device::totals() const {
  EndpointCounters sum = retired_;
  for (const auto& [number, known] : queue_pairs_) {
    if (known.counters != nullptr) sum += *known.counters;
  }
  return sum;
}

void Device::take_events() {
  ibv_async_event event{};
  while (ibv_get_async_event(handle_.context, &event) == 0) {
    const ibv_event_type type = event.event_type;
    std::uint32_t queue_pair = 0;
    int port = 0;
    if (type == IBV_EVENT_QP_FATAL || type == IBV_EVENT_QP_REQ_ERR || type == IBV_EVENT_QP_ACCESS_ERR) {
      queue_pair = event.element.qp->qp_num;
    } else if (type == IBV_EVENT_PORT_ACTIVE || type == IBV_EVENT_PORT_ERR) {
      port = event.element.port_num;
    }
    // Before anything is done: a queue pair cannot be destroyed while an event of it is not acknowledged.
    ibv_ack_async_event(&event);
    on_event(type, queue_pair, port);
  }
}

void Device::on_event(ibv_event_type type, std::uint32_t queue_pair, int port) {
  ++events_;
  ports_.clear();
  switch (type) {
    case IBV_EVENT_SRQ_LIMIT_REACHED:
      poll();
      return receives_->on_limit(queue_pairs_.size());
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_QP_LAST_WQE_REACHED:
      return;  // what goes with every connection
    default:
      break;
  }
  last_event_ = ibv_event_type_str(type);
  switch (type) {
    case IBV_EVENT_PORT_ERR:
      // Connections go on when it comes back in time; otherwise their retries run out.
      return spdlog::warn("verbs fabric: port {} of the RDMA device {} is down", port, name());
    case IBV_EVENT_PORT_ACTIVE:
      return spdlog::info("verbs fabric: port {} of the RDMA device {} is up", port, name());
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
      if (const auto found = queue_pairs_.find(queue_pair);
          found != queue_pairs_.end() && found->second.counters != nullptr) {
        found->second.handler->on_device_error("the device reports: " + last_event_);
      }
      return;
    case IBV_EVENT_DEVICE_FATAL:
    case IBV_EVENT_CQ_ERR:
    case IBV_EVENT_SRQ_ERR:
      spdlog::critical("verbs fabric: the RDMA device {} has failed: {}", name(), last_event_);
      return fail_all("the RDMA device has failed: " + last_event_);
    default:
      spdlog::info("verbs fabric: the RDMA device {} reports: {}", name(), last_event_);
  }
}

void Device::fail_all(const std::string& reason) {
  // Handlers may add and remove queue pairs, but destroy no other handler. Connections first: with them their
  // use of datagrams ends.
  std::vector<CompletionHandler*> connections;
  std::vector<CompletionHandler*> ports;
  for (const auto& [number, known] : queue_pairs_) {
    (known.counters != nullptr ? connections : ports).push_back(known.handler);
  }
  for (CompletionHandler* connection : connections) connection->on_device_error(reason);
  for (CompletionHandler* port : ports) port->on_device_error(reason);
}

}  // namespace namdb::fabric::verbs
