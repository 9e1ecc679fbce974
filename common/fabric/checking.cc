#include "common/fabric/checking.h"

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "common/base/checksum.h"

namespace namdb::fabric {
namespace {

std::string_view name_of(OperationKind kind) {
  switch (kind) {
    case OperationKind::read:
      return "READ";
    case OperationKind::write:
      return "WRITE";
    case OperationKind::compare_and_swap:
      return "CAS";
    case OperationKind::fetch_add:
      return "FETCH-ADD";
  }
  return "operation of no kind";
}

bool is_atomic(const Operation& operation) {
  return operation.kind >= OperationKind::compare_and_swap;
}

std::string describe_operation(const Operation& operation) {
  return std::string(name_of(operation.kind)) + " of " + std::to_string(operation.length_bytes) +
         " bytes at offset " + std::to_string(operation.remote_offset);
}

BuffersInFlight::Range range_of(const Operation& operation) {
  return {operation.local, operation.local + operation.length_bytes, operation.kind != OperationKind::write};
}

bool overlap(const BuffersInFlight::Range& a, const BuffersInFlight::Range& b) {
  return a.begin < b.end && b.begin < a.end;
}

bool overlap_remotely(const Operation& a, const Operation& b) {
  return a.remote_offset < b.remote_offset + b.length_bytes &&
         b.remote_offset < a.remote_offset + a.length_bytes;
}

// The contract orders `later` behind `earlier`, as far as it matters for the bytes that both touch.
bool ordered(const Operation& earlier, const Operation& later) {
  if (later.kind == OperationKind::read) return true;
  if (earlier.kind == OperationKind::write) return later.kind == OperationKind::write;
  if (later.fence) return true;
  return is_atomic(earlier) && is_atomic(later);
}

std::uint64_t checksum_of(const Operation& operation) {
  return checksum64({operation.local, operation.length_bytes});
}

}  // namespace

bool BuffersInFlight::fits(const Range& range) const {
  return std::none_of(ranges_.begin(), ranges_.end(), [&](const Range& other) {
    return (range.destination || other.destination) && overlap(range, other);
  });
}

void BuffersInFlight::remove(const Range& range) {
  const auto found = std::find_if(ranges_.begin(), ranges_.end(), [&](const Range& other) {
    return other.begin == range.begin && other.end == range.end && other.destination == range.destination;
  });
  NAMDB_CHECK(found != ranges_.end());
  *found = ranges_.back();
  ranges_.pop_back();
}

// A batch in flight: gives its buffers back, and sees whether its sources are what they were.
class CheckingChannel::Posted final : public CompletionObserver {
 public:
  explicit Posted(CheckingChannel& channel) : channel_(channel) {}

  void start(Batch& batch) {
    operations_.assign(batch.operations().begin(), batch.operations().end());
    checksums_.clear();
    for (const Operation& operation : operations_) {
      channel_.buffers_->add(range_of(operation));
      if (operation.kind == OperationKind::write) checksums_.push_back(checksum_of(operation));
    }
    channel_.outstanding_ += operations_.size();
    channel_.most_outstanding_ = std::max(channel_.most_outstanding_, channel_.outstanding_);
    next_ = batch.observe(this);
  }
  void on_completion(Completion& completion, Status& status) override {
    auto checksum = checksums_.begin();
    for (const Operation& operation : operations_) {
      channel_.buffers_->remove(range_of(operation));
      if (operation.kind != OperationKind::write || *checksum++ == checksum_of(operation)) continue;
      channel_.report("the source of a " + describe_operation(operation) + " changed before the completion");
    }
    channel_.outstanding_ -= operations_.size();
    channel_.free_posted_.push_back(this);
    if (next_ != nullptr) next_->on_completion(completion, status);
  }

 private:
  CheckingChannel& channel_;
  CompletionObserver* next_ = nullptr;
  std::vector<Operation> operations_;
  std::vector<std::uint64_t> checksums_;  // of the WRITEs' sources
};

CheckingChannel::CheckingChannel(std::unique_ptr<Channel> inner, std::shared_ptr<BuffersInFlight> buffers,
                                 CheckingOptions options)
    : Channel(inner->executor()),
      buffers_(std::move(buffers)),
      options_(std::move(options)),
      inner_(std::move(inner)) {}

CheckingChannel::~CheckingChannel() = default;

void CheckingChannel::report(const std::string& violation) {
  if (options_.on_violation) return options_.on_violation(violation);
  std::fprintf(stderr, "namdb: misuse of a channel: %s\n", violation.c_str());
  NAMDB_CHECK(!"the channel is used as its contract says");
}

std::string CheckingChannel::violation_of(const Operation& operation) const {
  if (operation.kind > OperationKind::fetch_add) return "is of no kind";
  if (operation.remote_offset % 8 != 0) return "has an offset that is no multiple of 8";
  if (operation.length_bytes % 8 != 0 || operation.length_bytes == 0)
    return "has a length that is no multiple of 8";
  if (operation.length_bytes > kMaxOperation_bytes) return "is longer than an operation may be";
  if (is_atomic(operation) && operation.length_bytes != 8) return "is an atomic on more than a word";
  if (reinterpret_cast<std::uintptr_t>(operation.local) % 8 != 0)
    return "has a local buffer that is not aligned";
  if (!inner_->pool().contains(operation.local, operation.length_bytes))
    return "has a local buffer outside the pool";
  if (options_.region_bytes != 0 &&
      (operation.remote_offset > options_.region_bytes ||
       operation.length_bytes > options_.region_bytes - operation.remote_offset)) {
    return "ends outside of the region";
  }
  return {};
}

std::string CheckingChannel::find_violation(std::span<const Operation> operations) const {
  if (operations.size() > options_.send_queue_depth - std::min(options_.send_queue_depth, outstanding_)) {
    return std::to_string(outstanding_ + operations.size()) +
           " operations are more than the send queue holds";
  }
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const Operation& operation = operations[i];
    if (std::string violation = violation_of(operation); !violation.empty()) {
      return "a " + describe_operation(operation) + ' ' + violation;
    }
    if (!buffers_->fits(range_of(operation))) {
      return "a " + describe_operation(operation) + " uses a local buffer that is in flight";
    }
    for (std::size_t j = 0; j < i; ++j) {
      const Operation& earlier = operations[j];
      const bool destination = range_of(operation).destination || range_of(earlier).destination;
      if (destination && overlap(range_of(operation), range_of(earlier))) {
        return "a " + describe_operation(operation) + " shares its local buffer with a " +
               describe_operation(earlier) + " of its batch";
      }
      if (options_.check_batch_order && overlap_remotely(earlier, operation) &&
          !ordered(earlier, operation)) {
        return "a " + describe_operation(operation) + " may overtake a " + describe_operation(earlier) +
               " of its batch";
      }
    }
  }
  return {};
}

void CheckingChannel::do_post(Batch& batch) {
  if (const std::string violation = find_violation(batch.operations()); !violation.empty()) {
    report(violation);
    batch.begin();
    return batch.complete(executor(), Status(ErrorCode::internal, violation));
  }
  if (free_posted_.empty()) {
    posted_.push_back(std::make_unique<Posted>(*this));
    free_posted_.push_back(posted_.back().get());
  }
  Posted& posted = *free_posted_.back();
  free_posted_.pop_back();
  posted.start(batch);
  inner_->post(batch);
}

CheckingClientFabric::CheckingClientFabric(std::unique_ptr<ClientFabric> inner, CheckingOptions options)
    : inner_(std::move(inner)), buffers_(std::make_shared<BuffersInFlight>()), options_(std::move(options)) {}

reactor::Task<Result<std::unique_ptr<Channel>>> CheckingClientFabric::connect(std::string address,
                                                                              std::string hello,
                                                                              std::string* welcome) {
  auto channel = co_await inner_->connect(std::move(address), std::move(hello), welcome);
  if (!channel.ok()) co_return channel.status();
  co_return std::unique_ptr<Channel>(
      std::make_unique<CheckingChannel>(std::move(channel).value(), buffers_, options_));
}

}  // namespace namdb::fabric
