// The flags of nam-memoryd about copies of its region, and the configuration store that decides which host
// has it.
#pragma once

#include <cstdint>
#include <string>

#include "common/config/store_flags.h"
#include "common/placement/store/open_store.h"

namespace CLI {
class App;
}

namespace namdb::memory {

struct StoreFlags {
  config::StoreFlags where;
  // Hosts that are to have each region, its primary included.
  std::uint32_t copies = 1;
  // A copy keeps its region in memory.
  bool copy_applies = true;
  // The address by which others reach this host. With a store never empty after parsing.
  std::string address;
  // --server-id was given: with `join` the host follows that region from its start.
  bool server_named = false;

  bool has_store() const { return !where.location.empty(); }
  placement::StoreOptions options() const {
    return {where.location, {where.authority, where.certificate, where.key}, where.user_file};
  }
};

// `flags` outlives the app.
void add_store_flags(CLI::App& app, StoreFlags& flags);

// After parsing, with what other flags say: the reason why they do not fit, or empty. Takes the address from
// `listen` if there is none.
std::string wrong_store_flags(StoreFlags& flags, bool flushed, const std::string& listen);

}  // namespace namdb::memory
