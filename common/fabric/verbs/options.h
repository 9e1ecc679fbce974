// The settings of the verbs transport. The device itself tells everything else.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "common/base/clock.h"
#include "common/fabric/cluster_key.h"

namespace namdb::fabric::verbs {

// The kind of key by which peers reach the region (region_keys.h).
enum class RegionKeyKind : std::uint8_t { automatic, windows, registrations };

// How calls go: over each peer's reliable connection, or as datagrams where they fit into a packet.
enum class CallKind : std::uint8_t { connections, datagrams };

// Which device, and of it which port and GID, connections are made with. Empty: those that the addresses lead
// to.
struct DeviceChoice {
  std::string device;
  std::optional<std::uint8_t> port;  // from 1
  std::optional<std::uint32_t> gid_index;
};

class Communicator;

struct VerbsOptions {
  // Proven to and demanded from every peer. A server does not listen without.
  std::optional<ClusterKey> key;
  // Of a server: the time that a peer has to prove the key.
  std::uint64_t authentication_timeout_ns = kSecond_ns;
  // From the connection's start to the welcome.
  std::uint64_t handshake_timeout_ns = 10 * kSecond_ns;
  // Port and GID only with a device.
  DeviceChoice device;
  // HOST of this machine whose device clients connect from; empty: that of the chosen device, or as the
  // routes say.
  std::string source_address;
  // Of RoCE packets, for switches that give RDMA a class of its own; none: the system's.
  std::optional<std::uint8_t> traffic_class;
  // A packet that is not acknowledged after 4.096 us * 2^acknowledge_timeout is sent again, so often.
  std::uint8_t acknowledge_timeout = 14;
  // (Soft-RoCE takes 7 for ever.)
  std::uint8_t retries = 6;
  // Of a server. Automatic: windows if the device has them.
  RegionKeyKind region_keys = RegionKeyKind::automatic;
  // Of a client; a server does as its peers do.
  CallKind calls = CallKind::connections;
  // Of a client: whose queue pairs it shares with others (communicator.h). Null: it has its own.
  std::shared_ptr<Communicator> communicator;
  // For tests: one in so many datagrams is lost, and another one doubled; 0: none, 1: all.
  // Hostile: 3.
  std::uint32_t lose_every_datagram = 0;
  // Work requests of one queue pair that the device may hold; at most what it grants. Hostile: 4.
  std::uint32_t send_queue_depth = 256;
  // Buffers that all peers' messages arrive in, at most what the device grants. Hostile: 2.
  std::uint32_t client_receive_buffers = 128;
  std::uint32_t server_receive_buffers = 512;
};

}  // namespace namdb::fabric::verbs
