// The numbers that a session gets from sequences: nextval(), currval(), lastval(), setval(), and
// pg_get_serial_sequence(). currval() and lastval() tell what nextval() gave this session.
//
// Belongs to its session.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "common/base/error.h"
#include "common/reactor/task.h"
#include "compute/api/engine.h"
#include "compute/sequences/sequences.h"
#include "compute/sql/plan/schema_plan.h"
#include "compute/sql/session/session_rights.h"

namespace namdb::sql {

class SequenceValues {
 public:
  // All outlive it. `sequences`: null: there are none, and only serial() is called.
  SequenceValues(txn::Engine& engine, txn::Sequences* sequences, SessionRights& rights)
      : engine_(engine), sequences_(sequences), rights_(rights) {}

  reactor::Task<Result<Datum>> next(std::string name);
  // `function`: currval, or lastval of the last sequence.
  reactor::Task<Result<Datum>> current(std::string name, std::string_view function);
  reactor::Task<Result<Datum>> last(std::string_view function) { return current(last_sequence_, function); }
  reactor::Task<Result<Datum>> set(std::string name, std::span<const Datum> arguments);
  // A string of the value lives until the next call.
  reactor::Task<Result<Datum>> serial(std::string table, std::string_view column);
  // The sequence is dropped, or all are forgotten.
  void forget(const std::string& name) { values_.erase(name); }
  void forget_all();

 private:
  txn::Engine& engine_;
  txn::Sequences* sequences_;
  SessionRights& rights_;
  // The numbers that nextval() gave this session, by sequence, and the one of them that gave the last.
  std::map<std::string, std::int64_t, std::less<>> values_;
  std::string last_sequence_;
  std::string serial_sequence_;  // what serial() gave last
};

// The error of a name that is not a sequence.
reactor::Task<Status> missing_sequence(txn::Engine* engine, std::string name, SequenceCommand command);

}  // namespace namdb::sql
