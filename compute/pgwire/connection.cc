#include "compute/pgwire/connection.h"

#include <algorithm>
#include <cstring>

namespace namdb::pgwire {

using reactor::Task;

namespace {

constexpr std::size_t kBuffer_bytes = 16 * 1024;
// Over shared memory a transaction may run to its end without waiting: after so many messages a connection
// yields to the others.
constexpr std::uint64_t kMessagesAtOnce = 64;
// When the server stops, a connection drops messages that are under way for this long. Closing a socket with
// unread bytes would be a reset, which can overtake the answers before it.
constexpr std::uint64_t kDropInput_ns = 200 * kMillisecond_ns;

// Parse, Bind, Describe, Execute, Close, Flush: a Sync ends a sequence of these.
bool is_part_of_sequence(char type) {
  return std::string_view("PBDECH").find(type) != std::string_view::npos;
}

// Messages that are answered by ReadyForQuery.
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
                       ProcessState& process, std::function<void()> wake, fabric::RefusalLog& refusals)
    : stream_(std::move(stream)),
      environment_(environment),
      process_(process),
      refusals_(refusals),
      access_(process.access()),
      accepted_ns_(environment.engine.executor().now_ns()),
      output_(*stream_),
      buffer_(kBuffer_bytes),
      buffer_memory_(&process.client_memory()),
      tls_memory_(&process.client_memory()),
      wake_(std::move(wake)),
      message_arrived_(environment.engine.executor()),
      end_done_(environment.engine.executor()),
      drained_(environment.engine.executor()) {
  output_.set_copy_source(this);
}

Connection::~Connection() {
  session_.reset();
  if (key_) process_.drop_key(*key_);
  if (counted_as_) process_.leave(*counted_as_);
}

bool Connection::request_stop(Stop stop) {
  stop_ = std::max(stop_, stop);
  if (waiting_) ++pending_ends_;
  return waiting_;
}

bool Connection::is_drained() const {
  return draining_ && started_ && !in_sequence_ && session_->status() == 'I' &&
         !session_->in_implicit_transaction();
}

bool Connection::request_drain() {
  draining_ = true;
  if (!waiting_ || begin_ != end_ || !is_drained()) return false;
  ++pending_ends_;
  return true;
}

Task<void> Connection::end_for_shutdown() {
  reactor::Executor& executor = environment_.engine.executor();
  bool moved = !waiting_;
  if (!moved && within_sequence())
    moved = co_await message_arrived_.wait_until(executor.now_ns() + process_.options().sequence_timeout_ns);
  if (!moved && waiting_ && !end_sent_) {
    end_sent_ = true;
    fatal(stopped());
    output_.flush();
    const Status drained = co_await stream_->drain();
    (void)drained;
    stream_->close();
  }
  --pending_ends_;
  end_done_.notify_all();
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

// Returns false at the end of the client's bytes, and when the server stops.
Task<bool> Connection::read_more() {
  output_.flush();
  if (output_.congested()) {
    // The next messages of a client that sends and does not read stay in its own socket.
    const Status relieved = co_await output_.relieve();
    if (!relieved.ok()) co_return false;
  }
  const bool terminated = live_ != nullptr && live_->terminated();
  const bool is_stopped = stop_ != Stop::none && !within_sequence();
  if (terminated || is_stopped || (begin_ == end_ && is_drained())) {
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
  reactor::Gate ends;
  std::uint64_t end_at_ns = 0;
  if (std::optional<Status> reason = idle_end(end_at_ns))
    environment_.engine.executor().spawn(ends, end_idle(end_at_ns, std::move(*reason)));
  if (stop_ != Stop::none) {
    ++pending_ends_;
    environment_.engine.executor().spawn(ends, end_for_shutdown());
  }
  Result<std::size_t> got = co_await stream_->read_some(buffer_.data() + end_, buffer_.size() - end_);
  waiting_ = false;
  message_arrived_.notify_all();
  co_await ends.close();
  if (!got.ok() || *got == 0 || end_sent_) co_return false;
  end_ += *got;
  co_return true;
}

std::optional<Status> Connection::idle_end(std::uint64_t& at_ns) const {
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
  if (transaction_ns <= idle_ns) return transaction_timed_out();
  return Status(ErrorCode::idle_in_transaction_session_timeout,
                "terminating connection due to idle-in-transaction timeout");
}

Task<void> Connection::end_idle(std::uint64_t at_ns, Status reason) {
  if (!waiting_) co_return;
  const bool moved = co_await message_arrived_.wait_until(at_ns);
  if (moved || !waiting_ || end_sent_) co_return;
  co_await end_with(std::move(reason));
}

bool Connection::request_end() {
  if (live_ == nullptr || !live_->terminated() || !waiting_) return false;
  ++pending_ends_;
  return true;
}

Task<void> Connection::end_if_waiting() {
  Status reason = stopped();
  if (waiting_ && !end_sent_) co_await end_with(std::move(reason));
  --pending_ends_;
  end_done_.notify_all();
}

Task<void> Connection::end_with(Status reason) {
  end_sent_ = true;
  // The session gives back all that it holds now, whether or not its client reads why. A COPY that runs ends
  // by itself, once there is no more of its data.
  if (!copying_) session_->fail(reason);
  fatal(reason);
  output_.flush();
  co_await finish_output();
  stream_->close();
}

Status Connection::check_client() {
  if (stream_->peer_gone()) return Status(ErrorCode::connection_failure, "connection to client lost");
  if (stop_ == Stop::now) return stopped();
  if (live_->terminated()) {
    ending_ = stopped();
    output_.mute();
    return *ending_;
  }
  if (environment_.engine.executor().now_ns() < session_->transaction_deadline_ns()) return {};
  ending_ = transaction_timed_out();
  output_.mute();
  return *ending_;
}

Task<void> Connection::run() {
  Step step = co_await start_up();
  // The messages of a client that is gone are dropped.
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
    message_bytes_ = message.total_bytes;
    const char type = message.type;
    if (is_part_of_sequence(type)) in_sequence_ = true;
    if (const std::optional<Step> done = handle_at_once(message)) {
      step = *done;
    } else {
      // A cancel request that came before this message was for another one.
      session_->clear_cancel_request();
      step = co_await handle(message);
    }
    if (!ending_ && live_->terminated()) ending_ = stopped();
    if (ending_) {
      output_.unmute();
      fatal(*ending_);
      break;
    }
    begin_ += message_bytes_;
    if (ends_sequence(type)) in_sequence_ = skip_until_sync_;
    if (output_.congested()) {
      // A client that does not read its answers waits here, not in the server's memory.
      const Status relieved = co_await output_.relieve();
      if (!relieved.ok()) break;
    }
    if (++messages_ % kMessagesAtOnce == 0) co_await environment_.engine.executor().yield();
    const bool is_over = stop_ == Stop::now || (stop_ == Stop::at_sync && !in_sequence_) || is_drained();
    if (step == Step::go_on && is_over) {
      fatal(stopped());
      break;
    }
  }
  if (session_ != nullptr) co_await session_->end();
  // The server's stop cuts off a client that does not read its last answers.
  session_.reset();
  while (pending_ends_ > 0) co_await end_done_.wait();
  output_.flush();
  if (!stream_->closed()) co_await finish_output();
  if ((stop_ != Stop::none || draining_ || cut_short_) && !stream_->closed())
    co_await drop_input(environment_.engine.executor().now_ns() + kDropInput_ns);
  stream_->close();
}

Task<void> Connection::finish_output() {
  stream_->shutdown_write();
  reactor::Executor& executor = environment_.engine.executor();
  reactor::Gate gate;
  executor.spawn(gate, cut_off_at(executor.now_ns() + process_.options().last_write_timeout_ns));
  const Status drained = co_await stream_->drain();
  (void)drained;
  output_drained_ = true;
  drained_.notify_all();
  co_await gate.close();
}

Task<void> Connection::drop_input(std::uint64_t deadline_ns) {
  output_drained_ = false;
  reactor::Gate gate;
  environment_.engine.executor().spawn(gate, cut_off_at(deadline_ns));
  while (true) {
    const Result<std::size_t> got = co_await stream_->read_some(buffer_.data(), buffer_.size());
    if (!got.ok() || *got == 0) break;
  }
  output_drained_ = true;
  drained_.notify_all();
  co_await gate.close();
}

Task<void> Connection::cut_off_at(std::uint64_t deadline_ns) {
  if (output_drained_) co_return;
  const bool taken = co_await drained_.wait_until(deadline_ns);
  if (!taken) stream_->close();
}

std::int64_t Connection::wall_clock_us() const {
  return environment_.wall_clock_us ? environment_.wall_clock_us() : 0;
}

void Connection::fatal(const Status& status) {
  output_.writer().error("FATAL", status, {});
}

}  // namespace namdb::pgwire
