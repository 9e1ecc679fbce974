#include "compute/sql/value/generated_column.h"

namespace namdb::sql {

std::string generation_default(const Generation& generation) {
  std::string text(1, '\0');
  text += generation.expression;
  if (generation.predicate.empty()) return text;
  text += '\0';
  return text + generation.predicate;
}

std::optional<Generation> generation_of(const layout::Column& column) {
  if (!column.default_text || !column.default_text->starts_with('\0')) return std::nullopt;
  const std::string text = column.default_text->substr(1);
  const std::size_t end = text.find('\0');
  if (end == std::string::npos) return Generation{text, {}};
  return Generation{text.substr(0, end), text.substr(end + 1)};
}

std::string index_column_name(std::size_t number) {
  return std::string(1, '\0') + std::to_string(number);
}

}  // namespace namdb::sql
