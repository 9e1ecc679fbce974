#include "common/config/rdma_flags.h"

#include <CLI/CLI.hpp>

namespace namdb::config {

void add_rdma_flags(CLI::App& app, RdmaFlags& flags) {
  app.add_option("--rdma-device", flags.device,
                 "With --fabric verbs: the RDMA device to use, as `rdma link show` names it. Default: the\n"
                 "one that the addresses lead to")
      ->type_name("NAME");
  app.add_option("--rdma-port", flags.port, "With --rdma-device: its port. Default: the address's")
      ->check(CLI::Range(1, 254))
      ->type_name("N");
  app.add_option("--rdma-gid-index", flags.gid_index,
                 "With --rdma-device: the GID to use, by its place in the port's table. Default: the\n"
                 "address's, or the first RoCE v2 one")
      ->check(CLI::Range(0, 255))
      ->type_name("N");
  app.add_option("--rdma-traffic-class", flags.traffic_class,
                 "With --fabric verbs: class of the packets, for switches that treat RDMA apart")
      ->check(CLI::Range(0, 255));
  app.add_option("--rdma-acknowledge-timeout", flags.acknowledge_timeout,
                 "With --fabric verbs: a packet is sent again after 4.096 us * 2^N without an answer")
      ->check(CLI::Range(1, 31))
      ->capture_default_str();
  app.add_option("--rdma-retries", flags.retries,
                 "With --fabric verbs: how often, before the peer counts as gone")
      ->check(CLI::Range(0, 7))
      ->capture_default_str();
}

std::string wrong_rdma_flags(const RdmaFlags& flags, const std::string& fabric) {
  if (flags.device.empty() && (flags.port || flags.gid_index)) {
    return std::string(flags.port ? "--rdma-port" : "--rdma-gid-index") + " needs --rdma-device";
  }
  if (!flags.device.empty() && fabric != "verbs") {
    return "--rdma-device " + flags.device + ": --fabric " + fabric + " has no RDMA devices";
  }
  return {};
}

}  // namespace namdb::config
