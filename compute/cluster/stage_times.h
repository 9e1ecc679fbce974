// The times that a worker's transactions wait for each stage. A worker counts them if it is given one of
// these (WorkerOptions::stage_times); without it no clock is read. A wait lasts from posting to the end of
// the wait, the turns of other coroutines in between included. Work of a stage in the background, while no
// transaction waits for it, is not counted.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "common/fabric/counters.h"
#include "common/protocols/stages.h"
#include "common/reactor/executor.h"

namespace namdb::txn {

// The waits of a transaction beside those for stages that can run one-sided or two-sided.
enum class Wait : std::uint8_t {
  begin,            // what comes before the first READ of rows: a snapshot
  locked_by_other,  // and rows that others are writing
  publish,          // a commit whose publish is not sent behind its install
  flush,            // journal entries that stand in the rings, until they are on disk
};
inline constexpr std::array<std::string_view, 4> kWaitNames{"begin", "wait", "publish", "flush"};

struct StageTimes {
  struct Cost {
    std::uint64_t time_ns = 0;
    std::uint64_t round_trips = 0;
    std::uint64_t times = 0;  // how often it was waited for
    Cost& operator+=(const Cost& other) {
      time_ns += other.time_ns;
      round_trips += other.round_trips;
      times += other.times;
      return *this;
    }
  };
  std::array<Cost, protocol::kStageNames.size()> stages;
  std::array<Cost, kWaitNames.size()> waits;

  Cost& of(protocol::Stage stage) { return stages[static_cast<std::size_t>(stage)]; }
  Cost& of(Wait wait) { return waits[static_cast<std::size_t>(wait)]; }
};

// One wait of one transaction, which counts its round trips in `counters`. The clock is read twice.
class StageTimer {
 public:
  // With null `times` it does nothing.
  StageTimer(StageTimes* times, const reactor::Executor& executor, const fabric::OperationCounters& counters)
      : times_(times), executor_(executor), counters_(counters) {
    if (times_ == nullptr) return;
    began_ns_ = executor_.fresh_now_ns();
    round_trips_ = counters_.round_trips;
  }
  template <typename StageOrWait>
  void end(StageOrWait what) const {
    if (times_ == nullptr) return;
    times_->of(what) += {.time_ns = executor_.fresh_now_ns() - began_ns_,
                         .round_trips = counters_.round_trips - round_trips_,
                         .times = 1};
  }

 private:
  StageTimes* times_;
  const reactor::Executor& executor_;
  const fabric::OperationCounters& counters_;
  std::uint64_t began_ns_ = 0;
  std::uint64_t round_trips_ = 0;
};

}  // namespace namdb::txn
