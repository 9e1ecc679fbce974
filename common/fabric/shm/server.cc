#include "common/fabric/shm/server.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "common/fabric/facts.h"
#include "common/fabric/shm/handshake.h"
#include "common/fabric/shm/loopback.h"
#include "common/reactor/system_error.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

namespace namdb::fabric::shm {
namespace {

using reactor::system_error;

constexpr std::uint64_t kHandshake_ns = 1 * kSecond_ns;
// Connections that have not said hello yet.
constexpr std::size_t kUnauthenticatedPeers = 256;
constexpr std::uint64_t kGrace_ns = 1 * kSecond_ns;
// Calls of one peer that run at the same time; more wait in its pipe.
constexpr std::size_t kMaxHandlers = 1024;

// The socket's directory is the server's alone.
Status prepare_directory(const std::string& socket_path) {
  const std::size_t slash = socket_path.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : socket_path.substr(0, slash + 1);
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    return system_error(ErrorCode::configuration, "cannot create the directory " + directory, errno);
  }
  struct stat info{};
  if (::stat(directory.c_str(), &info) != 0) {
    return system_error(ErrorCode::configuration, "cannot look at the directory " + directory, errno);
  }
  if (!S_ISDIR(info.st_mode) || info.st_uid != ::geteuid() || (info.st_mode & 077) != 0) {
    return Status(ErrorCode::configuration, "the socket's directory " + directory + " is open to other users",
                  "chmod 700 " + directory);
  }
  return {};
}

std::string user_of(int socket) {
  ucred credentials{};
  socklen_t length = sizeof credentials;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) return "a process";
  return "a process of user " + std::to_string(credentials.uid);
}

struct PeerProcess {
  bool same_process = false;
  Descriptor pidfd;
};

// The process at the other end, and the handle by which it can be fenced.
Result<PeerProcess> identify(int socket) {
  ucred credentials{};
  socklen_t length = sizeof credentials;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0 || credentials.pid <= 0) {
    return Status(ErrorCode::invalid_authorization, "a peer that cannot be identified");
  }
  if (credentials.uid != ::geteuid() && credentials.uid != 0) {
    return Status(ErrorCode::invalid_authorization,
                  "a peer of another user (uid " + std::to_string(credentials.uid) + ")");
  }
  PeerProcess process;
  if (credentials.pid == ::getpid()) {
    process.same_process = true;
    return process;
  }
  int pidfd = -1;
  length = sizeof pidfd;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &length) != 0) {
    // Before Linux 6.5. Between connect() and here the number may have been given to another process only if
    // the peer has died meanwhile: then its end of the socket is closed.
    pidfd = static_cast<int>(::syscall(SYS_pidfd_open, credentials.pid, 0));
    pollfd hangup{socket, POLLRDHUP, 0};
    if (pidfd >= 0 && (::poll(&hangup, 1, 0) != 0)) {
      ::close(pidfd);
      return Status(ErrorCode::connection_failure, "the peer has died");
    }
  }
  if (pidfd < 0) return system_error(ErrorCode::connection_failure, "the peer has no pidfd", errno);
  process.pidfd = Descriptor(pidfd);
  return process;
}

}  // namespace

// One channel, as the server sees it.
class ShmServerFabric::Peer final : public reactor::SocketHandler, public reactor::TurnHook {
 public:
  Peer(ShmServerFabric& server, PeerId peer_id, PeerProcess process, PipesMapping memory,
       Descriptor client_wake)
      : id(peer_id),
        server_(server),
        process_(std::move(process)),
        pipes_(std::move(memory)),
        requests_(pipes_.header().requests, pipes_.request_bytes(), kPipe_bytes),
        replies_(pipes_.header().replies, pipes_.reply_bytes(), kPipe_bytes),
        client_wake_(std::move(client_wake)) {
    pipes_.header().region_bytes.store(server.served_.region.length_bytes, std::memory_order_release);
  }
  ~Peer() override {
    if (announced_) server_.reactor_.cancel_flush(*this);
  }

  void start(Descriptor socket) {
    socket_.emplace(server_.reactor_, socket.release(), *this);
    socket_->start_receiving();
  }

  bool poll();
  bool prepare_sleep();
  void cancel_sleep() {
    requests_.cancel_sleep();
    replies_.cancel_sleep();
  }
  void end_of_turn() override;
  void on_receive(std::span<const std::byte> bytes) override;
  void on_end(Status) override { end(); }

  void reply(const FrameHeader& request, const Status& status, std::string_view bytes);
  // Asks the client to say goodbye.
  void ask_to_close() {
    pipes_.header().closing.store(1, std::memory_order_release);
    reactor::WakeDescriptor::signal(client_wake_.get());
  }
  void kill() {
    if (!process_.same_process) ::syscall(SYS_pidfd_send_signal, process_.pidfd.get(), SIGKILL, nullptr, 0);
  }
  void announce_growth(std::uint64_t length_bytes) {
    pipes_.header().region_bytes.store(length_bytes, std::memory_order_release);
  }
  // Nothing more is taken from it, and it is retired.
  void end();

  const PeerId id;
  std::size_t handlers = 0;
  bool same_process() const { return process_.same_process; }
  bool said_goodbye() const { return said_goodbye_; }
  int pidfd() const { return process_.pidfd.get(); }
  int pipes_descriptor() const { return pipes_.descriptor(); }

 private:
  bool takes_requests() const { return !ended_ && !replies_.waiting() && handlers < kMaxHandlers; }
  void announce_soon();

  ShmServerFabric& server_;
  PeerProcess process_;
  PipesMapping pipes_;
  PipeReceiver requests_;
  PipeSender replies_;
  Descriptor client_wake_;
  std::optional<reactor::Socket> socket_;
  bool announced_ = false;
  bool ended_ = false;
  bool said_goodbye_ = false;
};

bool ShmServerFabric::Peer::poll() {
  if (ended_) return false;
  bool worked = replies_.flush();
  FrameHeader header;
  std::string request;
  while (takes_requests() && requests_.receive(header, request)) {
    worked = true;
    ++handlers;
    server_.reactor_.spawn(server_.served_.gate, server_.handle_call(id, header, std::move(request)));
  }
  if (requests_.broken() || replies_.broken()) {
    end();
    return true;
  }
  if (requests_.unannounced() || replies_.unannounced()) announce_soon();
  return worked;
}

bool ShmServerFabric::Peer::prepare_sleep() {
  if (ended_) return true;
  const bool requests = !takes_requests() || requests_.prepare_sleep();
  const bool room = replies_.prepare_sleep();
  return requests && room;
}

void ShmServerFabric::Peer::announce_soon() {
  if (announced_) return;
  announced_ = true;
  server_.reactor_.flush_soon(*this);
}

void ShmServerFabric::Peer::end_of_turn() {
  announced_ = false;
  const bool bytes = replies_.wake_needed();
  const bool room = requests_.wake_needed();
  if ((bytes || room) && !ended_) reactor::WakeDescriptor::signal(client_wake_.get());
}

void ShmServerFabric::Peer::on_receive(std::span<const std::byte> bytes) {
  said_goodbye_ = bytes.size() == 1 && static_cast<char>(bytes[0]) == kGoodbye;
  end();
}

void ShmServerFabric::Peer::end() {
  if (std::exchange(ended_, true)) return;
  server_.reactor_.spawn(server_.served_.gate, server_.retire(id));
}

void ShmServerFabric::Peer::reply(const FrameHeader& request, const Status& status, std::string_view bytes) {
  if (ended_) return;
  if (status.ok()) {
    replies_.send({static_cast<std::uint32_t>(bytes.size()), FrameKind::reply, 0, request.call}, bytes);
  } else {
    const std::string error = encode_error(status);
    replies_.send({static_cast<std::uint32_t>(error.size()), FrameKind::error, 0, request.call}, error);
  }
  announce_soon();
}

ShmServerFabric::ShmServerFabric(reactor::Reactor& reactor, const ServerRegion& region, Service& service,
                                 std::uint64_t fence_patience_ns)
    : reactor_(reactor),
      served_(reactor, region, service),
      wake_(reactor),
      fence_patience_ns_(fence_patience_ns),
      unauthenticated_(kUnauthenticatedPeers),
      refusals_(reactor, [](const std::string& line) { spdlog::warn("shm fabric: {}", line); }) {
  loopback_ = std::make_unique<LoopbackChannel>(served_);
  reactor_.add_source(*this);
}

ShmServerFabric::~ShmServerFabric() {
  NAMDB_CHECK(closed_);
  reactor_.remove_source(*this);
}

Channel& ShmServerFabric::loopback() {
  return *loopback_;
}

void ShmServerFabric::describe(Facts& facts) const {
  facts.say("atomics", "with the CPU");
  facts.count("mapped_bytes", served_.region.length_bytes);
  facts.count("peers", peers_.size());
  facts.count("connections", accepted_);
  facts.count("refused", refused_);
  facts.count("processes_killed", killed_);
}

void ShmServerFabric::grow(std::size_t length_bytes) {
  NAMDB_CHECK(length_bytes >= served_.region.length_bytes && length_bytes <= served_.region.capacity_bytes);
  served_.region.length_bytes = length_bytes;
  for (const auto& [id, peer] : peers_) peer->announce_growth(length_bytes);
}

bool ShmServerFabric::poll() {
  bool worked = false;
  for (const auto& [id, peer] : peers_) worked |= peer->poll();
  return worked;
}

bool ShmServerFabric::prepare_sleep() {
  bool may_sleep = true;
  for (const auto& [id, peer] : peers_) may_sleep &= peer->prepare_sleep();
  return may_sleep;
}

void ShmServerFabric::cancel_sleep() {
  for (const auto& [id, peer] : peers_) peer->cancel_sleep();
}

reactor::Task<Status> ShmServerFabric::listen(std::string address) {
  NAMDB_CHECK(listener_ == nullptr && !closed_);
  if (!address.starts_with("unix:")) {
    co_return Status(ErrorCode::configuration, "no address of the shared-memory fabric: " + address,
                     "it takes unix:PATH");
  }
  Status status = prepare_directory(address.substr(std::strlen("unix:")));
  if (!status.ok()) co_return std::move(status);
  // A peer that truncated the region would make the server's next load from it a fatal signal.
  ::fcntl(served_.region.descriptor, F_ADD_SEALS, F_SEAL_SHRINK);
  reactor::ListenOptions options;
  options.unix_mode = 0600;
  auto listener = reactor::SocketListener::listen(reactor_, std::move(address), options);
  if (!listener.ok()) co_return listener.status();
  listener_ = std::move(*listener);
  reactor_.spawn(served_.gate, accept_peers());
  co_return Status();
}

reactor::Task<void> ShmServerFabric::accept_peers() {
  for (;;) {
    auto accepted = co_await listener_->accept_descriptor();
    if (accepted.ok()) {
      reactor_.spawn(served_.gate, admit(Descriptor(*accepted)));
    } else if (accepted.status().code() == ErrorCode::connection_failure) {
      break;  // closed
    } else {
      co_await reactor_.sleep_for(100 * kMillisecond_ns);  // out of descriptors
    }
  }
}

reactor::Task<void> ShmServerFabric::limit_handshake(std::shared_ptr<bool> over, int socket) {
  const std::uint64_t deadline_ns = reactor_.now_ns() + kHandshake_ns;
  while (!*over && !served_.gate.closing() && reactor_.now_ns() < deadline_ns)
    co_await served_.changed.wait_until(deadline_ns);
  if (!*over) ::shutdown(socket, SHUT_RDWR);
}

reactor::Task<void> ShmServerFabric::admit(Descriptor socket) {
  auto over = std::make_shared<bool>(false);
  reactor_.spawn(served_.gate, limit_handshake(over, socket.get()));
  const PeerId id = next_peer_id();
  std::unique_ptr<Peer> peer;
  const std::string user = user_of(socket.get());
  Status status;
  {
    const int stranger = socket.get();
    UnauthenticatedPeers::Seat seat = unauthenticated_.enter([stranger] { ::shutdown(stranger, SHUT_RDWR); });
    status = co_await shake_hands(&socket, id, &peer, &seat, over.get());
  }
  *over = true;
  served_.changed.notify_all();
  if (peer == nullptr) {
    ++refused_;
    if (!status.ok() && !served_.gate.closing()) refusals_.refuse(user, status.message());
    co_return;
  }
  Peer& admitted = *peer;
  peers_.emplace(id, std::move(peer));
  admitted.announce_growth(served_.region.length_bytes);  // it may have grown while hands were shaken
  ++accepted_;
  if (!status.ok() || served_.gate.closing()) {
    admitted.end();
  } else {
    admitted.start(std::move(socket));
  }
}

reactor::Task<Status> ShmServerFabric::shake_hands(Descriptor* socket, PeerId id, std::unique_ptr<Peer>* peer,
                                                   UnauthenticatedPeers::Seat* seat, bool* over) {
  auto process = identify(socket->get());
  if (!process.ok()) co_return process.status();
  ClientHello request{};
  std::vector<Descriptor> descriptors;
  Status status = co_await receive_all(&reactor_, socket->get(), reinterpret_cast<char*>(&request),
                                       sizeof request, &descriptors);
  if (!status.ok()) co_return std::move(status);
  if (request.magic != kMagic || request.version != kVersion || request.hello_bytes > kMaxHello_bytes) {
    co_return Status(ErrorCode::protocol_violation, "not a client of this version");
  }
  std::string hello(request.hello_bytes, '\0');
  status = co_await receive_all(&reactor_, socket->get(), hello.data(), hello.size(), &descriptors);
  if (!status.ok()) co_return std::move(status);
  if (descriptors.size() != 1 || !is_eventfd(descriptors[0].get())) {
    co_return Status(ErrorCode::protocol_violation, "the client passed no eventfd");
  }
  // From here on it is a peer, whose end is its process's end.
  seat->leave();
  *over = true;
  ::fcntl(descriptors[0].get(), F_SETFL, O_NONBLOCK);
  ServerWelcome answer{kMagic, kVersion, 0, served_.region.capacity_bytes, kPipe_bytes, 0};
  std::string payload;
  std::vector<int> passed;
  auto pipes = PipesMapping::create();
  Status refusal = pipes.status();
  if (refusal.ok() && served_.gate.closing())
    refusal = Status(ErrorCode::admin_shutdown, "the memory server is shutting down");
  if (refusal.ok()) {
    Result<std::string> welcome = served_.service.on_connect(id, hello);
    refusal = welcome.status();
    if (welcome.ok()) payload = std::move(*welcome);
  }
  if (refusal.ok()) {
    *peer =
        std::make_unique<Peer>(*this, id, std::move(*process), std::move(*pipes), std::move(descriptors[0]));
    passed = std::vector<int>{served_.region.descriptor, (*peer)->pipes_descriptor(), wake_.descriptor()};
  } else {
    answer.refused = 1;
    payload = encode_error(refusal);
  }
  answer.welcome_bytes = static_cast<std::uint32_t>(payload.size());
  std::string bytes(reinterpret_cast<const char*>(&answer), sizeof answer);
  bytes += payload;
  co_return co_await send_all(&reactor_, socket->get(), std::move(bytes), std::move(passed));
}

reactor::Task<void> ShmServerFabric::handle_call(PeerId id, FrameHeader header, std::string request) {
  std::string reply;
  Status status;
  if (header.kind != FrameKind::request) {
    status = Status(ErrorCode::protocol_violation, "not a request");
  } else {
    status = co_await served_.service.on_call(id, header.method, request, reply);
  }
  if (reply.size() > kMaxCall_bytes)
    status = Status(ErrorCode::limit_exceeded, "the reply of a call is too long");
  // The peer stays while its handlers run.
  Peer& peer = *peers_.at(id);
  peer.reply(header, status, reply);
  --peer.handlers;
  served_.changed.notify_all();
}

reactor::Task<void> ShmServerFabric::retire(PeerId id) {
  Peer& peer = *peers_.at(id);
  if (!peer.said_goodbye() && !peer.same_process()) {
    ++killed_;
    peer.kill();
    int result = 0;
    do {
      result = co_await reactor_.poll(peer.pidfd(), POLLIN);
    } while (result == -EINTR || result == -EAGAIN);
    NAMDB_CHECK(result > 0);
  }
  while (peer.handlers != 0) co_await served_.changed.wait();
  peers_.erase(id);
  served_.service.on_disconnect(id);
  served_.changed.notify_all();
}

reactor::Task<void> ShmServerFabric::fence(PeerId id) {
  const auto found = peers_.find(id);
  if (found == peers_.end()) co_return;
  if (found->second->same_process() || fence_patience_ns_ != 0) found->second->ask_to_close();
  const std::uint64_t deadline_ns = reactor_.now_ns() + fence_patience_ns_;
  while (peers_.contains(id) && reactor_.now_ns() < deadline_ns)
    co_await served_.changed.wait_until(deadline_ns);
  if (const auto left = peers_.find(id); left != peers_.end()) left->second->kill();
  while (peers_.contains(id)) co_await served_.changed.wait();
}

reactor::Task<void> ShmServerFabric::close() {
  NAMDB_CHECK(!closed_);
  closed_ = true;
  if (listener_ != nullptr) listener_->close();
  // Wakes the handshakes, which then fail, and ends when none of all tasks is left.
  auto all_gone = served_.gate.close();
  served_.changed.notify_all();
  for (const auto& [id, peer] : peers_) peer->ask_to_close();
  const std::uint64_t deadline_ns = reactor_.now_ns() + kGrace_ns;
  while (!peers_.empty() && reactor_.now_ns() < deadline_ns) co_await served_.changed.wait_until(deadline_ns);
  for (const auto& [id, peer] : peers_) peer->kill();
  while (!peers_.empty()) co_await served_.changed.wait();
  co_await all_gone;
  co_await refusals_.close();
}

}  // namespace namdb::fabric::shm
