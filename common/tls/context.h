// The certificate and key that a server shows to clients over TLS, read from files once: new files are a
// new context, and connections keep the one that they began with. TLS 1.2 and 1.3, ciphers with forward
// secrecy, no compression, no resumption, no renegotiation.
#pragma once

#include <memory>
#include <string>

#include "common/base/error.h"

struct ssl_ctx_st;

namespace namdb::tls {

struct Files {
  std::string certificate;  // PEM, the server's own first, then those between it and the authority
  std::string key;          // PEM, without a passphrase
  std::string client_ca;    // PEM: the authorities of clients' certificates; empty: none is asked for
};

class Context {
 public:
  // Errors: configuration, for files that cannot be read, do not belong together, or whose certificate
  // has expired or is not valid yet; for a key that others than its owner, this user or root, can read
  // (root's may be readable by a group). Reads files: at the start and when told to.
  static Result<std::shared_ptr<const Context>> load(const Files& files);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // The certificate's hash for tls-server-end-point (RFC 5929), bytes; empty when it has none.
  const std::string& certificate_hash() const { return certificate_hash_; }
  bool asks_for_client_certificates() const { return asks_for_client_certificates_; }
  // For people: the certificate's subject, and when it expires.
  const std::string& description() const { return description_; }
  ssl_ctx_st* native() const { return native_; }

 private:
  explicit Context(ssl_ctx_st* native) : native_(native) {}
  Status read(const Files& files);
  Status inspect_certificate(const std::string& path);

  ssl_ctx_st* native_;
  std::string certificate_hash_;
  bool asks_for_client_certificates_ = false;
  std::string description_;
};

}  // namespace namdb::tls
