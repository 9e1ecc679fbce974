#include "common/fabric/verbs/shared_connection.h"

#include <algorithm>
#include <utility>

#include "common/base/check.h"
#include "common/fabric/verbs/operations.h"
#include "common/reactor/reactor.h"

namespace namdb::fabric::verbs {
namespace {

// For what a closed channel has in flight, before its queue pair is taken away from all.
constexpr std::uint64_t kDrain_ns = kSecond_ns;
constexpr std::size_t kSpare = 16;

}  // namespace

SharedConnection::SharedConnection(std::string address, std::unique_ptr<VerbsChannel> channel)
    : address_(std::move(address)), channel_(std::move(channel)) {
  channel_->share(*this);
}

SharedConnection::~SharedConnection() {
  NAMDB_CHECK(members_.empty());
  channel_.reset();
}

std::size_t SharedConnection::take_id() {
  std::size_t id = 0;
  while (ids_.test(id)) ++id;
  ids_.set(id);
  return id;
}

void SharedConnection::on_evicted(MemberId id) {
  for (Member* member : members_) {
    if (member->id() == id) {
      member->fail(Status(ErrorCode::connection_failure, address_ + " has fenced this channel"));
    }
  }
}

void SharedConnection::on_channel_failed(const Status& status) {
  for (Member* member : members_) member->fail(status);
}

// One batch of the worker's on the shared channel. Used again after it completed.
class Member::RelayedBatch final : private CompletionObserver {
 public:
  void post(Member& member, Batch& original, VerbsChannel& channel) {
    member_ = &member;
    original_ = &original;
    batch_.assign(original.operations());
    batch_.observe(this);
    channel.post(batch_);
  }

 private:
  void on_completion(Completion& /*completion*/, Status& status) override {
    --member_->in_flight_;
    member_->finish(original_, nullptr, status);
    member_->free_batches_.emplace_back(this);
  }

  Batch batch_;
  Member* member_ = nullptr;
  Batch* original_ = nullptr;
};

// A call of the worker's; when the worker has been told that the call failed, the answer is dropped.
struct Member::RelayedCall {
  Call call;
  Call* original;
  Member* member;  // null: dropped
};

Member::Member(MemberOwner& owner, std::shared_ptr<SharedConnection> connection, std::size_t id,
               ParcelInbox* channel, reactor::Mailbox* inbox)
    : owner_(owner),
      connection_(std::move(connection)),
      id_(id),
      channel_(channel),
      inbox_(inbox),
      done_(std::make_unique<Parcel>()) {
  connection_->add(*this);
}

Member::~Member() {
  NAMDB_CHECK(in_flight_ == 0 && running_calls_.empty());
  connection_->remove(*this);
}

void Member::schedule() {
  if (!std::exchange(scheduled_, true)) owner_.reactor().flush_soon(*this);
}

Status Member::refuse(std::span<const Operation> operations) {
  const std::size_t region_bytes = connection_->channel().region_bytes();
  for (const Operation& operation : operations) {
    if (operation.length_bytes > region_bytes ||
        operation.remote_offset > region_bytes - operation.length_bytes) {
      return Status(ErrorCode::internal, "a batch has an operation that reaches beyond the region");
    }
  }
  return refuse_operations(operations, connection_->channel().device());
}

void Member::take(Parcel* parcel) {
  for (Parcel::Item& item : parcel->items) {
    if (item.batch != nullptr && failure_.ok()) {
      const Status refused = refuse(item.batch->operations());
      if (!refused.ok()) fail(refused);
    }
    if (!failure_.ok()) {
      finish(item.batch, item.call, failure_);
    } else if (item.batch != nullptr) {
      post(*item.batch);
    } else {
      post(*item.call);
    }
  }
  parcel->items.clear();
  spare_.emplace_back(parcel);
  if (spare_.size() > kSpare) spare_.pop_back();
}

void Member::post(Batch& batch) {
  if (free_batches_.empty()) free_batches_.push_back(std::make_unique<RelayedBatch>());
  RelayedBatch* relayed = free_batches_.back().release();
  free_batches_.pop_back();
  ++in_flight_;
  relayed->post(*this, batch, connection_->channel());
}

// At once, and not when the coroutine first runs: the member may fail or be closed before that.
void Member::post(Call& call) {
  auto relayed = std::make_unique<RelayedCall>();
  relayed->original = &call;
  relayed->member = this;
  relayed->call.method = call.method;
  relayed->call.request = call.request;
  running_calls_.push_back(relayed.get());
  connection_->channel().post_as(static_cast<MemberId>(id_), MessageKind::call, relayed->call);
  owner_.spawn(relay(std::move(relayed)));
}

reactor::Task<void> Member::relay(std::unique_ptr<RelayedCall> relayed) {
  const Status& status = co_await relayed->call.done();
  Member* const member = relayed->member;
  if (member == nullptr) co_return;
  std::erase(member->running_calls_, relayed.get());
  relayed->original->reply = std::move(relayed->call.reply);
  member->finish(nullptr, relayed->original, status);
}

void Member::finish(Batch* batch, Call* call, const Status& status) {
  done_->items.push_back({batch, call, status});
  schedule();
}

void Member::fail(const Status& status) {
  if (!failure_.ok()) return;
  failure_ = status;
  finish(nullptr, nullptr, status);
  for (RelayedCall* relayed : std::exchange(running_calls_, {})) {
    relayed->member = nullptr;
    finish(nullptr, relayed->original, status);
  }
}

void Member::close(std::binary_semaphore* closed) {
  closed_ = closed;
  fail(Status(ErrorCode::connection_failure, "the channel is closed"));
  if (in_flight_ != 0) {
    owner_.watch(connection_, drained_, "what a closed channel has posted does not end", kDrain_ns);
  }
  schedule();
}

reactor::Task<void> Member::leave(std::shared_ptr<SharedConnection> connection, std::size_t id) {
  Call call;
  connection->channel().post_as(static_cast<MemberId>(id), MessageKind::leave, call);
  // Not what keeps it: when it ends, so does the call.
  const std::weak_ptr<SharedConnection> left = std::exchange(connection, nullptr);
  co_await call.done();
  if (const auto still = left.lock()) still->give_back_id(id);
}

void Member::deliver() {
  if (done_->items.empty()) return;
  Parcel* parcel = done_.release();
  inbox_->post([channel = channel_, parcel] { channel->take_back(parcel); });
  if (spare_.empty()) spare_.push_back(std::make_unique<Parcel>());
  done_ = std::move(spare_.back());
  spare_.pop_back();
}

void Member::end_of_turn() {
  scheduled_ = false;
  const bool ends = !failure_.ok() && in_flight_ == 0;
  // Alone on the connection it takes it along.
  const bool alone = closed_ != nullptr && connection_.use_count() == 1;
  if (ends && !left_ && !alone && !connection_->channel().failed()) {
    left_ = true;
    owner_.spawn(leave(connection_, id_));
  }
  deliver();
  if (!ends || closed_ == nullptr) return;
  *drained_ = true;
  owner_.changed();
  // The worker's channel and its buffers may be gone from here on.
  std::binary_semaphore* closed = closed_;
  owner_.remove(*this);
  closed->release();
}

void Member::send_facts() {
  Facts facts;
  // Once, so that sums over members are right.
  connection_->channel().describe_connection(facts, connection_->is_first(*this));
  facts.count("queue_pair_members", connection_->members());
  inbox_->post([channel = channel_, facts = std::move(facts)] { channel->set_facts(facts); });
}

}  // namespace namdb::fabric::verbs
