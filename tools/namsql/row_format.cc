#include "tools/namsql/row_format.h"

#include <set>

#include "tools/namsql/text.h"
#include "tools/namsql/utf8.h"

namespace namdb::namsql {
namespace {

std::string csv_value(std::string_view value) {
  // A line with nothing but \. ends data of COPY.
  const bool quoted =
      value.empty() || value == "\\." || value.find_first_of(",\"\r\n") != std::string_view::npos;
  if (!quoted) return std::string(value);
  std::string out = "\"";
  for (const char c : value) out.append(c == '"' ? 2 : 1, c);
  out += '"';
  return out;
}

class CsvFormat final : public RowFormat {
 public:
  std::string begin(std::span<const Column> columns) override {
    std::string line;
    for (std::size_t i = 0; i < columns.size(); ++i)
      line += concat(i == 0 ? "" : ",", csv_value(columns[i].name));
    return line + "\n";
  }
  std::string row(std::span<const CellView> cells) override {
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i)
      line += concat(i == 0 ? "" : ",", cells[i] ? csv_value(*cells[i]) : "");
    return line + "\n";
  }
  std::string end() override { return {}; }
};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// As JSON writes numbers, without NaN and Infinity.
bool is_json_number(std::string_view text) {
  std::size_t i = 0;
  const auto digits = [&] {
    const std::size_t begin = i;
    while (i < text.size() && is_digit(text[i])) ++i;
    return i - begin;
  };
  if (i < text.size() && text[i] == '-') ++i;
  const std::size_t whole = i;
  if (digits() == 0 || (text[whole] == '0' && i - whole > 1)) return false;
  if (i < text.size() && text[i] == '.') {
    ++i;
    if (digits() == 0) return false;
  }
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    ++i;
    if (i < text.size() && (text[i] == '+' || text[i] == '-')) ++i;
    if (digits() == 0) return false;
  }
  return i == text.size();
}

std::string json_value(ValueKind kind, std::string_view value) {
  if (kind == ValueKind::number && is_json_number(value)) return std::string(value);
  if (kind == ValueKind::boolean && value == "t") return "true";
  if (kind == ValueKind::boolean && value == "f") return "false";
  if (kind == ValueKind::json) return std::string(value);
  return json_string(value);
}

class JsonFormat final : public RowFormat {
 public:
  std::string begin(std::span<const Column> columns) override {
    keys_.clear();
    kinds_.clear();
    rows_ = 0;
    std::set<std::string> taken;
    for (const Column& column : columns) taken.insert(column.name);
    std::set<std::string> used;
    for (const Column& column : columns) {
      std::string name = column.name;
      // Never the name that another column has by itself.
      for (int number = 2; used.contains(name) || (name != column.name && taken.contains(name)); ++number)
        name = concat(column.name, "_", number);
      used.insert(name);
      keys_.push_back(json_string(name));
      kinds_.push_back(column.kind);
    }
    return "[";
  }
  std::string row(std::span<const CellView> cells) override {
    std::string line = rows_++ == 0 ? "\n  {" : ",\n  {";
    for (std::size_t i = 0; i < cells.size(); ++i)
      line +=
          concat(i == 0 ? "" : ", ", keys_[i], ": ", cells[i] ? json_value(kinds_[i], *cells[i]) : "null");
    return line + "}";
  }
  std::string end() override { return rows_ == 0 ? "]\n" : "\n]\n"; }

 private:
  std::vector<std::string> keys_;
  std::vector<ValueKind> kinds_;
  std::size_t rows_ = 0;
};

}  // namespace

std::string json_string(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const CodePoint point = first_code_point(text);
    const std::string_view bytes = text.substr(0, point.bytes);
    text.remove_prefix(point.bytes);
    if (!point.valid) {
      out += "\xEF\xBF\xBD";
    } else if (point.value == '"' || point.value == '\\') {
      out += concat("\\", bytes);
    } else if (point.value == '\n') {
      out += "\\n";
    } else if (point.value == '\t') {
      out += "\\t";
    } else if (point.value == '\r') {
      out += "\\r";
    } else if (point.value < 0x20 || point.value == 0x7F) {
      constexpr char kDigits[] = "0123456789abcdef";
      out += "\\u00";
      out += kDigits[point.value >> 4];
      out += kDigits[point.value & 15];
    } else {
      out += bytes;
    }
  }
  return out + "\"";
}

std::unique_ptr<RowFormat> make_csv_format() {
  return std::make_unique<CsvFormat>();
}

std::unique_ptr<RowFormat> make_json_format() {
  return std::make_unique<JsonFormat>();
}

}  // namespace namdb::namsql
