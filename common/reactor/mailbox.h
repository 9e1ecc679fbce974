// Mailbox: the one way from one reactor's thread to another's. Messages are functions that run on the
// receiving reactor's thread, in the order in which one sender posted them; between senders there is no
// order. post() is the only thread-safe call. It makes no system call unless the receiver sleeps.
//
// All objects that a message's function names must live until the function has run. The destructor drops
// messages that have not run. No sender may post to a mailbox that is being destroyed: join the threads
// first.
#pragma once

#include <atomic>
#include <functional>
#include <utility>

#include "common/reactor/poll_source.h"

namespace namdb::reactor {

class Mailbox final : public PollSource {
 public:
  using Message = std::function<void()>;

  // `wake` ends the executor's sleep; it is called on the senders' threads.
  explicit Mailbox(std::function<void()> wake) : wake_(std::move(wake)) {}
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;
  ~Mailbox() override;

  // Any thread. Never blocks.
  void post(Message message);

  bool poll() override;
  bool prepare_sleep() override;
  void cancel_sleep() override;

 private:
  struct Node {
    Message message;
    Node* next;
  };

  std::function<void()> wake_;
  // Newest first; the receiver takes the whole list and turns it round.
  std::atomic<Node*> head_{nullptr};
  // Set by the receiver before its last look at head_; the thread that clears it wakes the receiver.
  std::atomic<bool> asleep_{false};
};

}  // namespace namdb::reactor
