#include "tools/namsim/history/format.h"

#include <fstream>
#include <istream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

namespace namdb::history {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kFormat = "namdb-history";
constexpr std::uint64_t kFormatVersion = 1;
// JSON's integers are exact for every reader up to here.
constexpr std::uint64_t kLargest = (std::uint64_t{1} << 63) - 1;
constexpr int kDepth = 4;  // of nested objects and arrays in a line
constexpr std::string_view kModels[] = {"registers", "lists"};
constexpr std::string_view kOutcomes[] = {"committed", "aborted", "unknown"};

// The fault of a line; thrown within this file only.
struct Wrong {
  std::string what;
};

[[noreturn]] void wrong(const std::string& where, const std::string& what) {
  throw Wrong{where.empty() ? what : where + ": " + what};
}

// An object's fields. Each is taken once; a field that is left over is an error.
class Fields {
 public:
  Fields(const Json& object, std::string where) : object_(object), where_(std::move(where)) {
    if (!object.is_object()) wrong(where_, "an object was expected");
  }
  const Json& take(const std::string& name) {
    const auto found = object_.find(name);
    if (found == object_.end()) wrong(path(name), "is missing");
    taken_.insert(name);
    return *found;
  }
  std::uint64_t number(const std::string& name, std::uint64_t smallest = 0) {
    return to_number(take(name), path(name), smallest);
  }
  std::size_t choice(const std::string& name, std::span<const std::string_view> choices) {
    const Json& value = take(name);
    std::string all;
    for (std::size_t k = 0; k < choices.size(); ++k) {
      if (value.is_string() && value.get_ref<const std::string&>() == choices[k]) return k;
      all += (k == 0 ? "" : ", ") + std::string(choices[k]);
    }
    wrong(path(name), "is none of: " + all);
  }
  void end() const {
    for (const auto& [name, value] : object_.items()) {
      if (!taken_.contains(name)) wrong(path(name.substr(0, 40)), "is no field of this object");
    }
  }
  std::string path(const std::string& name) const { return where_.empty() ? name : where_ + "." + name; }

  static std::uint64_t to_number(const Json& value, const std::string& where, std::uint64_t smallest) {
    if (value.is_number_unsigned()) {
      const auto number = value.get<std::uint64_t>();
      if (number >= smallest && number <= kLargest) return number;
    }
    wrong(where, "is no whole number from " + std::to_string(smallest) + " to " + std::to_string(kLargest));
  }

 private:
  const Json& object_;
  std::string where_;
  std::set<std::string> taken_;
};

Json parse(const std::string& line) {
  std::vector<std::set<std::string>> names;  // of the objects that are open
  const auto watch = [&](int depth, Json::parse_event_t event, Json& value) {
    if (depth > kDepth) wrong("", "nested too deeply");
    if (event == Json::parse_event_t::object_start) names.emplace_back();
    if (event == Json::parse_event_t::object_end) names.pop_back();
    if (event == Json::parse_event_t::key) {
      const auto name = value.get<std::string>();
      if (!names.back().insert(name).second) wrong(name.substr(0, 40), "is there twice");
    }
    return true;
  };
  try {
    return Json::parse(line, watch);
  } catch (const nlohmann::json::exception& error) {
    // "[json.exception.parse_error.101] parse error at line 1, column 5: ..." of one line
    std::string text = error.what();
    const std::size_t column = text.find("column");
    wrong("", "no JSON: " + (column == std::string::npos ? text : text.substr(column)));
  }
}

Operation to_operation(Model model, const Json& json, const std::string& where) {
  Fields fields(json, where);
  Operation operation;
  constexpr std::string_view kRegisterOperations[] = {"read", "write"};
  constexpr std::string_view kListOperations[] = {"read", "append"};
  const bool lists = model == Model::lists;
  const std::size_t choice = fields.choice("op", lists ? kListOperations : kRegisterOperations);
  operation.kind = choice == 0 ? Operation::Kind::read : Operation::Kind::write;
  operation.key = fields.number("key");
  if (operation.kind == Operation::Kind::write) {
    operation.version = fields.number(lists ? "element" : "version", 1);
    if (!lists) operation.displaced = fields.number("displaced");
  } else if (!lists) {
    operation.version = fields.number("version");
  } else {
    const Json& list = fields.take("list");
    if (!list.is_array()) wrong(fields.path("list"), "is no array");
    operation.list.reserve(list.size());
    for (std::size_t k = 0; k < list.size(); ++k) {
      if (list[k].is_number_unsigned() && list[k] >= 1 && list[k] <= kLargest) {
        operation.list.push_back(list[k].get<std::uint64_t>());
      } else {
        operation.list.push_back(
            Fields::to_number(list[k], fields.path("list") + "[" + std::to_string(k) + "]", 1));
      }
    }
  }
  fields.end();
  return operation;
}

Transaction to_transaction(Model model, const Json& json) {
  Fields fields(json, "");
  Transaction transaction;
  transaction.session = fields.number("session");
  transaction.begin_ns = fields.number("begin_ns");
  transaction.outcome = static_cast<Outcome>(fields.choice("outcome", kOutcomes));
  if (transaction.outcome == Outcome::unknown) {
    if (!fields.take("end_ns").is_null()) wrong("end_ns", "is not null, but nobody knows the outcome");
  } else {
    transaction.end_ns = fields.number("end_ns", transaction.begin_ns);
  }
  const Json& operations = fields.take("operations");
  if (!operations.is_array()) wrong("operations", "is no array");
  for (std::size_t k = 0; k < operations.size(); ++k) {
    transaction.operations.push_back(
        to_operation(model, operations[k], "operations[" + std::to_string(k) + "]"));
  }
  fields.end();
  return transaction;
}

Model to_model(const Json& json) {
  Fields fields(json, "");
  constexpr std::string_view kFormats[] = {kFormat};
  fields.choice("format", kFormats);
  const std::uint64_t version = fields.number("version");
  if (version != kFormatVersion) wrong("version", "is " + std::to_string(version) + "; this program knows 1");
  const auto model = static_cast<Model>(fields.choice("model", kModels));
  fields.end();
  return model;
}

}  // namespace

Result<History> read_history(std::istream& in, const FormatLimits& limits) {
  std::optional<History> history;
  std::string line;
  std::uint64_t number = 0;
  const auto error = [&](const std::string& what) {
    return Status(ErrorCode::corrupt_data, "line " + std::to_string(number) + ": " + what);
  };
  while (in.peek() != std::istream::traits_type::eof()) {
    ++number;
    line.clear();
    for (int letter = in.get(); letter != '\n'; letter = in.get()) {
      if (letter == std::istream::traits_type::eof())
        return error("the line is cut off: no line feed at its end");
      if (line.size() == limits.line_bytes) return error("the line is too long");
      line.push_back(static_cast<char>(letter));
    }
    try {
      if (!history) {
        history.emplace(to_model(parse(line)));
        continue;
      }
      if (history->transactions().size() == limits.transactions) return error("too many transactions");
      history->add(to_transaction(history->model(), parse(line)));
    } catch (const Wrong& wrong_line) {
      return error(wrong_line.what);
    }
  }
  if (!history) return Status(ErrorCode::corrupt_data, "the file is empty");
  return std::move(*history);
}

Result<History> read_history_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return Status(ErrorCode::configuration, "cannot read " + path);
  Result<History> history = read_history(in);
  if (history.ok()) return history;
  return Status(history.status().code(), path + ": " + history.status().message());
}

std::string header_line(Model model) {
  Json json;
  json["format"] = kFormat;
  json["version"] = kFormatVersion;
  json["model"] = kModels[static_cast<std::size_t>(model)];
  return json.dump() + "\n";
}

std::string transaction_line(Model model, const Transaction& transaction) {
  Json json;
  json["session"] = transaction.session;
  json["begin_ns"] = transaction.begin_ns;
  json["end_ns"] = transaction.outcome == Outcome::unknown ? Json() : Json(transaction.end_ns);
  json["outcome"] = kOutcomes[static_cast<std::size_t>(transaction.outcome)];
  Json operations = Json::array();
  for (const Operation& operation : transaction.operations) {
    const bool lists = model == Model::lists;
    const bool writes = operation.kind == Operation::Kind::write;
    Json one;
    one["op"] = !writes ? "read" : lists ? "append" : "write";
    one["key"] = operation.key;
    if (lists && !writes) {
      one["list"] = operation.list;
    } else {
      one[lists ? "element" : "version"] = operation.version;
      if (writes && !lists) one["displaced"] = operation.displaced;
    }
    operations.push_back(std::move(one));
  }
  json["operations"] = std::move(operations);
  return json.dump() + "\n";
}

Status write_history_file(const std::string& path, const History& history) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << header_line(history.model());
  for (const Transaction& transaction : history.transactions())
    out << transaction_line(history.model(), transaction);
  out.close();
  if (!out) return Status(ErrorCode::configuration, "cannot write " + path);
  return {};
}

}  // namespace namdb::history
