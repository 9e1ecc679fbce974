// A folder with an authority, and with certificates that it issues: for tests.
#pragma once

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "common/base/check.h"
#include "common/tls/context.h"

namespace namdb::tls::testing {

class CertificateFolder {
 public:
  CertificateFolder() {
    std::string path = (std::filesystem::temp_directory_path() / "namdb-certificates-XXXXXX").string();
    NAMDB_CHECK(::mkdtemp(path.data()) != nullptr);
    folder_ = path;
    authority_key_.reset(EVP_EC_gen("P-256"));
    authority_ = make("authority", authority_key_.get(), -kHour_s, kHour_s);
    write_certificate(authority(), authority_.get());
  }
  ~CertificateFolder() { std::filesystem::remove_all(folder_); }
  CertificateFolder(const CertificateFolder&) = delete;
  CertificateFolder& operator=(const CertificateFolder&) = delete;

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string authority() const { return path("authority.pem"); }
  // For that name, valid from and until so many seconds from now. The same name replaces the files.
  Files issue(const std::string& name, long begin_s = -kHour_s, long end_s = kHour_s) {
    const Key key(EVP_EC_gen("P-256"), ::EVP_PKEY_free);
    const Certificate certificate = make(name, key.get(), begin_s, end_s);
    Files files{path(name + ".pem"), path(name + ".key"), {}};
    write_certificate(files.certificate, certificate.get());
    std::FILE* file = std::fopen(files.key.c_str(), "w");
    NAMDB_CHECK(file != nullptr);
    NAMDB_CHECK(::PEM_write_PrivateKey(file, key.get(), nullptr, nullptr, 0, nullptr, nullptr) == 1);
    std::fclose(file);
    NAMDB_CHECK(::chmod(files.key.c_str(), 0600) == 0);
    return files;
  }

 private:
  using Key = std::unique_ptr<EVP_PKEY, decltype(&::EVP_PKEY_free)>;
  using Certificate = std::unique_ptr<X509, decltype(&::X509_free)>;
  static constexpr long kHour_s = 3600;

  Certificate make(const std::string& name, EVP_PKEY* key, long begin_s, long end_s) {
    Certificate certificate(::X509_new(), ::X509_free);
    ::X509_set_version(certificate.get(), 2);
    ::ASN1_INTEGER_set(::X509_get_serialNumber(certificate.get()), ++serial_);
    ::X509_gmtime_adj(::X509_getm_notBefore(certificate.get()), begin_s);
    ::X509_gmtime_adj(::X509_getm_notAfter(certificate.get()), end_s);
    ::X509_set_pubkey(certificate.get(), key);
    X509_NAME* subject = ::X509_get_subject_name(certificate.get());
    ::X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8,
                                 reinterpret_cast<const unsigned char*>(name.data()),
                                 static_cast<int>(name.size()), -1, 0);
    const bool is_authority = authority_ == nullptr;
    ::X509_set_issuer_name(certificate.get(),
                           is_authority ? subject : ::X509_get_subject_name(authority_.get()));
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    ::X509V3_set_ctx(&context, is_authority ? certificate.get() : authority_.get(), certificate.get(),
                     nullptr, nullptr, 0);
    X509_EXTENSION* constraint = ::X509V3_EXT_conf_nid(nullptr, &context, NID_basic_constraints,
                                                       is_authority ? "critical,CA:TRUE" : "CA:FALSE");
    NAMDB_CHECK(constraint != nullptr);
    ::X509_add_ext(certificate.get(), constraint, -1);
    ::X509_EXTENSION_free(constraint);
    NAMDB_CHECK(::X509_sign(certificate.get(), authority_key_.get(), ::EVP_sha256()) > 0);
    return certificate;
  }
  static void write_certificate(const std::string& path, X509* certificate) {
    std::FILE* file = std::fopen(path.c_str(), "w");
    NAMDB_CHECK(file != nullptr);
    NAMDB_CHECK(::PEM_write_X509(file, certificate) == 1);
    std::fclose(file);
  }

  std::filesystem::path folder_;
  Key authority_key_{nullptr, ::EVP_PKEY_free};
  Certificate authority_{nullptr, ::X509_free};
  long serial_ = 0;
};

}  // namespace namdb::tls::testing
