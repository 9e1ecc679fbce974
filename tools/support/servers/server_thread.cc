#include "tools/support/servers/server_thread.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <semaphore>
#include <utility>

#include "common/fabric/local_path.h"
#include "common/fabric/shm/transport.h"
#include "common/fabric/tcp/server.h"
#include "common/fabric/verbs/server.h"
#include "memory/server/server.h"
#include "tools/support/servers/transports.h"

namespace namdb::support {
namespace {

Status system_failure(const std::string& what) {
  return Status(ErrorCode::configuration, what + ": " + std::strerror(errno));
}

// Takes every peer and no call.
class BareRegion : public fabric::Service {
 public:
  Result<std::string> on_connect(fabric::PeerId, std::string_view) override { return std::string(); }
  reactor::Task<Status> on_call(fabric::PeerId, std::uint16_t, std::string_view, std::string&) override {
    co_return Status(ErrorCode::feature_not_supported, "this region takes no calls");
  }
  void on_disconnect(fabric::PeerId) override {}
};

reactor::Task<void> finish(reactor::Task<void> task, std::binary_semaphore& done) {
  co_await task;
  done.release();
}

}  // namespace

// The objects that live on the thread.
class ServerThread::Serving {
 public:
  Serving(reactor::Reactor& reactor, const ServerThreadOptions& options, const fabric::ServerRegion& region,
          const std::string& socket) {
    const fabric::TransportRegistry registry = transports(reactor, options.tcp, options.verbs);
    const Result<const fabric::Transport*> transport = registry.find(options.transport);
    if (!transport.ok()) {
      status = transport.status();
      return;
    }
    if (options.memory_server) {
      const std::span<std::byte> bytes(region.base, region.length_bytes);
      auto created = memory::MemoryServer::create(reactor, bytes, *options.memory_server);
      if (!created.ok()) {
        status = created.status();
        return;
      }
      memory_ = std::move(created).value();
    }
    fabric::Service& service = memory_ ? static_cast<fabric::Service&>(*memory_) : bare_;
    auto remote = transport.value()->make_server(region, service);
    remote_ = remote.get();
    fabric_ = std::move(remote);
    if (options.local_path) {
      auto local = fabric::shm::local_server(reactor, region, service);
      fabric_ = std::make_unique<fabric::LocalPathServer>(std::move(fabric_), std::move(local), socket);
    }
    if (memory_) memory_->start(*fabric_, transport.value()->make_client);
  }

  reactor::Task<void> listen(std::string address) {
    if (!status.ok()) co_return;
    status = co_await fabric_->listen(address);
  }
  reactor::Task<void> stop() {
    if (memory_) co_await memory_->stop();
    if (fabric_) co_await fabric_->close();
  }
  // Of the transport that was named.
  const fabric::ServerFabric& server() const { return *remote_; }

  Status status;

 private:
  BareRegion bare_;
  std::unique_ptr<memory::MemoryServer> memory_;
  std::unique_ptr<fabric::ServerFabric> fabric_;
  const fabric::ServerFabric* remote_ = nullptr;  // it, or what it has within
};

Result<std::unique_ptr<ServerThread>> ServerThread::start(const ServerThreadOptions& options) {
  std::unique_ptr<ServerThread> server(new ServerThread());
  if (Status status = server->map_region(options.region_bytes); !status.ok()) return status;
  char directory[] = "/tmp/nambench-XXXXXX";
  if (::mkdtemp(directory) == nullptr) return system_failure("a temporary folder");
  server->directory_ = directory;
  auto thread = reactor::ReactorThread::start();
  if (!thread.ok()) return thread.status();
  server->thread_ = std::move(thread).value();
  if (Status status = server->listen(options); !status.ok()) return status;
  return server;
}

ServerThread::~ServerThread() {
  if (thread_) {
    if (serving_) {
      run([this] { return serving_->stop(); });
      call([this] { serving_.reset(); });
    }
    thread_.reset();
  }
  if (!region_.empty()) ::munmap(region_.data(), region_.size());
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!directory_.empty()) ::rmdir(directory_.c_str());
}

Status ServerThread::map_region(std::uint64_t bytes) {
  descriptor_ = ::memfd_create("nambench", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (descriptor_ < 0 || ::ftruncate(descriptor_, static_cast<off_t>(bytes)) != 0) {
    return system_failure("memory for a region");
  }
  void* base = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, descriptor_, 0);
  if (base == MAP_FAILED) return system_failure("memory for a region");
  region_ = {static_cast<std::byte*>(base), bytes};
  return {};
}

Status ServerThread::listen(const ServerThreadOptions& options) {
  const fabric::ServerRegion region{region_.data(), region_.size(), region_.size(), descriptor_};
  call([&] { serving_ = std::make_unique<Serving>(thread_->reactor(), options, region, socket()); });
  const bool tcp = options.transport == "tcp";
  const bool verbs = options.transport == "verbs";
  address_ = tcp ? "127.0.0.1:0" : verbs ? options.verbs_host + ":0" : socket();
  run([this] { return serving_->listen(address_); });
  if (!serving_->status.ok()) return serving_->status;
  if (tcp) address_ = static_cast<const fabric::tcp::TcpServerFabric&>(serving_->server()).address();
  if (verbs) address_ = static_cast<const fabric::verbs::VerbsServerFabric&>(serving_->server()).address();
  return {};
}

void ServerThread::call(const std::function<void()>& function) {
  std::binary_semaphore done(0);
  thread_->reactor().mailbox().post([&] {
    function();
    done.release();
  });
  done.acquire();
}

void ServerThread::run(const std::function<reactor::Task<void>()>& task) {
  std::binary_semaphore done(0);
  thread_->reactor().mailbox().post([&] { thread_->reactor().spawn(gate_, finish(task(), done)); });
  done.acquire();
}

}  // namespace namdb::support
