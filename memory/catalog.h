// The catalog (server 0): tables by name, ids that are never used again, and a version that every change
// raises. The version also stands in front of the timestamp vector, where each snapshot sees it.
//
// A table is created in two steps: begin() reserves name and id, the creator prepares the table on every
// memory server, finish() makes it visible. A creator that goes away in between leaves no name.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/fabric/fabric.h"
#include "memory/options.h"
#include "memory/region.h"
#include "proto/control.pb.h"

namespace namdb::memory {

class Catalog {
 public:
  Catalog(Region& region, const Options& options);

  std::uint64_t version() const { return version_; }
  const std::map<std::string, control::TableDescriptor>& tables() const { return tables_; }

  // Fills in id, generation, and the defaults of what is 0: ring slots, size hint, buckets a server.
  Result<control::TableDescriptor> begin(fabric::PeerId peer, control::TableDescriptor table);
  // `table` as begin() returned it, with a bucket base for each server. Returns the catalog's version.
  Result<std::uint64_t> finish(fabric::PeerId peer, const control::TableDescriptor& table);
  Status abandon(fabric::PeerId peer, std::uint32_t table);
  // Where a table's main buckets on one server are since they were doubled; older news changes nothing.
  // Outside input: undefined_table, or protocol_violation.
  Status grow(const control::GrowTableRequest& request);
  // The ids of tables that are begun and not finished.
  std::vector<std::uint32_t> creating() const;
  // Returns the table's id.
  Result<std::uint32_t> drop(const std::string& name);
  // Undoes the peer's unfinished creations; the ids of those tables.
  std::vector<std::uint32_t> disconnected(fabric::PeerId peer);

 private:
  struct Creation {
    fabric::PeerId peer;
    control::TableDescriptor table;
  };
  void changed();
  // The most that the table's entry in a reply of GET_CATALOG takes, however it grows.
  std::size_t encoded_bytes(const control::TableDescriptor& table) const;

  Region& region_;
  const Options& options_;
  std::uint64_t version_ = 0;
  std::uint32_t next_id_ = 1;
  std::size_t encoded_bytes_ = 0;
  std::map<std::string, control::TableDescriptor> tables_;
  std::map<std::uint32_t, Creation> creations_;
};

}  // namespace namdb::memory
