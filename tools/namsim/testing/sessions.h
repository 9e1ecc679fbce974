// SQL sessions at two compute servers, and a table: all of nam-computed but the wire.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compute/procedure/registry.h"
#include "tools/namsim/cluster/cluster.h"
#include "tools/namsim/workloads/sql_client.h"

namespace namdb::sim {

// Table t (id, g, h, v) with the rows 0 to 19, g and h the remainder by 4, v 0, and indexes on g and h.
class Sessions {
 public:
  static constexpr std::size_t kComputes = 2;

  // `reader_words`: whether records have them; otherwise as `read_locks` needs it.
  Sessions(std::string_view protocol, std::string_view stages,
           txn::ReadLocks read_locks = txn::ReadLocks::automatic, bool reader_words = false,
           txn::LockTime lock_time = txn::LockTime::automatic);

  SqlClient& open(std::size_t compute);
  Status run(std::size_t compute, SqlClient& client, const std::string& text) {
    return ask(compute, client, text).status;
  }
  SqlAnswer ask(std::size_t compute, SqlClient& client, const std::string& text);
  // Whether it succeeded; otherwise the test, if it fails, says why.
  bool done(std::size_t compute, SqlClient& client, const std::string& text);
  // Of the last run(), in virtual time.
  std::uint64_t took_ns() const { return took_ns_; }
  void run_for(std::uint64_t duration_ns) { world_.run_for(duration_ns); }
  // The client's connection ends, perhaps in an open block.
  void leave(SqlClient& client);
  // With all of its clients.
  void kill(std::size_t compute);

 private:
  fabric::sim::SimWorld world_;
  Cluster cluster_;
  procedure::ProcedureRegistry procedures_;
  std::vector<std::pair<std::size_t, std::unique_ptr<SqlClient>>> clients_;  // and their compute servers
  std::uint64_t took_ns_ = 0;
};

}  // namespace namdb::sim
