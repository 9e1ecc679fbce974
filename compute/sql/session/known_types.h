// The types that statements have made, as a session knows them: its facts have their names. They are read
// when a statement may name one that the session does not know yet. Types that the block drops have no names.
//
// Belongs to its session.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/error.h"
#include "common/reactor/task.h"
#include "compute/api/engine.h"
#include "compute/sql/bind/bind.h"
#include "compute/sql/expression/expression.h"
#include "compute/sql/session/block_changes.h"
#include "compute/sql/value/enumeration.h"

namespace namdb::sql {

class KnownTypes {
 public:
  // All outlive it.
  KnownTypes(txn::Engine& engine, SessionFacts& facts, const BlockChanges& block)
      : engine_(engine), facts_(facts), block_(block) {}

  // Takes over the types that statements have made, as they are now.
  reactor::Task<Status> read();
  bool are_current() const;
  // The types are read again before their next use.
  void forget() { version_ = 0; }
  // Called after a statement that missed labels. Error catalog_changed: the statement may have met values
  // whose labels the session had not read yet, so its rows are not shown; the next attempt knows the labels.
  // Ok: no more labels are known than when the statement began, so another attempt would give the same rows.
  reactor::Task<Status> learn_labels(const LabelWatch* labels);
  // An error of a statement: with the types as they are now it may be another one, or none.
  bool may_name_new_type(const Status& status) const {
    return status.code() == ErrorCode::undefined_object && !are_current();
  }
  // The same before a statement is bound that may name one.
  reactor::Task<Status> follow(const BindInput* input);
  // The catalog's entry of a type that the session knows; null: there is none any more.
  storage::RoutineRef entry_of(const std::string& name) const;

 private:
  txn::Engine& engine_;
  SessionFacts& facts_;
  const BlockChanges& block_;
  std::uint64_t version_ = 0;  // of the catalog from which facts_.types was taken; 0: none
};

}  // namespace namdb::sql
