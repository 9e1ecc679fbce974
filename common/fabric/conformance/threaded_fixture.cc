// A thread each for the server and the clients; the test's own thread waits for them. See the header.
#include "common/fabric/conformance/threaded_fixture.h"

#include <sys/mman.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

namespace namdb::fabric::conformance {
namespace {

// Counts what runs elsewhere.
class Countdown {
 public:
  explicit Countdown(std::size_t count) : count_(count) {}
  void done() {
    const std::lock_guard lock(mutex_);
    if (--count_ == 0) none_left_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    none_left_.wait(lock, [this] { return count_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable none_left_;
  std::size_t count_;
};

// A reactor and its thread.
class ReactorThread {
 public:
  explicit ReactorThread(const reactor::ReactorOptions& options) : started_(1), stopped_(1) {
    thread_ = std::thread([this, options] { main(options); });
    started_.wait();
  }
  ~ReactorThread() {
    reactor_->stop();
    stopped_.done();
    thread_.join();
  }

  reactor::Reactor& reactor() { return *reactor_; }
  void start(Job job, Countdown& countdown) {
    reactor_->mailbox().post(
        [this, job = std::move(job), &countdown] { reactor_->spawn(gate_, finish(job, &countdown)); });
  }
  void run(Job job) {
    Countdown countdown(1);
    start(std::move(job), countdown);
    countdown.wait();
  }
  // Runs the function on the thread.
  void call(std::function<void()> function) {
    Countdown countdown(1);
    reactor_->mailbox().post([&] {
      function();
      countdown.done();
    });
    countdown.wait();
  }

 private:
  static reactor::Task<void> finish(Job job, Countdown* countdown) {
    {
      reactor::Task<void> task = job();
      co_await task;
    }
    countdown->done();
  }
  void main(const reactor::ReactorOptions& options) {
    auto created = reactor::Reactor::create(options);
    NAMDB_CHECK(created.ok());
    reactor_ = std::move(*created);
    started_.done();
    reactor_->run();
    stopped_.wait();  // stop() may still be at work in the reactor
    reactor_.reset();
  }

  Countdown started_;
  Countdown stopped_;
  std::unique_ptr<reactor::Reactor> reactor_;
  reactor::Gate gate_;
  std::thread thread_;
};

class TestDirectory {
 public:
  TestDirectory() {
    char path[] = "/tmp/namdb-fabric-XXXXXX";
    NAMDB_CHECK(::mkdtemp(path) != nullptr);
    path_ = path;
  }
  ~TestDirectory() { ::rmdir(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class TestRegion {
 public:
  TestRegion() : descriptor_(::memfd_create("namdb-test", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
    NAMDB_CHECK(descriptor_ >= 0 && ::ftruncate(descriptor_, Fixture::kCapacity_bytes) == 0);
    void* base =
        ::mmap(nullptr, Fixture::kCapacity_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
    NAMDB_CHECK(base != MAP_FAILED);
    base_ = static_cast<std::byte*>(base);
  }
  ~TestRegion() {
    ::munmap(base_, Fixture::kCapacity_bytes);
    ::close(descriptor_);
  }
  ServerRegion region(std::size_t capacity_bytes) const {
    return {base_, Fixture::kRegion_bytes, capacity_bytes, descriptor_};
  }

 private:
  int descriptor_;
  std::byte* base_;
};

class ThreadedFixture final : public Fixture {
 public:
  ThreadedFixture(const ThreadedTransport& transport, Service& service, int clients)
      : address_(transport.listen_address(directory_.path())),
        nowhere_(transport.nowhere(directory_.path())),
        area_(region_.region(transport.capacity_bytes)),
        server_thread_(transport.reactor_options) {
    Status status;
    server_thread_.call(
        [&] { server_ = transport.transport(server_thread_.reactor()).make_server(area_, service); });
    server_thread_.run([&] { return listen(server_.get(), address_, &status); });
    if (!status.ok()) std::fprintf(stderr, "cannot listen: %s\n", std::string(status.message()).c_str());
    NAMDB_CHECK(status.ok());
    if (transport.address) address_ = transport.address(*server_);
    for (int i = 0; i < clients; ++i) {
      client_threads_.push_back(std::make_unique<ReactorThread>(transport.reactor_options));
      ReactorThread& thread = *client_threads_.back();
      thread.call([&] { clients_.push_back(transport.transport(thread.reactor()).make_client()); });
    }
  }
  ~ThreadedFixture() override {
    for (std::size_t i = 0; i < clients_.size(); ++i) {
      client_threads_[i]->call([&] { clients_[i].reset(); });
    }
    server_thread_.run([&] { return server_->close(); });
    server_thread_.call([&] { server_.reset(); });
  }

  std::span<std::byte> region() override { return {area_.base, kRegion_bytes}; }
  std::size_t capacity_bytes() override { return area_.capacity_bytes; }
  std::string address() override { return address_; }
  std::string nowhere() override { return nowhere_; }
  ServerFabric& server() override { return *server_; }
  ClientFabric& client(int index) override { return *clients_[static_cast<std::size_t>(index)]; }
  reactor::Executor& executor(int place) override { return thread(place).reactor(); }
  void run(std::vector<Work> work) override {
    Countdown countdown(work.size());
    for (Work& piece : work) thread(piece.place).start(std::move(piece.job), countdown);
    countdown.wait();
  }

 private:
  static reactor::Task<void> listen(ServerFabric* server, std::string address, Status* status) {
    *status = co_await server->listen(std::move(address));
  }
  ReactorThread& thread(int place) {
    return place == kServer ? server_thread_ : *client_threads_[static_cast<std::size_t>(place)];
  }

  TestDirectory directory_;
  TestRegion region_;
  std::string address_;
  std::string nowhere_;
  ServerRegion area_;
  ReactorThread server_thread_;
  std::vector<std::unique_ptr<ReactorThread>> client_threads_;
  std::unique_ptr<ServerFabric> server_;
  std::vector<std::unique_ptr<ClientFabric>> clients_;
};

}  // namespace

std::unique_ptr<Fixture> make_threaded_fixture(const ThreadedTransport& transport, Service& service,
                                               int clients) {
  return std::make_unique<ThreadedFixture>(transport, service, clients);
}

}  // namespace namdb::fabric::conformance
