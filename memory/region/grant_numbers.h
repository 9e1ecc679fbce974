// Grant numbers tell the lives of a place in record space apart. Each reply to ALLOCATE_RECORDS has one, for
// all of its places; a region hands out each number once, in ascending order, for ever. So a place's grants
// have ascending numbers, whatever happened to its memory between them. Redo of a journal entry that creates
// a record at a place compares the entry's number with the place's (SlabAllocator::life()).
//
//   bit 63..48  configuration, 1 where the region has one copy
//   bit 47..0   count
//
// The record of a grant bears layout::incarnation_of(number). Its place's next life has a greater number, and
// another incarnation for 2^24 numbers, after a restart, too: numbers go on behind a *mark* that was logged
// before any number up to it was handed out. So the earlier contents of a place need not be known.
//
// One executor's thread.
#pragma once

#include <cstdint>
#include <optional>

namespace namdb::memory {

// Blocks hold the places of a table's records. At a place lives under numbers below `taken` are over.
struct RecordBlock {
  std::uint32_t table = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint64_t taken = 0;  // the number under which the block was taken from the free memory

  friend bool operator==(const RecordBlock&, const RecordBlock&) = default;
};

// Writes down what a restart has to know of grants. Calls must not suspend.
class GrantLog {
 public:
  virtual ~GrantLog() = default;
  // Numbers up to `mark` are wanted. GrantNumbers::marked() is called, now or later, once that is durable.
  virtual void log_mark(std::uint64_t mark) = 0;
  // The block was taken. Lies in the log before any journal entry that names a place in it. No grant waits
  // for that to be durable: the entry is durable later than all that the log has before it.
  virtual void log_block(const RecordBlock& block) = 0;
};

class GrantNumbers {
 public:
  static constexpr unsigned kCount_bits = 48;
  static constexpr std::uint64_t kCount_mask = (std::uint64_t{1} << kCount_bits) - 1;
  // Marks are that far ahead of the numbers, and the next one is asked for at half of it.
  static constexpr std::uint64_t kAhead = 1U << 20;

  explicit GrantNumbers(std::uint16_t configuration = 1)
      : last_(std::uint64_t{configuration} << kCount_bits), mark_(last_) {}

  // The greatest of all so far. nullopt while the mark is not durable: with kAhead, only when the log is
  // full or hangs.
  std::optional<std::uint64_t> next();
  // All that were handed out are at most that.
  std::uint64_t last() const { return last_; }
  // A restart from now on has to pass() that.
  std::uint64_t mark() const { return log_ == nullptr ? last_ : mark_; }

  // The same, and those that were asked for, whose record may lie in the log already: for a checkpoint.
  std::uint64_t wanted_mark() const { return log_ == nullptr || mark_ > wanted_ ? mark() : wanted_; }

  // Without one, the default, there is no restart. Asks for the first mark at once: next() has numbers when
  // that is durable. `log` outlives this.
  void set_log(GrantLog& log);
  GrantLog* log() const { return log_; }
  void marked(std::uint64_t mark);
  // In a region that opens: later numbers are greater than that mark, grant or life.
  void pass(std::uint64_t number);

 private:
  std::uint64_t last_;
  std::uint64_t mark_;        // durable
  std::uint64_t wanted_ = 0;  // the last that was asked for
  GrantLog* log_ = nullptr;
};

}  // namespace namdb::memory
