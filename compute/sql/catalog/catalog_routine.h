// A procedure or function as the system catalogs show it: one that is written in SQL, or one of a library.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compute/sql/value/types.h"

namespace namdb::sql {

inline constexpr Oid kLanguageInternalOid = 12;
inline constexpr Oid kLanguageCOid = 13;
inline constexpr Oid kLanguageSqlOid = 14;
inline constexpr Oid kLanguagePlpgsqlOid = 13'575;
inline constexpr Oid kVoidOid = 2278;
inline constexpr Oid kRecordOid = 2249;

struct CatalogRoutine {
  struct Parameter {
    std::string name;  // empty: it has none
    TypeId type = TypeId::unknown;
    char mode = 'i';  // as pg_proc.proargmodes has it: i, o, b (INOUT), t (TABLE)

    bool is_input() const { return mode == 'i' || mode == 'b'; }
  };

  Oid oid = 0;
  std::string name;
  char kind = 'f';  // f, or p (a procedure)
  Oid language = kLanguageSqlOid;
  double cost = 100;
  double rows = 0;
  bool is_strict = false;
  bool returns_set = false;
  char volatility = 'v';  // i, s, v
  char parallel = 'u';    // s, r, u
  Oid result = kVoidOid;
  std::vector<Parameter> parameters;
  std::uint16_t defaults = 0;  // of the last parameters
  std::string source;
  // As PostgreSQL's functions of these names give them.
  std::string arguments;
  std::string identity_arguments;
  std::string result_text;  // empty: a procedure's
  std::string definition;
};

}  // namespace namdb::sql
