// The way from a record's version to the older ones before it, one round trip a step. The first step READs
// the whole ring. The next ones READ groups of the overflow region (overflow_group.h): first the older
// entries of the newest group, and then together as many earlier groups as that group names.
//
// Each step's READs are posted after the step before completed, since the version mover runs against them.
// Their bytes may be of different times, and may be other memory by now: an image counts only if it certifies
// and is the one that the link means, wherever it was found. In a READ of the ring, the overflow
// head may be older than a ring slot; then the version that was moved between the two is in neither, and the
// walk is lost. Where versions have timestamps there is the ring only.
//
// The buffer, as long as 16 versions or a ring, is taken by add_read(). When step() asks for another READ the
// walk holds no buffer: so its owner may delay the READ, and thus bound the memory that many walks take
// together.
#pragma once

#include <cstdint>
#include <span>

#include "common/fabric/local_pool.h"
#include "common/layout/overflow_group.h"
#include "common/layout/record.h"
#include "common/reactor/pooled_allocator.h"
#include "compute/api/table.h"
#include "compute/cluster/batch_set.h"

namespace namdb::protocol {

class VersionWalk {
 public:
  static void* operator new(std::size_t bytes) { return reactor::allocate_frame(bytes); }
  static void operator delete(void* place, std::size_t bytes) { reactor::free_frame(place, bytes); }

  enum class Step : std::uint8_t {
    found,        // body() is the version before
    read,         // add_read(), and step() again when the bytes are there
    lost,         // it is in none of the places: collected, or moved meanwhile. Begin again at the record
    overwritten,  // with timestamps: the ring does not have it any more
    corrupt,
  };

  // At the record's current version, whose certified body this is.
  void start(fabric::LocalPool& pool, const storage::Table& table, layout::GlobalAddress record,
             std::uint64_t region_bytes, std::span<const std::byte> body);
  // To the version before the one where it stands.
  Step step();
  void add_read(txn::BatchSet& batches);
  // After Step::read: how long the buffer is that add_read() will take.
  std::size_t read_bytes() const { return read_bytes_; }

  std::span<const std::byte> body() const { return body_; }
  // No further step(); body() stays.
  void end() { buffer_.reset(); }

 private:
  enum class Place : std::uint8_t { none, ring, overflow };

  std::uint32_t entry_bytes() const { return layout::overflow_entry_bytes(table_->record.body_bytes()); }
  Step step_in_ring();
  Step step_in_groups();
  // READs those of groups_ that are valid places; the first that is not ends them.
  Step read_groups();
  Step lost();
  // Whether the certified image is that of the version before the one where it stands.
  bool is_before(std::span<const std::byte> image) const;
  Step restore(std::span<const std::byte> image);

  const storage::Table* table_ = nullptr;
  fabric::LocalPool* pool_ = nullptr;
  layout::GlobalAddress record_;
  std::uint64_t region_bytes_ = 0;
  reactor::PooledVector<std::byte> body_;  // where it stands
  layout::BodyHeader version_;             // of that
  Place place_ = Place::none;              // what was READ last
  std::size_t read_bytes_ = 0;
  // overflow: the newest entries that were READ of each group, and where the walk stands among them.
  reactor::PooledVector<layout::OverflowLink> groups_;
  std::size_t group_ = 0;
  std::size_t group_at_ = 0;   // in the buffer
  std::uint32_t entries_ = 0;  // of the group, the oldest ones that were not checked yet
  fabric::LocalBuffer buffer_;
};

}  // namespace namdb::protocol
