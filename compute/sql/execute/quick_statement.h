// Statements about one row that is named by its key, and INSERT of one row, in their plain forms: they run
// without feeds, cursors and lists of keys. The two halves do not suspend; between them the row is fetched,
// unless the transaction has it.
//
// An expression that pauses (Work::paused()) has no place here: a half that meets one gives up, has changed
// nothing, and the statement is run in the usual way, from its beginning.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "common/layout/key.h"
#include "compute/sql/execute/run.h"
#include "compute/sql/plan/plan.h"

namespace namdb::sql {

// How an attempt to do something without a wait has ended.
enum class AtOnce : std::uint8_t {
  done,
  given_up,  // nothing has happened: the usual way begins anew
};

inline bool is_done(const Result<AtOnce>& attempt) {
  return attempt.ok() && *attempt == AtOnce::done;
}

class QuickStatement {
 public:
  // The plan outlives this.
  explicit QuickStatement(const Plan& plan);

  // Whether the plan has such a form. If not, nothing else is called.
  bool fits() const { return kind_ != Kind::none; }
  bool is_select() const { return kind_ == Kind::select; }

  // Requests the row, or buffers the new one. `row_id`: the one that the new row is to have, in a table
  // without a primary key; empty: any.
  Result<AtOnce> begin(Run& run, std::string_view row_id = {});
  bool wants_fetch(const Run& run) const;
  // Changes the row, or puts the values of the SELECT's targets into `values`, which last until the run's
  // next row. Whether the condition selects the row is counted in run.affected.
  Result<AtOnce> end(Run& run, std::vector<Datum>& values);

 private:
  enum class Kind : std::uint8_t { none, select, insert, update, erase };

  Result<AtOnce> select(Run& run, std::vector<Datum>& values) const;

  const Plan& plan_;
  const Source* source_ = nullptr;  // null: INSERT
  Kind kind_ = Kind::none;
  bool possible_ = false;  // a stored row can have the key
  txn::RowId row_ = 0;
};

enum class OneKey : std::uint8_t {
  possible,    // a stored row can have it
  impossible,  // none can
  paused,      // an expression has: the key is not known
};
// The key of a source that has_one_key() (plan/key_path.h). Errors of its expressions.
Result<OneKey> evaluate_one_key(Run& run, const Source& source, layout::Key& key);

// Runs a statement that fits; its row goes to the run's sink. Both outlive the task. `usual` runs the same
// statement in the usual way.
using RunUsually = reactor::Task<Status> (*)(Run& run, const Plan& plan);
reactor::Task<Status> run_quickly(Run& run, const Plan& plan, RunUsually usual);

}  // namespace namdb::sql
