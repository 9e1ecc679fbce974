// concat_ws() and format(), which take any number of values of any type.
#include <string>
#include <utility>

#include "compute/sql/bind/bind_expression.h"
#include "compute/sql/bind/check_status.h"

namespace namdb::sql {

// array_to_string() leaves NULLs out, too.
Result<ExprPtr> ExpressionBinder::bind_joined_texts(std::vector<ExprPtr> args) {
  ExprPtr texts = make_expr(ExprKind::array, {TypeId::text_array});
  for (std::size_t i = 1; i < args.size(); ++i) {
    NAMDB_SQL_CHECK(bind_shown(args[i]));
    texts->args.push_back(std::move(args[i]));
  }
  std::vector<ExprPtr> parts(2);
  parts[0] = std::move(texts);
  parts[1] = std::move(args[0]);
  return bind_function("array_to_string", std::move(parts));
}

Result<ExprPtr> ExpressionBinder::bind_format(std::vector<ExprPtr> args) {
  NAMDB_SQL_CHECK(decide_unknown(args[0]));
  if (args[0]->kind != ExprKind::constant || !args[0]->type.is_string())
    return unsupported("format() with a text that is no literal");
  if (args[0]->value.null) return make_constant({TypeId::text}, Datum());
  const std::string pattern(args[0]->value.text);
  ExprPtr whole;
  std::string plain;
  const auto add = [&whole](ExprPtr part) {
    whole = whole == nullptr ? std::move(part) : joined(std::move(whole), std::move(part));
  };
  std::size_t next = 1;
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    if (pattern[at] != '%') {
      plain += pattern[at];
      continue;
    }
    if (++at == pattern.size())
      return Status(ErrorCode::invalid_parameter_value, "unterminated format() type specifier",
                    "For a single \"%\" use \"%%\".");
    const char kind = pattern[at];
    if (kind == '%') {
      plain += kind;
      continue;
    }
    if (kind == '-' || kind == '*' || (kind >= '0' && kind <= '9'))
      return unsupported("format() with positions or widths");
    if (kind != 's' && kind != 'I' && kind != 'L') {
      return Status(ErrorCode::invalid_parameter_value,
                    std::string("unrecognized format() type specifier \"") + kind + "\"",
                    "For a single \"%\" use \"%%\".");
    }
    if (next == args.size())
      return Status(ErrorCode::invalid_parameter_value, "too few arguments for format()");
    ExprPtr value = std::move(args[next++]);
    NAMDB_SQL_CHECK(bind_shown(value));
    if (kind != 's') {
      std::vector<ExprPtr> quoted(1);
      quoted[0] = std::move(value);
      NAMDB_SQL_ASSIGN(value,
                       bind_function(kind == 'I' ? "quote_ident" : "quote_literal", std::move(quoted)));
    }
    if (kind != 'I') {
      NAMDB_SQL_ASSIGN(value, text_or(std::move(value), kind == 's' ? "" : "NULL"));
    }
    add(make_constant({TypeId::text}, Datum::of_text(std::exchange(plain, {}))));
    add(std::move(value));
  }
  add(make_constant({TypeId::text}, Datum::of_text(plain)));
  return whole;
}

}  // namespace namdb::sql
