// Operators on the bits of integers.
#include <array>
#include <cstdint>
#include <vector>

#include "compute/sql/expression/expression.h"
#include "compute/sql/expression/function_tables.h"

namespace namdb::sql {
namespace {

using Arguments = std::span<const Datum>;
using Context = const EvalContext&;

// The result of a calculation with 64 bits, in the bits of its type.
std::int64_t in_type(TypeId type, std::int64_t value) {
  if (type == TypeId::int2) return static_cast<std::int16_t>(value);
  return type == TypeId::int4 ? static_cast<std::int32_t>(value) : value;
}

Status bits_and(Context, Arguments arguments, Datum& out) {
  out = Datum::of_integer(arguments[0].integer & arguments[1].integer);
  return {};
}

Status bits_or(Context, Arguments arguments, Datum& out) {
  out = Datum::of_integer(arguments[0].integer | arguments[1].integer);
  return {};
}

Status bits_xor(Context, Arguments arguments, Datum& out) {
  out = Datum::of_integer(arguments[0].integer ^ arguments[1].integer);
  return {};
}

Status bits_not(Context, Arguments arguments, Datum& out) {
  out = Datum::of_integer(~arguments[0].integer);
  return {};
}

// Only the low bits of the second operand count, as processors have it: five, or six of a bigint.
template <TypeId kType, bool kLeft>
Status shifted(Context, Arguments arguments, Datum& out) {
  const std::int64_t places = arguments[1].integer & (kType == TypeId::int8 ? 63 : 31);
  const auto bits = static_cast<std::uint64_t>(arguments[0].integer);
  out = Datum::of_integer(kLeft ? in_type(kType, static_cast<std::int64_t>(bits << places))
                                : arguments[0].integer >> places);
  return {};
}

template <TypeId kType>
void add_shifts(std::vector<Function>& operators) {
  operators.push_back({"<<", {kType, TypeId::int4}, kType, shifted<kType, true>});
  operators.push_back({">>", {kType, TypeId::int4}, kType, shifted<kType, false>});
}

std::vector<Function> make_operators() {
  std::vector<Function> operators;
  for (const TypeId type : {TypeId::int2, TypeId::int4, TypeId::int8}) {
    operators.push_back({"&", {type, type}, type, bits_and});
    operators.push_back({"|", {type, type}, type, bits_or});
    operators.push_back({"#", {type, type}, type, bits_xor});
    operators.push_back({"~", {type}, type, bits_not});
  }
  add_shifts<TypeId::int2>(operators);
  add_shifts<TypeId::int4>(operators);
  add_shifts<TypeId::int8>(operators);
  return operators;
}

}  // namespace

std::span<const Function> bit_operators() {
  static const std::vector<Function> operators = make_operators();
  return operators;
}

}  // namespace namdb::sql
