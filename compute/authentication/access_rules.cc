#include "compute/authentication/access_rules.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

#include "common/base/check.h"

namespace namdb::authentication {
namespace {

// A word of a rule: names between commas. Words in quotes are not keywords.
struct Name {
  std::string text;
  bool quoted = false;
};
using Word = std::vector<Name>;

Status wrong_rule(const std::string& rule, const std::string& reason) {
  return Status(ErrorCode::configuration, "access rule \"" + rule + "\": " + reason,
                "a rule is: local|host|hostssl|hostnossl DATABASE USER [ADDRESS] METHOD [OPTION]");
}

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

// nullopt: a quote is not closed.
std::optional<std::vector<Word>> split(std::string_view rule) {
  std::vector<Word> words;
  std::size_t at = 0;
  while (true) {
    while (at < rule.size() && is_blank(rule[at])) ++at;
    if (at == rule.size()) return words;
    Word word(1);
    bool open = false;
    for (; at < rule.size() && (open || !is_blank(rule[at])); ++at) {
      const char c = rule[at];
      if (c == '"') {
        open = !open;
        word.back().quoted = true;
      } else if (c == ',' && !open) {
        word.emplace_back();
      } else {
        word.back().text += c;
      }
    }
    if (open) return std::nullopt;
    words.push_back(std::move(word));
  }
}

bool is_keyword(const Word& word, std::string_view keyword) {
  return word.size() == 1 && !word[0].quoted && word[0].text == keyword;
}

// Empty when all are meant. The reason why the names cannot be used, or empty.
std::string read_names(const Word& word, AccessRule::Names& names) {
  for (const Name& name : word) {
    if (!name.quoted && name.text == "all") {
      names.clear();
      return {};
    }
    if (name.text.empty()) return "a name is missing";
    if (!name.quoted && (name.text[0] == '+' || name.text[0] == '@' || name.text[0] == '/'))
      return "names are given one by one, not as \"" + name.text + "\"";
    if (!name.quoted && (name.text == "sameuser" || name.text == "samerole" || name.text == "samegroup" ||
                         name.text == "replication"))
      return "\"" + name.text + "\" is not supported";
    names.push_back(name.text);
  }
  return {};
}

std::string read_network(const Word& word, AccessRule& rule) {
  if (is_keyword(word, "all")) return {};
  if (word.size() != 1) return "there is more than one address";
  const std::string_view text = word[0].text;
  const std::string wanted =
      "\"" + word[0].text + "\" is neither an address nor a network (ADDRESS/BITS) nor all";
  const std::size_t slash = text.find('/');
  rule.network = NetworkAddress::parse(text.substr(0, slash));
  if (!rule.network) return wanted;
  rule.network_bits = rule.network->bits();
  if (slash == std::string_view::npos) return {};
  const std::string_view digits = text.substr(slash + 1);
  std::uint32_t bits = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits);
  if (error != std::errc() || end != digits.data() + digits.size() || bits > rule.network_bits) return wanted;
  rule.network_bits = bits;
  return {};
}

std::optional<AccessRule::Kind> kind_of(const Word& word) {
  if (is_keyword(word, "local")) return AccessRule::Kind::local;
  if (is_keyword(word, "host")) return AccessRule::Kind::host;
  if (is_keyword(word, "hostssl")) return AccessRule::Kind::hostssl;
  if (is_keyword(word, "hostnossl")) return AccessRule::Kind::hostnossl;
  return std::nullopt;
}

std::optional<AccessMethod> method_of(const Word& word) {
  if (is_keyword(word, "trust")) return AccessMethod::trust;
  if (is_keyword(word, "reject")) return AccessMethod::reject;
  if (is_keyword(word, "scram-sha-256")) return AccessMethod::scram;
  if (is_keyword(word, "cert")) return AccessMethod::certificate;
  return std::nullopt;
}

Result<AccessRule> parse_rule(const std::string& text) {
  const std::optional<std::vector<Word>> words = split(text);
  if (!words) return wrong_rule(text, "a quote is not closed");
  if (words->empty()) return wrong_rule(text, "it is empty");
  AccessRule rule;
  const std::optional<AccessRule::Kind> kind = kind_of(words->front());
  if (!kind) return wrong_rule(text, "it begins with none of local, host, hostssl and hostnossl");
  rule.kind = *kind;
  const std::size_t method_at = rule.kind == AccessRule::Kind::local ? 3 : 4;
  if (words->size() <= method_at) return wrong_rule(text, "a field is missing");
  if (std::string reason = read_names((*words)[1], rule.databases); !reason.empty())
    return wrong_rule(text, reason);
  if (std::string reason = read_names((*words)[2], rule.users); !reason.empty())
    return wrong_rule(text, reason);
  if (method_at == 4) {
    if (std::string reason = read_network((*words)[3], rule); !reason.empty())
      return wrong_rule(text, reason);
  }
  const std::optional<AccessMethod> method = method_of((*words)[method_at]);
  if (!method) return wrong_rule(text, "the method is none of trust, reject, scram-sha-256 and cert");
  rule.method = *method;
  for (std::size_t i = method_at + 1; i < words->size(); ++i) {
    if (is_keyword((*words)[i], "clientcert=verify-ca")) {
      rule.client_certificate = ClientCertificate::verified;
    } else if (is_keyword((*words)[i], "clientcert=verify-full")) {
      rule.client_certificate = ClientCertificate::of_user;
    } else {
      return wrong_rule(text, "the only options are clientcert=verify-ca and clientcert=verify-full");
    }
  }
  if (rule.method == AccessMethod::certificate) rule.client_certificate = ClientCertificate::of_user;
  if (rule.client_certificate != ClientCertificate::any && rule.kind != AccessRule::Kind::hostssl)
    return wrong_rule(text, "certificates of clients are for hostssl only");
  return rule;
}

bool names_fit(const AccessRule::Names& names, std::string_view name) {
  return names.empty() || std::ranges::find(names, name) != names.end();
}

}  // namespace

std::optional<NetworkAddress> NetworkAddress::parse(std::string_view text) {
  const std::string plain(text.substr(0, text.find('%')));
  NetworkAddress address;
  if (::inet_pton(AF_INET, plain.c_str(), address.bytes_.data()) == 1) return address;
  address.is_ipv6_ = true;
  if (::inet_pton(AF_INET6, plain.c_str(), address.bytes_.data()) != 1) return std::nullopt;
  constexpr std::array<unsigned char, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (std::equal(kMapped.begin(), kMapped.end(), address.bytes_.begin())) {
    NetworkAddress within;
    std::copy_n(address.bytes_.begin() + kMapped.size(), 4, within.bytes_.begin());
    return within;
  }
  return address;
}

bool NetworkAddress::shares(const NetworkAddress& other, std::uint32_t bits) const {
  if (is_ipv6_ != other.is_ipv6_) return false;
  NAMDB_CHECK(bits <= this->bits());
  const std::size_t whole_bytes = bits / 8;
  if (std::memcmp(bytes_.data(), other.bytes_.data(), whole_bytes) != 0) return false;
  if (bits % 8 == 0) return true;
  const int unlike = bytes_[whole_bytes] ^ other.bytes_[whole_bytes];
  return unlike >> (8 - bits % 8) == 0;
}

bool AccessRule::fits(const AccessRequest& request) const {
  if (request.is_unix != (kind == Kind::local)) return false;
  if (kind == Kind::hostssl && !request.encrypted) return false;
  if (kind == Kind::hostnossl && request.encrypted) return false;
  if (network && (!request.address || !network->shares(*request.address, network_bits))) return false;
  return names_fit(databases, request.database) && names_fit(users, request.user);
}

Result<AccessRules> AccessRules::parse(std::span<const std::string> rules) {
  AccessRules result;
  for (const std::string& text : rules) {
    Result<AccessRule> rule = parse_rule(text);
    if (!rule.ok()) return rule.status();
    result.rules_.push_back(std::move(rule).value());
  }
  return result;
}

AccessRules AccessRules::standard(bool trust_remote) {
  const std::vector<std::string> rules{
      "local all all trust", "host all all 127.0.0.0/8 trust", "host all all ::1/128 trust",
      trust_remote ? "host all all all trust" : "host all all all scram-sha-256"};
  Result<AccessRules> parsed = parse(rules);
  NAMDB_CHECK(parsed.ok());
  return std::move(parsed).value();
}

const AccessRule* AccessRules::find(const AccessRequest& request) const {
  const auto found = std::ranges::find_if(rules_, [&](const AccessRule& rule) { return rule.fits(request); });
  return found == rules_.end() ? nullptr : &*found;
}

bool AccessRules::needs_tls() const {
  return std::ranges::any_of(rules_,
                             [](const AccessRule& rule) { return rule.kind == AccessRule::Kind::hostssl; });
}

bool AccessRules::needs_client_certificates() const {
  return std::ranges::any_of(
      rules_, [](const AccessRule& rule) { return rule.client_certificate != ClientCertificate::any; });
}

}  // namespace namdb::authentication
