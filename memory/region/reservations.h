// Memory that workers reserved and have not used yet, so that it is not lost with them.
//
// A worker takes records and buckets in advance, and gives back the rest when it ends cleanly. When it ends
// otherwise, pieces that it never wrote to are still zero. They are freed once the compute server has
// *ended*: it has no channel left here, and everything that it had begun is finished, since memory servers
// may still install what its journal says. Server 0 knows that by the slots; the others are told
// (disconnected_peers.h). Pieces that were written but never linked stay lost; they are few.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "memory/region/region.h"
#include "memory/region/tables.h"
#include "proto/control.pb.h"

namespace namdb::memory {

class Reservations {
 public:
  Reservations(Region& region, Tables& tables) : region_(region), tables_(tables) {}

  void granted(const std::string& compute_id, std::uint32_t table, bool buckets,
               const control::AllocateReply& reply);
  void returned(std::uint32_t table, bool buckets, const std::vector<std::uint64_t>& offsets);
  // True if the piece was granted to a compute server that is not known to have ended.
  bool reserved(std::uint32_t table, bool buckets, std::uint64_t offset) const;
  // How many pieces were granted and hold nothing yet.
  std::uint64_t unused(std::uint32_t table, bool buckets) const;
  // True if the compute server was granted a piece that holds nothing yet.
  bool holds(const std::string& compute_id) const;
  // The table is gone, and its memory free.
  void forget(std::uint32_t table);
  // No piece of any table is remembered.
  bool empty() const { return reserved_.empty(); }
  // Frees the unused pieces of these compute servers; all of them have ended.
  void release(const std::set<std::string>& ended);

 private:
  struct Reserved {
    // One owner a piece, by offset, of computes_: memory that came back and was granted again belongs to the
    // later one.
    std::map<std::uint64_t, const std::string*> owners;
    std::size_t looked_at = 0;  // how many there were after the last check
  };
  bool zero(std::uint64_t offset, std::uint64_t length_bytes) const;
  bool untouched(const SlabAllocator& slabs, std::uint64_t offset) const;

  Region& region_;
  Tables& tables_;
  std::set<std::string> computes_;                               // that were granted memory
  std::map<std::pair<std::uint32_t, bool>, Reserved> reserved_;  // by table, buckets
};

}  // namespace namdb::memory
