// The flags of both daemons that say where the configuration store is (common/placement/store).
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace namdb::config {

struct StoreFlags {
  std::string location;  // empty: there is none
  // With etcd.
  std::string authority;
  std::string certificate;
  std::string key;
  std::string user_file;
};

// `flags` outlives the app. `purpose`: of the store for this daemon.
void add_store_flags(CLI::App& app, StoreFlags& flags, const std::string& purpose);

// After parsing: the reason why the flags do not fit each other, or empty if they do.
std::string wrong_store_flags(const StoreFlags& flags);

}  // namespace namdb::config
