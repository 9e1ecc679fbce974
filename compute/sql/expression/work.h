// How much an evaluation may do before others have their turn, and what it keeps meanwhile. Expressions do
// not suspend: one whose operators have handled too many bytes ends with the status of pause(). The coroutine
// above then lets others run (Run::take_turn) and evaluates it again for the same row; operators that had
// their results give them without doing the work again, and those that were half way go on from there.
// In the ordinary case nothing is remembered and only counters move.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>

#include "common/base/error.h"
#include "compute/sql/value/datum.h"

namespace namdb::sql {

struct Expr;

// Of one string, and of the strings of one row that a statement returns or sorts ...
inline constexpr std::size_t kMaxText_bytes = 32 << 20;
// ... and of all strings that expressions make for one row.
inline constexpr std::size_t kMaxRowMemory_bytes = 256 << 20;

class Work {
 public:
  // A unit is about a byte looked at, or a nanosecond.
  static constexpr std::uint64_t kTurn_units = 4 << 20;
  static constexpr std::uint64_t kOperator_units = 16;
  static constexpr std::uint64_t kRow_units = 64;
  static constexpr std::uint64_t kListValue_units = 256;

  explicit Work(std::uint64_t turn_units = kTurn_units) : turn_units_(turn_units) {}

  // Work that one statement's text bounds: it ends a turn, but not in the middle of an expression.
  void charge(std::uint64_t units) { units_ += units; }
  void charge_bytes(std::uint64_t bytes) {
    units_ += bytes;
    bytes_ += bytes;
  }
  // Others should have their turn when the row is finished ...
  bool due() const { return units_ >= turn_units_; }
  // ... and now, in the middle of it.
  bool exhausted() const { return bytes_ >= turn_units_; }

  // The status by which an expression that is not finished ends. Where nobody can go on with it, it is an
  // error to be shown.
  Status pause();
  bool paused() const { return paused_; }
  void begin_turn() {
    units_ = 0;
    bytes_ = 0;
    paused_ = false;
  }

  // The state of an operator for this row: its result, or how far it is.
  struct Memory {
    bool finished = false;
    Datum value;
    std::array<std::uint64_t, 4> position{};
  };
  bool remembers() const { return remembers_; }
  // Null: nothing.
  const Memory* find(const Expr& expr) const;
  void remember(const Expr& expr, const Memory& memory) {
    remembers_ = true;
    memories_[&expr] = memory;
  }
  // The row is finished, and the strings that the memory borrows from go.
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
  std::unordered_map<const Expr*, Memory> memories_;
};

}  // namespace namdb::sql
