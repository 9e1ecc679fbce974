#include "compute/sql/session/statement_parser.h"

#include <utility>

namespace namdb::sql {

using reactor::Task;

bool StatementParser::is_long(std::size_t text_bytes) const {
  return text_bytes > kLongStatement_bytes && planning_ != nullptr;
}

Task<Status> StatementParser::run_on_planning_thread(std::function<void()> work) {
  return planning_->run(std::move(work), interrupt_);
}

Task<ParsedText> StatementParser::parse(const std::string* text) {
  ParsedText parsed{.result = {}, .text_bytes = text->size()};
  const auto work = [&parsed, text] { parsed.result = parse_sql(*text); };
  if (!is_long(text->size())) {
    work();
    co_return parsed;
  }
  Status status = co_await run_on_planning_thread(work);
  if (!status.ok()) parsed.result = SyntaxError{std::move(status)};
  co_return parsed;
}

// A text that was not parsed because the statement has ended may name any type.
Status StatementParser::check_parsed(const ParsedText& parsed) const {
  return parsed.error() == nullptr ? Status() : interrupt_.check();
}

void StatementParser::forget(ParsedText parsed) {
  if (is_long(parsed.text_bytes)) planning_->destroy(std::move(parsed));
}

}  // namespace namdb::sql
