#include "compute/worker/sql_port.h"

#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

namespace namdb::compute {
namespace {

// Out of descriptors or memory: how long until the next try.
constexpr std::uint64_t kAcceptPause_ns = 50 * kMillisecond_ns;

std::string port_of(const std::string& address) {
  return address.substr(address.rfind(':') + 1);
}

}  // namespace

Status SqlPort::open() {
  reactor::Reactor& reactor = workers_.front()->reactor();
  auto tcp = reactor::SocketListener::listen(reactor, flags_.listen);
  if (!tcp.ok()) return tcp.status();
  const bool for_others =
      flags_.trust_remote || !flags_.access_rules.empty() || !flags_.tls_certificate.empty();
  if (!(*tcp)->is_local() && !for_others) {
    return Status(
        ErrorCode::configuration,
        "--listen " + flags_.listen +
            " can be reached from other machines, and nothing says how their clients get in",
        "listen on a loopback address, or give --tls-certificate and --tls-key, or --access-rule; or "
        "--trust-remote on a network that you trust");
  }
  listeners_.push_back(std::move(tcp).value());
  if (flags_.unix_socket_folder.empty()) return Status();
  if (::mkdir(flags_.unix_socket_folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return Status(ErrorCode::configuration,
                  "cannot create " + flags_.unix_socket_folder + ": " + std::strerror(errno));
  }
  // Any user of this machine may connect, as over the loopback address; the folder's mode can say
  // otherwise.
  auto local = reactor::SocketListener::listen(
      reactor, "unix:" + flags_.unix_socket_folder + "/.s.PGSQL." + port_of(listeners_.front()->address()),
      {.unix_mode = 0777});
  if (!local.ok()) return local.status();
  listeners_.push_back(std::move(local).value());
  return Status();
}

reactor::Task<void> SqlPort::accept(reactor::SocketListener& listener) {
  reactor::Reactor& reactor = workers_.front()->reactor();
  while (true) {
    Result<int> accepted = co_await listener.accept_descriptor();
    if (!accepted.ok() && accepted.status().code() == ErrorCode::limit_exceeded) {
      spdlog::warn("{}; clients wait until others are gone (see ulimit -n)", accepted.status().message());
      co_await reactor.sleep_for(kAcceptPause_ns);
      continue;
    }
    if (!accepted.ok()) co_return;  // closed
    workers_[next_++ % workers_.size()]->adopt(*accepted);
  }
}

reactor::Task<void> SqlPort::serve() {
  reactor::Gate gate;
  for (const auto& listener : listeners_) workers_.front()->reactor().spawn(gate, accept(*listener));
  co_await gate.close();
}

void SqlPort::close() {
  for (const auto& listener : listeners_) listener->close();
}

std::vector<std::string> SqlPort::addresses() const {
  std::vector<std::string> addresses;
  for (const auto& listener : listeners_) addresses.push_back(listener->address());
  return addresses;
}

}  // namespace namdb::compute
