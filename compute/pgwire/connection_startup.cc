// From the first byte to the first ReadyForQuery.
#include <charconv>
#include <string>
#include <vector>

#include "compute/pgwire/connection.h"

namespace namdb::pgwire {

using reactor::Task;

namespace {

constexpr std::string_view kDatabase = "namdb";

std::string_view parameter(const StartupRequest& request, std::string_view name) {
  for (const auto& [key, value] : request.parameters) {
    if (key == name) return value;
  }
  return {};
}

// "-c name=value --name=value ...", blanks escaped by backslashes: the start-up parameter `options`.
Status apply_options(sql::Settings& settings, std::string_view options) {
  std::vector<std::string> words(1);
  bool escaped = false;
  for (const char c : options) {
    if (c == ' ' && !escaped) {
      if (!words.back().empty()) words.emplace_back();
      continue;
    }
    escaped = c == '\\' && !escaped;
    if (!escaped) words.back() += c;
  }
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string_view word = words[i];
    if (word.empty()) continue;
    if (word == "-c" && i + 1 < words.size()) {
      word = words[++i];
    } else if (word.starts_with("--")) {
      word.remove_prefix(2);
    } else if (word.starts_with("-c")) {
      word.remove_prefix(2);
    } else {
      return Status(ErrorCode::syntax_error, "invalid command-line argument for server process: " + words[i]);
    }
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos)
      return Status(ErrorCode::syntax_error, "-c " + std::string(word) + " requires a value");
    Status status =
        settings.set(word.substr(0, equals), word.substr(equals + 1), sql::Settings::Scope::session);
    if (!status.ok()) return status;
  }
  return {};
}

// Of HOST:PORT.
void tell_address(std::string_view peer, std::string_view host, sql::SessionActivity& activity) {
  const std::size_t colon = peer.rfind(':');
  if (colon == std::string_view::npos) return;
  std::int32_t port = 0;
  const std::string_view digits = peer.substr(colon + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc() || end != digits.data() + digits.size()) return;
  activity.client_address = host;
  activity.client_port = port;
}

// About as much as OpenSSL keeps for a connection, and its buffers beside it.
constexpr std::uint64_t kTls_bytes = 60U << 10;

}  // namespace

Task<Connection::Step> Connection::start_up() {
  for (;;) {
    const Result<std::optional<Frame>> frame = next_startup_frame(unread());
    if (!frame.ok()) {
      fatal(frame.status());
      co_return Step::end;
    }
    if (!frame->has_value()) {
      const bool more = co_await read_more();
      if (!more) co_return Step::end;
      continue;
    }
    // The request's names and values are parts of it, while more arrives in the buffer.
    const std::string payload((*frame)->payload);
    begin_ += (*frame)->total_bytes;
    const Result<StartupPacket> packet = parse_startup(payload);
    if (!packet.ok()) {
      fatal(packet.status());
      co_return Step::end;
    }
    if (const auto* encryption = std::get_if<EncryptionRequest>(&*packet)) {
      const Step step = co_await answer(*encryption);
      if (step == Step::end) co_return step;
    } else if (const auto* cancel = std::get_if<CancelRequest>(&*packet)) {
      process_.cancel(cancel->process_id, cancel->secret);
      co_return Step::end;
    } else {
      const Step step = co_await accept_startup(&std::get<StartupRequest>(*packet));
      co_return step;
    }
  }
}

Task<Connection::Step> Connection::answer(EncryptionRequest request) {
  // Bytes that came with the request were sent before the client knew the answer, perhaps by an attacker
  // between.
  if (!unread().empty()) {
    fatal(Status(ErrorCode::protocol_violation, "received unencrypted data after an encryption request"));
    co_return Step::end;
  }
  if (tls_ != nullptr) {
    fatal(Status(ErrorCode::protocol_violation, "the connection is encrypted already"));
    co_return Step::end;
  }
  if (!request.tls || access_->tls == nullptr || is_unix()) {
    output_.raw("N");
    co_return Step::go_on;
  }
  if (stop_ != Stop::none) co_return Step::end;
  // Without memory it is refused, and not let in without TLS.
  if (Status status = tls_memory_.resize(kTls_bytes); !status.ok()) {
    fatal(status);
    co_return Step::end;
  }
  output_.raw("S");
  output_.flush();
  auto stream = std::make_unique<tls::ServerStream>(std::move(stream_), access_->tls);
  tls_ = stream.get();
  stream_ = std::move(stream);
  output_.change_stream(*stream_);
  waiting_ = true;
  const Status status = co_await tls_->handshake();
  waiting_ = false;
  message_arrived_.notify_all();
  if (status.ok()) co_return end_sent_ ? Step::end : Step::go_on;
  if (status.code() == ErrorCode::protocol_violation) log_refusal(status.message());
  co_return Step::end;
}

Task<Connection::Step> Connection::accept_startup(const StartupRequest* request) {
  const std::string_view user = parameter(*request, "user");
  std::string_view database = parameter(*request, "database");
  if (user.empty()) {
    fatal(Status(ErrorCode::invalid_authorization, "no PostgreSQL user name specified in startup packet"));
    co_return Step::end;
  }
  if (database.empty()) database = user;
  std::vector<std::string_view> unknown_options;
  for (const auto& [name, value] : request->parameters) {
    if (name.starts_with("_pq_.")) unknown_options.push_back(name);
  }
  if (request->minor_version > 0 || !unknown_options.empty())
    output_.writer().negotiate_protocol_version(unknown_options);
  const Result<Admission> admission = co_await admit(std::string(user), std::string(database));
  if (lost_) co_return Step::end;
  if (!admission.ok()) {
    const ErrorCode code = admission.status().code();
    if (code == ErrorCode::invalid_authorization || code == ErrorCode::protocol_violation)
      log_refusal(admission.status().message());
    fatal(admission.status());
    co_return Step::end;
  }
  if (Status status = open_session(*request, *admission); !status.ok()) {
    session_.reset();
    fatal(status);
    co_return Step::end;
  }
  welcome();
  co_return Step::go_on;
}

void Connection::welcome() {
  MessageWriter writer = output_.writer();
  writer.authentication_ok();
  for (const std::string_view name : sql::Settings::reported_names()) {
    writer.parameter_status(name, *session_->settings().get(name));
  }
  writer.backend_key_data(key_->process_id, key_->secret);
  writer.ready_for_query(session_->status());
  started_ = true;
}

Status Connection::open_session(const StartupRequest& request, const Admission& admission) {
  const std::string_view user = parameter(request, "user");
  std::string_view database = parameter(request, "database");
  if (database.empty()) database = user;
  if (database != kDatabase) {
    return Status(ErrorCode::undefined_database, "database \"" + std::string(database) + "\" does not exist",
                  "the database is named namdb");
  }
  const std::string_view replication = parameter(request, "replication");
  if (!replication.empty() && replication != "false" && replication != "off" && replication != "0")
    return Status(ErrorCode::feature_not_supported, "replication connections are not supported");
  std::string user_name(user);
  Status entered = process_.enter(user_name, admission.superuser, admission.connection_limit);
  if (!entered.ok()) return entered;
  counted_as_ = std::move(user_name);
  key_ = process_.make_key();
  session_ = std::make_unique<sql::Session>(environment_, std::string(user), std::string(database),
                                            key_->process_id, *key_->canceled);
  session_->set_client_check([this] { return check_client(); });
  if (admission.superuser) session_->settings().initialize("is_superuser", "on");
  for (const auto& [name, value] : request.parameters) {
    if (name == "user" || name == "database" || name == "replication" || name.starts_with("_pq_.")) continue;
    Status status = name == "options" ? apply_options(session_->settings(), value)
                                      : session_->settings().set(name, value, sql::Settings::Scope::session);
    if (!status.ok()) return status;
  }
  session_->settings().make_current_default();
  sql::SessionActivity activity;
  activity.process_id = key_->process_id;
  activity.user = user;
  activity.database = database;
  activity.application_name = *session_->settings().get("application_name");
  if (!is_unix()) tell_address(stream_->peer(), host(), activity);
  activity.began_us = activity.state_changed_us = wall_clock_us();
  live_ = std::make_shared<LiveSession>(std::move(activity), wake_);
  process_.add_session(*key_, live_);
  output_.follow_application_name([this](std::string_view name) { live_->set_application_name(name); });
  return {};
}

}  // namespace namdb::pgwire
