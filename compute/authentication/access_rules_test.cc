#include "compute/authentication/access_rules.h"

#include <catch2/catch.hpp>

namespace namdb::authentication {
namespace {

AccessRequest request_of(std::string_view address, std::string_view user = "u", bool encrypted = false) {
  AccessRequest request;
  request.is_unix = address == "unix";
  request.address = NetworkAddress::parse(address);
  request.encrypted = encrypted;
  request.database = "namdb";
  request.user = user;
  return request;
}

AccessRules rules_of(const std::vector<std::string>& texts) {
  auto rules = AccessRules::parse(texts);
  REQUIRE(rules.ok());
  return *rules;
}

bool fits(const std::string& rule, const AccessRequest& request) {
  return rules_of({rule}).find(request) != nullptr;
}

}  // namespace

TEST_CASE("The standard rules trust this machine, and want passwords of others", "[access_rules]") {
  const AccessRules rules = AccessRules::standard(false);
  for (const char* address : {"unix", "127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"})
    CHECK(rules.find(request_of(address))->method == AccessMethod::trust);
  for (const char* address : {"10.0.0.1", "128.0.0.1", "::2", "2001:db8::1", "::ffff:10.0.0.1", "unknown"})
    CHECK(rules.find(request_of(address))->method == AccessMethod::scram);
  CHECK(AccessRules::standard(true).find(request_of("10.0.0.1"))->method == AccessMethod::trust);
  CHECK_FALSE(rules.needs_tls());
}

TEST_CASE("The first rule that fits decides; without one nobody gets in", "[access_rules]") {
  const AccessRules rules =
      rules_of({"host all eve all reject", "hostssl namdb app,\"all\" 10.0.0.0/8 scram-sha-256",
                "host all app 10.1.0.0/16 trust"});
  CHECK(rules.find(request_of("10.1.2.3", "eve", true))->method == AccessMethod::reject);
  CHECK(rules.find(request_of("10.1.2.3", "app", true))->method == AccessMethod::scram);
  CHECK(rules.find(request_of("10.1.2.3", "app"))->method == AccessMethod::trust);
  CHECK(rules.find(request_of("10.2.2.3", "app")) == nullptr);
  CHECK(rules.find(request_of("10.1.2.3", "all", true)) != nullptr);
  CHECK(rules.find(request_of("10.1.2.3", "other", true)) == nullptr);
  CHECK(rules.find(request_of("unix", "app")) == nullptr);
  CHECK(rules.needs_tls());
  CHECK(AccessRules().find(request_of("127.0.0.1")) == nullptr);
}

TEST_CASE("Kinds of connections", "[access_rules]") {
  CHECK(fits("local all all trust", request_of("unix")));
  CHECK_FALSE(fits("local all all trust", request_of("127.0.0.1")));
  CHECK_FALSE(fits("host all all all trust", request_of("unix")));
  CHECK(fits("hostssl all all all trust", request_of("10.0.0.1", "u", true)));
  CHECK_FALSE(fits("hostssl all all all trust", request_of("10.0.0.1")));
  CHECK(fits("hostnossl all all all trust", request_of("10.0.0.1")));
  CHECK_FALSE(fits("hostnossl all all all trust", request_of("10.0.0.1", "u", true)));
}

TEST_CASE("Networks", "[access_rules]") {
  const auto within = [](const std::string& network, std::string_view address) {
    return fits("host all all " + network + " trust", request_of(address));
  };
  CHECK(within("10.0.0.1", "10.0.0.1"));
  CHECK_FALSE(within("10.0.0.1", "10.0.0.2"));
  CHECK(within("10.0.0.0/9", "10.127.255.255"));
  CHECK_FALSE(within("10.0.0.0/9", "10.128.0.0"));
  CHECK(within("10.0.0.7/31", "10.0.0.6"));
  CHECK(within("0.0.0.0/0", "255.1.2.3"));
  CHECK_FALSE(within("0.0.0.0/0", "2001:db8::1"));
  CHECK(within("::/0", "2001:db8::1"));
  CHECK_FALSE(within("::/0", "10.0.0.1"));
  CHECK(within("2001:db8::/33", "2001:db8:7fff::1"));
  CHECK_FALSE(within("2001:db8::/33", "2001:db8:8000::1"));
  CHECK(within("fe80::/10", "fe80::1%eth0"));
  CHECK(within("10.0.0.0/8", "::ffff:10.0.0.1"));
}

TEST_CASE("Names in quotes are meant as they stand", "[access_rules]") {
  CHECK(fits("local namdb \"a b,c\" trust", request_of("unix", "a b,c")));
  CHECK_FALSE(fits("local namdb \"all\" trust", request_of("unix")));
  CHECK(fits("local\tall  x,u\t trust ", request_of("unix")));
  CHECK_FALSE(fits("local other all trust", request_of("unix")));
}

TEST_CASE("Certificates of clients", "[access_rules]") {
  const AccessRules rules =
      rules_of({"hostssl all app all cert", "hostssl all a all scram-sha-256 clientcert=verify-ca",
                "hostssl all b all trust clientcert=verify-full", "hostssl all all all trust"});
  CHECK(rules.needs_client_certificates());
  CHECK(rules.find(request_of("::2", "app", true))->client_certificate == ClientCertificate::of_user);
  CHECK(rules.find(request_of("::2", "a", true))->client_certificate == ClientCertificate::verified);
  CHECK(rules.find(request_of("::2", "b", true))->client_certificate == ClientCertificate::of_user);
  CHECK(rules.find(request_of("::2", "c", true))->client_certificate == ClientCertificate::any);
}

TEST_CASE("Malformed rules are refused, with the rule in the message", "[access_rules]") {
  for (const char* text : {"",
                           "   ",
                           "all",
                           "host",
                           "host all all trust",
                           "host all all all",
                           "local all all all trust",
                           "Host all all all trust",
                           "\"host\" all all all trust",
                           "host all all 10.0.0.0/33 trust",
                           "host all all 10.0.0/8 trust",
                           "host all all 10.0.0.0/ trust",
                           "host all all 10.0.0.0/-1 trust",
                           "host all all ::1/129 trust",
                           "host all all example.com trust",
                           "host all all samenet trust",
                           "host all all all md5",
                           "host all all all ident",
                           "host all +group all trust",
                           "host all @file all trust",
                           "host sameuser all all trust",
                           "host replication all all trust",
                           "host all a,,b all trust",
                           "host all , all trust",
                           "host all \"u all trust",
                           "host all all all cert",
                           "host all all all trust clientcert=verify-ca",
                           "hostssl all all all trust map=x",
                           "local all all trust clientcert=verify-full",
                           "host all all 127.0.0.1 255.255.255.255 trust"}) {
    const auto rules = AccessRules::parse(std::vector<std::string>{text});
    INFO(text);
    REQUIRE_FALSE(rules.ok());
    CHECK(rules.status().code() == ErrorCode::configuration);
    CHECK_THAT(rules.status().message(), Catch::StartsWith("access rule \"" + std::string(text) + "\": "));
  }
}

}  // namespace namdb::authentication
