// Where a memory server with a data folder writes what it must know again after a restart: control entries
// (server 0) and descriptors of tables (the others). Behind it is the server's log on disk. A server without
// a data folder has none.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/error.h"
#include "common/reactor/task.h"

namespace namdb::memory {

// The kinds of these records among all that are in the log.
enum class ControlRecord : std::uint16_t {
  entry = 5,  // control::ControlEntry
  table = 6,  // control::TableRecord
};

class ControlLog {
 public:
  // Urgent: records of changes that must be made, such as a slot's closing. They use the room that a full log
  // keeps back.
  enum class Urgency : std::uint8_t { ordinary, urgent };

  virtual ~ControlLog() = default;
  // The record's end: durable once flush() of it has returned. Records are in the order of calls whose
  // predecessor was awaited. An error means that the record is not in the log; it is the caller's answer to
  // its client, as it is.
  virtual reactor::Task<Result<std::uint64_t>> append(ControlRecord kind, std::string bytes,
                                                      Urgency urgency) = 0;
  // After an error nothing becomes durable any more, and the process is about to end.
  virtual reactor::Task<Status> flush(std::uint64_t position) = 0;
};

}  // namespace namdb::memory
