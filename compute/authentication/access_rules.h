// Rules of who may connect, in the form of PostgreSQL's pg_hba.conf, a text each:
//
//   local                    DATABASE USER         METHOD             over the unix socket
//   host|hostssl|hostnossl   DATABASE USER ADDRESS METHOD [OPTION]    over TCP: any, with TLS, without TLS
//
// DATABASE and USER: `all`, or names with commas between them; a name in double quotes is meant as it stands.
// ADDRESS: `all`, an address, or a network as ADDRESS/BITS. METHOD: trust, reject, scram-sha-256, or cert (a
// certificate with the user's name, which hostssl only has). OPTION: clientcert=verify-ca or
// clientcert=verify-full, with hostssl. The first rule that fits a connection decides; none: it is refused.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"

namespace namdb::authentication {

// An IPv4 or IPv6 address; IPv4 within IPv6 (::ffff:1.2.3.4) is IPv4.
class NetworkAddress {
 public:
  // Without brackets; a zone (`%eth0`) is left out. nullopt: the address is malformed.
  static std::optional<NetworkAddress> parse(std::string_view text);
  std::uint32_t bits() const { return is_ipv6_ ? 128 : 32; }
  // Whether the first `bits` bits are those of the other one, which has as many.
  bool shares(const NetworkAddress& other, std::uint32_t bits) const;

 private:
  bool is_ipv6_ = false;
  std::array<unsigned char, 16> bytes_{};
};

enum class AccessMethod : std::uint8_t { trust, reject, scram, certificate };
// The certificate that a client must have, besides the method.
enum class ClientCertificate : std::uint8_t { any, verified, of_user };

// A client that has told its name.
struct AccessRequest {
  bool is_unix = false;
  std::optional<NetworkAddress> address;  // nullopt: a unix socket, or not known
  bool encrypted = false;
  std::string_view database;
  std::string_view user;
};

struct AccessRule {
  enum class Kind : std::uint8_t { local, host, hostssl, hostnossl };
  // Empty: all.
  using Names = std::vector<std::string>;

  Kind kind = Kind::host;
  Names databases;
  Names users;
  std::optional<NetworkAddress> network;  // nullopt: all
  std::uint32_t network_bits = 0;
  AccessMethod method = AccessMethod::reject;
  ClientCertificate client_certificate = ClientCertificate::any;

  bool fits(const AccessRequest& request) const;
};

class AccessRules {
 public:
  // Errors: configuration; the message has the rule.
  static Result<AccessRules> parse(std::span<const std::string> rules);
  // Those that hold where none are given: trust for clients of this machine, a password of others; with
  // `trust_remote` trust for all.
  static AccessRules standard(bool trust_remote);

  // nullptr: no rule fits.
  const AccessRule* find(const AccessRequest& request) const;
  // Some rule fits connections with TLS only, or asks for certificates of clients.
  bool needs_tls() const;
  bool needs_client_certificates() const;

 private:
  std::vector<AccessRule> rules_;
};

}  // namespace namdb::authentication
