#include "common/config/encryption_flag.h"

#include <CLI/CLI.hpp>

namespace namdb::config {

void add_encryption_flag(CLI::App& app, std::string& value) {
  app.add_option("--fabric-encryption", value,
                 "With --fabric tcp, of connections to other daemons. auto: those to other machines are\n"
                 "encrypted, where there is a --cluster-key; required: all are; off: none is. The same on\n"
                 "all daemons: one that encrypts talks to none that does not")
      ->check(CLI::IsMember({"auto", "off", "required"}))
      ->capture_default_str();
}

std::string wrong_encryption(const std::string& value, const std::string& fabric, bool has_key) {
  if (value != "required") return {};
  if (fabric == "verbs") {
    return "--fabric-encryption required: --fabric verbs cannot encrypt, since cards read and write memory "
           "themselves; take --fabric tcp, or have the network encrypt (MACsec)";
  }
  if (fabric == "tcp" && !has_key)
    return "--fabric-encryption required needs --cluster-key: keys of connections are made of it";
  return {};
}

}  // namespace namdb::config
