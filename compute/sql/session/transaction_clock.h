// The time at which a session's transaction begins: now(), and 'now', 'today' and their like in what is
// planned for it. It has that time from the first message on that is planned or run for it.
//
// Belongs to its session.
#pragma once

#include <cstdint>
#include <utility>

#include "compute/sql/expression/expression.h"

namespace namdb::sql {

class TransactionClock {
 public:
  // The transaction begins now: the facts get its time. Until stop() another call does nothing.
  void start(SessionFacts& facts, std::uint64_t now_ns) {
    if (runs_) return;
    runs_ = true;
    has_run_statement_ = false;
    facts.now_us = facts.present_us();
    began_ns_ = now_ns;
  }
  void stop() { runs_ = false; }
  // The time of the statement that begins to run now: that of the transaction's first one is the
  // transaction's.
  std::int64_t begin_statement(const SessionFacts& facts) {
    return std::exchange(has_run_statement_, true) ? facts.present_us() : facts.now_us;
  }
  std::uint64_t began_ns() const { return began_ns_; }

 private:
  bool runs_ = false;  // also where the transaction has only planned something
  bool has_run_statement_ = false;
  std::uint64_t began_ns_ = 0;
};

}  // namespace namdb::sql
