// The command line and configuration file of nam-computed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/config/rdma_flags.h"
#include "common/config/service_flags.h"
#include "common/config/store_flags.h"

namespace namdb::compute {

struct Flags {
  std::string data;
  std::string configuration_file;           // that was read; empty: none
  std::vector<std::string> memory_servers;  // never empty after parsing
  config::StoreFlags store;                 // says where their regions are; may be none
  std::string fabric;                       // shm, tcp or verbs; decided by the addresses unless given
  std::string listen = "127.0.0.1:5433";
  std::string unix_socket_folder;  // empty: none
  std::uint32_t workers = 1;
  std::vector<std::string> procedure_libraries;
  std::string cluster_key;
  std::string fabric_encryption = "auto";  // off, required
  bool trust_remote = false;
  std::vector<std::string> access_rules;  // authentication/access_rules.h; empty: the standard ones
  std::string tls_certificate;            // empty: no TLS
  std::string tls_key;
  std::string tls_client_ca;
  double password_delay_s = 1;
  std::uint32_t max_connections = 1000;
  std::uint32_t reserved_connections = 3;
  std::vector<std::string> superusers = {"namctl", "postgres"};
  std::uint32_t max_attempts = 64;
  std::string snapshots = "own";  // or shared, prefetched
  std::size_t slots_per_worker = 1;
  std::uint32_t epoch_ms = 1;
  bool whole_writes = false;
  std::string index_reads = "auto";  // or leaves, calls
  std::string scan_reads = "auto";   // or buckets, calls
  std::string read_locks = "auto";   // or none, exclusive, shared
  std::uint64_t balance_indexes = 64U << 20;
  std::string without;  // optimisations that are left out (cluster/optimisations.h)
  std::uint64_t location_cache_bytes = 64U << 20;
  std::uint64_t client_memory_bytes = 512U << 20;
  double connect_timeout_s = -1;        // negative: never
  double memory_timeout_s = -1;         // as the fabric says; never negative after parsing
  std::optional<std::uint16_t> beside;  // position in memory_servers
  std::string beside_socket;            // unix:PATH of that one, whose region is mapped; or empty
  // With verbs.
  config::RdmaFlags rdma;
  std::string queue_pairs = "per-worker";  // or shared
  std::string rdma_calls = "rc";
  std::string rdma_source;  // empty: as the routes say
  config::ServiceFlags service;
};

// Parses argv and the configuration file, whose values flags override. nullopt: `exit_code` is to be returned
// now; help, version, or the error has been printed.
std::optional<Flags> parse_flags(int argc, char** argv, int& exit_code);

// The same again, when the process is told to read its configuration anew. `before`: the flags in force.
// Error configuration, also if the file is gone, or lacks the rules or the certificate, perhaps because it is
// being written: so no client gets in by such a file. Nothing is printed.
Result<Flags> reread_flags(int argc, char** argv, const Flags& before);

}  // namespace namdb::compute
