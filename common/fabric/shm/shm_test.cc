// The shared-memory transport's own properties: permission to connect, other processes that are fenced or
// die, a region that grows. The conformance suite tests the contract's guarantees.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <catch2/catch.hpp>

#include <cstring>
#include <optional>

#include "common/fabric/facts.h"
#include "common/fabric/region_words.h"
#include "common/fabric/shm/client.h"
#include "common/fabric/shm/server.h"
#include "common/fabric/shm/wire.h"

namespace namdb::fabric::shm {
namespace {

using reactor::Reactor;
using reactor::Task;

constexpr std::size_t kFirst_bytes = 1U << 20;
constexpr std::size_t kCapacity_bytes = 4U << 20;

class TestService final : public Service {
 public:
  Result<std::string> on_connect(PeerId peer, std::string_view) override {
    connected.push_back(peer);
    return std::string();
  }
  Task<Status> on_call(PeerId, std::uint16_t, std::string_view request, std::string& reply) override {
    reply = request;
    co_return Status();
  }
  void on_disconnect(PeerId peer) override { disconnected.push_back(peer); }
  std::vector<PeerId> connected;
  std::vector<PeerId> disconnected;
};

struct Paths {
  Paths() {
    char path[] = "/tmp/namdb-shm-XXXXXX";
    REQUIRE(::mkdtemp(path) != nullptr);
    directory = path;
    socket = directory + "/memory.sock";
  }
  ~Paths() {
    ::unlink(socket.c_str());
    ::rmdir(directory.c_str());
  }
  std::string address() const { return "unix:" + socket; }
  std::string directory;
  std::string socket;
};

// A memory server on a reactor of the test's own thread.
class Server {
 public:
  explicit Server(const Paths& paths, std::uint64_t fence_patience_ns = 0) {
    auto created = Reactor::create();
    REQUIRE(created.ok());
    reactor = std::move(*created);
    memory = ::memfd_create("namdb-test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    REQUIRE(memory >= 0);
    REQUIRE(::ftruncate(memory, kFirst_bytes) == 0);
    void* mapped = ::mmap(nullptr, kCapacity_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    REQUIRE(mapped != MAP_FAILED);
    base = static_cast<std::byte*>(mapped);
    fabric.emplace(*reactor, ServerRegion{base, kFirst_bytes, kCapacity_bytes, memory}, service,
                   fence_patience_ns);
    const Status status = reactor->run_until(fabric->listen(paths.address()));
    REQUIRE(status.ok());
  }
  ~Server() {
    reactor->run_until(fabric->close());
    fabric.reset();
    reactor.reset();
    ::munmap(base, kCapacity_bytes);
    ::close(memory);
  }
  std::uint64_t word(std::size_t index) {
    return region_word(base + 8 * index).load(std::memory_order_acquire);
  }
  // Processes whose handshake has ended.
  std::uint64_t peers() const {
    Facts facts;
    fabric->describe(facts);
    for (const Fact& fact : facts.all()) {
      if (fact.name == "peers") return fact.amount;
    }
    return 0;
  }
  template <typename Condition>
  void run_until(Condition condition) {
    reactor->run_until(poll_until(reactor.get(), &condition));
  }

  std::unique_ptr<Reactor> reactor;
  int memory;
  std::byte* base;
  TestService service;
  std::optional<ShmServerFabric> fabric;

 private:
  template <typename Condition>
  static Task<void> poll_until(Reactor* on, Condition* condition) {
    while (!(*condition)()) co_await on->sleep_for(100 * kMicrosecond_ns);
  }
};

Task<void> connect_and_add(Reactor* reactor, std::string address, int rounds) {
  ShmClientFabric fabric(*reactor);
  auto connected = co_await fabric.connect(std::move(address), "", nullptr);
  if (!connected.ok()) co_return;
  LocalBuffer buffer(fabric.pool(), 64);
  Batch batch;
  for (int i = 0; rounds < 0 || i < rounds; ++i) {
    batch.clear();
    batch.fetch_add(0, 1, buffer.data());
    (*connected)->post(batch);
    co_await batch.done();
    if (!batch.status().ok()) break;
    co_await reactor->yield();
  }
  if (rounds >= 0) ::_exit(0);  // without goodbye
}

// Another process that connects and adds; for ever if rounds < 0.
pid_t start_client_process(const std::string& address, int rounds) {
  const pid_t pid = ::fork();
  REQUIRE(pid >= 0);
  if (pid != 0) return pid;
  auto reactor = Reactor::create();
  if (reactor.ok()) (*reactor)->run_until(connect_and_add(reactor->get(), address, rounds));
  ::_exit(1);
}

int connect_raw(const Paths& paths) {
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, paths.socket.c_str());
  REQUIRE(::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  return socket;
}

}  // namespace

TEST_CASE("the socket is its owner's alone, in a directory that is its owner's alone") {
  Paths paths;
  {
    Server server(paths);
    struct stat info{};
    REQUIRE(::stat(paths.socket.c_str(), &info) == 0);
    REQUIRE((info.st_mode & 0777) == 0600);
  }
  REQUIRE(::chmod(paths.directory.c_str(), 0755) == 0);
  auto reactor = std::move(*Reactor::create());
  TestService service;
  ShmServerFabric fabric(*reactor, {nullptr, 0, 0, -1}, service);
  const Status open = reactor->run_until(fabric.listen(paths.address()));
  REQUIRE(open.code() == ErrorCode::configuration);
  REQUIRE(open.hint().find("chmod 700") == 0);
  const Status missing = reactor->run_until(fabric.listen("unix:/nowhere/at/all/x.sock"));
  REQUIRE(missing.code() == ErrorCode::configuration);
  const Status other = reactor->run_until(fabric.listen("127.0.0.1:80"));
  REQUIRE(other.code() == ErrorCode::configuration);
  reactor->run_until(fabric.close());
}

TEST_CASE("a missing directory is created for its owner alone") {
  Paths paths;
  Paths inner;
  inner.directory = paths.directory + "/run";
  inner.socket = inner.directory + "/memory.sock";
  {
    Server server(inner);
    struct stat info{};
    REQUIRE(::stat(inner.directory.c_str(), &info) == 0);
    REQUIRE((info.st_mode & 0777) == 0700);
  }
  REQUIRE(::rmdir(inner.directory.c_str()) == 0);
}

TEST_CASE("a fence of another process kills it, and returns after its last operation") {
  Paths paths;
  Server server(paths);
  const pid_t pid = start_client_process(paths.address(), -1);
  server.run_until([&] { return server.word(0) > 100; });
  REQUIRE(server.service.connected.size() == 1);
  server.reactor->run_until(server.fabric->fence(server.service.connected[0]));
  const std::uint64_t counted = server.word(0);
  REQUIRE(server.service.disconnected == server.service.connected);
  int status = 0;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  REQUIRE(WIFSIGNALED(status));
  REQUIRE(WTERMSIG(status) == SIGKILL);
  REQUIRE(server.word(0) == counted);
}

TEST_CASE("a patient fence asks a process to go, and kills the one that does not in time") {
  Paths paths;
  Server server(paths, 50 * kMillisecond_ns);
  const pid_t willing = start_client_process(paths.address(), -1);
  server.run_until([&] { return server.peers() == 1 && server.word(0) > 100; });
  server.reactor->run_until(server.fabric->fence(server.service.connected[0]));
  REQUIRE(server.service.disconnected == server.service.connected);
  const std::uint64_t counted = server.word(0);
  int status = 0;
  REQUIRE(::waitpid(willing, &status, 0) == willing);
  REQUIRE(WIFEXITED(status));
  REQUIRE(server.word(0) == counted);
  const pid_t stopped = start_client_process(paths.address(), -1);
  server.run_until([&] { return server.peers() == 1 && server.word(0) > counted + 100; });
  REQUIRE(::kill(stopped, SIGSTOP) == 0);
  server.reactor->run_until(server.fabric->fence(server.service.connected[1]));
  REQUIRE(server.service.disconnected == server.service.connected);
  REQUIRE(::waitpid(stopped, &status, 0) == stopped);
  REQUIRE(WIFSIGNALED(status));
  REQUIRE(WTERMSIG(status) == SIGKILL);
}

TEST_CASE("a socket of another user is an error that does not mend itself") {
  if (::geteuid() != 0) return;  // only root can become another user
  Paths paths;
  Server server(paths);
  const pid_t pid = ::fork();
  REQUIRE(pid >= 0);
  if (pid == 0) {
    constexpr uid_t kOther = 65'534;
    if (::setresuid(kOther, kOther, kOther) != 0) ::_exit(1);
    auto reactor = Reactor::create();
    if (!reactor.ok()) ::_exit(2);
    ShmClientFabric fabric(**reactor);
    const auto connected = (*reactor)->run_until(fabric.connect(paths.address(), "", nullptr));
    ::_exit(connected.status().code() == ErrorCode::configuration ? 0 : 3);
  }
  int status = 0;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  REQUIRE(WIFEXITED(status));
  REQUIRE(WEXITSTATUS(status) == 0);
}

TEST_CASE("a client takes its buffers from another fabric's pool where it is told to") {
  Paths paths;
  Server server(paths);
  LocalPool pool;
  ShmClientFabric fabric(*server.reactor, ShmClientFabric::kHandshakeTimeout_ns, &pool);
  auto connected = server.reactor->run_until(fabric.connect(paths.address(), "", nullptr));
  REQUIRE(connected.ok());
  REQUIRE(&fabric.pool() == &pool);
  REQUIRE(&(*connected)->pool() == &pool);
}

TEST_CASE("a process that ends without goodbye, or is killed, is reported") {
  Paths paths;
  Server server(paths);
  const pid_t first = start_client_process(paths.address(), 10);
  server.run_until([&] { return server.service.disconnected.size() == 1; });
  REQUIRE(server.word(0) == 10);
  const pid_t second = start_client_process(paths.address(), -1);
  server.run_until([&] { return server.word(0) > 100; });
  REQUIRE(::kill(second, SIGKILL) == 0);
  server.run_until([&] { return server.service.disconnected.size() == 2; });
  REQUIRE(server.service.disconnected == server.service.connected);
  for (const pid_t pid : {first, second}) REQUIRE(::waitpid(pid, nullptr, 0) == pid);
}

TEST_CASE("a close asks other processes to go, and kills those that do not") {
  Paths paths;
  std::optional<Server> server(std::in_place, paths);
  const pid_t willing = start_client_process(paths.address(), -1);
  const pid_t stopped = start_client_process(paths.address(), -1);
  // A close kills a process that it meets in its handshake.
  server->run_until([&] { return server->peers() == 2 && server->word(0) > 100; });
  REQUIRE(::kill(stopped, SIGSTOP) == 0);
  server.reset();
  int status = 0;
  REQUIRE(::waitpid(willing, &status, 0) == willing);
  REQUIRE(WIFEXITED(status));
  REQUIRE(::waitpid(stopped, &status, 0) == stopped);
  REQUIRE(WIFSIGNALED(status));
}

TEST_CASE("a client notices that its memory server was killed") {
  Paths paths;
  const pid_t pid = ::fork();
  REQUIRE(pid >= 0);
  if (pid == 0) {
    Server server(paths);
    server.reactor->run();
    ::_exit(1);
  }
  auto reactor = std::move(*Reactor::create());
  ShmClientFabric fabric(*reactor);
  std::unique_ptr<Channel> channel;
  while (channel == nullptr) {
    auto connected = reactor->run_until(fabric.connect(paths.address(), "", nullptr));
    if (connected.ok()) channel = std::move(*connected);
  }
  REQUIRE(::kill(pid, SIGKILL) == 0);
  struct Local {
    static Task<void> call_until_failed(Channel* to) {
      Status status;
      while (status.ok()) {
        Call call;
        call.request = "x";
        to->post(call);
        co_await call.done();
        status = call.status();
      }
    }
  };
  reactor->run_until(Local::call_until_failed(channel.get()));
  REQUIRE(channel->failed());
  channel.reset();
  REQUIRE(::waitpid(pid, nullptr, 0) == pid);
  const auto again = reactor->run_until(fabric.connect(paths.address(), "", nullptr));
  REQUIRE(again.status().code() == ErrorCode::connection_failure);
}

TEST_CASE("a memory server that is there and does not answer is given up after a while") {
  const Paths paths;
  const Descriptor listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  paths.socket.copy(address.sun_path, sizeof address.sun_path - 1);
  REQUIRE(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  REQUIRE(::listen(listener.get(), 1) == 0);
  const auto reactor = std::move(*Reactor::create({}));
  ShmClientFabric fabric(*reactor, 5 * kMillisecond_ns);
  const auto channel = reactor->run_until(fabric.connect(paths.address(), "", nullptr));
  CHECK(channel.status().code() == ErrorCode::connection_failure);
}

TEST_CASE("a region that grows is used beyond its old end once that is announced") {
  Paths paths;
  Server server(paths);
  ShmClientFabric fabric(*server.reactor);
  auto connected = server.reactor->run_until(fabric.connect(paths.address(), "", nullptr));
  REQUIRE(connected.ok());
  Channel& channel = **connected;
  LocalBuffer buffer(fabric.pool(), 64);
  buffer.word() = 42;
  // Grown, and not announced only to those who look at the size themselves: allocate, then announce.
  REQUIRE(::ftruncate(server.memory, 2 * kFirst_bytes) == 0);
  server.fabric->grow(2 * kFirst_bytes);
  Batch batch;
  batch.write(2 * kFirst_bytes - 8, buffer.data(), 8);
  channel.post(batch);
  REQUIRE(!batch.pending());
  REQUIRE(batch.status().ok());
  REQUIRE(server.word(2 * kFirst_bytes / 8 - 1) == 42);
  batch.clear();
  batch.write(2 * kFirst_bytes, buffer.data(), 8);
  channel.post(batch);
  REQUIRE(!batch.status().ok());
  buffer.reset();
  connected->reset();
}

TEST_CASE("the region cannot be shrunk under the server") {
  Paths paths;
  Server server(paths);
  REQUIRE(::ftruncate(server.memory, 4096) != 0);
}

TEST_CASE("clients that send nonsense, too little or nothing are dropped, and others are served") {
  Paths paths;
  Server server(paths);
  const auto send_and_expect_end = [&](std::string_view bytes) {
    const int socket = connect_raw(paths);
    REQUIRE(::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size()));
    char byte;
    server.run_until([&] { return ::recv(socket, &byte, 1, MSG_DONTWAIT) == 0; });
    ::close(socket);
  };
  send_and_expect_end("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  ClientHello hello{kMagic, kVersion, 0};
  send_and_expect_end({reinterpret_cast<const char*>(&hello), sizeof hello});  // no eventfd
  hello.hello_bytes = 2'000'000'000;
  send_and_expect_end({reinterpret_cast<const char*>(&hello), sizeof hello});
  hello = {kMagic, kVersion + 1, 0};
  send_and_expect_end({reinterpret_cast<const char*>(&hello), sizeof hello});
  const int silent = connect_raw(paths);
  const int half = connect_raw(paths);
  REQUIRE(::send(half, &hello, 7, MSG_NOSIGNAL) == 7);
  ::close(half);
  ShmClientFabric fabric(*server.reactor);
  auto connected = server.reactor->run_until(fabric.connect(paths.address(), "", nullptr));
  REQUIRE(connected.ok());
  REQUIRE(server.service.connected.size() == 1);
  connected->reset();
  server.run_until([&] { return server.service.disconnected.size() == 1; });
  ::close(silent);
}

TEST_CASE("silent connections end, the oldest first, and keep no client out") {
  Paths paths;
  Server server(paths);
  // More than a server keeps.
  std::vector<int> silent;
  for (int i = 0; i < 300; ++i) silent.push_back(connect_raw(paths));
  const auto ended = [](int socket) {
    char byte;
    return ::recv(socket, &byte, 1, MSG_DONTWAIT) == 0;
  };
  server.run_until([&] { return ended(silent.front()); });
  REQUIRE(!ended(silent.back()));
  ShmClientFabric fabric(*server.reactor);
  auto connected = server.reactor->run_until(fabric.connect(paths.address(), "", nullptr));
  REQUIRE(connected.ok());
  connected->reset();
  server.run_until([&] { return server.service.disconnected.size() == 1; });
  for (const int socket : silent) ::close(socket);
}

TEST_CASE("a client process that writes nonsense into its pipe is fenced") {
  Paths paths;
  Server server(paths);
  const pid_t pid = ::fork();
  REQUIRE(pid >= 0);
  if (pid == 0) {
    // By hand, so that the pipe is at hand: a hello with an eventfd, then a frame that cannot be.
    struct Vandal {
      static Task<void> act(Reactor* reactor, std::string address) {
        ShmClientFabric fabric(*reactor);
        auto connected = co_await fabric.connect(std::move(address), "", nullptr);
        Call call;
        call.request = "x";
        (*connected)->post(call);
        // Every mapping of the pipes in this process: the positions are the first words of its second lines.
        for (int descriptor = 3; descriptor < 64; ++descriptor) {
          struct stat info{};
          if (::fstat(descriptor, &info) != 0 || info.st_size != kPipesData_offset + 2 * kPipe_bytes)
            continue;
          void* base = ::mmap(nullptr, static_cast<std::size_t>(info.st_size), PROT_READ | PROT_WRITE,
                              MAP_SHARED, descriptor, 0);
          static_cast<PipesHeader*>(base)->requests.written = ~std::uint64_t{0};
        }
        co_await call.done();
        co_await reactor->sleep_for(60 * kSecond_ns);
      }
    };
    auto reactor = Reactor::create();
    (*reactor)->run_until(Vandal::act(reactor->get(), paths.address()));
    ::_exit(0);
  }
  server.run_until([&] { return server.service.disconnected.size() == 1; });
  int status = 0;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  REQUIRE(WIFSIGNALED(status));
  REQUIRE(WTERMSIG(status) == SIGKILL);
}

}  // namespace namdb::fabric::shm
