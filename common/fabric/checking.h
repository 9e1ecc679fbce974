// The checking decorator: a channel that checks how it is used, for tests and debugging. It finds mistakes on
// every transport and every time that show on one transport only, or only sometimes:
//
//  * offsets, lengths and local addresses that are not aligned, lengths out of range, ends outside the
//    region;
//  * local buffers that are not registered (LocalPool), or not in memory that is allocated for the channel;
//  * a buffer that is the destination of an operation in flight and used by another one, of any channel that
//    shares the checker; a WRITE's source that changes before the completion;
//  * operations of one batch that touch the same bytes of the region in an order that the contract leaves
//    open: a WRITE or atomic behind a READ without a fence, a WRITE behind an atomic without a fence, or an
//    atomic behind a WRITE;
//  * more operations outstanding than the send queue holds.
//
// The simulator's compute servers run on channels like this. A violation goes to the handler; by default it
// ends the process. If the handler returns, the batch completes with an error and nothing of it happens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/fabric/fabric.h"

namespace namdb::fabric {

struct CheckingOptions {
  // 0: not known, not checked.
  std::uint64_t region_bytes = 0;
  // Operations of one channel that may be outstanding. Hostile: 1.
  std::size_t send_queue_depth = ~std::size_t{0};
  // Whether operations of one batch may touch the same bytes in an order that the contract leaves open.
  bool check_batch_order = true;
  // Called with a sentence that says what was wrong.
  std::function<void(const std::string& violation)> on_violation;
};

// The local buffers that are in flight: one for all channels that take buffers from the same pool.
class BuffersInFlight {
 public:
  struct Range {
    const std::byte* begin;
    const std::byte* end;
    bool destination;  // of a READ or atomic; otherwise the source of a WRITE
  };
  // True if the range may be used besides those that are there.
  bool fits(const Range& range) const;
  void add(const Range& range) { ranges_.push_back(range); }
  void remove(const Range& range);
  std::size_t count() const { return ranges_.size(); }

 private:
  std::vector<Range> ranges_;
};

class CheckingChannel final : public Channel {
 public:
  CheckingChannel(std::unique_ptr<Channel> inner, std::shared_ptr<BuffersInFlight> buffers,
                  CheckingOptions options);
  ~CheckingChannel() override;

  bool atomics_with_cpu() const override { return inner_->atomics_with_cpu(); }
  bool failed() const override { return inner_->failed(); }
  void give_up(Status reason) override { inner_->give_up(std::move(reason)); }
  LocalPool& pool() override { return inner_->pool(); }

  std::size_t outstanding() const { return outstanding_; }
  // The most there ever were. A send queue must hold so many.
  std::size_t most_outstanding() const { return most_outstanding_; }

 protected:
  void do_post(Batch& batch) override;
  void do_post(Call& call) override { inner_->post(call); }

 private:
  class Posted;
  friend class Posted;
  std::string find_violation(std::span<const Operation> operations) const;
  std::string violation_of(const Operation& operation) const;
  void report(const std::string& violation);

  std::shared_ptr<BuffersInFlight> buffers_;
  CheckingOptions options_;
  std::size_t outstanding_ = 0;
  std::size_t most_outstanding_ = 0;
  std::vector<std::unique_ptr<Posted>> posted_;
  std::vector<Posted*> free_posted_;
  std::unique_ptr<Channel> inner_;  // goes first: its destructor completes what is pending
};

// A fabric whose channels are all checked, with one set of buffers.
class CheckingClientFabric final : public ClientFabric {
 public:
  CheckingClientFabric(std::unique_ptr<ClientFabric> inner, CheckingOptions options);
  std::string_view name() const override { return inner_->name(); }
  LocalPool& pool() override { return inner_->pool(); }
  reactor::Task<Result<std::unique_ptr<Channel>>> connect(std::string address, std::string hello,
                                                          std::string* welcome) override;

 private:
  std::unique_ptr<ClientFabric> inner_;
  std::shared_ptr<BuffersInFlight> buffers_;
  CheckingOptions options_;
};

}  // namespace namdb::fabric
