// The fault decorator: a channel that fails on schedule, on any transport. A real network fails at a random
// moment; a test makes it fail at each moment in turn.
#pragma once

#include <cstdint>
#include <memory>

#include "common/base/random.h"
#include "common/fabric/fabric.h"

namespace namdb::fabric {

// The first of these that comes about happens. Numbers count from 1 over the channel's life; 0 never. A fault
// of a batch or operation fails the channel, as it does on every transport: pending and later posts complete
// with connection_failure.
struct FaultPlan {
  enum class Fate {
    nothing,     // nothing of the batch happens
    everything,  // all of it happens, and its poster is not told so
  };
  // The batch with this number completes with an error.
  std::uint64_t fail_batch = 0;
  Fate fate = Fate::nothing;
  // The channel is cut right behind this operation: the rest of its batch does not happen. Operations in
  // flight may have happened.
  std::uint64_t cut_behind_operation = 0;
  // The call with this number completes with `call_error`. It does not reach the server, and the channel
  // stays as it was.
  std::uint64_t fail_call = 0;
  Status call_error = Status(ErrorCode::out_of_memory, "injected error of a call");

  // One fault of a random kind within the first `operations` operations.
  static FaultPlan random(Random& random, std::uint64_t operations);
};

class FaultChannel final : public Channel, private CompletionObserver {
 public:
  FaultChannel(std::unique_ptr<Channel> inner, FaultPlan plan);
  ~FaultChannel() override;

  bool atomics_with_cpu() const override { return atomics_with_cpu_; }
  bool failed() const override { return cut_ || inner_->failed(); }
  void give_up(Status reason) override {
    if (inner_ != nullptr) inner_->give_up(std::move(reason));
  }
  LocalPool& pool() override { return pool_; }
  // The plan's fault has happened.
  bool fired() const { return fired_; }

 protected:
  void do_post(Batch& batch) override;
  void do_post(Call& call) override;

 private:
  void on_completion(Completion& completion, Status& status) override;
  Status lost() const { return {ErrorCode::connection_failure, "the connection was cut by a fault plan"}; }

  FaultPlan plan_;
  LocalPool& pool_;
  bool atomics_with_cpu_;
  bool cut_ = false;
  bool fired_ = false;
  std::uint64_t batches_ = 0;
  std::uint64_t operations_ = 0;
  std::uint64_t calls_ = 0;
  Batch prefix_;  // of the batch that was cut
  CompletionObserver* next_ = nullptr;
  std::unique_ptr<Channel> inner_;  // goes first: its destructor completes what is pending
};

}  // namespace namdb::fabric
