// Rebuilds indexes whose parts are uneven.
//
// Each compute server that has been told to do so compares, at intervals, what the memory servers have of
// each index (index_split.h says which are uneven). The catalog lets only one compute server at a time
// rebuild an index. If another one comes later, it asks to replace an index that has already been replaced,
// and is refused. The catalog also remembers how large the index was, so that no compute server rebuilds it
// again soon, even one that starts anew.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "common/reactor/executor.h"
#include "compute/schema/tree_index_builder.h"

namespace namdb::schema {

class IndexBalance {
 public:
  using LogLine = std::function<void(const std::string&)>;
  struct Options {
    std::uint64_t least_bytes = 0;  // of the largest part, for a rebuild; 0: indexes are never rebuilt
    std::uint64_t interval_ns = 0;
  };

  IndexBalance(Options options, LogLine log) : options_(options), log_(std::move(log)) {}

  // If a rebuild is due and none is under way, rebuilds one uneven index, if there is one, in the background.
  // `gate` counts the task, which holds `worker`; `builder` lives as long as `worker`.
  void run_if_due(std::shared_ptr<SchemaWorker> worker, TreeIndexBuilder& builder, reactor::Gate& gate);

 private:
  bool is_due(SchemaWorker& worker) const;
  reactor::Task<void> run(std::shared_ptr<SchemaWorker> worker, TreeIndexBuilder* builder);
  reactor::Task<Status> rebuild_one(SchemaWorker& worker, TreeIndexBuilder& builder);

  Options options_;
  LogLine log_;
  std::uint64_t due_ns_ = 0;
  bool running_ = false;
  // The bytes that indexes had which could not be rebuilt, by id. They are tried again once they have
  // doubled.
  std::map<std::uint32_t, std::uint64_t> failed_bytes_;
};

}  // namespace namdb::schema
