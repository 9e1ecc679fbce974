// Collects the outcomes of a run's calls, whatever way they were made.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compute/procedure/procedure.h"
#include "tools/support/report/run_report.h"
#include "workloads/workload.h"

namespace namdb::support {

// How long a run lasts: a time after a warm-up, or so many transactions of each client.
struct RunLength {
  double warmup_seconds = 1;
  double seconds = 10;
  std::uint64_t transactions_per_client = 0;  // 0: time decides. Otherwise all of them are measured
};

// A client's chain of hashes over its calls and their results, in order.
struct ClientHash {
  std::uint64_t requests = 0;
  std::uint64_t results = 0;
};

class RunRecorder {
 public:
  RunRecorder(const workloads::Workload& workload, const RunLength& length);

  // The clock starts; called once.
  void start(std::uint64_t now_ns);
  // True while clients should go on: `done` is what this client has started so far.
  bool go_on(std::uint64_t now_ns, std::uint64_t done) const {
    return length_.transactions_per_client > 0 ? done < length_.transactions_per_client : now_ns < end_ns_;
  }

  // Empty sqlstate: committed, with the row it returned (of the procedure's output types, or empty).
  struct Outcome {
    std::string_view sqlstate;
    std::string_view message;
    std::span<const procedure::Value> results;
  };
  void record(const workloads::Call& call, const Outcome& outcome, std::uint64_t start_ns,
              std::uint64_t end_ns, ClientHash& hash);

  // For progress: "12.3 s, 45678 transactions/s, 12 aborted, 0 failed", of the time since the last call.
  std::string progress_line(std::uint64_t now_ns);

  // Calls that have ended, however, warm-up included.
  std::uint64_t finished() const { return finished_; }
  // True if some call may or may not have happened, so that sums cannot be judged.
  bool unknown_outcomes() const { return unknown_ > 0; }
  // The change of the workload's sum by all committed calls.
  std::int64_t change() const { return change_; }
  // Fills in all but populations, servers' metrics and checks.
  RunReport report(std::uint64_t now_ns, std::span<const ClientHash> hashes) const;

 private:
  const workloads::Workload& workload_;
  RunLength length_;
  RunReport report_;
  std::vector<TimelineSecond> timeline_;
  std::uint64_t begin_ns_ = 0;
  std::uint64_t measure_ns_ = 0;
  std::uint64_t end_ns_ = 0;
  std::int64_t change_ = 0;
  std::uint64_t unknown_ = 0;
  std::uint64_t finished_ = 0;
  std::uint64_t shown_ns_ = 0;
  std::uint64_t shown_finished_ = 0;
  std::uint64_t aborted_ = 0;
  std::uint64_t failed_ = 0;
};

}  // namespace namdb::support
