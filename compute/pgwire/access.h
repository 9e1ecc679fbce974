// The rules and certificates for clients that connect.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/tls/context.h"
#include "compute/authentication/access_rules.h"

namespace namdb::pgwire {

// Replaced as a whole when the configuration is read again. A connection goes by the one of its begin.
struct Access {
  authentication::AccessRules rules = authentication::AccessRules::standard(false);
  std::shared_ptr<const tls::Context> tls;  // null: an SSL request is answered with "no"
};

struct AccessOptions {
  std::vector<std::string> rules;  // empty: the standard ones
  bool trust_remote = false;       // in the standard ones
  tls::Files tls;                  // without a certificate: no TLS
};

// Reads the files of certificates. Errors: configuration.
Result<std::shared_ptr<const Access>> make_access(const AccessOptions& options);
// For people: the certificate, if there is one.
std::string describe(const Access& access);

}  // namespace namdb::pgwire
