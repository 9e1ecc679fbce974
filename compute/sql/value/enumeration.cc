#include "compute/sql/value/enumeration.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <memory>
#include <utility>

namespace namdb::sql {
namespace {

struct Known {
  Enumeration enumeration;
  // The newest version of its entry that is the same otherwise.
  mutable std::atomic<std::uint64_t> version = 0;
  std::string array_name;
  std::string internal_array_name;
  const Known* next = nullptr;  // one that was known before, of this or of another enumeration
};

// Lists, by ids. Entries are only put before others, and never freed.
constexpr std::size_t kLists = 256;
constinit std::array<std::atomic<const Known*>, kLists> known_lists{};

constinit std::atomic<std::uint64_t> missed = 0;

const Known* known_of(std::uint32_t id) {
  const Known* known = known_lists[id % kLists].load(std::memory_order_acquire);
  while (known != nullptr && known->enumeration.id != id) known = known->next;
  return known;
}

bool is_same(const Enumeration& left, const Enumeration& right) {
  return left.birth == right.birth && left.key == right.key && left.name == right.name &&
         left.values == right.values;
}

}  // namespace

const Enumeration::Value* Enumeration::find(std::string_view label) const {
  const auto found = std::ranges::find(values, label, &Value::label);
  return found == values.end() ? nullptr : &*found;
}

const Enumeration::Value* Enumeration::at(std::int64_t position) const {
  const auto found = std::ranges::lower_bound(values, position, {}, &Value::position);
  return found == values.end() || found->position != position ? nullptr : &*found;
}

std::optional<std::int64_t> new_position(const std::vector<Enumeration::Value>& values,
                                         std::ptrdiff_t after) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() - kPosition_step;
  if (values.empty()) return kPosition_step;
  if (after < 0) {
    const std::int64_t first = values.front().position;
    if (first < -kMost) return std::nullopt;
    return first - kPosition_step;
  }
  const std::int64_t left = values[static_cast<std::size_t>(after)].position;
  if (after + 1 == std::ssize(values)) {
    if (left > kMost) return std::nullopt;
    return left + kPosition_step;
  }
  const std::int64_t right = values[static_cast<std::size_t>(after) + 1].position;
  const std::int64_t between = left + (right - left) / 2;
  if (between == left) return std::nullopt;
  return between;
}

Oid stored_oid(std::uint32_t id, std::uint32_t kind) {
  constexpr std::uint64_t kKinds = 3;
  return static_cast<Oid>(kFirstStoredOid + (id * kKinds + kind) % (kFirstNamedOid - kFirstStoredOid));
}

std::optional<TypeId> made_type(Oid oid) {
  if (oid < kFirstStoredOid || oid >= kFirstNamedOid) return std::nullopt;
  const Oid number = oid - kFirstStoredOid;
  const TypeId type = enumeration_type(number / 3);
  if (number % 3 == 2) return std::nullopt;
  return number % 3 == 0 ? type : array_of_made(type);
}

void know_enumeration(Enumeration enumeration) {
  const std::uint32_t id = enumeration.id;
  const std::uint64_t version = enumeration.version;
  std::atomic<const Known*>& list = known_lists[id % kLists];
  std::unique_ptr<Known> made;
  const Known* first = list.load(std::memory_order_acquire);
  while (true) {
    const Known* const before = known_of(id);
    const Enumeration& wanted = made == nullptr ? enumeration : made->enumeration;
    if (before != nullptr && before->enumeration.birth == wanted.birth) {
      std::uint64_t newest = before->version.load(std::memory_order_acquire);
      if (newest >= version) return;
      // Most versions differ in nothing that is shown: so they take no memory.
      if (is_same(before->enumeration, wanted)) {
        while (newest < version && !before->version.compare_exchange_weak(newest, version)) {
        }
        return;
      }
    }
    if (made == nullptr) {
      made = std::make_unique<Known>();
      made->array_name = enumeration.shown_name + "[]";
      made->internal_array_name = "_" + enumeration.name;
      made->enumeration = std::move(enumeration);
      made->version.store(version, std::memory_order_relaxed);
    }
    made->next = first;
    if (list.compare_exchange_weak(first, made.get(), std::memory_order_acq_rel)) break;
  }
  static_cast<void>(made.release());  // the list has it
}

const Enumeration* known_enumeration(TypeId made) {
  const Known* const known = known_of(enumeration_id(made));
  return known == nullptr ? nullptr : &known->enumeration;
}

bool is_known(TypeId made) {
  return known_of(enumeration_id(made)) != nullptr;
}

MadeTypeNames made_type_names(TypeId made) {
  const Known* const known = known_of(enumeration_id(made));
  if (known == nullptr) return {"???", "???"};
  if (is_array_of_made(made)) return {known->array_name, known->internal_array_name};
  return {known->enumeration.shown_name, known->enumeration.name};
}

std::string_view enumeration_label(TypeId type, std::int64_t position) {
  const Enumeration* const enumeration = known_enumeration(type);
  const Enumeration::Value* const value = enumeration == nullptr ? nullptr : enumeration->at(position);
  if (value == nullptr) missed.fetch_add(1, std::memory_order_relaxed);
  return value == nullptr ? std::string_view("???") : std::string_view(value->label);
}

std::uint64_t missed_labels() {
  return missed.load(std::memory_order_relaxed);
}

Status parse_enumeration(std::string_view label, TypeId type, std::int64_t& position) {
  const Enumeration* const enumeration = known_enumeration(type);
  const Enumeration::Value* const value = enumeration == nullptr ? nullptr : enumeration->find(label);
  if (value == nullptr)
    return Status(ErrorCode::invalid_text, "invalid input value for enum " + std::string(type_name(type)) +
                                               ": \"" + std::string(label) + "\"");
  position = value->position;
  return {};
}

}  // namespace namdb::sql
