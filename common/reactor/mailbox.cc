#include "common/reactor/mailbox.h"

namespace namdb::reactor {

Mailbox::~Mailbox() {
  Node* node = head_.exchange(nullptr);
  while (node != nullptr) delete std::exchange(node, node->next);
}

void Mailbox::post(Message message) {
  Node* node = new Node{std::move(message), head_.load()};
  while (!head_.compare_exchange_weak(node->next, node)) {
  }
  // Sequentially consistent, as are the receiver's store of asleep_ and its load of head_ after it: either it
  // sees the node, or this sees that it sleeps.
  if (asleep_.load() && asleep_.exchange(false)) wake_();
}

bool Mailbox::poll() {
  if (head_.load(std::memory_order_relaxed) == nullptr) return false;
  Node* newest = head_.exchange(nullptr);
  Node* oldest = nullptr;
  while (newest != nullptr) {
    Node* next = newest->next;
    newest->next = oldest;
    oldest = newest;
    newest = next;
  }
  while (oldest != nullptr) {
    oldest->message();
    delete std::exchange(oldest, oldest->next);
  }
  return true;
}

bool Mailbox::prepare_sleep() {
  asleep_.store(true);
  return head_.load() == nullptr;
}

void Mailbox::cancel_sleep() {
  asleep_.store(false);
}

}  // namespace namdb::reactor
