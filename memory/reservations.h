// Memory that workers reserved and have not used yet, so that it is not lost with them (server 0).
//
// A worker takes records and buckets in advance. When it ends without giving them back, what it never wrote
// to is still zero. It is freed once the compute server has no channel left and every slot of it is closed:
// until then a repair may write what the worker's journal says. What was written but never linked stays lost;
// it is little. Servers other than 0 do not know of repairs, and keep what was reserved.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "memory/peers.h"
#include "memory/region.h"
#include "memory/slots.h"
#include "memory/tables.h"
#include "proto/control.pb.h"

namespace namdb::memory {

class Reservations {
 public:
  Reservations(Region& region, Tables& tables, const Slots& slots, const Peers& peers)
      : region_(region), tables_(tables), slots_(slots), peers_(peers) {}

  void granted(const std::string& compute_id, std::uint32_t table, bool buckets,
               const control::AllocateReply& reply);
  void returned(std::uint32_t table, bool buckets, const std::vector<std::uint64_t>& offsets);
  // True if the piece was granted to a compute server that is not known to be gone.
  bool reserved(std::uint32_t table, bool buckets, std::uint64_t offset) const;
  // How many pieces were granted and hold nothing yet.
  std::uint64_t unused(std::uint32_t table, bool buckets) const;
  // Frees what compute servers that are gone for good left behind. Cheap while there are none.
  void tick();

 private:
  struct Reserved {
    // One owner a piece: memory that came back and was granted again belongs to the later one.
    std::map<std::uint64_t, std::string> owners;  // by offset
    std::size_t looked_at = 0;                    // how many there were after the last look
  };
  bool gone(const std::string& compute_id) const;
  bool zero(std::uint64_t offset, std::uint64_t length_bytes) const;
  bool untouched(const Units& units, std::uint64_t offset) const;

  Region& region_;
  Tables& tables_;
  const Slots& slots_;
  const Peers& peers_;
  std::map<std::pair<std::uint32_t, bool>, Reserved> reserved_;  // by table, buckets
  std::set<std::string> compute_ids_;                            // that ever reserved, and are not gone
};

}  // namespace namdb::memory
