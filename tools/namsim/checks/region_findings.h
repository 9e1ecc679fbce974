// Shared by the parts of the region checker (region_check.h).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/layout/global_address.h"
#include "memory/server/server.h"

namespace namdb::sim {

class Findings {
 public:
  void add(std::string sentence) {
    if (sentences_.size() < kMost) sentences_.push_back(std::move(sentence));
  }
  std::vector<std::string> take() { return std::move(sentences_); }

 private:
  static constexpr std::size_t kMost = 100;
  std::vector<std::string> sentences_;
};

// "server 1 offset 65536"
inline std::string place(const memory::Region& region, std::uint64_t offset) {
  return "server " + std::to_string(region.map().server_id) + " offset " + std::to_string(offset);
}

// Tables on all servers: buckets, records, versions, overflow entries.
void check_tables(const std::vector<const memory::MemoryServer*>& servers, Findings& findings);

}  // namespace namdb::sim
