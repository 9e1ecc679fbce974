#include "common/placement/store/threaded_store.h"

#include <condition_variable>
#include <csignal>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace namdb::placement {

// Ends when all that was posted is done, and it is destroyed.
class ThreadedStore::Thread {
 public:
  Thread() : thread_(start()) {}
  ~Thread() {
    {
      const std::lock_guard held(mutex_);
      ends_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }

  void post(std::function<void()> work) {
    {
      const std::lock_guard held(mutex_);
      works_.push_back(std::move(work));
    }
    changed_.notify_one();
  }

 private:
  // Signals are for the thread that made the process.
  std::thread start() {
    sigset_t blocked;
    sigset_t before;
    ::sigfillset(&blocked);
    ::pthread_sigmask(SIG_SETMASK, &blocked, &before);
    std::thread thread([this] { run(); });
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return thread;
  }

  void run() {
    std::unique_lock held(mutex_);
    while (true) {
      changed_.wait(held, [this] { return ends_ || !works_.empty(); });
      if (works_.empty()) return;
      const std::function<void()> work = std::move(works_.front());
      works_.pop_front();
      held.unlock();
      work();
      held.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> works_;
  bool ends_ = false;
  std::thread thread_;  // last: it uses the others
};

ThreadedStore::ThreadedStore(reactor::Reactor& reactor, std::unique_ptr<BlockingStore> backend)
    : reactor_(reactor),
      name_(backend->name()),
      backend_(std::move(backend)),
      thread_(std::make_unique<Thread>()) {}

ThreadedStore::~ThreadedStore() = default;

reactor::Task<void> ThreadedStore::run(std::function<void()> work) {
  reactor::Event done(reactor_);
  bool finished = false;
  calls_.enter();
  thread_->post([this, &work, &done, &finished] {
    work();
    reactor_.mailbox().post([&done, &finished] {
      finished = true;
      done.notify_all();
    });
  });
  while (!finished) co_await done.wait();
  calls_.leave(reactor_);
}

reactor::Task<Result<ConfigurationStore::Stored>> ThreadedStore::read() {
  std::optional<Result<Stored>> result;
  std::function<void()> work = [this, &result] { result.emplace(backend_->read()); };
  co_await run(std::move(work));
  co_return std::move(*result);
}

reactor::Task<Result<bool>> ThreadedStore::replace(std::uint64_t revision, Configuration next) {
  std::optional<Result<bool>> result;
  std::function<void()> work = [this, &result, revision, &next] {
    result.emplace(backend_->replace(revision, next));
  };
  co_await run(std::move(work));
  co_return std::move(*result);
}

reactor::Task<void> ThreadedStore::close() {
  backend_->stop();
  co_await calls_.close();
  // The thread has left its last post() when it has ended.
  thread_.reset();
}

}  // namespace namdb::placement
