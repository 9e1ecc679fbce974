#include "common/tls/context.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <fstream>

#include "common/tls/testing/certificates.h"

namespace namdb::tls {

using testing::CertificateFolder;

namespace {

std::string refusal(const Files& files) {
  const auto context = Context::load(files);
  REQUIRE_FALSE(context.ok());
  CHECK(context.status().code() == ErrorCode::configuration);
  return context.status().message();
}

}  // namespace

TEST_CASE("A certificate with its key is loaded", "[tls]") {
  CertificateFolder folder;
  Files files = folder.issue("db.example");
  const auto context = Context::load(files);
  REQUIRE(context.ok());
  CHECK((*context)->certificate_hash().size() == 32);  // SHA-256, as it is signed
  CHECK_FALSE((*context)->asks_for_client_certificates());
  CHECK_THAT((*context)->description(), Catch::StartsWith("CN=db.example, until "));
  files.client_ca = folder.authority();
  const auto asking = Context::load(files);
  REQUIRE(asking.ok());
  CHECK((*asking)->asks_for_client_certificates());
  CHECK((*asking)->certificate_hash() == (*context)->certificate_hash());
}

TEST_CASE("Files that cannot be used are refused by name", "[tls]") {
  CertificateFolder folder;
  const Files good = folder.issue("db.example");
  const Files other = folder.issue("other.example");
  const std::string none = folder.path("none");
  CHECK_THAT(refusal({none, good.key, {}}), Catch::Contains(none) && Catch::Contains("No such file"));
  CHECK_THAT(refusal({good.certificate, none, {}}), Catch::Contains(none) && Catch::Contains("No such file"));
  CHECK_THAT(refusal({good.certificate, good.key, none}), Catch::Contains(none));
  CHECK_THAT(refusal({good.certificate, other.key, {}}),
             Catch::Contains(other.key) && Catch::Contains("mismatch"));
  CHECK_THAT(refusal({good.key, good.key, {}}), Catch::Contains("TLS certificate " + good.key));
  std::ofstream(none) << "-----BEGIN CERTIFICATE-----\nnothing\n";
  CHECK_THAT(refusal({none, good.key, {}}), Catch::Contains(none));
  CHECK_THAT(refusal({good.certificate, good.key, none}), Catch::Contains(none));
}

TEST_CASE("A certificate is refused before and after its time", "[tls]") {
  CertificateFolder folder;
  CHECK_THAT(refusal(folder.issue("old", -7200, -60)), Catch::Contains("has expired at "));
  CHECK_THAT(refusal(folder.issue("new", 3600, 7200)), Catch::Contains("is not valid before "));
}

TEST_CASE("A key that others can read is refused", "[tls]") {
  CertificateFolder folder;
  const Files files = folder.issue("db.example");
  REQUIRE(::chmod(files.key.c_str(), 0604) == 0);
  CHECK_THAT(refusal(files), Catch::Contains("can be read by others"));
}

}  // namespace namdb::tls
