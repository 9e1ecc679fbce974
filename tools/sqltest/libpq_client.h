// Runs a corpus against a server, through libpq.
#pragma once

#include <memory>
#include <string>

#include "tools/sqltest/corpus.h"

namespace namdb::sqltest {

// `connection` as libpq takes it: "host=... port=... dbname=...". Null when it cannot connect; `why` says
// why.
std::unique_ptr<Client> connect_libpq(const std::string& connection, std::string& why);

}  // namespace namdb::sqltest
