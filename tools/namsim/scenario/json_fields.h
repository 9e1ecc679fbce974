// Reads the fields of a JSON object that a person wrote: every field is known, has a value that it can have,
// and an error names file and field.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "common/base/error.h"

namespace namdb::sim {

class JsonFields {
 public:
  // `where`: the file and the object's place in it.
  JsonFields(const nlohmann::json& object, std::string where) : object_(object), where_(std::move(where)) {
    if (!object.is_object()) fail("", "is no object");
  }

  bool has(const char* name) {
    known_.insert(name);
    return status_.ok() && object_.contains(name);
  }
  void number(const char* name, std::uint64_t& value, std::uint64_t least, std::uint64_t most) {
    if (!has(name)) return;
    const nlohmann::json& field = object_[name];
    if (!field.is_number_unsigned() || field.get<std::uint64_t>() < least ||
        field.get<std::uint64_t>() > most)
      return fail(name,
                  "must be a whole number from " + std::to_string(least) + " to " + std::to_string(most));
    value = field.get<std::uint64_t>();
  }
  void number(const char* name, std::optional<std::uint64_t>& value, std::uint64_t least,
              std::uint64_t most) {
    std::uint64_t read = 0;
    const bool given = has(name);
    number(name, read, least, most);
    if (given && status_.ok()) value = read;
  }
  void integer(const char* name, std::int64_t& value, std::int64_t least, std::int64_t most) {
    if (!has(name)) return;
    const nlohmann::json& field = object_[name];
    const bool fits =
        field.is_number_integer() && (!field.is_number_unsigned() || field.get<std::uint64_t>() >> 63 == 0);
    if (!fits || field.get<std::int64_t>() < least || field.get<std::int64_t>() > most)
      return fail(name,
                  "must be a whole number from " + std::to_string(least) + " to " + std::to_string(most));
    value = field.get<std::int64_t>();
  }
  void probability(const char* name, double& value) {
    if (!has(name)) return;
    const nlohmann::json& field = object_[name];
    if (!field.is_number() || !(field.get<double>() >= 0 && field.get<double>() <= 1))
      return fail(name, "must be a number from 0 to 1");
    value = field.get<double>();
  }
  void text(const char* name, std::string& value) {
    if (!has(name)) return;
    if (!object_[name].is_string()) return fail(name, "must be a string");
    value = object_[name].get<std::string>();
  }
  // The first error counts.
  void fail(const std::string& name, const std::string& what) {
    if (!status_.ok()) return;
    status_ = Status(ErrorCode::configuration, where_ + (name.empty() ? "" : "." + name) + ": " + what);
  }
  // After all fields were asked for.
  Status finish() {
    if (!status_.ok()) return status_;
    for (const auto& [name, value] : object_.items()) {
      if (!known_.contains(name)) fail(name, "unknown field");
    }
    return status_;
  }
  bool ok() const { return status_.ok(); }

 private:
  const nlohmann::json& object_;
  std::string where_;
  std::set<std::string> known_;
  Status status_;
};

// The file's document. Error configuration when it cannot be read or is not JSON.
Result<nlohmann::json> parse_json(const std::string& text, const std::string& file);
Result<std::string> read_text_file(const std::string& file);

}  // namespace namdb::sim
