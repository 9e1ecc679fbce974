// Prepared statements, and portals: statements with their parameters, ready to run or suspended. A cursor is
// a portal that DECLARE has made; FETCH and the protocol's Execute read both.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "compute/sql/execute/kept_rows.h"
#include "compute/sql/execute/result_sink.h"
#include "compute/sql/execute/select_cursor.h"
#include "compute/sql/plan/plan.h"
#include "compute/sql/system/statistics.h"

namespace namdb::sql {

struct PreparedStatement {
  std::string text;
  bool within = false;  // the statement is the one that the text's command is about: PREPARE, DECLARE
  std::int64_t prepared_us = 0;    // when
  std::uint64_t runs = 0;          // begun
  std::vector<Type> declared;      // parameter types that the client gave
  std::vector<Oid> declared_oids;  // the same types, by the OIDs that the client sent
  std::shared_ptr<const Plan> plan;
  TransactionStatistics* statistics = nullptr;  // null for statements that are not counted
  MemoryShare memory;                           // without the plan, which has its own
  std::size_t session_bytes = 0;                // as they count for the session's limit
  std::uint64_t rights_epoch = 0;               // in which the session was found to have the plan's rights

  std::size_t size_bytes() const {
    return sizeof(PreparedStatement) + text.capacity() + declared.capacity() * sizeof(Type) +
           declared_oids.capacity() * sizeof(Oid);
  }
};

// The state of a portal as a cursor.
struct CursorState {
  bool declared = false;
  bool binary = false;
  bool scrolls = false;      // it keeps all rows that it reads
  bool only_forward = true;  // it may not even give the row again on which it stands
  bool holds = false;        // WITH HOLD
  bool held = false;         // its transaction has ended: all of its rows are kept
  std::int64_t declared_us = 0;

  // Where it stands: before the first row, on a row, or behind the last one.
  bool at_start = true;
  bool at_end = false;
  std::uint64_t position = 0;  // rows that it has passed, with the one on which it stands

  // The rows that are kept: the first one is that behind `kept_from` others. Null: none.
  std::unique_ptr<KeptRows> kept;
  std::uint64_t kept_from = 0;
  bool source_done = false;  // no row comes but those that are kept
  Status end;                // the error behind the last of them
  Completion completion;     // of a statement all of whose rows were kept when it ran

  // Its position counts: it was declared, or FETCH or a write has read from it.
  bool in_use() const { return declared || kept != nullptr || position != 0 || at_end; }
};

struct Portal {
  bool valid = false;
  std::uint64_t number = 0;  // among the session's, in the order in which they were made
  std::shared_ptr<PreparedStatement> prepared;
  std::shared_ptr<const Plan> plan;  // the plan whose parameter types `parameters` has
  std::string storage;               // what the parameters' strings borrow from
  Arena arrays;                      // the parameters that are arrays
  std::vector<Datum> parameters;
  std::vector<std::int16_t> result_formats;
  std::size_t size_bytes = 0;  // of its parameters, as counted for the session's limit
  MemoryShare memory;          // of long parameters

  // State of a suspended execution.
  std::unique_ptr<SelectCursor> cursor;
  StatementState state;  // of the execution
  CursorState as_cursor;
  bool finished = false;  // it has run to its end, and gives no rows
  bool failed = false;

  void reset() {
    valid = false;
    cursor.reset();
    state.clear();
    as_cursor = {};
    finished = failed = false;
    prepared.reset();
    plan.reset();
    arrays.reset();
    if (memory.bytes() == 0) return;
    storage = std::string();
    memory.release();
  }
  // The portal cannot be used any more. Its plan stays, for it may be running.
  void end() {
    valid = false;
    cursor.reset();
    as_cursor.kept.reset();
  }
};

}  // namespace namdb::sql
