// The entries of a range of a secondary index, some at a time, in the order of the index.
//
// They come by calls, or from leaves that are READ if the pages above them are cached (txn::IndexReads). A
// leaf counts if it certifies for that index and has the wanted key between its fences. Then it shows every
// change that had finished when the READ was posted, like a call that was posted at that time. The next
// leaf's keys must begin where the last leaf's end. If they do not, a page was split or freed meanwhile, and
// a call continues the search.
//
// Entries that were read and not yet handed out stay valid: no entry that a snapshot needs is removed, and
// entries that are added later belong to commits that the snapshot does not show.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/fabric/fabric.h"
#include "common/fabric/local_pool.h"
#include "common/layout/index_page.h"
#include "compute/api/index.h"
#include "compute/api/transaction.h"
#include "compute/txn/worker_state.h"

namespace namdb::protocol {

class Validation;

class IndexCursor {
 public:
  // Tells `validation` of all entries that are read, unless it is null.
  IndexCursor(txn::WorkerState& worker, fabric::OperationCounters& counters, txn::IndexRange range,
              Validation* validation);

  // At the beginning of the range.
  void begin(storage::IndexRef index);
  // False: all of the range was handed out.
  bool entries_left() const { return !spare_.empty() || range_left_; }
  // Asks for the next entries if none are there, without waiting for them. Only if entries_left().
  void post();
  // After post(): appends the entries that came, perhaps none. Must be awaited in any case: buffers belong to
  // the channel until then. Error catalog_changed: the index is gone.
  reactor::Task<Status> finish(std::vector<std::string>* entries);
  // The last post() needed the network.
  bool waits() const { return posted_ != Posted::nothing; }

 private:
  enum class Posted : std::uint8_t { nothing, call, reads };
  struct Leaf {
    std::uint64_t offset = 0;
    fabric::LocalBuffer page;
  };

  // Whether a page may stand there: offsets from memory servers are outside input.
  bool valid_page(std::uint64_t offset) const;
  layout::ServerId server() const { return index_->parts[part_].server; }
  std::string_view low() const { return std::max<std::string_view>(range_.low, index_->parts[part_].low); }
  // The end of what is left in the part; nullopt: none.
  std::optional<std::string> high() const;
  void post_call();
  reactor::Task<Status> finish_call();
  reactor::Task<Status> finish_reads();
  // Takes the entries of the leaf if the range continues in it. False: it does not.
  bool take(const Leaf& leaf);
  void take_keys(const layout::IndexPageView& page);
  void end_of_part();
  // The range from `before` to the rest that is left was read, and spare_ has all of its entries.
  void tell(const txn::IndexRange& before);
  // Caches what leads to the leaf where a call found its first entries.
  reactor::Task<Status> learn(std::uint64_t leaf_offset, std::uint64_t parent_offset);
  // The leaves to READ next, as far as they are known.
  std::vector<std::uint64_t> known_leaves(std::size_t most) const;

  txn::WorkerState& worker_;
  fabric::OperationCounters& counters_;
  Validation* validation_;
  txn::IndexRange range_;  // the rest
  storage::IndexRef index_;
  std::size_t part_ = 0;
  std::uint32_t wanted_ = 0;  // entries to ask for
  bool range_left_ = false;
  Posted posted_ = Posted::nothing;
  fabric::Call call_;
  fabric::Batch batch_;
  std::vector<Leaf> leaves_;
  std::deque<std::string> spare_;  // read, and not handed out
};

}  // namespace namdb::protocol
