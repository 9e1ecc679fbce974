// The server's side of an exchange by SCRAM-SHA-256 (RFC 5802, RFC 7677) or SCRAM-SHA-256-PLUS, which
// binds it to the TLS connection by the hash of the server's certificate (tls-server-end-point, RFC
// 5929). Messages go in and out as bytes; any content and any length is safe. A client cannot distinguish an
// unknown user from a wrong password: for an unknown user the caller passes a mock verifier.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "compute/authentication/scram.h"

namespace namdb::authentication {

inline constexpr std::string_view kScram = "SCRAM-SHA-256";
inline constexpr std::string_view kScramPlus = "SCRAM-SHA-256-PLUS";

class ScramExchange {
 public:
  // `certificate_hash` is empty without TLS, and when its certificate has no hash: then there is no
  // binding.
  ScramExchange(ScramVerifier verifier, std::string certificate_hash);
  // With that nonce of the server, for tests.
  ScramExchange(ScramVerifier verifier, std::string certificate_hash, std::string server_nonce);

  // The mechanisms to offer, the best first.
  std::vector<std::string_view> mechanisms() const;

  // Takes client-first-message and gives server-first-message. Errors: protocol_violation,
  // feature_not_supported; invalid_authorization if an attacker has removed the binding from the offer.
  Result<std::string> first(std::string_view mechanism, std::string_view message);
  // Takes client-final-message and gives server-final-message, when the password is right. Once, after a
  // first() that was ok. Errors: protocol_violation; invalid_password.
  Result<std::string> last(std::string_view message);

 private:
  Result<std::string_view> take_header(std::string_view& message);

  ScramVerifier verifier_;
  std::string certificate_hash_;
  std::string server_nonce_;
  bool bound_ = false;
  std::string header_;        // gs2-header, as the client has sent it
  std::string client_first_;  // client-first-message-bare
  std::string server_first_;
  std::string nonce_;  // of both sides
};

}  // namespace namdb::authentication
