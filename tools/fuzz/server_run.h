// A server over a scene, and clients whose bytes are an input's. It ends the process if the server violates a
// rule that must hold for any input: no connection waits for ever, no statement runs on after it was
// canceled, every answer is a sequence of whole messages, and no memory and no transaction is left behind.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "compute/pgwire/server.h"
#include "compute/pgwire/testing/memory_stream.h"
#include "tools/fuzz/scene.h"

namespace namdb::fuzz {

class ServerRun {
 public:
  explicit ServerRun(Scene& scene, pgwire::Options options = {});
  // Stops the server.
  ~ServerRun();
  ServerRun(const ServerRun&) = delete;
  ServerRun& operator=(const ServerRun&) = delete;

  class Client {
   public:
    // Clients from another machine are asked for a password.
    enum class Origin : std::uint8_t { local, remote };
    Client(ServerRun& run, Origin origin, std::size_t read_limit = ~std::size_t{0});
    // A client of that user, ready for a query.
    Client(ServerRun& run, std::string_view user);
    // Sends the bytes, and runs the server until it waits for more. Statements that take too many turns are
    // canceled; then the connection breaks as well, where `patient` is false.
    void send(std::string_view bytes, bool patient);
    // The whole messages that have come since the last call.
    std::vector<pgwire::testing::Received> receive();
    // Drops all that has come.
    void forget_answers() { pipe_->to_client.clear(); }
    bool open() const { return !pipe_->server_closed && !pipe_->client_closed; }

   private:
    bool idle() const {
      return pipe_->server_closed || (pipe_->to_server.empty() && pipe_->arrived.has_waiters());
    }
    ServerRun& run_;
    std::shared_ptr<pgwire::testing::Pipe> pipe_;
  };

 private:
  void cancel_statements();

  Scene& scene_;
  pgwire::ProcessState process_;
  std::unique_ptr<pgwire::Server> server_;
};

}  // namespace namdb::fuzz
