// The rules by which namdb and PostgreSQL may answer differently, each with its test: both servers are asked
// again for what the rule says.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "tools/sqltest/generate/answers.h"
#include "tools/sqltest/generate/judgement.h"
#include "tools/sqltest/generate/tree.h"

namespace namdb::sqltest {

struct Asking {
  // Both answers: namdb's, then PostgreSQL's. Outside of blocks.
  std::function<std::pair<Answer, Answer>(const std::string& sql)> both;
  std::function<std::pair<Answer, Answer>(const std::string& sql)> describe;
};

// The rule that explains the difference.
std::optional<std::string> explain(const Tree& statement, const Asked& asked, const Answer& answer,
                                   const Answer& reference, const Asking& asking);

}  // namespace namdb::sqltest
