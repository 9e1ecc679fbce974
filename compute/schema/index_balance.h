// Rebuilds indexes whose parts are uneven.
//
// Each compute server that has been told to do so compares, at intervals, what the memory servers have of
// each index (index_split.h says which are uneven). The catalog lets one of them rebuild an index at a time;
// another one that comes later asks to replace an index that has been replaced, and is refused. The catalog
// also remembers how large the index was, so that no compute server rebuilds it again soon, even one that
// starts anew.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

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

  // Whether it is time for run(). True: the caller runs it, and until it has ended this is false.
  bool begin(SchemaWorker& worker);
  // Rebuilds one index, if there is one that is uneven. Both outlive the task.
  reactor::Task<void> run(SchemaWorker& worker, TreeIndexBuilder& builder);

 private:
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
