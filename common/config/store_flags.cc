#include "common/config/store_flags.h"

#include <CLI/CLI.hpp>

namespace namdb::config {

void add_store_flags(CLI::App& app, StoreFlags& flags, const std::string& purpose) {
  app.add_option("--configuration-store", flags.location, purpose)->type_name("STORE");
  app.add_option("--etcd-ca", flags.authority,
                 "With etcd: PEM file of the authority of its certificates; connections are encrypted")
      ->type_name("FILE");
  app.add_option("--etcd-cert", flags.certificate,
                 "With --etcd-ca: PEM file of the certificate that etcd is shown, with --etcd-key")
      ->type_name("FILE");
  app.add_option("--etcd-key", flags.key, "PEM file of the key of --etcd-cert")->type_name("FILE");
  app.add_option("--etcd-user", flags.user_file,
                 "With etcd: file of one line, USER:PASSWORD, mode 0600, for a user of etcd's")
      ->type_name("FILE");
}

std::string wrong_store_flags(const StoreFlags& flags) {
  const bool etcd = !flags.authority.empty() || !flags.certificate.empty() || !flags.key.empty() ||
                    !flags.user_file.empty();
  if (!flags.location.empty() || !etcd) return {};
  return "--etcd-ca, --etcd-cert, --etcd-key and --etcd-user go with --configuration-store etcd://...";
}

}  // namespace namdb::config
