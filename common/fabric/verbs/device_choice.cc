#include "common/fabric/verbs/device_choice.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>
#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

namespace namdb::fabric::verbs {
namespace {

struct CloseContext {
  void operator()(ibv_context* context) const { ibv_close_device(context); }
};
using Context = std::unique_ptr<ibv_context, CloseContext>;

Status no_such(const std::string& message, const std::string& hint = {}) {
  return Status(ErrorCode::configuration, message, hint);
}

Result<Context> open(const std::string& name) {
  int count = 0;
  ibv_device** devices = ibv_get_device_list(&count);
  Context context;
  bool found = false;
  int error = 0;
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) {
    names.emplace_back(ibv_get_device_name(devices[i]));
    if (names.back() != name) continue;
    found = true;
    context.reset(ibv_open_device(devices[i]));
    error = errno;
  }
  if (devices != nullptr) ibv_free_device_list(devices);
  if (context != nullptr) return context;
  if (found) {
    return no_such("the RDMA device " + name + " cannot be opened: " + std::strerror(error),
                   "this user needs access to /dev/infiniband/uverbs*");
  }
  return no_such("there is no RDMA device " + name, count == 0
                                                        ? "this machine has none; `rdma link show` lists them"
                                                        : "this machine has " + absl::StrJoin(names, ", "));
}

int ports_of(ibv_context* context) {
  ibv_device_attr attributes{};
  return ibv_query_device(context, &attributes) == 0 ? attributes.phys_port_cnt : 0;
}

// All ports' GIDs that are set.
std::vector<ibv_gid_entry> gids_of(ibv_context* context) {
  std::size_t length = 0;
  const int ports = ports_of(context);
  for (int port = 1; port <= ports; ++port) {
    ibv_port_attr attributes{};
    if (ibv_query_port(context, static_cast<std::uint8_t>(port), &attributes) == 0)
      length += static_cast<std::size_t>(attributes.gid_tbl_len);
  }
  std::vector<ibv_gid_entry> entries(length);
  const ssize_t count = length == 0 ? 0 : ibv_query_gid_table(context, entries.data(), length, 0);
  entries.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
  return entries;
}

const in6_addr& as_address(const ibv_gid& gid) {
  return reinterpret_cast<const in6_addr&>(gid);
}

bool is_of_family(const ibv_gid& gid, int family) {
  return static_cast<bool>(IN6_IS_ADDR_V4MAPPED(&as_address(gid))) == (family == AF_INET);
}

// An address of the port's own network only: its target depends on the port.
bool is_link_local(const ibv_gid& gid) {
  return IN6_IS_ADDR_LINKLOCAL(&as_address(gid));
}

std::string host_text(const ibv_gid_entry& entry) {
  const std::string text = gid_text(entry.gid);
  if (is_of_family(entry.gid, AF_INET)) return text.substr(text.rfind(':') + 1);
  char interface[IF_NAMESIZE] = "";
  if (!is_link_local(entry.gid) || ::if_indextoname(entry.ndev_ifindex, interface) == nullptr)
    return '[' + text + ']';
  return '[' + text + '%' + interface + ']';
}

std::string name_of(const DeviceChoice& choice) {
  return absl::StrCat(choice.port ? absl::StrCat("port ", *choice.port, " of ") : "", "the RDMA device ",
                      choice.device);
}

Result<std::string> host_of_gid(const DeviceChoice& choice, const std::vector<ibv_gid_entry>& entries,
                                int family) {
  const auto found = std::find_if(entries.begin(), entries.end(), [&choice](const ibv_gid_entry& entry) {
    return entry.gid_index == *choice.gid_index && entry.port_num == choice.port.value_or(entry.port_num);
  });
  if (found == entries.end()) {
    std::vector<std::string> known;
    for (const ibv_gid_entry& entry : entries) {
      if (entry.port_num != choice.port.value_or(entry.port_num)) continue;
      known.push_back(absl::StrCat(entry.gid_index, " (", gid_text(entry.gid), ")"));
    }
    return no_such(absl::StrCat(name_of(choice), " has no GID with index ", *choice.gid_index),
                   known.empty() ? "it has none" : "it has " + absl::StrJoin(known, ", "));
  }
  if (found->gid_type == IBV_GID_TYPE_IB) return std::string();
  if (found->gid_type == IBV_GID_TYPE_ROCE_V1) {
    return no_such(
        absl::StrCat("GID ", *choice.gid_index, " of ", name_of(choice), " is of RoCE v1, which is not used"),
        "the same address with RoCE v2 has another index: `rdma link show`, `ibv_devinfo -v`");
  }
  if (!is_of_family(found->gid, family)) {
    return no_such(absl::StrCat("GID ", *choice.gid_index, " of ", name_of(choice), " is ",
                                gid_text(found->gid), ", no ", family == AF_INET ? "IPv4" : "IPv6",
                                " address"));
  }
  return host_text(*found);
}

}  // namespace

Result<reactor::SocketAddress> resolve(const std::string& address, bool to_listen) {
  Result<std::vector<reactor::SocketAddress>> all = reactor::SocketAddress::resolve(address, to_listen);
  if (!all.ok()) return all.status();
  if (!all->front().is_unix()) return all->front();
  return Status(ErrorCode::configuration, address + " is no address of the verbs fabric",
                "it takes HOST:PORT");
}

Result<std::string> host_of(const DeviceChoice& choice, int family) {
  if (choice.device.empty()) return std::string();
  const Result<Context> context = open(choice.device);
  if (!context.ok()) return context.status();
  const int ports = ports_of(context->get());
  if (choice.port && *choice.port > ports) {
    return no_such("there is no " + name_of(choice),
                   absl::StrCat("it has ", ports, ports == 1 ? " port" : " ports"));
  }
  const std::vector<ibv_gid_entry> entries = gids_of(context->get());
  if (choice.gid_index) return host_of_gid(choice, entries, family);
  for (const ibv_gid_entry& entry : entries) {
    if (entry.port_num != choice.port.value_or(static_cast<std::uint8_t>(entry.port_num))) continue;
    if (entry.gid_type == IBV_GID_TYPE_IB) return std::string();
    if (entry.gid_type == IBV_GID_TYPE_ROCE_V2 && is_of_family(entry.gid, family) &&
        !is_link_local(entry.gid)) {
      return host_text(entry);
    }
  }
  return no_such(name_of(choice) + " has no " + (family == AF_INET ? "IPv4" : "IPv6") + " address",
                 "give its network interface one");
}

Status check(const DeviceChoice& choice, const rdma_cm_id& id, const std::string& address) {
  if (choice.device.empty()) return Status();
  const std::string device = ibv_get_device_name(id.verbs->device);
  const ibv_gid& gid = id.route.addr.addr.ibaddr.sgid;
  const std::optional<std::uint32_t> gid_index = gid_index_of(id.verbs, id.port_num, gid);
  if (device == choice.device && id.port_num == choice.port.value_or(id.port_num) &&
      (!choice.gid_index || choice.gid_index == gid_index)) {
    return Status();
  }
  return Status(
      ErrorCode::configuration,
      absl::StrCat(address, " goes with port ", id.port_num, " of the RDMA device ", device, ", GID ",
                   gid_index ? absl::StrCat(*gid_index, " ") : "", "(", gid_text(gid), "), not with ",
                   choice.gid_index ? absl::StrCat("GID ", *choice.gid_index, " of ") : "", name_of(choice)),
      "addresses and --rdma-device, --rdma-port, --rdma-gid-index have to agree");
}

std::optional<std::uint32_t> gid_index_of(ibv_context* context, std::uint8_t port, const ibv_gid& gid) {
  for (const ibv_gid_entry& entry : gids_of(context)) {
    if (entry.port_num == port && entry.gid_type != IBV_GID_TYPE_ROCE_V1 &&
        std::memcmp(&entry.gid, &gid, sizeof gid) == 0) {
      return entry.gid_index;
    }
  }
  return std::nullopt;
}

std::string gid_text(const ibv_gid& gid) {
  char text[INET6_ADDRSTRLEN] = "";
  return ::inet_ntop(AF_INET6, &gid, text, sizeof text);
}

}  // namespace namdb::fabric::verbs
