#include "compute/txn/execution_slot.h"

#include <algorithm>
#include <string>

#include "common/layout/record.h"
#include "proto/control.pb.h"

namespace namdb::txn {

using layout::GlobalAddress;
using layout::HeaderWord;
using layout::Stamp;

reactor::Task<Status> ExecutionSlot::lease() {
  const control::LeaseSlotRequest request;
  control::LeaseSlotReply reply;
  Status status = co_await cluster_.call(0, control::LEASE_SLOT, request, &reply);
  if (!status.ok()) co_return status;
  slot_ = reply.slot();
  vector_position_ = reply.vector_position();
  vector_word_ = cluster_.vector_word(vector_position_);
  first_counter_ = reply.first_counter();
  next_counter_ = first_counter_;
  posted_ = completed_ = prefix_ = first_counter_ - 1;
  journals_.begin(slot_);
  max_room_bytes_ = reply.max_journal_room_bytes();
  publish_word_ = fabric::LocalBuffer(cluster_.pool(), 8);
  co_return co_await cluster_.place_slot(slot_, vector_position_, first_counter_ - 1, reply.vector_length());
}

std::optional<std::uint32_t> ExecutionSlot::begin_commit_now(std::span<const HostBytes> journal_parts) {
  const bool full =
      std::ranges::any_of(journal_parts, [this](HostBytes part) { return journals_.log_full(part.host); });
  if (full || !journals_.take_credit(journal_parts)) return std::nullopt;
  return next_counter_++;
}

reactor::Task<Result<std::uint32_t>> ExecutionSlot::begin_commit(std::span<const HostBytes> journal_parts) {
  if (const auto counter = begin_commit_now(journal_parts)) co_return *counter;
  // The slot must not be closed meanwhile.
  add_holder();
  auto counter = co_await wait_for_room(journal_parts);
  drop_holder();
  co_return counter;
}

reactor::Task<Result<std::uint32_t>> ExecutionSlot::wait_for_room(std::span<const HostBytes> journal_parts) {
  using Counter = Result<std::uint32_t>;
  for (const HostBytes part : journal_parts) {
    if (!journals_.log_full(part.host)) continue;
    co_await journals_.ask_again(part.host);
    if (!failed_ && !cluster_.failed() && journals_.log_full(part.host)) {
      co_return Counter(Status(ErrorCode::disk_full,
                               "the log of memory server " + std::to_string(part.host) + " is full",
                               "it has room again after a checkpoint; look at the server's disk"));
    }
  }
  const std::uint64_t deadline_ns = cluster_.executor().now_ns() + cluster_.max_transaction_ns();
  while (true) {
    if (failed_ || cluster_.failed())
      co_return Counter(Status(ErrorCode::connection_failure, "the connection to a memory server was lost"));
    if (journals_.take_credit(journal_parts)) co_return Counter(next_counter_++);
    if (cluster_.executor().now_ns() >= deadline_ns) {
      co_return Counter(
          Status(ErrorCode::serialization_failure, "the journal had no room for another commit in time"));
    }
    co_await published_.wait_until(deadline_ns);
  }
}

reactor::Task<Result<GlobalAddress>> ExecutionSlot::borrow_room(layout::ServerId host,
                                                                std::uint64_t length_bytes) {
  using Borrowed = Result<GlobalAddress>;
  control::LeaseJournalRoomRequest request;
  request.set_slot(slot_);
  request.set_length_bytes(length_bytes);
  control::LeaseJournalRoomReply reply;
  Status status = co_await cluster_.call(host, control::LEASE_JOURNAL_ROOM, request, &reply);
  if (!status.ok()) co_return Borrowed(std::move(status));
  co_return Borrowed(GlobalAddress(host, reply.offset()));
}

reactor::Task<void> ExecutionSlot::return_room(GlobalAddress room) {
  control::ReturnJournalRoomRequest request;
  request.set_slot(slot_);
  request.set_offset(room.offset());
  // An error means that the slot is closed, or lost with the connection: the room comes back with it.
  const Status status = co_await cluster_.call(room.server(), control::RETURN_JOURNAL_ROOM, request, nullptr);
  (void)status;
}

std::uint32_t ExecutionSlot::piggyback(std::uint32_t counter, fabric::Batch& batch,
                                       std::byte* registered_word) {
  note_ready(counter);
  if (prefix_ < counter) return 0;
  layout::store_word(registered_word, HeaderWord(Stamp{slot_, prefix_}).value());
  batch.write(vector_word_.offset(), registered_word, 8);
  posted_ = prefix_;
  return prefix_;
}

void ExecutionSlot::piggyback_completed(std::uint32_t published) {
  completed_ = std::max(completed_, published);
  pass_aborted();
  published_.notify_all();
}

void ExecutionSlot::note_ready(std::uint32_t counter) {
  // Most become ready in their order, and need no place in the set.
  if (counter == prefix_ + 1) {
    prefix_ = counter;
  } else {
    ready_.insert(counter);
  }
  advance();
}

void ExecutionSlot::advance() {
  while (!ready_.empty() && *ready_.begin() <= prefix_ + 1) {
    prefix_ = std::max(prefix_, *ready_.begin());
    ready_.erase(ready_.begin());
  }
}

reactor::Task<Status> ExecutionSlot::publish_prefix() {
  publishing_ = true;
  Status result;
  fabric::Batch batch;
  while (prefix_ > posted_) {
    const std::uint32_t counter = prefix_;
    batch.clear();
    layout::store_word(publish_word_.data(), HeaderWord(Stamp{slot_, counter}).value());
    batch.write(vector_word_.offset(), publish_word_.data(), 8);
    posted_ = counter;
    cluster_.channel(vector_word_.server()).post(batch);
    const Status& status = co_await batch.done();
    if (!status.ok()) {
      failed_ = true;
      result = status;
      break;
    }
    completed_ = std::max(completed_, counter);
    pass_aborted();
    published_.notify_all();
  }
  publishing_ = false;
  published_.notify_all();
  co_return result;
}

reactor::Task<Status> ExecutionSlot::finish(std::uint32_t counter) {
  note_ready(counter);
  while (completed_ < counter) {
    if (failed_ || cluster_.failed() || (lost_ != 0 && counter >= lost_)) {
      published_.notify_all();
      co_return Status(ErrorCode::connection_failure, "the connection to a memory server was lost");
    }
    if (!publishing_ && prefix_ > posted_) {
      Status status = co_await publish_prefix();
      if (!status.ok()) co_return status;
    } else {
      co_await published_.wait();
    }
  }
  co_return Status();
}

bool ExecutionSlot::finish_unawaited(std::uint32_t counter) {
  note_ready(counter);
  return !publishing_ && prefix_ > posted_;
}

reactor::Task<void> ExecutionSlot::publish() {
  // An error fails the slot, and is reported to the commits that use it.
  if (!publishing_ && prefix_ > posted_ && !failed_) static_cast<void>(co_await publish_prefix());
}

void ExecutionSlot::finish_aborted(std::uint32_t counter, std::span<const HostBytes> journal_parts) {
  journals_.give_back(journal_parts);
  aborted_.insert(counter);
  note_ready(counter);
  pass_aborted();
  published_.notify_all();
}

// No version bears an aborted counter: the next publish passes over it, and needs no WRITE of its own.
void ExecutionSlot::pass_aborted() {
  aborted_.erase(aborted_.begin(), aborted_.upper_bound(completed_));
  while (posted_ == completed_ && !aborted_.empty() && *aborted_.begin() <= completed_ + 1) {
    completed_ = posted_ = std::max(completed_, *aborted_.begin());
    prefix_ = std::max(prefix_, completed_);
    aborted_.erase(aborted_.begin());
  }
  advance();
}

void ExecutionSlot::fail() {
  failed_ = true;
  published_.notify_all();
}

void ExecutionSlot::channel_failed() {
  if (cluster_.failed()) return fail();
  published_.notify_all();
}

void ExecutionSlot::lose(std::uint32_t counter) {
  lost_ = lost_ == 0 ? counter : std::min(lost_, counter);
  channel_failed();
}

reactor::Task<void> ExecutionSlot::wait_idle() {
  while (!idle() && !failed_ && !cluster_.failed()) {
    if (!publishing_ && prefix_ > posted_) {
      co_await publish();
    } else {
      co_await published_.wait();
    }
  }
}

reactor::Task<Status> ExecutionSlot::close() {
  NAMDB_CHECK(idle());
  co_await journals_.drain();
  Status status = co_await journals_.close();
  if (!status.ok()) co_return status;
  // Aborted counters have no WRITE of their own: the last may lie behind what stands there.
  status = co_await cluster_.place_slot(slot_, vector_position_, completed_, 0);
  if (!status.ok()) co_return status;
  control::CloseSlotRequest request;
  request.set_slot(slot_);
  request.set_final_counter(completed_);
  co_return co_await cluster_.call(0, control::CLOSE_SLOT, request, nullptr);
}

}  // namespace namdb::txn
