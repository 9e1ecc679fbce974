// The client's end of one connection. Reactor's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/fabric/fabric.h"
#include "common/fabric/tcp/frames.h"
#include "common/fabric/tcp/link.h"
#include "common/reactor/socket.h"

namespace namdb::fabric::tcp {

// First in, first out, in memory that it keeps.
template <typename T>
class Queue {
 public:
  bool empty() const { return head_ == tail_; }
  T& front() { return items_[head_ & (items_.size() - 1)]; }
  void push(T item) {
    if (tail_ - head_ == items_.size()) grow();
    items_[tail_++ & (items_.size() - 1)] = item;
  }
  void pop() { ++head_; }

 private:
  void grow() {
    std::vector<T> larger(items_.empty() ? 64 : 2 * items_.size());
    for (std::size_t i = head_; i != tail_; ++i) larger[i - head_] = items_[i & (items_.size() - 1)];
    tail_ -= head_;
    head_ = 0;
    items_ = std::move(larger);
  }
  std::vector<T> items_;
  std::size_t head_ = 0;
  std::size_t tail_ = 0;
};

class TcpChannel final : public Channel, private reactor::SocketHandler {
 public:
  TcpChannel(reactor::Reactor& reactor, LocalPool& pool, std::unique_ptr<Link> link, std::string address);
  ~TcpChannel() override;
  // After construction, since what has arrived is handled in it.
  void start() { link_->start(*this); }

  // The memory server executes everything with its CPU.
  bool atomics_with_cpu() const override { return true; }
  bool failed() const override { return !failure_.ok(); }
  LocalPool& pool() override { return pool_; }

 protected:
  void do_post(Batch& batch) override;
  void do_post(Call& call) override;

 private:
  void on_receive(std::span<const std::byte> bytes) override;
  void on_end(Status status) override;

  // Each takes from the front of `bytes` what belongs to the response at hand.
  void take_header(std::span<const std::byte>& bytes);
  void take_results(std::span<const std::byte>& bytes);
  void take_reply(std::span<const std::byte>& bytes);
  void finish_reply();
  void fail(Status status);

  LocalPool& pool_;
  std::unique_ptr<Link> link_;
  std::string address_;
  Status failure_;

  Queue<Batch*> batches_;            // posted and not complete, in posting order
  std::size_t next_operation_ = 0;   // of the front batch: whose result comes next
  std::size_t operation_bytes_ = 0;  // of its result: stored
  std::vector<Call*> calls_;         // by id; null when the id is free
  std::vector<std::uint32_t> free_calls_;

  std::array<std::byte, sizeof(ResponseHeader)> header_bytes_{};
  std::size_t header_length_ = 0;
  ResponseHeader response_{};  // whole and not finished when in_response_
  bool in_response_ = false;
  std::uint32_t operations_left_ = 0;  // of a results response
  std::uint64_t result_bytes_left_ = 0;
  Call* replying_ = nullptr;     // of a reply or failure
  std::size_t reply_bytes_ = 0;  // stored in replying_->reply
};

}  // namespace namdb::fabric::tcp
