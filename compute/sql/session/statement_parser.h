// The parser of a session's texts. Longer texts are parsed, and longer statements bound, on the planning
// thread, so that the worker's other sessions go on. Belongs to its session and lives as long as it.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <variant>

#include "common/base/error.h"
#include "common/reactor/task.h"
#include "compute/api/transaction.h"
#include "compute/sql/session/planning_queue.h"
#include "compute/sql/syntax/syntax.h"

namespace namdb::sql {

// Longer texts are parsed, and longer statements bound, on the planning thread. One KiB takes about a
// millisecond.
inline constexpr std::size_t kLongStatement_bytes = 8 << 10;

struct ParsedText {
  std::variant<SyntaxTree, SyntaxError> result;
  std::size_t text_bytes = 0;

  const SyntaxError* error() const { return std::get_if<SyntaxError>(&result); }
  const SyntaxTree& tree() const { return std::get<SyntaxTree>(result); }
};

// A statement, and the text that it was read from.
struct ParsedStatement {
  Node statement;
  std::size_t begin_bytes = 0;  // in the text
  std::size_t length_bytes = 0;
  const std::string* text = nullptr;

  std::string_view own_text() const { return std::string_view(*text).substr(begin_bytes, length_bytes); }
};

class StatementParser {
 public:
  // `planning`: null: long statements, too, are parsed and bound by the worker. Both outlive the parser.
  StatementParser(PlanningQueue* planning, const txn::Interrupt& interrupt)
      : planning_(planning), interrupt_(interrupt) {}

  // Whether a text of that length is parsed and bound on the planning thread.
  bool is_long(std::size_t text_bytes) const;
  // Error: the interrupt has ended the wait for that thread.
  reactor::Task<Status> run_on_planning_thread(std::function<void()> work);
  reactor::Task<ParsedText> parse(const std::string* text);
  // Error: the interrupt has ended the statement before the text was parsed.
  Status check_parsed(const ParsedText& parsed) const;
  // Frees the tree; a large one on the planning thread.
  void forget(ParsedText parsed);

 private:
  PlanningQueue* planning_;
  const txn::Interrupt& interrupt_;
};

}  // namespace namdb::sql
