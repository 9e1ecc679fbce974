#include "common/tls/context.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "common/base/check.h"

namespace namdb::tls {
namespace {

constexpr const char* kCiphersOfTls12 = "ECDHE+AESGCM:ECDHE+CHACHA20:DHE+AESGCM";

Status wrong_file(const std::string& what, const std::string& path) {
  const bool readable = ::access(path.c_str(), R_OK) == 0;
  const char* reason = readable ? ::ERR_reason_error_string(::ERR_peek_error()) : std::strerror(errno);
  ::ERR_clear_error();
  return Status(ErrorCode::configuration,
                what + " " + path + ": " + (reason == nullptr ? "cannot be used" : reason));
}

// No prompt: a key with a passphrase is refused.
int no_passphrase(char*, int, int, void*) {
  return -1;
}

Status check_owner(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0)
    return Status(ErrorCode::configuration, "TLS key " + path + ": " + std::strerror(errno));
  const bool of_root = info.st_uid == 0;
  const mode_t others = of_root ? 0027 : 0077;
  if (!S_ISREG(info.st_mode) || (info.st_uid != ::geteuid() && !of_root) || (info.st_mode & others) != 0) {
    return Status(ErrorCode::configuration, "TLS key " + path + " can be read by others than its owner",
                  "chmod 0600 " + path + ", or 0640 where root owns it");
  }
  return {};
}

std::string text_of(BIO* bio) {
  char* bytes = nullptr;
  const long length = BIO_get_mem_data(bio, &bytes);
  return {bytes, static_cast<std::size_t>(length)};
}

std::string subject_of(X509* certificate) {
  const std::unique_ptr<BIO, decltype(&::BIO_free)> bio(::BIO_new(::BIO_s_mem()), ::BIO_free);
  NAMDB_CHECK(bio != nullptr);
  ::X509_NAME_print_ex(bio.get(), ::X509_get_subject_name(certificate), 0,
                       XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB);
  return text_of(bio.get());
}

std::string time_of(const ASN1_TIME* time) {
  const std::unique_ptr<BIO, decltype(&::BIO_free)> bio(::BIO_new(::BIO_s_mem()), ::BIO_free);
  NAMDB_CHECK(bio != nullptr);
  ::ASN1_TIME_print(bio.get(), time);
  return text_of(bio.get());
}

// By the hash of its signature, but SHA-256 where that is MD5 or SHA-1. Empty: the signature has no hash.
std::string hash_of(X509* certificate) {
  int digest_number = NID_undef;
  if (::X509_get_signature_info(certificate, &digest_number, nullptr, nullptr, nullptr) != 1) return {};
  if (digest_number == NID_undef) return {};
  if (digest_number == NID_md5 || digest_number == NID_sha1) digest_number = NID_sha256;
  const EVP_MD* digest = ::EVP_get_digestbynid(digest_number);
  if (digest == nullptr) return {};
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes;
  unsigned length = 0;
  if (::X509_digest(certificate, digest, bytes.data(), &length) != 1) return {};
  return {reinterpret_cast<const char*>(bytes.data()), length};
}

}  // namespace

Context::~Context() {
  ::SSL_CTX_free(native_);
}

Result<std::shared_ptr<const Context>> Context::load(const Files& files) {
  ::ERR_clear_error();
  SSL_CTX* native = ::SSL_CTX_new(::TLS_server_method());
  if (native == nullptr) return Status(ErrorCode::configuration, "TLS is not available on this machine");
  std::shared_ptr<Context> context(new Context(native));
  if (Status status = context->read(files); !status.ok()) return status;
  return std::shared_ptr<const Context>(std::move(context));
}

Status Context::read(const Files& files) {
  NAMDB_CHECK(::SSL_CTX_set_min_proto_version(native_, TLS1_2_VERSION) == 1);
  NAMDB_CHECK(::SSL_CTX_set_cipher_list(native_, kCiphersOfTls12) == 1);
  ::SSL_CTX_set_options(native_, SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION |
                                     SSL_OP_CIPHER_SERVER_PREFERENCE);
  ::SSL_CTX_set_num_tickets(native_, 0);
  ::SSL_CTX_set_session_cache_mode(native_, SSL_SESS_CACHE_OFF);
  ::SSL_CTX_set_mode(native_, SSL_MODE_RELEASE_BUFFERS);
  ::SSL_CTX_set_dh_auto(native_, 1);
  ::SSL_CTX_set_default_passwd_cb(native_, no_passphrase);

  if (::SSL_CTX_use_certificate_chain_file(native_, files.certificate.c_str()) != 1)
    return wrong_file("TLS certificate", files.certificate);
  if (Status status = check_owner(files.key); !status.ok()) return status;
  // Compares it with the certificate.
  if (::SSL_CTX_use_PrivateKey_file(native_, files.key.c_str(), SSL_FILETYPE_PEM) != 1 ||
      ::SSL_CTX_check_private_key(native_) != 1)
    return wrong_file("TLS key", files.key);
  if (!files.client_ca.empty()) {
    STACK_OF(X509_NAME)* names = ::SSL_load_client_CA_file(files.client_ca.c_str());
    if (names == nullptr || ::SSL_CTX_load_verify_file(native_, files.client_ca.c_str()) != 1) {
      sk_X509_NAME_pop_free(names, ::X509_NAME_free);
      return wrong_file("authorities of clients", files.client_ca);
    }
    ::SSL_CTX_set_client_CA_list(native_, names);
    ::SSL_CTX_set_verify(native_, SSL_VERIFY_PEER | SSL_VERIFY_CLIENT_ONCE, nullptr);
    asks_for_client_certificates_ = true;
  }
  return inspect_certificate(files.certificate);
}

Status Context::inspect_certificate(const std::string& path) {
  X509* certificate = ::SSL_CTX_get0_certificate(native_);
  NAMDB_CHECK(certificate != nullptr);
  const ASN1_TIME* begin = ::X509_get0_notBefore(certificate);
  const ASN1_TIME* end = ::X509_get0_notAfter(certificate);
  if (::X509_cmp_current_time(end) <= 0)
    return Status(ErrorCode::configuration, "TLS certificate " + path + " has expired at " + time_of(end));
  if (::X509_cmp_current_time(begin) > 0)
    return Status(ErrorCode::configuration,
                  "TLS certificate " + path + " is not valid before " + time_of(begin));
  certificate_hash_ = hash_of(certificate);
  description_ = subject_of(certificate) + ", until " + time_of(end);
  return {};
}

}  // namespace namdb::tls
