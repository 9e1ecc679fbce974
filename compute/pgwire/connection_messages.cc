// The messages of a client whose session is open: each is answered, or fails up to the next Sync.
#include <absl/cleanup/cleanup.h>

#include <string>
#include <string_view>
#include <utility>

#include "common/base/hex.h"
#include "compute/pgwire/connection.h"

namespace namdb::pgwire {

using reactor::Task;

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
      const sql::PreparedStatement* prepared = session_->find_prepared(bind_.statement);
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
  sql::PreparedStatement* prepared = session_->find_prepared(bind_.statement);
  Status status = co_await session_->renew(*prepared);
  if (!status.ok()) co_return status;
  co_return bind_now();
}

Status Connection::describe(std::string_view payload) {
  TargetMessage target;
  if (Status status = parse_target(payload, target); !status.ok()) return status;
  if (target.kind == 'P') {
    const sql::Portal* portal = session_->find_portal(target.name);
    if (portal == nullptr) return session_->no_portal(target.name);
    if (Status status = session_->check_describe(*portal->plan); !status.ok()) return status;
    if (!portal->plan->gives_rows()) {
      output_.writer().no_data();
    } else {
      output_.writer().row_description(portal->plan->columns, portal->result_formats);
    }
    return {};
  }
  const sql::PreparedStatement* prepared = session_->find_prepared(target.name);
  if (prepared == nullptr) {
    return Status(ErrorCode::undefined_prepared_statement,
                  "prepared statement \"" + std::string(target.name) + "\" does not exist");
  }
  if (Status status = session_->check_describe(*prepared->plan); !status.ok()) return status;
  output_.writer().parameter_description(prepared->plan->parameters, prepared->declared_oids);
  if (!prepared->plan->gives_rows()) {
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

// The messages that came before are taken from the buffer, so that those of the data have room.
Task<Result<std::optional<std::string_view>>> Connection::next() {
  const bool was_in_sequence = std::exchange(in_sequence_, true);
  copying_ = true;
  absl::Cleanup done = [&] {
    in_sequence_ = was_in_sequence;
    copying_ = false;
  };
  while (true) {
    begin_ += std::exchange(message_bytes_, 0);
    const Result<std::optional<Frame>> frame = next_frame(unread(), process_.options().max_message_bytes);
    if (!frame.ok()) co_return frame.status();
    if (!frame->has_value()) {
      const bool more = co_await read_more();
      if (!more) co_return Status(ErrorCode::connection_failure, "the client is gone");
      continue;
    }
    const Frame& message = **frame;
    message_bytes_ = message.total_bytes;
    switch (message.type) {
      case 'd':
        co_return std::optional<std::string_view>(message.payload);
      case 'c':
        co_return std::optional<std::string_view>();
      case 'f': {
        std::string_view reason = message.payload;
        if (reason.ends_with('\0')) reason.remove_suffix(1);
        co_return Status(ErrorCode::query_canceled, "COPY from stdin failed: " + std::string(reason));
      }
      case 'H':
      case 'S':
        break;  // clients of the extended protocol may send them here
      default:
        co_return Status(ErrorCode::protocol_violation,
                         "unexpected message type 0x" + in_hex(static_cast<unsigned char>(message.type), 2) +
                             " during COPY from stdin");
    }
  }
}

Task<Status> Connection::handle_execute(std::string_view payload, std::size_t frame_bytes) {
  ExecuteMessage execute;
  if (Status status = parse_execute(payload, execute); !status.ok()) co_return status;
  sql::Portal* portal = session_->find_portal(execute.portal);
  if (portal == nullptr) co_return session_->no_portal(execute.portal);
  // The next message decides whether the statement is a transaction of its own: Sync ends it. A client cannot
  // expect an answer before it has sent Sync or Flush. The Sync must have arrived whole: a commit is followed
  // by ReadyForQuery, even if the server stops or the rest of a message never arrives.
  const std::uint32_t max_rows = execute.max_rows;
  bool autocommit = false;
  if (session_->may_autocommit(*portal)) {
    while (unread().size() == frame_bytes || unread()[frame_bytes] == 'S') {
      const auto next = next_frame(unread().substr(frame_bytes), process_.options().max_message_bytes);
      autocommit = next.ok() && next->has_value();
      if (autocommit || !next.ok()) break;
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
  Status status = co_await session_->execute(*portal, output_, max_rows, autocommit, completion);
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
