// The way from a record's version to the older ones before it: the ring as one READ shows it, then the groups
// of the overflow region, of which one READ brings all that is older (overflow_group.h).
//
// Each READ is posted after the one before completed, since the version mover runs against it. What a READ
// brings may be of different times, and may be other memory by now: an image is believed only if it certifies
// and is the one that the link means, wherever it was found. In a READ of the ring, the overflow head may be
// older than a ring slot; then the version that was moved between the two is in neither, and the walk is
// lost. Where versions have timestamps there is the ring only.
#pragma once

#include <cstdint>
#include <span>

#include "common/fabric/local_pool.h"
#include "common/layout/overflow_group.h"
#include "common/layout/record.h"
#include "common/reactor/pooled_allocator.h"
#include "compute/storage/table.h"
#include "compute/txn/batch_set.h"

namespace namdb::protocol {

class VersionWalk {
 public:
  enum class Step : std::uint8_t {
    found,        // body() is the version before
    read,         // add_read() first, and again when its bytes are there
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

  std::span<const std::byte> body() const { return body_; }
  // No further step(); body() stays.
  void end() { buffer_.reset(); }

 private:
  enum class Place : std::uint8_t { none, ring, overflow };

  bool whole_ring() const;
  void fetch(Place place, std::size_t bytes);
  Step step_in_ring();
  Step step_in_group();
  Step follow(layout::OverflowLink link);
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
  std::uint32_t ring_slot_ = 0;            // ring: the only one that was READ, unless all were
  layout::OverflowLink link_;              // overflow: to the newest entry that was READ
  std::uint32_t entries_ = 0;              // of those, the oldest ones that were not looked at yet
  fabric::LocalBuffer buffer_;
};

}  // namespace namdb::protocol
