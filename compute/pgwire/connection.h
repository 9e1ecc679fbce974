// One client's connection: start-up, then messages until it ends. All messages that have arrived are handled
// one after the other, and their answers leave together.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/fabric/refusal_log.h"
#include "common/reactor/executor.h"
#include "common/reactor/stream.h"
#include "common/tls/server_stream.h"
#include "compute/api/role.h"
#include "compute/pgwire/codec.h"
#include "compute/pgwire/live_session.h"
#include "compute/pgwire/output.h"
#include "compute/pgwire/process_state.h"
#include "compute/sql/session/session.h"

namespace namdb::pgwire {

class Connection : private sql::CopySource {
 public:
  // `wake`: see LiveSession. `refusals` is told of clients that are not let in.
  Connection(std::unique_ptr<reactor::ByteStream> stream, sql::Environment& environment,
             ProcessState& process, std::function<void()> wake, fabric::RefusalLog& refusals);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Runs until the client leaves, an error ends the connection, or the server stops. An open transaction is
  // rolled back.
  reactor::Task<void> run();

  // The server stops. Messages that the client has begun to send are handled up to its Sync (a simple query
  // is a Sync of its own) and answered; then the client gets error 57P01, and the connection ends. Messages
  // behind that Sync are not handled. With `now` a Sync that has not arrived is no longer waited for. Returns
  // true when the connection has nothing to do: then end_for_shutdown() must be spawned.
  enum class Stop : std::uint8_t { none, at_sync, now };
  bool request_stop(Stop stop);
  // Sends the error of the stop and closes the connection, unless the rest of a message that the client has
  // begun arrives soon.
  reactor::Task<void> end_for_shutdown();
  // The session ends with error 57P01 as soon as it is in no transaction, and its messages up to a Sync are
  // answered. Returns true when the connection waits for its client and can end now: then end_if_waiting()
  // must be spawned.
  bool request_drain();
  // The session may have been terminated. Returns true when the connection waits for its client: then
  // end_if_waiting() must be spawned.
  bool request_end();
  // Sends the reason and ends the connection, unless a message has arrived.
  reactor::Task<void> end_if_waiting();
  // Closes the stream; run() ends soon.
  void close() { stream_->close(); }
  bool closed() const { return stream_->closed(); }
  // Start-up is over. A connection that has not started may be closed at any time.
  bool started() const { return started_; }
  std::uint64_t accepted_ns() const { return accepted_ns_; }

 private:
  enum class Step : std::uint8_t { go_on, end };
  // The rights of a client that may connect, by its role.
  struct Admission {
    bool superuser = false;
    std::int32_t connection_limit = storage::Role::kNoLimit;
  };

  reactor::Task<bool> read_more();
  // Makes room for more bytes; out_of_memory.
  Status grow_buffer();
  void shrink_buffer();
  // Part of a sequence of messages has arrived, and a stop waits for the rest.
  bool within_sequence() const { return started_ && stop_ != Stop::now && (in_sequence_ || begin_ != end_); }
  // The session is to end after its transaction, and has none.
  bool is_drained() const;
  // Error: the client does not wait for the running statement any more.
  Status check_client();
  // Sends the reason and ends the connection, while nothing runs.
  reactor::Task<void> end_with(Status reason);
  // Sends a FATAL error.
  void fatal(const Status& status);
  std::int64_t wall_clock_us() const;
  // The reason and the time at which the connection ends if no message arrives before; absent: never.
  std::optional<Status> idle_end(std::uint64_t& at_ns) const;
  // Ends the connection then, unless a message has arrived.
  reactor::Task<void> end_idle(std::uint64_t at_ns, Status reason);
  // Waits until the client has taken the last bytes, up to a timeout.
  reactor::Task<void> finish_output();
  // Reads and drops the client's bytes until their end or the deadline.
  reactor::Task<void> drop_input(std::uint64_t deadline_ns);
  reactor::Task<void> cut_off_at(std::uint64_t deadline_ns);
  std::string_view unread() const { return {buffer_.data() + begin_, end_ - begin_}; }

  // --- connection_startup.cc ---
  reactor::Task<Step> start_up();
  reactor::Task<Step> answer(EncryptionRequest request);
  reactor::Task<Step> accept_startup(const StartupRequest* request);
  Status open_session(const StartupRequest& request, const Admission& admission);
  // Tells a client that it is in, and of its session.
  void welcome();

  // --- connection_authentication.cc ---
  // Finds the rule for the client, and has it prove who it is. `lost_`: it left meanwhile, or was told why.
  reactor::Task<Result<Admission>> admit(std::string user, std::string database);
  // As they are now.
  reactor::Task<storage::RolesRef> find_roles();
  Status check_client_certificate(const authentication::AccessRule& rule, const std::string& user) const;
  // `role`: null, if there is no such role.
  reactor::Task<Status> check_password(std::string user, const storage::Role* role);
  // The client's part of an exchange; nullopt: there is none any more.
  reactor::Task<Result<std::optional<std::string>>> next_sasl_message();
  bool is_unix() const;
  // Without its port; "[local]" of a unix socket.
  std::string_view host() const;
  void log_refusal(const std::string& reason);

  // --- connection_messages.cc ---
  void begin_query(std::string_view query);
  reactor::Task<Step> handle(Frame frame);
  // Handles a message that neither runs a statement nor reads the catalog; absent: another message.
  std::optional<Step> handle_at_once(const Frame& frame);
  reactor::Task<void> handle_query(std::string_view payload);
  reactor::Task<Status> handle_parse(std::string_view payload);
  reactor::Task<Status> handle_bind(std::string_view payload);
  // The client's next message of COPY's data.
  reactor::Task<Result<std::optional<std::string_view>>> next() override;
  reactor::Task<Status> handle_execute(std::string_view payload, std::size_t frame_bytes);
  reactor::Task<void> handle_sync();
  Status bind_now();
  Status describe(std::string_view payload);
  Status close_target(std::string_view payload);
  void fail_extended(const Status& status, const sql::ErrorFields& fields = {});

  std::unique_ptr<reactor::ByteStream> stream_;
  tls::ServerStream* tls_ = nullptr;  // the same, with TLS
  sql::Environment& environment_;
  ProcessState& process_;
  fabric::RefusalLog& refusals_;
  std::shared_ptr<const Access> access_;
  const std::uint64_t accepted_ns_;
  Output output_;
  std::vector<char> buffer_;
  sql::MemoryShare buffer_memory_;  // beyond its first size
  sql::MemoryShare tls_memory_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::optional<ProcessState::CancelKey> key_;
  std::function<void()> wake_;
  std::shared_ptr<LiveSession> live_;
  std::unique_ptr<sql::Session> session_;
  bool started_ = false;
  std::optional<std::string> counted_as_;  // in the process's numbers of connections
  bool skip_until_sync_ = false;           // an extended message failed
  bool in_sequence_ = false;               // extended messages came, and their Sync did not
  bool copying_ = false;                   // a COPY waits for the client's data
  std::size_t message_bytes_ = 0;  // of the message that is handled; it is not taken from the buffer yet
  std::uint64_t messages_ = 0;
  bool waiting_ = false;            // for the client, with nothing to do
  reactor::Event message_arrived_;  // waiting_ has ended
  Stop stop_ = Stop::none;
  bool draining_ = false;
  bool lost_ = false;               // the client left, or was told good-bye, in the middle of a message
  std::uint32_t pending_ends_ = 0;  // ends that were asked for and have not run
  bool end_sent_ = false;           // why it ends, while it waited
  // The reason for which the session ends: no other answer is sent to the client.
  std::optional<Status> ending_;
  reactor::Event end_done_;
  bool cut_short_ = false;  // it ends amid a message that there is no memory for
  bool output_drained_ = false;
  reactor::Event drained_;
  BindMessage bind_;
  ParseMessage parse_;
};

}  // namespace namdb::pgwire
