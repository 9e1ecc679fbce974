// One POST to one HTTP server, blocking, on a connection of its own: a request without an answer is never
// sent again behind the caller's back.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace namdb::placement {

// Files in PEM. They are read for each connection, so that new ones are taken up.
struct TlsFiles {
  std::string authority;  // the issuer of servers' certificates; empty: no TLS
  std::string certificate;
  std::string key;  // of the certificate; both or none
};

struct HttpRequest {
  std::string endpoint;  // HOST:PORT
  std::string path;
  std::string authorization;  // the header's value, or empty
  std::string body;           // JSON
  std::uint64_t patience_ms = 1000;
};

struct HttpAnswer {
  int status = 0;  // 0: there is none
  std::string body;
  // Without a status:
  std::string error;
  bool sent = false;     // the server may have the request
  bool refuses = false;  // certificates do not fit, which does not mend itself
};

// Gives up soon after `stopping` is true.
HttpAnswer post(const HttpRequest& request, const TlsFiles& tls, const std::atomic<bool>& stopping);

}  // namespace namdb::placement
