// The log as journals and their users see it: records go in, in order, and become durable together.
// memory/log has the log on disk; at level `memory` there is none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/base/error.h"
#include "common/reactor/task.h"

namespace namdb::memory {

// The kinds of records in a memory server's log, as they are on disk.
enum class RecordKind : std::uint16_t {
  entry = 1,    // a journal entry of this host (journal_record.h)
  voided = 2,   // {slot} {counter}...: these commits are undone
  verdict = 3,  // {slot} {counter}...: these are committed
  through =
      4,  // {slot << 32 | counter}...: all of the slot, up to that counter, are finished; its owner ended
  control = 5,
  table = 6,
  grants = 7,  // grant_records.h
  block = 8,
  closed = 9,  // {slot << 32 | counter}...: the decider has decided all of the slot; its final counter
};

// On one executor's thread. Any number of tasks may append and flush.
class LogSink {
 public:
  // Positions of the log's stream of bytes.
  struct Appended {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;  // flush() up to here makes the record durable
  };

  virtual ~LogSink() = default;
  // The record is the two runs of bytes, one behind the other; both stay until the task has ended. May
  // suspend while the log gets room. The records of one caller that awaits each are in its order. An error
  // means that the record is not in the log.
  virtual reactor::Task<Result<Appended>> append(RecordKind kind, std::span<const std::byte> head,
                                                 std::span<const std::byte> body) = 0;
  // Resumes when all up to there is durable. An error is final: nothing more becomes durable.
  virtual reactor::Task<Status> flush(std::uint64_t upto) = 0;
  // The log has no room for what may be put off. Entries that are complete in a ring are appended
  // nevertheless.
  virtual bool full() const = 0;
  // An entry of at most so many bytes fits into a log that has given back what is not needed any more.
  virtual std::uint64_t max_entry_bytes() const = 0;
};

}  // namespace namdb::memory
