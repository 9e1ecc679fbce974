// The running transactions of a worker. It ends those that are idle for longer than the maximal transaction
// time: their clients may never come back, and until they end, their locks stay and freed memory is not
// reused.
//
// Belongs to the worker's executor, and outlives the transactions.
#pragma once

#include <cstdint>

namespace namdb::txn {

class RunningTransaction {
 public:
  RunningTransaction() = default;
  RunningTransaction(const RunningTransaction&) = delete;
  RunningTransaction& operator=(const RunningTransaction&) = delete;
  virtual ~RunningTransaction() = default;
  // From when its age counts.
  virtual std::uint64_t running_since_ns() const = 0;
  // The transaction is older than allowed: it ends if it is idle. Meanwhile it removes no other transaction.
  virtual void expire() = 0;

 private:
  friend class RunningTransactions;
  RunningTransaction* previous_ = nullptr;
  RunningTransaction* next_ = nullptr;
};

class RunningTransactions {
 public:
  // Between these two it may be told to expire.
  void add(RunningTransaction& transaction) {
    transaction.next_ = first_;
    if (first_ != nullptr) first_->previous_ = &transaction;
    first_ = &transaction;
  }
  void remove(RunningTransaction& transaction) {
    (transaction.previous_ == nullptr ? first_ : transaction.previous_->next_) = transaction.next_;
    if (transaction.next_ != nullptr) transaction.next_->previous_ = transaction.previous_;
    transaction.previous_ = transaction.next_ = nullptr;
  }
  bool any() const { return first_ != nullptr; }
  // Tells those that are older than `longest_ns`.
  void expire_idle(std::uint64_t now_ns, std::uint64_t longest_ns) {
    for (RunningTransaction* transaction = first_; transaction != nullptr;) {
      RunningTransaction* const next = transaction->next_;
      const std::uint64_t since_ns = transaction->running_since_ns();
      if (now_ns > since_ns && now_ns - since_ns > longest_ns) transaction->expire();
      transaction = next;
    }
  }

 private:
  RunningTransaction* first_ = nullptr;
};

}  // namespace namdb::txn
