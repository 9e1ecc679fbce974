// A configuration store behind a thread of its own, on which the backend's calls block. Calls are made one
// after the other, in the order in which they begin, and the callers resume on the reactor's thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "common/placement/configuration_store.h"
#include "common/placement/store/blocking_store.h"
#include "common/reactor/reactor.h"

namespace namdb::placement {

class ThreadedStore final : public ConfigurationStore {
 public:
  // The reactor outlives this.
  ThreadedStore(reactor::Reactor& reactor, std::unique_ptr<BlockingStore> backend);
  // Behind close().
  ~ThreadedStore() override;

  std::string name() const override { return name_; }
  reactor::Task<Result<Stored>> read() override;
  reactor::Task<Result<bool>> replace(std::uint64_t revision, Configuration next) override;
  reactor::Task<void> close() override;

 private:
  class Thread;

  // Has the work done on the thread. The frame of the caller has all that it names.
  reactor::Task<void> run(std::function<void()> work);

  reactor::Reactor& reactor_;
  std::string name_;
  std::unique_ptr<BlockingStore> backend_;
  std::unique_ptr<Thread> thread_;
  reactor::Gate calls_;
};

}  // namespace namdb::placement
