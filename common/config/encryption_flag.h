// The flag of both daemons for encrypted connections between them (--fabric-encryption).
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace namdb::config {

// auto, off or required. `value` outlives the app.
void add_encryption_flag(CLI::App& app, std::string& value);

// After parsing: the reason why the value does not fit, or empty if it does.
std::string wrong_encryption(const std::string& value, const std::string& fabric, bool has_key);

}  // namespace namdb::config
