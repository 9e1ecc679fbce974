// One overload of a scalar function that expressions may call. function_tables.h has the tables of them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "compute/sql/value/datum.h"
#include "compute/sql/value/types.h"

namespace namdb::sql {

struct EvalContext;

// PostgreSQL's provolatile, without `immutable`: a stable function has one value during a statement.
enum class Volatility : std::uint8_t { stable, is_volatile };

// Functions that wait for others are not called by expressions: the expression pauses (work.h), and the
// coroutine that runs the statement calls them (WaitingFunctions, compute/sql/execute/run.h).
enum class Waiting : std::uint8_t {
  no,
  sleep,
  transaction_id,
  transaction_outcome,
  sequence,
  setting,
  session_lock,
  transaction_lock
};

struct Function {
  using Call = Status (*)(const EvalContext& context, std::span<const Datum> arguments, Datum& out);

  std::string_view name;
  std::vector<TypeId> parameters;
  TypeId result;
  // Not called when an argument is NULL: the result is NULL then, unless `nulls` says otherwise.
  Call call;
  // Calls of volatile functions are neither folded nor compared with keys.
  Volatility volatility = Volatility::stable;
  Waiting waiting = Waiting::no;  // otherwise there is no `call`
  bool reads_catalog = false;     // StatementState::catalog is there when it is called
  bool nulls = false;             // it is called with NULLs, too

  bool supported() const { return call != nullptr || waiting != Waiting::no; }
};

// The `call` of a function that PostgreSQL has and namdb does not support: overload resolution may choose it.
inline constexpr Function::Call kUnsupported = nullptr;

}  // namespace namdb::sql
