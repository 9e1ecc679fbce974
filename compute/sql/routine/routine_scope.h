// The variables of a routine while it is compiled: their slots, and the names that mean them at a place of
// its body.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compute/sql/bind/variable_scope.h"
#include "compute/sql/plan/routine.h"

namespace namdb::sql {

struct RoutineVariable {
  std::string name;
  bool is_record = false;
  bool is_constant = false;
  bool has_row_type = false;  // of a record: its fields are declared
  std::uint32_t slot = 0;     // of a scalar
  // Of a record: its fields; none: no statement that was compiled has given it any.
  struct Field {
    std::string name;
    std::uint32_t slot = 0;
  };
  std::optional<std::vector<Field>> fields;
};

class RoutineScope final : public VariableScope {
 public:
  RoutineScope(std::vector<RoutineSlot>& slots, Conflict conflict) : slots_(slots), conflict_(conflict) {}

  std::uint32_t add_slot(std::string name, Type type, bool not_null = false);
  // A variable of the innermost level; `datum`: its number in the tree.
  void declare(std::uint32_t datum, RoutineVariable variable);
  void enter(std::string label) { levels_.push_back({std::move(label), {}}); }
  void leave() { levels_.pop_back(); }
  std::size_t depth() const { return levels_.size(); }
  void return_to(std::size_t depth) { levels_.resize(depth); }
  // Null: there is none with that number.
  RoutineVariable* variable(std::uint32_t datum);
  // The innermost one of that name.
  const RoutineVariable* named(std::string_view name) const;
  void set_numbered(std::uint32_t parameters) { numbered_ = parameters; }

  Result<std::optional<std::uint32_t>> find(std::span<const std::string_view> parts) const override;
  Conflict conflict() const override { return conflict_; }
  std::uint32_t numbered() const override { return numbered_; }

 private:
  struct Level {
    std::string label;
    std::vector<std::uint32_t> datums;
  };
  const RoutineVariable* in_level(const Level& level, std::string_view name) const;
  static Result<std::optional<std::uint32_t>> field_of(const RoutineVariable& record, std::string_view field);

  std::vector<RoutineSlot>& slots_;
  Conflict conflict_;
  std::uint32_t numbered_ = 0;
  std::map<std::uint32_t, RoutineVariable> variables_;
  std::vector<Level> levels_;
};

}  // namespace namdb::sql
