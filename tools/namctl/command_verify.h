// `namctl verify`: reads the log and the checkpoints in a folder, and says what is wrong where.
#pragma once

#include <string>

namespace namdb::namctl {

// `folder` has `log` and `checkpoint`. Changes nothing. Exit code 1 when something is wrong.
int run_verify(const std::string& folder, bool json);

}  // namespace namdb::namctl
