#include "memory/process/store_flags.h"

#include <CLI/CLI.hpp>
#include <string_view>

#include "common/placement/configuration.h"

namespace namdb::memory {
namespace {

// Others cannot connect to it.
bool is_wildcard(std::string_view address) {
  return address.starts_with("0.0.0.0:") || address.starts_with("[::]:") || address.starts_with(":") ||
         (!address.starts_with("unix:") && address.ends_with(":0"));
}

}  // namespace

void add_store_flags(CLI::App& app, StoreFlags& flags) {
  config::add_store_flags(
      app, flags.where,
      "Where it is decided which host has which region, the same on all memory servers:\n"
      "file:FOLDER, for hosts of one machine, or etcd://HOST:PORT[,HOST:PORT...]/NAME. Needed\n"
      "for copies of regions and fail-over, with --durability flushed");
  app.add_option("--copies", flags.copies,
                 "Hosts that are to have each region, its primary included. namctl status and the metrics\n"
                 "say if there are fewer; hosts with --join become copies")
      ->check(CLI::Range(1, static_cast<int>(placement::kMaxCopies) + 1))
      ->capture_default_str();
  app.add_flag("--copy-applies,!--no-copy-applies", flags.copy_applies,
               "A copy keeps its region in memory, --region-bytes and all, and applies the log to it as it\n"
               "comes: it takes over quickly. Without: like a restart, and it needs no memory before")
      ->capture_default_str();
  app.add_option("--address", flags.address,
                 "With --configuration-store: the address by which others reach this host. Default: --listen")
      ->type_name("ADDRESS");
}

std::string wrong_store_flags(StoreFlags& flags, bool flushed, const std::string& listen) {
  if (!flags.has_store()) {
    if (flags.copies > 1)
      return "--copies needs --configuration-store, which decides which of them has the region";
    if (std::string message = config::wrong_store_flags(flags.where); !message.empty()) return message;
    if (!flags.address.empty()) return "--address goes with --configuration-store";
    return {};
  }
  if (!flushed) {
    return "--configuration-store is for --durability flushed: at level memory there is nothing that another "
           "host could go on with";
  }
  const auto store = placement::make_store(flags.options());
  if (!store.ok()) return "--configuration-store: " + store.status().message();
  if (flags.address.empty()) flags.address = listen;
  if (is_wildcard(flags.address)) {
    return "--configuration-store needs the address by which others reach this host: give --address, "
           "since " +
           flags.address + " names no host";
  }
  return {};
}

}  // namespace namdb::memory
