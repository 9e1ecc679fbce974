#include "tools/namsim/checks/region_check.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "common/layout/timestamp_vector.h"
#include "common/layout/vector_parts.h"
#include "proto/control.pb.h"
#include "tools/namsim/checks/region_findings.h"

namespace namdb::sim {
namespace {

using layout::HeaderWord;
using memory::MemoryServer;
using memory::Region;
using memory::SlotState;

// The owner of all that is handed out, in units that nothing is smaller than; one server.
class Owners {
 public:
  Owners(const Region& region, Findings& findings)
      : region_(region),
        findings_(findings),
        unit_bytes_(std::min(memory::BuddyAllocator::kSmallest_bytes, region.extents().extent_bytes())),
        owners_(region.extents().count() * region.extents().extent_bytes() / unit_bytes_) {}

  void claim(const std::string& owner, std::uint64_t offset, std::uint64_t bytes) {
    const std::uint64_t begin = region_.extents().first_offset();
    const std::uint64_t first = (offset - begin) / unit_bytes_;
    const std::uint64_t count = bytes / unit_bytes_;
    if (offset < begin || (offset - begin) % unit_bytes_ != 0 || bytes % unit_bytes_ != 0 ||
        first + count > owners_.size()) {
      findings_.add("the memory of " + owner + " at " + place(region_, offset) +
                    " is no block of the region");
      return;
    }
    bool told_twice = false;
    bool told_free = false;
    for (std::uint64_t i = first; i < first + count; ++i) {
      if (!owners_[i].empty() && !std::exchange(told_twice, true))
        findings_.add("the memory at " + where(i) + " belongs to " + owners_[i] + " and to " + owner);
      if (!region_.blocks().used(begin + i * unit_bytes_) && !std::exchange(told_free, true))
        findings_.add("the memory at " + where(i) + " belongs to " + owner + " and counts as free");
      owners_[i] = owner;
    }
  }
  void claim(const std::string& owner, const memory::SlabAllocator& units) {
    for (const memory::Block& block : units.blocks()) claim(owner, block.offset, block.bytes);
  }
  void finish() {
    bool before = false;  // what is in one piece is told once
    for (std::uint64_t i = 0; i < owners_.size(); ++i) {
      const bool lost =
          owners_[i].empty() && region_.blocks().used(region_.extents().first_offset() + i * unit_bytes_);
      if (lost && !before) findings_.add("the memory at " + where(i) + " is taken and belongs to nothing");
      before = lost;
    }
  }

 private:
  std::string where(std::uint64_t unit) const {
    return place(region_, region_.extents().first_offset() + unit * unit_bytes_);
  }

  const Region& region_;
  Findings& findings_;
  std::uint64_t unit_bytes_;
  std::vector<std::string> owners_;
};

void check_map(const Region& region, Findings& findings) {
  layout::RegionMap map{};
  region.read(0, std::as_writable_bytes(std::span(&map, 1)));
  if (!map.certified()) {
    findings.add("the region map at " + place(region, 0) + " does not certify");
  } else if (std::memcmp(&map, &region.map(), sizeof(map)) != 0) {
    findings.add("the region map at " + place(region, 0) + " is not the one that was written");
  }
}

void check_blocks(const MemoryServer& server, Findings& findings) {
  Owners owners(server.region(), findings);
  for (const auto& [id, table] : server.tables().all()) {
    const std::string name = "table " + std::to_string(id);
    for (const memory::MainBuckets& main : table->arrays())
      owners.claim(name + "'s main buckets", main.array.base_offset, main.block_bytes);
    owners.claim(name + "'s indirect buckets", table->indirect);
    owners.claim(name + "'s records", table->records);
  }
  for (const auto& [id, index] : server.indexes().all())
    owners.claim("index " + std::to_string(id) + "'s pages", index->tree->pages());
  for (const auto& [bytes, units] : server.overflow().classes())
    owners.claim("overflow entries of " + std::to_string(bytes) + " bytes", *units);
  for (const auto& [id, stream] : server.journals().all()) {
    owners.claim("slot " + std::to_string(id) + "'s stream", stream->ring().offset, stream->ring().bytes);
    for (const auto& [offset, bytes] : stream->rooms())
      owners.claim("slot " + std::to_string(id) + "'s room for a long journal entry", offset, bytes);
  }
  owners.finish();
}

// The server's own account of its memory, as it reports it to people.
void check_accounting(const MemoryServer& server, Findings& findings) {
  const control::MemoryReply reply = server.memory();
  const std::string subject =
      "the account of server " + std::to_string(server.region().map().server_id) + "'s memory ";
  std::uint64_t sum = 0;
  for (const control::MemoryPart& part : reply.parts()) {
    sum += part.bytes();
    // A difference that is not what it seems wraps around.
    if (part.used_bytes() > part.bytes() || part.unusable_bytes() > part.bytes())
      findings.add(subject +
                   "has a part that is larger than itself: " + control::MemoryPurpose_Name(part.purpose()));
  }
  if (sum != server.region().bytes())
    findings.add(subject + "adds up to " + std::to_string(sum) + " bytes of " +
                 std::to_string(server.region().bytes()));
}

void check_indexes(const MemoryServer& server, Findings& findings) {
  for (const auto& [id, index] : server.indexes().all()) {
    if (index->discarded) continue;
    const std::string wrong = index->tree->check();
    if (!wrong.empty()) findings.add("index " + std::to_string(id) + ": " + wrong);
  }
}

// Those of all owners that are gone were closed.
void check_journals(const MemoryServer& server, Findings& findings) {
  for (const auto& [id, stream] : server.journals().all()) {
    findings.add("the journal of slot " + std::to_string(id) + " on server " +
                 std::to_string(server.region().map().server_id) + " is still open");
  }
}

// As the regions have them.
layout::VectorParts vector_parts(const std::vector<const MemoryServer*>& servers) {
  const bool partitioned = servers.back()->region().map().vector_capacity != 0;
  return {partitioned ? layout::VectorSpread::partitioned : layout::VectorSpread::whole,
          static_cast<std::uint32_t>(servers.size())};
}

void check_vector(const std::vector<const MemoryServer*>& servers, Findings& findings) {
  const MemoryServer& first = *servers.front();
  const memory::Slots& slots = *first.slots();
  const layout::VectorParts parts = vector_parts(servers);
  const auto region_of = [&](std::uint64_t position) -> const Region& {
    return servers[parts.place(position).server]->region();
  };
  const auto word_place = [&](std::uint64_t position) {
    const Region& region = region_of(position);
    return place(region,
                 region.map().vector_offset + layout::kVectorWords_offset + 8 * parts.place(position).index);
  };
  const Region& catalog = first.region();
  if (catalog.load(catalog.catalog_version_offset()) != first.catalog()->version())
    findings.add("the catalog's version at " + place(catalog, catalog.catalog_version_offset()) +
                 " is not that of the catalog");
  for (std::uint32_t part = 0; part < parts.count(); ++part) {
    const Region& region = servers[part]->region();
    if (region.vector_length() <= region.map().vector_capacity) continue;
    findings.add("the timestamp vector's length " + std::to_string(region.vector_length()) +
                 " exceeds its capacity");
    return;
  }
  std::map<std::uint64_t, const memory::Slot*> by_position;
  for (const auto& [id, slot] : slots.active()) {
    const std::string name = "slot " + std::to_string(id);
    if (slot.state != SlotState::closed)
      findings.add(name + (slot.state == SlotState::leased ? " is still leased" : " is dead and not closed"));
    if (!by_position.emplace(slot.position, &slot).second)
      findings.add(name + " shares the word at " + word_place(slot.position) + " with another slot");
    const Region& region = region_of(slot.position);
    if (parts.place(slot.position).index >= region.vector_length())
      findings.add("the word of " + name + " at " + word_place(slot.position) +
                   " lies behind the vector's length");
    const HeaderWord word = region.vector_word(parts.place(slot.position).index);
    if (word != HeaderWord(word.stamp()) || word.stamp().slot != id) {
      findings.add("the word at " + word_place(slot.position) + " is not that of " + name);
    } else if (slot.state == SlotState::closed && word.stamp().counter != slot.final_counter) {
      findings.add("the word of " + name + " at " + word_place(slot.position) + " is " +
                   std::to_string(word.stamp().counter) + ", its final counter " +
                   std::to_string(slot.final_counter));
    }
  }
  const std::uint64_t capacity = parts.count() * catalog.map().vector_capacity;
  for (std::uint64_t position = 0; position < capacity; ++position) {
    const Region& region = region_of(position);
    const std::uint64_t index = parts.place(position).index;
    const HeaderWord word = region.vector_word(index);
    if (word.value() == 0 || by_position.contains(position)) continue;
    if (index >= region.vector_length()) {
      findings.add("the word at " + word_place(position) + " lies behind the vector's length");
    } else if (!slots.retired(word.stamp().slot)) {
      findings.add("the word at " + word_place(position) + " names slot " +
                   std::to_string(word.stamp().slot) + ", which nobody knows");
    }
  }
}

}  // namespace

std::vector<std::string> check_regions(const std::vector<const MemoryServer*>& servers) {
  Findings findings;
  for (const MemoryServer* server : servers) {
    check_map(server->region(), findings);
    check_blocks(*server, findings);
    check_accounting(*server, findings);
    check_indexes(*server, findings);
    check_journals(*server, findings);
    // The links of other memory servers stay.
    const auto& peers = server->peers().all();
    if (std::ranges::any_of(peers, [](const auto& peer) { return !peer.second.memory_server; }))
      findings.add("a channel to server " + std::to_string(server->region().map().server_id) +
                   " is still connected");
  }
  check_vector(servers, findings);
  check_tables(servers, findings);
  return findings.take();
}

}  // namespace namdb::sim
