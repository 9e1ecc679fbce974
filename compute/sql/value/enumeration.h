// Enumerations: types that CREATE TYPE ... AS ENUM has made. A value is a datum whose integer is its
// position: rows, indexes and comparisons need nothing else, and a label between two others gets a position
// between theirs. Positions never change, so nothing is written anew when labels are added or renamed.
//
// Types are told apart by the identities of their catalog entries, which are never used again. The labels
// that belong to an identity are known to the whole process, on all threads: the newest version of each that
// a session has read from the catalog. Older ones stay, so a reference to one is valid for ever.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compute/sql/value/made_type.h"
#include "compute/sql/value/types.h"

namespace namdb::sql {

struct Enumeration {
  struct Value {
    std::string label;
    std::int64_t position = 0;

    friend bool operator==(const Value&, const Value&) = default;
  };
  std::uint32_t id = 0;       // of its catalog entry
  std::string key;            // the entry's name, which stays when the type gets another one
  std::uint64_t version = 0;  // of the entry; a later one may have the same names and values
  // Made with it, and kept: another database in the same process may have another one of that id.
  std::string birth;
  std::string name;
  std::string shown_name;     // in quotes where SQL needs them
  std::vector<Value> values;  // in the order of their positions

  // Null: it has no such label, or position.
  const Value* find(std::string_view label) const;
  const Value* at(std::int64_t position) const;
};

// The distance between the positions of labels that nothing was put between: pg_enum.enumsortorder is the
// position divided by it.
inline constexpr std::int64_t kPosition_step = std::int64_t{1} << 32;
// The position of a new label behind the value `after` of them, -1: before all. nullopt: too many were put
// there.
std::optional<std::int64_t> new_position(const std::vector<Enumeration::Value>& values, std::ptrdiff_t after);

// From now on it is known, unless a newer version of it is.
void know_enumeration(Enumeration enumeration);
// The enumeration of that type, or of an array of it; null: nothing is known of it.
const Enumeration* known_enumeration(TypeId made);

// The label of a value, and the value of a label. invalid_text. A label that is not known is "???", and is
// counted: see LabelWatch.
std::string_view enumeration_label(TypeId type, std::int64_t position);

// From its construction on, tells of the labels that the threads of the process ask for. Any thread may have
// one.
class LabelWatch {
 public:
  LabelWatch();
  // A label was asked for, by any thread, that was not known: perhaps by the statement that began then.
  bool has_missed() const;
  // Labels have become known meanwhile, or are about to: the statement may be done with others the next time.
  bool has_learned() const;

 private:
  std::uint64_t missed_;
  std::uint64_t learned_;
};
Status parse_enumeration(std::string_view label, TypeId type, std::int64_t& position);

}  // namespace namdb::sql
