#include "common/fabric/verbs/shared_channel.h"

#include <semaphore>
#include <utility>

#include "common/fabric/verbs/shared_connection.h"

namespace namdb::fabric::verbs {
namespace {

constexpr std::size_t kSpareParcels = 16;

}  // namespace

SharedChannel::SharedChannel(reactor::Reactor& reactor, LocalPool& pool, reactor::Mailbox& inbox,
                             reactor::Mailbox& communicator)
    : Channel(reactor),
      reactor_(reactor),
      pool_(pool),
      inbox_(inbox),
      communicator_(communicator),
      outgoing_(std::make_unique<Parcel>()) {}

void SharedChannel::open(Member* member, bool atomics_with_cpu) {
  member_ = member;
  atomics_with_cpu_ = atomics_with_cpu;
}

SharedChannel::~SharedChannel() {
  if (scheduled_) reactor_.cancel_flush(*this);
  if (failure_.ok()) failure_ = Status(ErrorCode::connection_failure, "the channel is closed");
  for (Parcel::Item& item : outgoing_->items) {
    if (item.batch != nullptr) item.batch->complete(executor(), failure_);
    if (item.call != nullptr) item.call->complete(executor(), failure_);
  }
  if (member_ == nullptr) return;
  std::binary_semaphore closed(0);
  communicator_.post([member = member_, &closed] { member->close(&closed); });
  closed.acquire();
  inbox_.poll();  // completes the rest
}

void SharedChannel::describe(Facts& facts) const {
  Channel::describe(facts);
  if (failed()) facts.say("error", failure_.message());
  facts.count("queue_pairs", failed() ? 0 : 1);
  for (const Fact& fact : facts_.all()) {
    if (fact.name == "error" || fact.name == "queue_pairs") continue;
    if (fact.text.empty()) {
      facts.count(fact.name, fact.amount);
    } else {
      facts.say(fact.name, fact.text);
    }
  }
  if (member_ != nullptr) communicator_.post([member = member_] { member->send_facts(); });
}

void SharedChannel::give_up(Status reason) {
  if (member_ == nullptr || failed()) return;
  communicator_.post([member = member_, reason = std::move(reason)] { member->fail(reason); });
}

void SharedChannel::hand_over(Parcel::Item item) {
  outgoing_->items.push_back(std::move(item));
  if (!std::exchange(scheduled_, true)) reactor_.flush_soon(*this);
}

void SharedChannel::do_post(Batch& batch) {
  batch.begin();
  if (failed()) return batch.complete(executor(), failure_);
  if (batch.empty()) return batch.complete(executor(), Status());
  hand_over({&batch, nullptr, Status()});
}

void SharedChannel::do_post(Call& call) {
  call.begin();
  if (failed()) return call.complete(executor(), failure_);
  if (call.request.size() > kMaxCall_bytes) {
    return call.complete(executor(), Status(ErrorCode::limit_exceeded, "the request of a call is too long"));
  }
  call.reply.clear();
  hand_over({nullptr, &call, Status()});
}

void SharedChannel::end_of_turn() {
  scheduled_ = false;
  Parcel* parcel = outgoing_.release();
  communicator_.post([member = member_, parcel] { member->take(parcel); });
  if (spare_.empty()) spare_.push_back(std::make_unique<Parcel>());
  outgoing_ = std::move(spare_.back());
  spare_.pop_back();
}

void SharedChannel::take_back(Parcel* parcel) {
  for (Parcel::Item& item : parcel->items) {
    if (item.batch != nullptr) {
      item.batch->complete(executor(), std::move(item.status));
    } else if (item.call != nullptr) {
      item.call->complete(executor(), std::move(item.status));
    } else if (failure_.ok()) {
      failure_ = std::move(item.status);
    }
  }
  parcel->items.clear();
  spare_.emplace_back(parcel);
  if (spare_.size() > kSpareParcels) spare_.pop_back();
}

}  // namespace namdb::fabric::verbs
