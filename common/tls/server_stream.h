// The server's end of a TLS connection, as a byte stream on top of another one. Records pass through
// memory, so nothing here blocks. All that is written in one turn leaves in one send, as from the stream
// below. The contract is stream.h's.
//
// A client that ends its TCP connection without closing TLS before reads as an end, not as an error: the
// protocol above knows when a client has not finished.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/reactor/stream.h"
#include "common/tls/context.h"

struct bio_st;
struct ssl_st;

namespace namdb::tls {

class ServerStream final : public reactor::ByteStream {
 public:
  // The client's next byte below is the first of TLS.
  ServerStream(std::unique_ptr<reactor::ByteStream> below, std::shared_ptr<const Context> context);
  ~ServerStream() override;

  // Once, before anything is read or written. Errors: connection_failure, when the client has left;
  // protocol_violation, when it does not speak TLS, or is refused. It has been told then as TLS does.
  reactor::Task<Status> handshake();
  const Context& context() const { return *context_; }
  // After the handshake: the client has shown a certificate of one of the authorities.
  bool has_client_certificate() const;
  // Its common name; nullopt: there is no certificate, or none in it, or one that is not plain text.
  std::optional<std::string> client_name() const;

  reactor::Task<Result<std::size_t>> read_some(char* buffer, std::size_t length_bytes) override;
  // Before the end of the handshake the bytes are dropped.
  void write(std::string_view bytes) override;
  std::size_t unsent_bytes() const override { return below_->unsent_bytes(); }
  reactor::Task<Status> drain(std::size_t at_most_bytes) override { return below_->drain(at_most_bytes); }
  void shutdown_write() override;
  void close() override { below_->close(); }
  bool closed() const override { return below_->closed(); }
  bool peer_gone() const override { return failed_ || ended_ || below_->peer_gone(); }
  const std::string& peer() const override { return below_->peer(); }
  bool peer_is_local() const override { return below_->peer_is_local(); }

 private:
  // Passes on what TLS has to send: how many bytes it is.
  std::size_t send_records();
  // Gives TLS more of what the client sends; false at its end.
  reactor::Task<Result<bool>> receive_records();
  Status failure(const char* during);

  std::unique_ptr<reactor::ByteStream> below_;
  std::shared_ptr<const Context> context_;
  ssl_st* session_;
  bio_st* incoming_;  // of the session
  bio_st* outgoing_;  // of the session
  std::vector<char> received_;
  std::size_t answers_bytes_ = 0;  // of TLS itself, since all that was written had left
  bool failed_ = false;
  bool ended_ = false;
  bool write_shut_ = false;
};

}  // namespace namdb::tls
