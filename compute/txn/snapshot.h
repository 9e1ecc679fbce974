// Snapshots of the timestamp vector (NAM-DB §4.1; layout in common/layout/timestamp_vector.h).
//
// One READ of the vector is torn: it may show a commit without another that it depends on, and two readers
// may each see one of two independent commits. So a copy is a snapshot only when two READs of the whole
// vector, the second posted after the first completed, are equal. The second may be posted together with the
// transaction's first record READs, which are thrown away when it disagrees. On a channel that executes
// operations in order anyway, a fence costs nothing. There all READs are one batch, if they go to memory
// server 0: the first READ of the vector and behind it, fenced, the second one and those of records. A fenced
// READ waits for the first one to complete, and no other order is needed. On other channels a READ is cheaper
// than a call, but a confirmation fails when other slots publish meanwhile. While more than 30 % of the
// confirmations fail, the snapshot is taken by one call, whose handler collects twice in its own memory.
//
// Where the vector is partitioned (layout/vector_parts.h), each READ is one READ of every part, and the
// second ones are posted after the first have completed on all memory servers. Words only grow, so at the
// moment between the two rounds every part held what the copies show: they are a snapshot like that of a
// whole vector. A call cannot take it, since a handler sees only its server's part: so over every transport a
// partitioned vector is READ. Of each part the same number of words is READ; a confirmed copy is put in the
// order of positions, and looks like that of a whole vector.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include "common/fabric/fabric.h"
#include "common/layout/stamp.h"
#include "common/layout/timestamp_vector.h"
#include "compute/cluster/batch_set.h"
#include "compute/cluster/cluster.h"
#include "compute/txn/snapshot_choice.h"
#include "proto/control_types.h"

namespace namdb::txn {

// A copy of the vector. Usable for visibility once confirmed.
struct Snapshot {
  fabric::LocalBuffer copy;              // part behind part
  fabric::LocalBuffer second;            // the same; partitioned, once confirmed: in the order of positions
  std::shared_ptr<const void> shared;    // keeps the words when they are not in `copy`
  const std::uint64_t* image = nullptr;  // all of the vector's words, once taken; partitioned, once confirmed
  std::uint64_t words = 0;               // positions in the copy
  std::uint64_t started_ns = 0;  // before the first READ was posted: the transaction's age counts from here
  std::uint64_t read_ns = 0;     // after the READ of `copy` completed
  bool taken = false;
  bool confirmed = false;

  std::uint64_t catalog_version() const { return image[layout::kVectorCatalog_offset / 8]; }
  layout::HeaderWord word(std::uint64_t position) const {
    return layout::HeaderWord(image[layout::kVectorWords_offset / 8 + position]);
  }
  // Has the words of a confirmed snapshot, which `holder` keeps where they are.
  void use(const Snapshot& other, std::shared_ptr<const void> holder);
};

enum class StampVisibility : std::uint8_t {
  visible,
  invisible,
  unknown_slot,  // not in the copy: the slot directory decides
};

class SnapshotSource {
 public:
  using Mode = SnapshotMode;
  SnapshotSource(Cluster& cluster, Mode mode) : cluster_(cluster), choice_(mode) {}

  // The first READ, or both of them together, or the whole call. Afterwards snapshot.taken, and confirmed if
  // it was a call, or if both agreed.
  reactor::Task<Status> take(Snapshot& snapshot, fabric::OperationCounters& counters);
  // Whether a snapshot may be taken in the batch of the first READs of rows.
  bool joins() const { return choice_.together() && parts() == 1; }
  // Instead of take(), to empty batches: both READs. The READs of rows that follow are fenced, and go to
  // memory server 0, too. confirm() follows that round trip.
  void add_both(Snapshot& snapshot, BatchSet& batches);
  // Adds the confirming READ to a round trip that is posted after take() completed.
  void add_confirmation(Snapshot& snapshot, BatchSet& batches);
  // After that round trip: true if the copies are equal. If not, the second is the new first, and every
  // READ of that round trip must be thrown away; if the vector has outgrown the copies, nothing is taken.
  bool confirm(Snapshot& snapshot);

  StampVisibility visibility(const Snapshot& snapshot, layout::Stamp stamp) const;

 private:
  // How many words to read of a part where so many are in use.
  std::uint64_t spacious(std::uint64_t words) const;
  std::uint32_t parts() const { return cluster_.vector_parts().count(); }
  // The bytes of a copy with so many words of each part.
  std::uint64_t copy_bytes(std::uint64_t part_words) const {
    return parts() * layout::vector_bytes(part_words);
  }
  // The READs of all parts.
  void add_reads(std::uint64_t part_words, std::byte* local, BatchSet& batches) const;
  // The greatest length that a part has in the copy.
  std::uint64_t longest_part(const Snapshot& snapshot) const;
  // The first READ of each part of a partitioned vector.
  reactor::Task<Status> read_parts(Snapshot* snapshot, std::uint64_t part_words,
                                   fabric::OperationCounters* counters) const;
  void put_in_order(Snapshot& snapshot) const;
  reactor::Task<Status> take_together(Snapshot& snapshot, fabric::OperationCounters& counters);
  reactor::Task<Status> take_by_call(Snapshot& snapshot, fabric::OperationCounters& counters);
  Cluster& cluster_;
  SnapshotChoice choice_;
  std::uint64_t known_words_ = 8;  // of each part
  // Where a slot was last seen; only a hint.
  mutable std::array<std::uint32_t, 256> position_hint_{};
};

// Which slots have left the vector for good. A retired slot was closed longer than E + slack ago, so every
// snapshot that does not show it is younger than its last commit: all its versions are visible. A slot that
// is neither in a snapshot nor retired was leased after the snapshot: invisible.
class SlotDirectory {
 public:
  explicit SlotDirectory(Cluster& cluster) : cluster_(cluster) {}

  // Whether the directory is new enough to decide for a snapshot whose copy was read then; refresh() first if
  // not.
  bool decides(std::uint32_t slot, std::uint64_t snapshot_read_ns) const;
  // Of all slots there were at the last refresh() those that had not left the vector for good.
  const std::set<std::uint32_t>& not_retired() const { return not_retired_; }
  bool retired(std::uint32_t slot) const { return slot < next_slot_ && !not_retired_.contains(slot); }
  // Whether its compute server holds it, as of the last refresh(); one that was leased since does not count.
  bool leased(std::uint32_t slot) const { return leased_.contains(slot); }
  std::uint64_t refreshed_ns() const { return refreshed_ns_; }
  reactor::Task<Status> refresh(fabric::OperationCounters* counters);
  void note_refresh(const control::ListSlotsReply& reply, std::uint64_t posted_ns);

 private:
  Cluster& cluster_;
  std::set<std::uint32_t> not_retired_;
  std::set<std::uint32_t> leased_;
  std::uint32_t next_slot_ = 0;
  std::uint64_t refreshed_ns_ = 0;
};

}  // namespace namdb::txn
