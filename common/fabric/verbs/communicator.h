// Communicator: a thread that owns the queue pairs by which several workers of one process reach memory
// servers: one for each memory server instead of one for each worker too (the "communicator thread" of
// NAM-DB's §7.5). It takes the workers' batches and calls from its mailbox, posts those of each worker in
// their order, and returns the completions to the workers' mailboxes. No lock is held anywhere, and all posts
// of one turn leave with one doorbell.
//
// Each worker's channel is a peer of its own, a *member* of the connection (wire.h): it has its own hello,
// calls and fence. The contract's order holds for each, since all its posts go to one queue pair in their
// order. Invalid operations of a member are refused here: the device would break the queue pair of all. When
// a queue pair is lost, so are all of its members.
//
// start() and the destruction on any thread, everything else on the communicator's own.
#pragma once

#include <cstddef>
#include <memory>
#include <semaphore>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/fabric/fabric.h"
#include "common/fabric/verbs/client.h"
#include "common/fabric/verbs/options.h"
#include "common/fabric/verbs/parcel.h"
#include "common/fabric/verbs/shared_connection.h"
#include "common/reactor/executor.h"
#include "common/reactor/mailbox.h"
#include "common/reactor/reactor_thread.h"

namespace namdb::fabric::verbs {

// A worker's wish to be connected; lives until it is done.
struct Attachment {
  std::string address;
  std::string hello;
  ParcelInbox* channel = nullptr;
  reactor::Mailbox* inbox = nullptr;  // of the worker
  std::string welcome;
  Status status;
  Member* member = nullptr;
  bool atomics_with_cpu = false;
  bool done = false;
  reactor::Event* changed = nullptr;  // notified on the worker's thread when it is done
};

class Communicator final : private MemberOwner {
 public:
  // Calls go by connections. Errors (configuration): the kernel refuses io_uring.
  static Result<std::shared_ptr<Communicator>> start(VerbsOptions options);
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  // No member is left. Blocks until the thread has ended.
  ~Communicator();

  // Any thread: the way to everything below.
  reactor::Mailbox& mailbox() { return thread_->reactor().mailbox(); }

  reactor::Reactor& reactor() override { return thread_->reactor(); }
  VerbsClientFabric& fabric() { return *fabric_; }
  void attach(Attachment& attachment);

 private:
  void watch(std::weak_ptr<SharedConnection> connection, std::shared_ptr<bool> done, const char* what,
             std::uint64_t patience_ns) override;
  void changed() override { changed_->notify_all(); }
  void spawn(reactor::Task<void> task) override { reactor().spawn(gate_, std::move(task)); }
  void remove(Member& member) override;
  Communicator(std::unique_ptr<reactor::ReactorThread> thread, VerbsOptions options);
  reactor::Task<void> run_attach(Attachment* attachment);
  reactor::Task<Status> connect(Attachment* attachment);
  reactor::Task<Status> join(Attachment* attachment, std::shared_ptr<SharedConnection> connection);
  reactor::Task<void> run_watch(std::weak_ptr<SharedConnection> connection, std::shared_ptr<bool> done,
                                const char* what, std::uint64_t deadline_ns);
  reactor::Task<void> stop(std::binary_semaphore* stopped);
  std::shared_ptr<SharedConnection> find(const std::string& address);
  void add(Attachment* attachment, const std::shared_ptr<SharedConnection>& connection, std::size_t id);

  VerbsOptions options_;
  std::unique_ptr<reactor::ReactorThread> thread_;
  std::unique_ptr<VerbsClientFabric> fabric_;
  std::unique_ptr<reactor::Event> changed_;
  reactor::Gate gate_;
  reactor::Gate stop_gate_;
  bool stopping_ = false;
  std::set<std::string> connecting_;  // addresses
  std::vector<std::weak_ptr<SharedConnection>> connections_;
  std::vector<std::unique_ptr<Member>> members_;
};

}  // namespace namdb::fabric::verbs
