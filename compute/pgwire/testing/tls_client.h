// The client's end of TLS around a TestClient.
#pragma once

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <array>
#include <string>
#include <vector>

#include "compute/pgwire/testing/test_client.h"

namespace namdb::pgwire::testing {

class TlsClient {
 public:
  // `files`: its own certificate; none without one.
  explicit TlsClient(World& world, const tls::Files& files = {}) : client_(world) {
    context_ = ::SSL_CTX_new(::TLS_client_method());
    NAMDB_CHECK(context_ != nullptr);
    if (!files.certificate.empty()) {
      NAMDB_CHECK(::SSL_CTX_use_certificate_chain_file(context_, files.certificate.c_str()) == 1);
      NAMDB_CHECK(::SSL_CTX_use_PrivateKey_file(context_, files.key.c_str(), SSL_FILETYPE_PEM) == 1);
    }
    session_ = ::SSL_new(context_);
    incoming_ = ::BIO_new(::BIO_s_mem());
    outgoing_ = ::BIO_new(::BIO_s_mem());
    ::SSL_set_bio(session_, incoming_, outgoing_);
    ::SSL_set_connect_state(session_);
    client_.pipe().peer = "192.0.2.7:4000";
    client_.pipe().local = false;
  }
  ~TlsClient() {
    ::SSL_free(session_);
    ::SSL_CTX_free(context_);
  }
  TlsClient(const TlsClient&) = delete;
  TlsClient& operator=(const TlsClient&) = delete;

  // Asks for TLS; true when the server agrees.
  bool request() {
    client_.connect();
    client_.send(big_endian(8, 4) + big_endian(80'877'103, 4));
    const std::string answer = std::exchange(client_.pipe().to_client, {});
    NAMDB_CHECK(answer.size() == 1);
    return answer == "S";
  }
  // The bytes that TLS has to send next.
  std::string next_flight() {
    ::ERR_clear_error();
    done_ = ::SSL_do_handshake(session_) == 1;
    return take();
  }
  // Gives TLS what the server has sent.
  void receive_records() {
    const std::string bytes = std::exchange(client_.pipe().to_client, {});
    if (!bytes.empty()) ::BIO_write(incoming_, bytes.data(), static_cast<int>(bytes.size()));
  }
  bool handshake() {
    for (int flight = 0; flight < 5; ++flight) {
      const std::string bytes = next_flight();
      if (!bytes.empty()) client_.send(bytes);
      receive_records();
      if (done_ && bytes.empty()) break;
    }
    return done_;
  }
  // The plain text as bytes of TLS.
  std::string encrypt(const std::string& text) {
    NAMDB_CHECK(::SSL_write(session_, text.data(), static_cast<int>(text.size())) ==
                static_cast<int>(text.size()));
    return take();
  }
  std::vector<Received> receive() {
    receive_records();
    std::array<char, 4096> buffer;
    int got = 0;
    while ((got = ::SSL_read(session_, buffer.data(), static_cast<int>(buffer.size()))) > 0)
      text_.append(buffer.data(), static_cast<std::size_t>(got));
    ended_ = ::SSL_get_error(session_, got) == SSL_ERROR_ZERO_RETURN;
    return take_messages(text_);
  }
  std::vector<Received> ask(const std::string& bytes) {
    client_.send(encrypt(bytes));
    return receive();
  }
  // Ends TLS, and not the connection below it.
  void close_tls() {
    ::SSL_shutdown(session_);
    client_.send(take());
  }
  // The server has closed TLS, as it should before it closes the connection.
  bool ended() const { return ended_; }
  TestClient& below() { return client_; }
  ssl_st* session() { return session_; }

 private:
  std::string take() {
    char* bytes = nullptr;
    const long length = BIO_get_mem_data(outgoing_, &bytes);
    std::string taken(bytes, static_cast<std::size_t>(length));
    (void)BIO_reset(outgoing_);
    return taken;
  }

  TestClient client_;
  SSL_CTX* context_;
  SSL* session_;
  BIO* incoming_;
  BIO* outgoing_;
  bool done_ = false;
  bool ended_ = false;
  std::string text_;
};

}  // namespace namdb::pgwire::testing
