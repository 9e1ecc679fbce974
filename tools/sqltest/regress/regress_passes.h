// The kept list of statements of PostgreSQL's regression scripts that namdb answers as PostgreSQL does. A
// line has a file's name, the number of its statements, and the numbers of those that are answered alike:
//
//   boolean 98 1-38,40-98
//
// The numbers belong to one release of PostgreSQL: where the number of statements is another, the file is not
// compared.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "common/base/error.h"

namespace namdb::sqltest {

struct RegressPasses {
  std::size_t statements = 0;
  std::set<std::size_t> same;
};

using RegressPassList = std::map<std::string, RegressPasses>;

// Lines that begin with # are comments. Error configuration, with the line.
Result<RegressPassList> parse_passes(std::string_view text);
std::string passes_text(const RegressPassList& list);

}  // namespace namdb::sqltest
