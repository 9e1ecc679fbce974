#include "compute/pgwire/connection.h"

#include <algorithm>
#include <cstring>

namespace namdb::pgwire {

using reactor::Task;

namespace {

constexpr std::size_t kBuffer_bytes = 16 * 1024;
// Over shared memory a transaction may run to its end without ever waiting: after so many messages the other
// connections have their turn.
constexpr std::uint64_t kMessagesAtOnce = 64;
// When the server stops: for messages that are under way and will not be read. An end with unread bytes would
// be a reset, and that can overtake the answers before it.
constexpr std::uint64_t kDropInput_ns = 200 * kMillisecond_ns;

// Parse, Bind, Describe, Execute, Close, Flush: what a Sync ends.
bool is_part_of_sequence(char type) {
  return std::string_view("PBDECH").find(type) != std::string_view::npos;
}

// Answered by ReadyForQuery.
bool ends_sequence(char type) {
  return type == 'S' || type == 'Q' || type == 'F';
}

Status transaction_timed_out() {
  return Status(ErrorCode::transaction_timeout, "terminating connection due to transaction timeout");
}

Status stopped() {
  return Status(ErrorCode::admin_shutdown, "terminating connection due to administrator command");
}

}  // namespace

Connection::Connection(std::unique_ptr<reactor::ByteStream> stream, sql::Environment& environment,
                       ProcessState& process, std::function<void()> wake)
    : stream_(std::move(stream)),
      environment_(environment),
      process_(process),
      accepted_ns_(environment.engine.executor().now_ns()),
      output_(*stream_),
      buffer_(kBuffer_bytes),
      buffer_memory_(&process.client_memory()),
      wake_(std::move(wake)),
      moved_(environment.engine.executor()),
      goodbye_done_(environment.engine.executor()),
      farewell_(environment.engine.executor()) {}

Connection::~Connection() {
  session_.reset();
  if (key_) process_.drop_key(*key_);
  if (counted_) process_.leave();
}

bool Connection::request_stop(bool at_sync) {
  if (stop_ != Stop::now) stop_ = at_sync ? Stop::at_sync : Stop::now;
  if (waiting_) ++goodbyes_;
  return waiting_;
}

Task<void> Connection::say_goodbye() {
  reactor::Executor& executor = environment_.engine.executor();
  bool moved = !waiting_;
  if (!moved && within_sequence())
    moved = co_await moved_.wait_until(executor.now_ns() + process_.options().sequence_timeout_ns);
  if (!moved && waiting_ && !told_) {
    told_ = true;
    fatal(stopped());
    output_.flush();
    const Status drained = co_await stream_->drain();
    (void)drained;
    stream_->close();
  }
  --goodbyes_;
  goodbye_done_.notify_all();
}

// Grows with what has arrived, not with what a length field promises.
Status Connection::grow_buffer() {
  const std::size_t larger = buffer_.size() * 2;
  if (Status status = buffer_memory_.resize(larger - kBuffer_bytes); !status.ok()) return status;
  buffer_.resize(larger);
  return {};
}

void Connection::shrink_buffer() {
  buffer_.resize(kBuffer_bytes);
  buffer_.shrink_to_fit();
  buffer_memory_.release();
}

// False at the end of the client's bytes, and when the server stops.
Task<bool> Connection::read_more() {
  output_.flush();
  if (output_.congested()) {
    // A client that sends and does not read: its next messages stay in its own socket until it does.
    const Status relieved = co_await output_.relieve();
    if (!relieved.ok()) co_return false;
  }
  const bool terminated = live_ != nullptr && live_->terminated();
  if (terminated || (stop_ != Stop::none && !within_sequence())) {
    fatal(stopped());
    co_return false;
  }
  if (begin_ == end_) {
    begin_ = end_ = 0;
    if (buffer_.size() > 4 * kBuffer_bytes) shrink_buffer();
  } else if (end_ == buffer_.size()) {
    if (begin_ > 0) {
      std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
      end_ -= begin_;
      begin_ = 0;
    } else {
      if (Status status = grow_buffer(); !status.ok()) {
        cut_short_ = true;
        fatal(status);
        begin_ = end_ = 0;
        shrink_buffer();
        co_return false;
      }
    }
  }
  if (live_ != nullptr && !in_sequence_) live_->wait_for_client(session_->status(), wall_clock_us());
  waiting_ = true;
  reactor::Gate goodbye;
  std::uint64_t doomed_at_ns = 0;
  if (std::optional<Doom> doom = idle_doom(doomed_at_ns))
    environment_.engine.executor().spawn(goodbye, end_idle(doomed_at_ns, std::move(*doom)));
  if (stop_ != Stop::none) {
    ++goodbyes_;
    environment_.engine.executor().spawn(goodbye, say_goodbye());
  }
  Result<std::size_t> got = co_await stream_->read_some(buffer_.data() + end_, buffer_.size() - end_);
  waiting_ = false;
  moved_.notify_all();
  co_await goodbye.close();
  if (!got.ok() || *got == 0 || told_) co_return false;
  end_ += *got;
  co_return true;
}

std::optional<Connection::Doom> Connection::idle_doom(std::uint64_t& at_ns) const {
  if (!started_) return std::nullopt;
  const bool in_block = session_->status() != 'I';
  if (!in_block && !session_->in_implicit_transaction()) return std::nullopt;
  const std::uint64_t transaction_ns = session_->transaction_deadline_ns();
  const std::uint64_t idle_timeout_ns = session_->settings().idle_timeout_ns();
  std::uint64_t idle_ns = ~std::uint64_t{0};
  if (in_block && !in_sequence_ && idle_timeout_ns != 0)
    idle_ns = environment_.engine.executor().now_ns() + idle_timeout_ns;
  at_ns = std::min(transaction_ns, idle_ns);
  if (at_ns == ~std::uint64_t{0}) return std::nullopt;
  if (transaction_ns <= idle_ns) return Doom{transaction_timed_out(), {}};
  Doom doom{
      Status(ErrorCode::transaction_timeout, "terminating connection due to idle-in-transaction timeout"),
      {}};
  doom.fields.sqlstate = "25P03";
  doom.fields.reason = "idle_in_transaction_session_timeout";
  return doom;
}

Task<void> Connection::end_idle(std::uint64_t at_ns, Doom doom) {
  if (!waiting_) co_return;
  const bool moved = co_await moved_.wait_until(at_ns);
  if (moved || !waiting_ || told_) co_return;
  co_await end_waiting(std::move(doom));
}

bool Connection::request_end() {
  if (live_ == nullptr || !live_->terminated() || !waiting_) return false;
  ++goodbyes_;
  return true;
}

Task<void> Connection::end_now() {
  Doom doom{stopped(), {}};
  if (waiting_ && !told_) co_await end_waiting(std::move(doom));
  --goodbyes_;
  goodbye_done_.notify_all();
}

Task<void> Connection::end_waiting(Doom doom) {
  told_ = true;
  // The session gives back all that it holds now, whether or not its client reads why.
  session_->fail(doom.status);
  fatal(doom.status, doom.fields);
  output_.flush();
  co_await finish_output();
  stream_->close();
}

Status Connection::check_client() {
  if (stream_->peer_gone()) return Status(ErrorCode::connection_failure, "connection to client lost");
  if (stop_ == Stop::now) return stopped();
  if (live_->terminated()) {
    doom_ = Doom{stopped(), {}};
    output_.mute();
    return doom_->status;
  }
  if (environment_.engine.executor().now_ns() < session_->transaction_deadline_ns()) return {};
  doom_ = Doom{transaction_timed_out(), {}};
  output_.mute();
  return doom_->status;
}

Task<void> Connection::run() {
  Step step = co_await start_up();
  // A client that is gone waits for no answer: the messages that it has sent are dropped.
  while (step == Step::go_on && !stream_->peer_gone()) {
    const Result<std::optional<Frame>> frame = next_frame(unread(), process_.options().max_message_bytes);
    if (!frame.ok()) {
      fatal(frame.status());
      break;
    }
    if (!frame->has_value()) {
      const bool more = co_await read_more();
      if (!more) break;
      continue;
    }
    const Frame& message = **frame;
    if (is_part_of_sequence(message.type)) in_sequence_ = true;
    if (const std::optional<Step> done = handle_at_once(message)) {
      step = *done;
    } else {
      // A cancel request that came before this message was for another one.
      session_->forget_cancel();
      step = co_await handle(message);
    }
    if (!doom_ && live_->terminated()) doom_ = Doom{stopped(), {}};
    if (doom_) {
      output_.unmute();
      fatal(doom_->status, doom_->fields);
      break;
    }
    begin_ += message.total_bytes;
    if (ends_sequence(message.type)) in_sequence_ = skip_until_sync_;
    if (output_.congested()) {
      // A client that does not read its answers waits here, not in the server's memory.
      const Status relieved = co_await output_.relieve();
      if (!relieved.ok()) break;
    }
    if (++messages_ % kMessagesAtOnce == 0) co_await environment_.engine.executor().yield();
    if (step == Step::go_on && (stop_ == Stop::now || (stop_ == Stop::at_sync && !in_sequence_))) {
      fatal(stopped());
      break;
    }
  }
  // What the client does not take soon, the server's stop cuts off.
  session_.reset();
  while (goodbyes_ > 0) co_await goodbye_done_.wait();
  output_.flush();
  if (!stream_->closed()) co_await finish_output();
  if ((stop_ != Stop::none || cut_short_) && !stream_->closed())
    co_await drop_input(environment_.engine.executor().now_ns() + kDropInput_ns);
  stream_->close();
}

Task<void> Connection::finish_output() {
  stream_->shutdown_write();
  reactor::Executor& executor = environment_.engine.executor();
  reactor::Gate gate;
  executor.spawn(gate, cut_off_at(executor.now_ns() + process_.options().farewell_timeout_ns));
  const Status drained = co_await stream_->drain();
  (void)drained;
  farewell_taken_ = true;
  farewell_.notify_all();
  co_await gate.close();
}

Task<void> Connection::drop_input(std::uint64_t deadline_ns) {
  farewell_taken_ = false;
  reactor::Gate gate;
  environment_.engine.executor().spawn(gate, cut_off_at(deadline_ns));
  while (true) {
    const Result<std::size_t> got = co_await stream_->read_some(buffer_.data(), buffer_.size());
    if (!got.ok() || *got == 0) break;
  }
  farewell_taken_ = true;
  farewell_.notify_all();
  co_await gate.close();
}

Task<void> Connection::cut_off_at(std::uint64_t deadline_ns) {
  if (farewell_taken_) co_return;
  const bool taken = co_await farewell_.wait_until(deadline_ns);
  if (!taken) stream_->close();
}

std::int64_t Connection::wall_clock_us() const {
  return environment_.wall_clock_us ? environment_.wall_clock_us() : 0;
}

void Connection::begin_query(std::string_view query) {
  live_->begin_query(query, wall_clock_us(),
                     session_->status() != 'I' || session_->in_implicit_transaction());
}

std::optional<Connection::Step> Connection::handle_at_once(const Frame& frame) {
  if (frame.type == 'X') return Step::end;
  if (frame.type == 'S') {
    if (session_->in_implicit_transaction()) return std::nullopt;
    skip_until_sync_ = false;
    session_->forget_portals();
    output_.writer().ready_for_query(session_->status());
    return Step::go_on;
  }
  if (skip_until_sync_) return Step::go_on;
  Status status;
  switch (frame.type) {
    case 'B': {
      status = parse_bind(frame.payload, bind_);
      if (!status.ok()) break;
      const sql::Prepared* prepared = session_->find_prepared(bind_.statement);
      if (prepared != nullptr && !session_->current(*prepared)) return std::nullopt;
      status = bind_now();
      break;
    }
    case 'D':
      status = describe(frame.payload);
      break;
    case 'C':
      status = close_target(frame.payload);
      break;
    case 'H':
      output_.flush();
      break;
    default:
      return std::nullopt;
  }
  if (!status.ok()) fail_extended(status);
  return Step::go_on;
}

Task<Connection::Step> Connection::handle(Frame frame) {
  if (skip_until_sync_ && frame.type != 'S') co_return Step::go_on;
  session_->forget_error();
  Status status;
  switch (frame.type) {
    case 'Q':
      co_await handle_query(frame.payload);
      co_return Step::go_on;
    case 'S':
      co_await handle_sync();
      co_return Step::go_on;
    case 'P':
      status = co_await handle_parse(frame.payload);
      break;
    case 'B':
      status = co_await handle_bind(frame.payload);
      break;
    case 'E':
      status = co_await handle_execute(frame.payload, frame.total_bytes);
      if (lost_) co_return Step::end;
      break;
    case 'F':
      output_.writer().error("ERROR",
                             Status(ErrorCode::feature_not_supported, "function calls are not supported"));
      output_.writer().ready_for_query(session_->status());
      co_return Step::go_on;
    case 'd':
    case 'c':
    case 'f':
      co_return Step::go_on;  // the rest of a COPY that was refused
    default: {
      const auto code = static_cast<unsigned char>(frame.type);
      fatal(Status(ErrorCode::protocol_violation, "invalid frontend message type " + std::to_string(code)));
      co_return Step::end;
    }
  }
  if (!status.ok()) fail_extended(status, session_->error_fields());
  co_return Step::go_on;
}

void Connection::fail_extended(const Status& status, const sql::ErrorFields& fields) {
  session_->fail(status);
  output_.writer().error("ERROR", status, fields);
  skip_until_sync_ = true;
}

void Connection::fatal(const Status& status, const sql::ErrorFields& fields) {
  output_.writer().error("FATAL", status, fields);
}

Task<void> Connection::handle_query(std::string_view payload) {
  std::string_view text;
  if (Status status = parse_query(payload, text); !status.ok()) {
    session_->fail(status);
    output_.error(status, {});
  } else {
    output_.describe_rows(true);
    output_.set_formats({});
    begin_query(text);
    std::string copy(text);
    co_await session_->simple_query(std::move(copy), output_);
    output_.describe_rows(false);
  }
  output_.writer().ready_for_query(session_->status());
}

Task<Status> Connection::handle_parse(std::string_view payload) {
  if (Status status = parse_parse(payload, parse_); !status.ok()) co_return status;
  std::string name(parse_.name);
  std::string text(parse_.text);
  std::vector<sql::Oid> types(parse_.parameter_types.begin(), parse_.parameter_types.end());
  Status status = co_await session_->prepare(std::move(name), std::move(text), std::move(types));
  if (status.ok()) output_.writer().parse_complete();
  co_return status;
}

Status Connection::bind_now() {
  const sql::BindRequest request{bind_.portal, bind_.statement, bind_.parameter_formats, bind_.parameters,
                                 bind_.result_formats};
  Status status = session_->bind(request);
  if (status.ok()) output_.writer().bind_complete();
  return status;
}

// The catalog has changed since the statement was prepared.
Task<Status> Connection::handle_bind(std::string_view payload) {
  if (Status status = parse_bind(payload, bind_); !status.ok()) co_return status;
  sql::Prepared* prepared = session_->find_prepared(bind_.statement);
  Status status = co_await session_->renew(*prepared);
  if (!status.ok()) co_return status;
  co_return bind_now();
}

Status Connection::describe(std::string_view payload) {
  TargetMessage target;
  if (Status status = parse_target(payload, target); !status.ok()) return status;
  if (target.kind == 'P') {
    const sql::Portal* portal = session_->find_portal(target.name);
    if (portal == nullptr) {
      return Status(ErrorCode::undefined_portal,
                    "portal \"" + std::string(target.name) + "\" does not exist");
    }
    if (Status status = session_->check_describe(*portal->plan); !status.ok()) return status;
    if (portal->plan->columns.empty()) {
      output_.writer().no_data();
    } else {
      output_.writer().row_description(portal->plan->columns, portal->result_formats);
    }
    return {};
  }
  const sql::Prepared* prepared = session_->find_prepared(target.name);
  if (prepared == nullptr) {
    return Status(ErrorCode::undefined_prepared_statement,
                  "prepared statement \"" + std::string(target.name) + "\" does not exist");
  }
  if (Status status = session_->check_describe(*prepared->plan); !status.ok()) return status;
  output_.writer().parameter_description(prepared->plan->parameters, prepared->declared_oids);
  if (prepared->plan->columns.empty()) {
    output_.writer().no_data();
  } else {
    output_.writer().row_description(prepared->plan->columns, {});
  }
  return {};
}

Status Connection::close_target(std::string_view payload) {
  TargetMessage target;
  if (Status status = parse_target(payload, target); !status.ok()) return status;
  if (target.kind == 'S') {
    session_->close_prepared(target.name);
  } else {
    session_->close_portal(target.name);
  }
  output_.writer().close_complete();
  return {};
}

Task<Status> Connection::handle_execute(std::string_view payload, std::size_t frame_bytes) {
  ExecuteMessage execute;
  if (Status status = parse_execute(payload, execute); !status.ok()) co_return status;
  sql::Portal* portal = session_->find_portal(execute.portal);
  if (portal == nullptr) {
    co_return Status(ErrorCode::undefined_portal,
                     "portal \"" + std::string(execute.portal) + "\" does not exist");
  }
  // Whether the statement is a transaction of its own is known once the next message is: Sync ends it. No
  // client may expect an answer before it sent Sync or Flush. It must be there whole: what commits is
  // followed by ReadyForQuery, even if the server stops or the rest never comes.
  const std::uint32_t max_rows = execute.max_rows;
  bool alone = false;
  if (session_->may_be_alone(*portal)) {
    while (unread().size() == frame_bytes || unread()[frame_bytes] == 'S') {
      const auto next = next_frame(unread().substr(frame_bytes), process_.options().max_message_bytes);
      alone = next.ok() && next->has_value();
      if (alone || !next.ok()) break;
      const bool more = co_await read_more();
      if (!more) {
        lost_ = true;
        co_return Status(ErrorCode::connection_failure, "the client is gone");
      }
    }
  }
  begin_query(portal->prepared->text);
  output_.set_formats(portal->result_formats);
  sql::Completion completion;
  Status status = co_await session_->execute(*portal, output_, max_rows, alone, completion);
  if (status.ok()) output_.complete(completion);
  co_return status;
}

Task<void> Connection::handle_sync() {
  skip_until_sync_ = false;
  Status status = co_await session_->sync();
  if (!status.ok()) output_.error(status, session_->error_fields());
  output_.writer().ready_for_query(session_->status());
}

}  // namespace namdb::pgwire
