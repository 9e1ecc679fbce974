// The work that an evaluation may do before other sessions have their turns, and the state that it keeps
// meanwhile. Expressions do not suspend: an evaluation whose operators have handled too many bytes ends with
// the status of pause(). The coroutine above then lets other sessions run (Run::take_turn) and evaluates the
// expression again for the same row. Operators that have their results return them without repeating the
// work, and operators that were interrupted go on from where they were. In the ordinary case nothing is
// remembered and only counters move. Calls of functions that wait for others pause the evaluation, too, and
// so do subqueries.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <array>
#include <cstdint>
#include <vector>

#include "common/base/error.h"
#include "compute/sql/value/datum.h"

namespace namdb::sql {

struct Expr;
class LongValues;

// Bounds one string, and the strings of one row that a statement returns or sorts ...
inline constexpr std::size_t kMaxText_bytes = 32 << 20;
// ... and of all strings that expressions make for one row.
inline constexpr std::size_t kMaxRowMemory_bytes = 256 << 20;

// limit_exceeded: a string, or an array, of so many bytes is too long.
Status check_text_bytes(std::size_t bytes);
Status check_array_bytes(std::size_t bytes);

class Work {
 public:
  // A unit is about one byte that is read, or one nanosecond: a turn is about a millisecond, so that a client
  // beside dozens of busy ones is answered soon, too.
  static constexpr std::uint64_t kTurn_units = 1 << 20;
  static constexpr std::uint64_t kOperator_units = 16;
  static constexpr std::uint64_t kRow_units = 64;
  // The engine's work to read a row, and to write one, beside that of expressions.
  static constexpr std::uint64_t kReadRow_units = 512;
  static constexpr std::uint64_t kWrittenRow_units = 2048;
  static constexpr std::uint64_t kListValue_units = 256;
  // A character of a pattern beside one of a text.
  static constexpr std::uint64_t kLikeStep_units = 8;

  explicit Work(std::uint64_t turn_units = kTurn_units) : turn_units_(turn_units) {}

  // Counts work that the statement's text bounds: it ends a turn, but not in the middle of an expression.
  void charge(std::uint64_t units) { units_ += units; }
  void charge_bytes(std::uint64_t bytes) {
    units_ += bytes;
    bytes_ += bytes;
  }
  // Counted since the turn began.
  std::uint64_t units() const { return units_; }
  // Whether other sessions should have their turns when the row is finished ...
  bool due() const { return units_ >= turn_units_; }
  // ... and now, in the middle of it.
  bool exhausted() const { return bytes_ >= turn_units_; }

  // The status with which an unfinished evaluation ends. Where no coroutine can resume it, it is the
  // statement's error.
  Status pause();
  bool paused() const { return paused_; }
  void begin_turn() {
    units_ = 0;
    bytes_ = 0;
    paused_ = false;
    call_ = nullptr;
    waits_for_catalog_ = false;
    long_values_ = nullptr;
  }
  // Pauses an evaluation that needs the value of a call of a function that waits, or of a subquery. It goes
  // on once that value is there.
  void wait_for(const Expr& call, std::vector<Datum> arguments);
  // Pauses an evaluation that needs the catalog (StatementState::catalog).
  Status wait_for_catalog();
  bool waits_for_catalog() const { return waits_for_catalog_; }
  // Pauses an evaluation that needs what is wanted of `values`.
  Status wait_for_long_values(LongValues& values);
  // The long values that the pause waits for; null: none.
  LongValues* waiting_long_values() const { return long_values_; }
  // The call that the pause waits for; null: none.
  const Expr* waiting_call() const { return call_; }
  const std::vector<Datum>& waiting_arguments() const { return arguments_; }

  // The state of an operator for this row: its result, or its progress.
  struct Memory {
    bool finished = false;
    Datum value;
    std::array<std::uint64_t, 4> position{};
  };
  bool remembers() const { return remembers_; }
  // Null when nothing is remembered.
  const Memory* find(const Expr& expr) const;
  void remember(const Expr& expr, const Memory& memory) {
    remembers_ = true;
    memories_[&expr] = memory;
  }
  void forget(const Expr& expr) { memories_.erase(&expr); }
  // The row is finished, and the strings that the memory borrows from are about to be freed.
  void forget() {
    if (!remembers_) return;
    remembers_ = false;
    memories_.clear();
  }

 private:
  std::uint64_t turn_units_;
  std::uint64_t units_ = 0;
  std::uint64_t bytes_ = 0;
  bool paused_ = false;
  bool remembers_ = false;
  bool waits_for_catalog_ = false;
  const Expr* call_ = nullptr;
  LongValues* long_values_ = nullptr;
  std::vector<Datum> arguments_;
  absl::flat_hash_map<const Expr*, Memory> memories_;
};

}  // namespace namdb::sql
