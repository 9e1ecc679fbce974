// One client's connection: start-up, then messages until it ends. Everything that has arrived is worked off
// in order, and the answers leave together.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/reactor/executor.h"
#include "common/reactor/stream.h"
#include "compute/pgwire/codec.h"
#include "compute/pgwire/output.h"
#include "compute/pgwire/process_state.h"
#include "compute/sql/session.h"

namespace namdb::pgwire {

class Connection {
 public:
  Connection(std::unique_ptr<reactor::ByteStream> stream, sql::Environment& environment,
             ProcessState& process);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Until the client leaves, an error ends it, or the server stops. The transaction that is open then is
  // rolled back.
  reactor::Task<void> run();

  // Asks the connection to end: after the message that it works on, or now. True when it is idle: then
  // say_goodbye() must be spawned.
  bool request_stop();
  // Sends what is left to say, then cuts an idle connection off. Spawned after request_stop().
  reactor::Task<void> say_goodbye();
  // Cuts it off; run() ends soon.
  void close() { stream_->close(); }
  // Start-up is over; before that the connection has no claim to stay.
  bool started() const { return started_; }
  std::uint64_t accepted_ns() const { return accepted_ns_; }

 private:
  enum class Step : std::uint8_t { go_on, end };

  reactor::Task<bool> read_more();
  // Waits until the client has taken the last bytes, but not for ever.
  reactor::Task<void> finish_output();
  reactor::Task<void> cut_off_at(std::uint64_t deadline_ns);
  std::string_view unread() const { return {buffer_.data() + begin_, end_ - begin_}; }

  // --- connection_startup.cc ---
  reactor::Task<Step> start_up();
  Step accept_startup(const StartupRequest& request);
  Status open_session(const StartupRequest& request);

  // --- connection.cc ---
  reactor::Task<Step> handle(Frame frame);
  // Messages that neither run nor look anything up; nothing when it is another one.
  std::optional<Step> handle_at_once(const Frame& frame);
  reactor::Task<void> handle_query(std::string_view payload);
  reactor::Task<Status> handle_parse(std::string_view payload);
  reactor::Task<Status> handle_bind(std::string_view payload);
  reactor::Task<Status> handle_execute(std::string_view payload, std::size_t frame_bytes);
  reactor::Task<void> handle_sync();
  Status bind_now();
  Status describe(std::string_view payload);
  Status close_target(std::string_view payload);
  void fail_extended(const Status& status, std::uint32_t position = 0);
  void fatal(const Status& status);

  std::unique_ptr<reactor::ByteStream> stream_;
  sql::Environment& environment_;
  ProcessState& process_;
  const std::uint64_t accepted_ns_;
  Output output_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::optional<ProcessState::CancelKey> key_;
  std::unique_ptr<sql::Session> session_;
  bool started_ = false;
  bool counted_ = false;          // in the process's number of connections
  bool skip_until_sync_ = false;  // an extended message failed
  std::uint64_t messages_ = 0;
  bool waiting_ = false;  // for the client, with nothing to do
  bool stop_requested_ = false;
  bool goodbye_running_ = false;
  reactor::Event goodbye_said_;
  bool farewell_taken_ = false;
  reactor::Event farewell_;
  BindMessage bind_;
  ParseMessage parse_;
};

}  // namespace namdb::pgwire
