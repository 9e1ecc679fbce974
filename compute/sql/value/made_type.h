// Types that statements make, enumerations and arrays of them, as numbers: of an identity in the catalog, and
// for clients. enumeration.h has what is known of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace namdb::sql {

enum class TypeId : std::uint32_t;

// Behind those of all other types.
inline constexpr std::uint32_t kFirstMadeType = 1 << 16;
inline bool is_made(TypeId type) {
  return static_cast<std::uint32_t>(type) >= kFirstMadeType;
}
// The type of the enumeration with that id.
inline TypeId enumeration_type(std::uint32_t id) {
  return static_cast<TypeId>(kFirstMadeType + id * 2);
}
inline std::uint32_t enumeration_id(TypeId made) {
  return (static_cast<std::uint32_t>(made) - kFirstMadeType) / 2;
}
inline bool is_array_of_made(TypeId made) {
  return (static_cast<std::uint32_t>(made) - kFirstMadeType) % 2 != 0;
}
inline TypeId array_of_made(TypeId enumeration) {
  return static_cast<TypeId>(static_cast<std::uint32_t>(enumeration) + 1);
}

// The identity for clients of an object with that id in the catalog; `kind`, below 3, is for objects that
// have several. Identities do not collide until a cluster has made half a billion objects.
inline constexpr std::uint32_t kFirstStoredOid = 16'384;  // those below are PostgreSQL's own
inline constexpr std::uint32_t kFirstNamedOid = 0x8000'0000;
std::uint32_t stored_oid(std::uint32_t id, std::uint32_t kind);
// The type that has the identity, if it is one of an enumeration, or of an array of one.
std::optional<TypeId> made_type(std::uint32_t oid);

struct MadeTypeNames {
  std::string_view shown;
  std::string_view internal;
};
// Valid for ever.
MadeTypeNames made_type_names(TypeId made);
bool is_known(TypeId made);

}  // namespace namdb::sql
