#include "common/fabric/testing/fault.h"

#include <utility>

namespace namdb::fabric {

FaultPlan FaultPlan::random(Random& random, std::uint64_t operations) {
  FaultPlan plan;
  switch (random.below(4)) {
    case 0:
      plan.fail_batch = random.between(1, operations);
      break;
    case 1:
      plan.fail_batch = random.between(1, operations);
      plan.fate = Fate::everything;
      break;
    case 2:
      plan.cut_behind_operation = random.between(1, operations);
      break;
    default:
      plan.fail_call = random.between(1, operations);
      break;
  }
  return plan;
}

FaultChannel::FaultChannel(std::unique_ptr<Channel> inner, FaultPlan plan)
    : Channel(inner->executor()),
      plan_(std::move(plan)),
      pool_(inner->pool()),
      atomics_with_cpu_(inner->atomics_with_cpu()),
      inner_(std::move(inner)) {}

FaultChannel::~FaultChannel() = default;

void FaultChannel::do_post(Batch& batch) {
  ++batches_;
  const std::uint64_t before = operations_;
  operations_ += batch.operations().size();
  if (cut_) {
    batch.begin();
    return batch.complete(executor(), lost());
  }
  if (batches_ == plan_.fail_batch) {
    fired_ = cut_ = true;
    if (plan_.fate == FaultPlan::Fate::everything) {
      next_ = batch.observe(this);
      return inner_->post(batch);
    }
    inner_.reset();
    batch.begin();
    return batch.complete(executor(), lost());
  }
  if (before < plan_.cut_behind_operation && plan_.cut_behind_operation <= operations_) {
    fired_ = cut_ = true;
    prefix_.assign(batch.operations().first(plan_.cut_behind_operation - before));
    inner_->post(prefix_);
    inner_.reset();
    batch.begin();
    return batch.complete(executor(), lost());
  }
  inner_->post(batch);
}

void FaultChannel::do_post(Call& call) {
  ++calls_;
  if (cut_) {
    call.begin();
    return call.complete(executor(), lost());
  }
  if (calls_ == plan_.fail_call) {
    fired_ = true;
    call.begin();
    return call.complete(executor(), plan_.call_error);
  }
  inner_->post(call);
}

void FaultChannel::on_completion(Completion& completion, Status& status) {
  status = lost();
  if (next_ != nullptr) next_->on_completion(completion, status);
}

}  // namespace namdb::fabric
