#include "compute/sql/expression/expression_text.h"

#include "compute/sql/expression/function.h"
#include "compute/sql/expression/function_tables.h"
#include "compute/sql/value/characters.h"
#include "compute/sql/value/value_format.h"

namespace namdb::sql {
namespace {

std::string_view operator_text(char op) {
  switch (op) {
    case 'l':
      return "<=";
    case 'g':
      return ">=";
    case '!':
      return "<>";
    case 'D':
      return "IS DISTINCT FROM";
    case 'N':
      return "IS NOT DISTINCT FROM";
    case '=':
      return "=";
    case '<':
      return "<";
    case '>':
      return ">";
    case '+':
      return "+";
    case '-':
      return "-";
    case '*':
      return "*";
    case '/':
      return "/";
    default:
      return "%";
  }
}

bool is_operator(const Function& function) {
  return !is_letter(function.name.front());
}

class Writer {
 public:
  explicit Writer(std::span<const std::string> names) : names_(names) {}

  void write(const Expr& expr) {
    switch (expr.kind) {
      case ExprKind::constant:
        return constant(expr);
      case ExprKind::parameter:
        text_ += "$" + std::to_string(expr.index + 1);
        return;
      case ExprKind::column:
        text_ += names_[expr.index];
        return;
      case ExprKind::arithmetic:
      case ExprKind::compare:
        return joined(expr, operator_text(expr.op));
      case ExprKind::logical_and:
        return joined(expr, "AND");
      case ExprKind::logical_or:
        return joined(expr, "OR");
      case ExprKind::concat:
        return joined(expr, "||");
      case ExprKind::like:
        return joined(expr, expr.op == '!' ? "!~~" : "~~");
      case ExprKind::logical_not:
        return around("(NOT ", expr, ")");
      case ExprKind::negate:
        return around("(- ", expr, ")");
      case ExprKind::is_null:
        return around("(", expr, " IS NULL)");
      case ExprKind::is_not_null:
        return around("(", expr, " IS NOT NULL)");
      case ExprKind::boolean_test:
        return around("(", expr, boolean_test(expr.op));
      case ExprKind::cast:
        return around("(", expr, ")::" + type_name(expr.type));
      case ExprKind::in_list:
        return in_list(expr);
      case ExprKind::case_when:
        return case_when(expr);
      case ExprKind::coalesce:
        return call("COALESCE", expr);
      case ExprKind::null_if:
        return null_if(expr);
      case ExprKind::greatest:
        return call("GREATEST", expr);
      case ExprKind::least:
        return call("LEAST", expr);
      case ExprKind::regex:
        return joined(expr, expr.op == '~' ? "~" : expr.op == '!' ? "!~" : expr.op == '*' ? "~*" : "!~*");
      case ExprKind::array:
        text_ += "ARRAY[";
        list(expr, 0, ", ");
        text_ += "]";
        return;
      case ExprKind::subscript:
        write(*expr.args[0]);
        text_ += "[";
        write(*expr.args[1]);
        text_ += "]";
        return;
      case ExprKind::array_concat:
        return joined(expr, "||");
      case ExprKind::any_of_array:
        return of_array(expr, " ANY (");
      case ExprKind::all_of_array:
        return of_array(expr, " ALL (");
      case ExprKind::array_subquery:
        text_ += "ARRAY(subquery)";
        return;
      case ExprKind::function:
        if (expr.function->name == kSliceFunction) return slice(expr);
        if (with_words(expr)) return;
        if (!is_operator(*expr.function)) return call(expr.function->name, expr);
        if (expr.args.size() == 1) return around("(" + std::string(expr.function->name) + " ", expr, ")");
        return joined(expr, expr.function->name);
      case ExprKind::routine:
        return call(expr.routine->name, expr);
      case ExprKind::aggregate:
        text_ += "aggregate";
        return;
      case ExprKind::outer:
        text_ += "outer";
        return;
      case ExprKind::exists:
        text_ += "EXISTS (subquery)";
        return;
      case ExprKind::scalar_subquery:
        text_ += "(subquery)";
        return;
      case ExprKind::any_of_subquery:
        return of_subquery(expr, " ANY (subquery))");
      case ExprKind::all_of_subquery:
        return of_subquery(expr, " ALL (subquery))");
    }
  }

  std::string take() { return std::move(text_); }

 private:
  static std::string boolean_test(char op) {
    const bool negated = op >= 'A' && op <= 'Z';
    const char lower = negated ? static_cast<char>(op - 'A' + 'a') : op;
    return std::string(negated ? " IS NOT " : " IS ") + (lower == 't'   ? "TRUE)"
                                                         : lower == 'f' ? "FALSE)"
                                                                        : "UNKNOWN)");
  }

  void around(std::string_view before, const Expr& expr, std::string_view after) {
    text_ += before;
    write(*expr.args[0]);
    text_ += after;
  }

  void of_subquery(const Expr& expr, std::string_view quantifier) {
    text_ += expr.index == 0 ? "(" : "(ROW(";
    for (std::uint32_t i = 0; i <= expr.index; ++i) {
      if (i != 0) text_ += ", ";
      write(*expr.args[i]);
    }
    text_ += expr.index == 0 ? " " : ") ";
    text_ += operator_text(expr.op);
    text_ += quantifier;
  }

  void of_array(const Expr& expr, std::string_view quantifier) {
    around("(", expr, " " + std::string(operator_text(expr.op)) + std::string(quantifier));
    write(*expr.args[1]);
    text_ += "))";
  }

  void slice(const Expr& expr) {
    write(*expr.args[0]);
    text_ += "[";
    write(*expr.args[1]);
    text_ += ":";
    write(*expr.args[2]);
    text_ += "]";
  }

  void list(const Expr& expr, std::size_t from, std::string_view separator) {
    for (std::size_t i = from; i < expr.args.size(); ++i) {
      if (i != from) text_ += separator;
      write(*expr.args[i]);
    }
  }

  void joined(const Expr& expr, std::string_view separator) {
    text_ += "(";
    list(expr, 0, " " + std::string(separator) + " ");
    text_ += ")";
  }

  void call(std::string_view name, const Expr& expr) {
    text_ += std::string(name) + "(";
    list(expr, 0, ", ");
    text_ += ")";
  }

  void null_if(const Expr& expr) {
    text_ += "NULLIF(";
    write(*expr.args[0]);
    text_ += ", ";
    write(*expr.args[1]->args[1]);
    text_ += ")";
  }

  // Functions whose calls SQL writes with words between the arguments.
  bool with_words(const Expr& expr) {
    const std::string_view name = expr.function->name;
    if (expr.args.size() != 2) return false;
    const Expr& first = *expr.args[0];
    if (name == "extract" && first.kind == ExprKind::constant && !first.value.null) {
      text_ += "EXTRACT(" + std::string(first.value.text) + " FROM ";
      write(*expr.args[1]);
      text_ += ")";
      return true;
    }
    if (name == "timezone") {
      text_ += "(";
      write(*expr.args[1]);
      text_ += " AT TIME ZONE ";
      write(first);
      text_ += ")";
      return true;
    }
    if (name != "position") return false;
    text_ += "POSITION((";
    write(*expr.args[1]);
    text_ += ") IN (";
    write(first);
    text_ += "))";
    return true;
  }

  // Of constants: an array's literal.
  void in_list(const Expr& expr) {
    bool constants = true;
    for (std::size_t i = 1; i < expr.args.size(); ++i)
      constants = constants && expr.args[i]->kind == ExprKind::constant;
    if (!constants) {
      around("(", expr, " = ANY (ARRAY[");
      list(expr, 1, ", ");
      text_ += "]))";
      return;
    }
    std::string array;
    for (std::size_t i = 1; i < expr.args.size(); ++i)
      array += (array.empty() ? "{" : ",") + array_element(*expr.args[i]);
    around("(", expr, " = ANY (");
    quoted(array + "}");
    text_ += "::" + std::string(type_name(expr.args[1]->type.id)) + "[]))";
  }

  static std::string array_element(const Expr& expr) {
    if (expr.value.null) return "NULL";
    std::string value;
    append_text(value, {expr.type.id}, expr.value);
    std::string element;
    append_element_text(element, value);
    return element;
  }

  void quoted(std::string_view value) {
    text_ += '\'';
    for (const char c : value) text_.append(c == '\'' ? 2 : 1, c);
    text_ += '\'';
  }

  void case_when(const Expr& expr) {
    text_ += "CASE";
    for (std::size_t i = 0; i + 1 < expr.args.size(); i += 2) {
      text_ += " WHEN ";
      write(*expr.args[i]);
      text_ += " THEN ";
      write(*expr.args[i + 1]);
    }
    if (expr.args.size() % 2 == 1) {
      text_ += " ELSE ";
      write(*expr.args.back());
    }
    text_ += " END";
  }

  void constant(const Expr& expr) {
    const std::string type = "::" + std::string(type_name(expr.type.id));
    if (expr.value.null) {
      text_ += "NULL" + type;
      return;
    }
    std::string value;
    append_text(value, {expr.type.id}, expr.value);
    if (expr.type.id == TypeId::boolean) {
      text_ += expr.value.integer != 0 ? "true" : "false";
      return;
    }
    const bool plain = (expr.type.id == TypeId::int4 || expr.type.id == TypeId::numeric) && value[0] != '-' &&
                       (expr.type.id == TypeId::int4 || value.find('.') != std::string::npos);
    if (plain) {
      text_ += value;
      return;
    }
    quoted(value);
    text_ += type;
  }

  std::span<const std::string> names_;
  std::string text_;
};

}  // namespace

std::string expression_text(const Expr& expr, std::span<const std::string> names) {
  Writer writer(names);
  writer.write(expr);
  return writer.take();
}

}  // namespace namdb::sql
