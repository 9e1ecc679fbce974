// A queue that keeps its memory, for posts of a channel that have not completed.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace namdb::fabric {

// First in, first out.
template <typename T>
class Queue {
 public:
  bool empty() const { return head_ == tail_; }
  std::size_t size() const { return tail_ - head_; }
  T& front() { return items_[head_ & (items_.size() - 1)]; }
  void push(T item) {
    if (tail_ - head_ == items_.size()) grow();
    items_[tail_++ & (items_.size() - 1)] = std::move(item);
  }
  void pop() { ++head_; }

 private:
  void grow() {
    std::vector<T> larger(items_.empty() ? 64 : 2 * items_.size());
    for (std::size_t i = head_; i != tail_; ++i)
      larger[i - head_] = std::move(items_[i & (items_.size() - 1)]);
    tail_ -= head_;
    head_ = 0;
    items_ = std::move(larger);
  }
  std::vector<T> items_;
  std::size_t head_ = 0;
  std::size_t tail_ = 0;
};

}  // namespace namdb::fabric
