#include "compute/pgwire/access.h"

#include <utility>

namespace namdb::pgwire {

Result<std::shared_ptr<const Access>> make_access(const AccessOptions& options) {
  auto access = std::make_shared<Access>();
  access->rules = authentication::AccessRules::standard(options.trust_remote);
  if (!options.rules.empty()) {
    auto rules = authentication::AccessRules::parse(options.rules);
    if (!rules.ok()) return rules.status();
    access->rules = std::move(rules).value();
  }
  if (!options.tls.certificate.empty()) {
    auto context = tls::Context::load(options.tls);
    if (!context.ok()) return context.status();
    access->tls = std::move(context).value();
  }
  return std::shared_ptr<const Access>(std::move(access));
}

std::string describe(const Access& access) {
  if (access.tls == nullptr) return "SQL clients do not use TLS";
  return "SQL clients may use TLS, with the certificate of " + access.tls->description();
}

}  // namespace namdb::pgwire
