#include "common/tls/server_stream.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <utility>

#include "common/base/check.h"

namespace namdb::tls {

using reactor::Task;

namespace {

// A record and what is around it.
constexpr std::size_t kReceive_bytes = 17 * 1024;

// A client that asks for new keys all the time, and reads no answer, is given up.
constexpr std::size_t kMaxAnswers_bytes = 64 * 1024;

BIO* make_memory() {
  BIO* memory = ::BIO_new(::BIO_s_mem());
  NAMDB_CHECK(memory != nullptr);
  // Empty is not an end.
  BIO_set_mem_eof_return(memory, -1);
  return memory;
}

}  // namespace

ServerStream::ServerStream(std::unique_ptr<reactor::ByteStream> below, std::shared_ptr<const Context> context)
    : below_(std::move(below)),
      context_(std::move(context)),
      session_(::SSL_new(context_->native())),
      incoming_(make_memory()),
      outgoing_(make_memory()),
      received_(kReceive_bytes) {
  NAMDB_CHECK(session_ != nullptr);
  ::SSL_set_bio(session_, incoming_, outgoing_);
  ::SSL_set_accept_state(session_);
}

ServerStream::~ServerStream() {
  ::SSL_free(session_);
}

std::size_t ServerStream::send_records() {
  char* bytes = nullptr;
  const long length = BIO_get_mem_data(outgoing_, &bytes);
  if (length <= 0) return 0;
  below_->write({bytes, static_cast<std::size_t>(length)});
  (void)BIO_reset(outgoing_);
  return static_cast<std::size_t>(length);
}

Task<Result<bool>> ServerStream::receive_records() {
  Result<std::size_t> got = co_await below_->read_some(received_.data(), received_.size());
  if (!got.ok()) co_return got.status();
  if (*got == 0) {
    ended_ = true;
    co_return false;
  }
  NAMDB_CHECK(::BIO_write(incoming_, received_.data(), static_cast<int>(*got)) == static_cast<int>(*got));
  co_return true;
}

Status ServerStream::failure(const char* during) {
  failed_ = true;
  const char* reason = ::ERR_reason_error_string(::ERR_peek_error());
  ::ERR_clear_error();
  return Status(ErrorCode::protocol_violation,
                std::string(during) + ": " + (reason == nullptr ? "unknown error" : reason));
}

Task<Status> ServerStream::handshake() {
  while (true) {
    ::ERR_clear_error();
    const int result = ::SSL_accept(session_);
    send_records();
    if (result == 1) co_return Status();
    if (::SSL_get_error(session_, result) != SSL_ERROR_WANT_READ) co_return failure("TLS handshake");
    const Result<bool> more = co_await receive_records();
    if (!more.ok()) co_return more.status();
    if (!*more) co_return Status(ErrorCode::connection_failure, "the client has left amid the TLS handshake");
  }
}

bool ServerStream::has_client_certificate() const {
  // Those that are not of the authorities have ended the handshake.
  return ::SSL_get0_peer_certificate(session_) != nullptr && ::SSL_get_verify_result(session_) == X509_V_OK;
}

std::optional<std::string> ServerStream::client_name() const {
  if (!has_client_certificate()) return std::nullopt;
  X509_NAME* subject = ::X509_get_subject_name(::SSL_get0_peer_certificate(session_));
  const int at = ::X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (at < 0) return std::nullopt;
  unsigned char* text = nullptr;
  const int length =
      ::ASN1_STRING_to_UTF8(&text, ::X509_NAME_ENTRY_get_data(::X509_NAME_get_entry(subject, at)));
  if (length < 0) return std::nullopt;
  std::string name(reinterpret_cast<const char*>(text), static_cast<std::size_t>(length));
  ::OPENSSL_free(text);
  // A zero byte would end the name for others who read the certificate.
  if (name.empty() || name.find('\0') != std::string::npos) return std::nullopt;
  return name;
}

Task<Result<std::size_t>> ServerStream::read_some(char* buffer, std::size_t length_bytes) {
  NAMDB_CHECK(length_bytes != 0);
  while (true) {
    if (failed_) co_return Status(ErrorCode::connection_failure, "the TLS connection is broken");
    if (below_->closed()) co_return Status(ErrorCode::connection_failure, "the connection is closed");
    if (below_->unsent_bytes() == 0) answers_bytes_ = 0;
    std::size_t filled_bytes = 0;
    int error = SSL_ERROR_NONE;
    // A record at a time.
    while (filled_bytes < length_bytes && error == SSL_ERROR_NONE) {
      ::ERR_clear_error();
      std::size_t got_bytes = 0;
      const int result =
          ::SSL_read_ex(session_, buffer + filled_bytes, length_bytes - filled_bytes, &got_bytes);
      if (result == 1) {
        filled_bytes += got_bytes;
      } else {
        error = ::SSL_get_error(session_, result);
      }
    }
    Status broken;
    if (error == SSL_ERROR_ZERO_RETURN) {
      ended_ = true;
    } else if (error != SSL_ERROR_NONE && error != SSL_ERROR_WANT_READ) {
      broken = failure("TLS");
    }
    // The answer to a change of keys, or why the connection breaks.
    answers_bytes_ += send_records();
    if (answers_bytes_ > kMaxAnswers_bytes) {
      failed_ = true;
      below_->close();
      co_return Status(ErrorCode::connection_failure, "the client does not read what TLS answers");
    }
    if (filled_bytes != 0) co_return filled_bytes;
    if (!broken.ok()) co_return Status(ErrorCode::connection_failure, broken.message());
    if (ended_) co_return std::size_t{0};
    const Result<bool> more = co_await receive_records();
    if (!more.ok()) co_return more.status();
    if (!*more) co_return std::size_t{0};
  }
}

void ServerStream::write(std::string_view bytes) {
  if (bytes.empty() || failed_ || write_shut_ || below_->closed()) return;
  // During the handshake the client cannot read it yet.
  if (::SSL_is_init_finished(session_) != 1) return;
  ::ERR_clear_error();
  std::size_t written_bytes = 0;
  if (::SSL_write_ex(session_, bytes.data(), bytes.size(), &written_bytes) != 1) {
    const Status lost = failure("TLS");
    below_->close();
    return;
  }
  NAMDB_CHECK(written_bytes == bytes.size());
  send_records();
}

void ServerStream::shutdown_write() {
  if (write_shut_) return;
  write_shut_ = true;
  if (!failed_ && ::SSL_is_init_finished(session_) == 1) {
    ::ERR_clear_error();
    (void)::SSL_shutdown(session_);
    send_records();
  }
  below_->shutdown_write();
}

}  // namespace namdb::tls
