#include "compute/sql/value/overload.h"

#include <algorithm>
#include <optional>

#include "compute/sql/value/cast.h"

namespace namdb::sql {
namespace {

using Parameters = std::span<const TypeId>;

// PostgreSQL's type categories: all numbers are one; json and jsonb are, too.
enum class Category : std::uint8_t {
  unknown,
  boolean,
  number,
  string,
  time,
  interval,
  bytes,
  jsonb,
  enumeration,
  array
};

Category category_of(TypeId id) {
  if (id == TypeId::json) return Category::jsonb;
  switch (Type{id}.type_class()) {
    case TypeClass::unknown:
      return Category::unknown;
    case TypeClass::boolean:
      return Category::boolean;
    case TypeClass::integer:
    case TypeClass::numeric:
    case TypeClass::real:
    case TypeClass::oid:
      return Category::number;
    case TypeClass::string:
      return Category::string;
    case TypeClass::time:
    case TypeClass::time_of_day:
      return Category::time;
    case TypeClass::interval:
      return Category::interval;
    case TypeClass::bytes:
      return Category::bytes;
    case TypeClass::jsonb:
      return Category::jsonb;
    case TypeClass::enumeration:
      return Category::enumeration;
    case TypeClass::array:
      return Category::array;
  }
  return Category::unknown;
}

// Keeps the candidates for which `score` is greatest.
template <typename Score>
void keep_best(std::vector<std::size_t>& left, const Score& score) {
  std::size_t best = 0;
  for (const std::size_t candidate : left) best = std::max(best, score(candidate));
  std::erase_if(left, [&](std::size_t candidate) { return score(candidate) < best; });
}

// The type of literals without a type at one position: a string if any candidate takes one there, otherwise
// the type on which all candidates agree.
std::optional<Category> category_at(std::span<const Parameters> candidates,
                                    const std::vector<std::size_t>& left, std::size_t position) {
  std::optional<Category> category;
  bool agree = true;
  for (const std::size_t candidate : left) {
    const Category here = category_of(candidates[candidate][position]);
    if (here == Category::string) return here;
    agree = agree && (!category || *category == here);
    category = here;
  }
  return agree ? category : std::nullopt;
}

void resolve_unknown(std::span<const Parameters> candidates, Parameters arguments,
                     std::vector<std::size_t>& left) {
  std::vector<std::size_t> kept = left;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] != TypeId::unknown) continue;
    const std::optional<Category> category = category_at(candidates, left, i);
    if (!category) return;
    const bool preferred = std::ranges::any_of(left, [&](std::size_t candidate) {
      return category_of(candidates[candidate][i]) == *category && is_preferred(candidates[candidate][i]);
    });
    std::erase_if(kept, [&](std::size_t candidate) {
      const TypeId parameter = candidates[candidate][i];
      return category_of(parameter) != *category || (preferred && !is_preferred(parameter));
    });
  }
  if (!kept.empty()) left = std::move(kept);
}

// Literals without a type get the one type that all other arguments have.
void take_known_type(std::span<const Parameters> candidates, Parameters arguments,
                     std::vector<std::size_t>& left) {
  TypeId known = TypeId::unknown;
  for (const TypeId argument : arguments) {
    if (argument == TypeId::unknown) continue;
    if (known != TypeId::unknown && known != argument) return;
    known = argument;
  }
  if (known == TypeId::unknown) return;
  std::vector<std::size_t> kept = left;
  std::erase_if(kept, [&](std::size_t candidate) {
    return std::ranges::any_of(candidates[candidate], [&](TypeId parameter) {
      return !can_cast(known, parameter, Coercion::implicit);
    });
  });
  if (kept.size() == 1) left = std::move(kept);
}

}  // namespace

OverloadChoice choose_overload(std::span<const Parameters> candidates, Parameters arguments) {
  using Outcome = OverloadChoice::Outcome;
  std::vector<std::size_t> left;
  for (std::size_t candidate = 0; candidate < candidates.size(); ++candidate) {
    const Parameters parameters = candidates[candidate];
    if (std::ranges::equal(parameters, arguments)) return {Outcome::found, candidate};
    bool possible = true;
    for (std::size_t i = 0; i < arguments.size(); ++i)
      possible = possible && can_cast(arguments[i], parameters[i], Coercion::implicit);
    if (possible) left.push_back(candidate);
  }
  if (left.empty()) return {};
  const auto count = [&](std::size_t candidate, bool preferred_too) {
    std::size_t matches = 0;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const TypeId parameter = candidates[candidate][i];
      if (arguments[i] == TypeId::unknown) continue;
      matches += parameter == arguments[i] || (preferred_too && is_preferred(parameter)) ? 1 : 0;
    }
    return matches;
  };
  if (left.size() > 1) keep_best(left, [&](std::size_t candidate) { return count(candidate, false); });
  if (left.size() > 1) keep_best(left, [&](std::size_t candidate) { return count(candidate, true); });
  if (left.size() > 1 && std::ranges::find(arguments, TypeId::unknown) != arguments.end()) {
    resolve_unknown(candidates, arguments, left);
    if (left.size() > 1) take_known_type(candidates, arguments, left);
  }
  if (left.size() > 1) return {Outcome::ambiguous, 0};
  return {Outcome::found, left.front()};
}

}  // namespace namdb::sql
