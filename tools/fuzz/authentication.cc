// The target `authentication`: messages of clients, and texts of administrators. The first byte of the input
// says which:
//   0   the two messages of a client in an exchange by SCRAM, with a zero byte between them
//   1   the same by SCRAM with channel binding, on a connection with TLS
//   2   the text of a verifier; one that is accepted is written again, and accepted as the same
//   3   rules of access, a line each, and a connection that is looked up in them
#include <string>
#include <vector>

#include "common/base/check.h"
#include "compute/authentication/access_rules.h"
#include "compute/authentication/scram_exchange.h"
#include "tools/fuzz/targets.h"

namespace namdb::fuzz {
namespace {

using namespace authentication;

void exchange(std::string_view messages, std::string_view mechanism, const std::string& certificate_hash) {
  static const ScramVerifier verifier = make_scram_verifier("secret", "0123456789abcdef", 1);
  ScramExchange scram(verifier, certificate_hash, "serverNonce");
  const std::size_t zero = messages.find('\0');
  const Result<std::string> first = scram.first(mechanism, messages.substr(0, zero));
  if (!first.ok() || zero == std::string_view::npos) return;
  // No input has the password's proof, which is of 32 bytes.
  (void)scram.last(messages.substr(zero + 1));
}

void read_verifier(std::string_view text) {
  const std::optional<ScramVerifier> verifier = parse_scram_verifier(text);
  if (!verifier) return;
  const std::optional<ScramVerifier> again = parse_scram_verifier(to_text(*verifier));
  NAMDB_CHECK(again && again->salt == verifier->salt && again->iterations == verifier->iterations &&
              again->stored_key == verifier->stored_key && again->server_key == verifier->server_key);
}

void read_rules(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  const Result<AccessRules> rules = AccessRules::parse(lines);
  if (!rules.ok()) return;
  for (const char* address : {"127.0.0.1", "::1", "192.0.2.7", "::ffff:10.1.2.3"}) {
    for (const bool encrypted : {false, true}) {
      AccessRequest request;
      request.address = NetworkAddress::parse(address);
      request.encrypted = encrypted;
      request.database = "namdb";
      request.user = "visitor";
      (void)rules->find(request);
      request.is_unix = true;
      (void)rules->find(request);
    }
  }
  if (!lines.empty()) (void)NetworkAddress::parse(lines.front());
}

}  // namespace

void run_authentication(Bytes input) {
  if (input.empty()) return;
  const std::string_view text = as_text(input.subspan(1));
  switch (input[0] % 4) {
    case 0:
      return exchange(text, kScram, "");
    case 1:
      return exchange(text, kScramPlus, "certificate hash of 32 bytes ....");
    case 2:
      return read_verifier(text);
    default:
      return read_rules(text);
  }
}

std::vector<std::string> authentication_inputs() {
  using namespace std::string_literals;
  std::vector<std::string> inputs = {
      "\0n,,n=,r=abc\0c=biws,r=abcserverNonce,p=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="s,
      "\0y,a=x,n=x,r=abc\0c=eSxhPXgs,r=abcserverNonce,p=AA=="s,
      "\1p=tls-server-end-point,,n=,r=abc\0c=cD10bHM=,r=abcserverNonce,p=AA=="s,
      "\2" + to_text(make_scram_verifier("secret", "0123456789abcdef", 4096)),
      "\3local all all trust\nhost all all 127.0.0.1/8 scram-sha-256\nhostssl \"namdb\",b visitor ::1/64 cert"s,
      "\3hostssl all all all scram-sha-256 clientcert=verify-full\nhostnossl all all ::ffff:10.0.0.0/104 reject"s,
  };
  return inputs;
}

}  // namespace namdb::fuzz
