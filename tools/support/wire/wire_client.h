// One client of a run through the wire: a connection in libpq's pipeline mode and the calls under way on it.
//
// Each CALL is followed by its own Sync, so that each is a transaction of its own and an error ends no other.
// Never blocks: the caller waits for the socket and calls advance().
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "compute/procedure/procedure.h"
#include "tools/support/client/connection.h"
#include "tools/support/client/wire_value.h"
#include "tools/support/report/run_recorder.h"
#include "tools/support/workload/workload_definitions.h"
#include "workloads/workload.h"

namespace namdb::support {

class WireClient {
 public:
  // Borrows all but the connection. `prepare()` first.
  WireClient(std::unique_ptr<Connection> connection, std::unique_ptr<workloads::CallSource> calls,
             const workloads::Workload& workload, const Definitions& definitions, std::uint64_t pipeline,
             RunRecorder& recorder);

  // Blocks: one statement for each transaction type that the mix has, then pipeline mode.
  Status prepare();
  // Blocks: goes on over another connection after advance() returned an error.
  Status reopen(std::unique_ptr<Connection> connection);
  // Reads what has arrived (`readable`), records it, sends new calls. An error means that the connection is
  // gone; calls under way have been recorded as failed.
  Status advance(bool readable);
  // Whether there is output that the socket did not take yet.
  bool wants_write() const { return wants_write_; }
  bool idle() const { return under_way_.empty(); }
  // Whether the server said that the database cannot be reached: the next call is sent a moment later, by an
  // advance() that only the time calls for. Without the pause such clients would keep the server busy.
  bool pauses() const { return resume_ns_ != 0; }
  // Whether the run is long enough for another call.
  bool goes_on(std::uint64_t now_ns) const { return recorder_.go_on(now_ns, started_); }
  int socket() const { return PQsocket(connection_->get()); }
  const ClientHash& hash() const { return hash_; }

 private:
  struct UnderWay {
    workloads::Call call;
    std::uint64_t start_ns = 0;
    std::string sqlstate;
    std::string message;
    std::vector<procedure::Value> results;
  };
  Status read_results();
  void take_result(PGresult* result);
  void take_row(UnderWay& call, PGresult* result);
  void finish_front(std::uint64_t now_ns);
  Status send_calls();
  Status broken();

  std::unique_ptr<Connection> connection_;
  std::unique_ptr<workloads::CallSource> calls_;
  const workloads::Workload& workload_;
  std::vector<const procedure::Definition*> definitions_;
  std::vector<std::string> statements_;
  std::uint64_t pipeline_;
  RunRecorder& recorder_;
  std::deque<UnderWay> under_way_;
  std::vector<UnderWay> spare_;
  WireParameters parameters_;
  ClientHash hash_;
  std::uint64_t started_ = 0;
  std::uint64_t resume_ns_ = 0;  // 0: no pause
  bool wants_write_ = false;
};

}  // namespace namdb::support
