// The moves of cursors: FETCH and MOVE, and the protocol's Execute. A cursor gives its kept rows again; rows
// that it has not read yet are read when they are wanted.
//
// Belongs to its session.
#pragma once

#include <cstdint>

#include "common/base/error.h"
#include "common/reactor/executor.h"
#include "common/reactor/task.h"
#include "compute/api/transaction.h"
#include "compute/sql/execute/portal.h"
#include "compute/sql/execute/result_sink.h"
#include "compute/sql/expression/work.h"
#include "compute/sql/plan/command_plan.h"

namespace namdb::sql {

// Where the rows of a cursor go: messages to the sink, and rows too, unless it only moves.
struct Receiver {
  ResultSink& sink;
  bool gives_rows = true;
};

class CursorMoves {
 public:
  class Source {
   public:
    virtual ~Source() = default;
    // Reads new rows of the portal's statement.
    virtual reactor::Task<Status> read_rows(std::uint64_t count, Portal* portal, Receiver to,
                                            std::uint64_t* rows) = 0;
    // Reads the labels of enumerations from the catalog of now.
    virtual reactor::Task<Status> read_types() = 0;
  };
  static constexpr std::uint64_t kAllRows = ~std::uint64_t{0};

  // All outlive it.
  CursorMoves(Source& source, reactor::Executor& executor, Work& work, const txn::Interrupt& interrupt)
      : source_(source), executor_(executor), work_(work), interrupt_(interrupt) {}

  // FETCH and MOVE; `rows`: passed last.
  reactor::Task<Status> move_cursor(FetchPlan fetch, Portal* portal, Receiver to, std::uint64_t* rows);
  reactor::Task<Status> go_forward(std::uint64_t count, Portal* portal, Receiver to, std::uint64_t* rows);

 private:
  reactor::Task<Status> move_absolute(std::int64_t count, Portal* portal, Receiver to, std::uint64_t* rows);
  reactor::Task<Status> give_current(Portal* portal, Receiver to, std::uint64_t* rows);
  reactor::Task<Status> go_backward(std::uint64_t count, Portal* portal, Receiver to, std::uint64_t* rows);
  // Gives kept rows, from that one on or back, counted from 0.
  reactor::Task<Status> give_kept(Portal* portal, std::uint64_t first, std::uint64_t count, bool backward,
                                  Receiver to);

  Source& source_;
  reactor::Executor& executor_;
  Work& work_;
  const txn::Interrupt& interrupt_;
};

}  // namespace namdb::sql
