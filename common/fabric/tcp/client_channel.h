// The client's end of one connection. Reactor's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/fabric/fabric.h"
#include "common/fabric/queue.h"
#include "common/fabric/tcp/frames.h"
#include "common/fabric/tcp/link.h"
#include "common/reactor/socket.h"

namespace namdb::fabric::tcp {

class TcpChannel final : public Channel, private reactor::SocketHandler {
 public:
  TcpChannel(reactor::Reactor& reactor, LocalPool& pool, std::unique_ptr<Link> link, std::string address);
  ~TcpChannel() override;
  // After construction, since it handles the bytes that have arrived.
  void start() { link_->start(*this); }

  // The memory server executes everything with its CPU.
  bool atomics_with_cpu() const override { return true; }
  bool failed() const override { return !failure_.ok(); }
  void give_up(Status reason) override { fail(std::move(reason)); }
  LocalPool& pool() override { return pool_; }
  void describe(Facts& facts) const override;

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
  // Whether the response's data agrees with its checksum. If not, the channel has failed.
  bool data_agrees();
  void fail(Status status);

  LocalPool& pool_;
  std::unique_ptr<Link> link_;
  const Checksums checksums_;
  std::string address_;
  Status failure_;

  Queue<Batch*> batches_;            // posted and not complete, in posting order
  std::size_t next_operation_ = 0;   // of the front batch: whose result comes next
  std::size_t operation_bytes_ = 0;  // of its result: stored
  // All their results are there, and the end of the response that brought them is not: they complete when its
  // checksum agrees.
  Queue<Batch*> answered_;
  std::vector<Call*> calls_;  // by id; null when the id is free
  std::vector<std::uint32_t> free_calls_;

  std::array<std::byte, sizeof(ResponseHeader)> header_bytes_{};
  std::size_t header_length_ = 0;
  ResponseHeader response_{};  // whole and not finished when in_response_
  bool in_response_ = false;
  std::uint32_t data_checksum_ = 0;    // of what has arrived of its data
  std::uint32_t operations_left_ = 0;  // of a results response
  std::uint64_t result_bytes_left_ = 0;
  Call* replying_ = nullptr;     // of a reply or failure
  std::size_t reply_bytes_ = 0;  // stored in replying_->reply
};

}  // namespace namdb::fabric::tcp
