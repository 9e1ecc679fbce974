// Decides whether a client may connect: the rule for it, its certificate or password, its role.
#include <algorithm>
#include <utility>

#include "compute/authentication/scram_exchange.h"
#include "compute/pgwire/connection.h"

namespace namdb::pgwire {

using authentication::AccessMethod;
using authentication::AccessRequest;
using authentication::AccessRule;
using authentication::ClientCertificate;
using authentication::ScramExchange;
using authentication::ScramVerifier;
using reactor::Task;

namespace {

constexpr std::size_t kLoggedReason_bytes = 300;

Status not_let_in(std::string message, std::string hint = {}) {
  return Status(ErrorCode::invalid_authorization, std::move(message), std::move(hint));
}

// A stranger's bytes in a line of the log.
std::string printable(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }, '?');
  if (text.size() > kLoggedReason_bytes) text = text.substr(0, kLoggedReason_bytes) + "...";
  return text;
}

std::string quoted(std::string_view name) {
  return "\"" + std::string(name) + "\"";
}

}  // namespace

bool Connection::is_unix() const {
  return stream_->peer().starts_with("unix");
}

std::string_view Connection::host() const {
  const std::string_view peer = stream_->peer();
  if (is_unix()) return "[local]";
  std::string_view address = peer.substr(0, peer.rfind(':'));
  if (address.starts_with('[') && address.ends_with(']')) address = address.substr(1, address.size() - 2);
  return address;
}

void Connection::log_refusal(const std::string& reason) {
  refusals_.refuse(stream_->peer(), printable(reason));
}

Task<storage::RolesRef> Connection::find_roles() {
  Result<storage::RolesRef> roles = co_await environment_.engine.roles();
  if (roles.ok()) co_return std::move(roles).value();
  // The memory servers are away, and with them the rows: the roles that were known last decide.
  co_return environment_.engine.cached_roles();
}

Task<Result<Connection::Admission>> Connection::admit(std::string user, std::string database) {
  AccessRequest request;
  request.address = authentication::NetworkAddress::parse(host());
  // A client on this machine that has no address is as near as one on a unix socket.
  request.is_unix = is_unix() || (!request.address && stream_->peer_is_local());
  request.encrypted = tls_ != nullptr;
  request.user = user;
  request.database = database;
  const AccessRule* rule = access_->rules.find(request);
  if (rule == nullptr || rule->method == AccessMethod::reject) {
    co_return not_let_in((rule == nullptr ? "no access rule for host " : "an access rule rejects host ") +
                         quoted(host()) + ", user " + quoted(user) + ", database " + quoted(database) +
                         (tls_ == nullptr ? ", no encryption" : ", SSL encryption"));
  }
  if (Status status = check_client_certificate(*rule, user); !status.ok()) co_return status;
  const storage::RolesRef roles = co_await find_roles();
  const storage::Role* role = roles->find(user);
  if (rule->method == AccessMethod::scram) {
    if (roles->empty()) {
      co_return not_let_in(
          "there are no roles yet, and host " + quoted(host()) + " has to give a role's password",
          "connect from the server's machine, and create a role with a password");
    }
    Status status = co_await check_password(user, role);
    if (!status.ok()) co_return status;
  }
  if (roles->empty()) co_return Admission{process_.is_named_superuser(user)};
  if (role == nullptr) co_return not_let_in("role " + quoted(user) + " does not exist");
  if (!role->login) co_return not_let_in("role " + quoted(user) + " is not permitted to log in");
  co_return Admission{role->superuser, role->connection_limit};
}

Status Connection::check_client_certificate(const AccessRule& rule, const std::string& user) const {
  if (rule.client_certificate == ClientCertificate::any) return {};
  if (tls_ == nullptr || !tls_->has_client_certificate())
    return not_let_in("connection requires a valid client certificate");
  if (rule.client_certificate == ClientCertificate::verified || tls_->client_name() == user) return {};
  return not_let_in("certificate authentication failed for user " + quoted(user));
}

Task<Status> Connection::check_password(std::string user, const storage::Role* role) {
  // For the log only: the client cannot tell these from a wrong password.
  std::string reason;
  std::optional<ScramVerifier> verifier;
  if (role == nullptr) {
    reason = "there is no such role";
  } else if (role->password.empty()) {
    reason = "the role has no password";
  } else if (role->valid_until_us && *role->valid_until_us < wall_clock_us()) {
    reason = "the role's password has expired";
  } else {
    verifier = authentication::parse_scram_verifier(role->password);
    if (!verifier) reason = "the role's password is kept in a form that is not known here";
  }
  if (!verifier) verifier = authentication::mock_scram_verifier(process_.options().mock_secret, user);
  ScramExchange exchange(std::move(*verifier), tls_ == nullptr ? "" : tls_->context().certificate_hash());

  output_.writer().authentication_sasl(exchange.mechanisms());
  Result<std::optional<std::string>> message = co_await next_sasl_message();
  if (!message.ok()) co_return message.status();
  if (!message->has_value()) co_return Status();
  SaslInitialResponse response;
  if (Status status = parse_sasl_initial_response(**message, response); !status.ok()) co_return status;
  const std::string mechanism(response.mechanism);
  std::string data(response.data.value_or(std::string_view()));
  if (!response.data) {
    // The client wants to be asked once more.
    output_.writer().authentication_sasl_continue({});
    message = co_await next_sasl_message();
    if (!message.ok()) co_return message.status();
    if (!message->has_value()) co_return Status();
    data = **message;
  }
  const Result<std::string> challenge = exchange.first(mechanism, data);
  if (!challenge.ok()) co_return challenge.status();
  output_.writer().authentication_sasl_continue(*challenge);
  message = co_await next_sasl_message();
  if (!message.ok()) co_return message.status();
  if (!message->has_value()) co_return Status();
  const Result<std::string> proven = exchange.last(**message);
  if (proven.ok() && reason.empty()) {
    output_.writer().authentication_sasl_final(*proven);
    co_return Status();
  }
  if (!proven.ok() && proven.status().code() != ErrorCode::invalid_password) co_return proven.status();
  if (reason.empty()) reason = "the password is wrong";
  const std::string refusal = "password authentication failed for user " + quoted(user);
  log_refusal(refusal + ": " + reason);
  // A client that tries passwords waits, and no other does.
  co_await environment_.engine.executor().sleep_for(process_.options().wrong_password_delay_ns);
  co_return Status(ErrorCode::invalid_password, refusal);
}

Task<Result<std::optional<std::string>>> Connection::next_sasl_message() {
  while (true) {
    const Result<std::optional<Frame>> frame = next_frame(unread(), kMaxSasl_bytes);
    if (!frame.ok()) co_return frame.status();
    if (frame->has_value()) {
      if ((*frame)->type != 'p') co_return Status(ErrorCode::protocol_violation, "expected SASL response");
      std::string payload((*frame)->payload);
      begin_ += (*frame)->total_bytes;
      co_return std::optional<std::string>(std::move(payload));
    }
    const bool more = co_await read_more();
    if (more) continue;
    lost_ = true;
    co_return std::optional<std::string>();
  }
}

}  // namespace namdb::pgwire
