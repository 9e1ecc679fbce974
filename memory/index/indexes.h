// The secondary indexes on this server: for each a tree with the part of the index that lies here, and the
// entries of it that are in doubt. The calls of common/calls/index_calls.h end here.
//
// An index is prepared, then filled while it is building, then ready, and discarded in the end; its memory
// comes back after its reuse epoch (epoch_reclaimer.h). Doubts are held while the index is building: so an
// entry that the builder adds late, from its old snapshot, finds the mark that a commit has left.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/calls/index_calls.h"
#include "common/fabric/fabric.h"
#include "common/reactor/executor.h"
#include "common/reactor/task.h"
#include "memory/index/btree.h"
#include "memory/index/doubts.h"
#include "memory/options.h"
#include "memory/peers/peers.h"
#include "memory/region/region.h"
#include "memory/region/tables.h"
#include "proto/control.pb.h"

namespace namdb::memory {

struct Index {
  std::uint32_t id = 0;
  std::uint32_t table = 0;
  std::string name;
  std::unique_ptr<BTree> tree;
  fabric::PeerId builder = 0;  // 0: the index is ready
  bool discarded = false;

  bool building() const { return builder != 0; }
};

// Shared by tasks that keep an index over a suspension.
using IndexPointer = std::shared_ptr<Index>;

class Indexes {
 public:
  Indexes(reactor::Executor& executor, Region& region, const Options& options, Tables& tables,
          VersionEpoch& epoch)
      : executor_(executor), region_(region), options_(options), tables_(tables), doubts_(options, epoch) {}

  // Outside input. Errors out_of_memory, undefined_table, duplicate_table when the id is in use,
  // invalid_table_definition.
  Status prepare(fabric::PeerId builder, const control::PrepareIndexRequest& request);
  // An index that is ready, with its part's tree, before the server opens. Error duplicate_table.
  Status restore(const control::IndexDescriptor& index, std::unique_ptr<BTree> tree);
  // The peer that builds it is done.
  Status built(fabric::PeerId builder, std::uint32_t id);
  // Null for an index that is unknown or discarded.
  IndexPointer find(std::uint32_t id) const;
  // The ids of the indexes that the peer is building, and of those of a table.
  std::vector<std::uint32_t> built_by(fabric::PeerId builder) const;
  std::vector<std::uint32_t> of_table(std::uint32_t table) const;
  // From now on find() does not know it. False when it was not there.
  bool discard(std::uint32_t id);
  bool known(std::uint32_t id) const { return indexes_.contains(id); }
  // Gives back a discarded index's memory, after its pages were wiped. False while some task holds it.
  reactor::Task<bool> release(std::uint32_t id);

  // The calls: requests are outside input and live until the task ends.
  reactor::Task<Status> write(std::string_view request, std::string& reply);
  Status settle(std::string_view request);
  Status take_doubts(std::string_view request, std::string& reply);
  Status seek(std::string_view request, std::string& reply) const;

  // Removes the entries that no snapshot needs any more.
  reactor::Task<void> tick(const Peers& peers);
  // True while entries wait for tick() to remove them.
  bool aging() const { return doubts_.aging(); }
  // Adds news of indexes to a heartbeat's reply, and names some of those that are built. Successive replies
  // name all of them in turn.
  void describe(control::HeartbeatReply& reply);

  // All indexes by id, discarded ones included.
  const std::map<std::uint32_t, IndexPointer>& all() const { return indexes_; }
  const Doubts& doubts() const { return doubts_; }
  std::uint64_t removed() const { return removed_; }

 private:
  // `now_ns`: from after the request came.
  Status change(const calls::IndexChange& change, std::uint64_t now_ns, calls::IndexChangeResult& result,
                std::vector<std::string>& candidates);
  static void find_candidates(const BTree& tree, const calls::IndexChange& change,
                              calls::IndexChangeResult& result, std::vector<std::string>& candidates);

  reactor::Executor& executor_;
  Region& region_;
  const Options& options_;
  Tables& tables_;
  Doubts doubts_;
  std::map<std::uint32_t, IndexPointer> indexes_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> by_table_;  // tables and their indexes
  std::uint32_t described_ = 0;                                 // the last that a heartbeat's reply has named
  std::uint64_t removed_ = 0;
};

}  // namespace namdb::memory
