#include "compute/txn/slot_journals.h"

#include <algorithm>
#include <string>
#include <utility>

#include "common/calls/journal_calls.h"
#include "compute/cluster/call_set.h"

namespace namdb::txn {

using layout::GlobalAddress;
using layout::ServerId;

namespace {

// A full log gets room from a checkpoint: the owner looks again after so long.
constexpr std::uint64_t kFullLogPause_ns = 10 * kMillisecond_ns;
// Of a FLUSH's reply.
constexpr std::uint64_t kFlushReply_bytes = 24;

Status lost() {
  return Status(ErrorCode::connection_failure, "the connection to a memory server was lost");
}

Status unusable(const char* what) {
  return Status(ErrorCode::protocol_violation,
                std::string("memory server sent ") + what + " that cannot be used");
}

}  // namespace

// --- rings ---

reactor::Task<Status> SlotJournals::open(std::vector<ServerId> hosts) {
  while (true) {
    std::vector<ServerId> missing;
    bool others_open = false;
    for (const ServerId host : hosts) {
      if (open_at(host)) continue;
      if (!opening_.insert(host).second) {
        others_open = true;
      } else {
        missing.push_back(host);
      }
    }
    if (missing.empty()) {
      if (cluster_.failed()) co_return lost();
      if (!others_open) co_return Status();
      co_await changed_.wait();
      continue;
    }
    Status status = co_await open_here(missing);
    for (const ServerId host : missing) opening_.erase(host);
    changed_.notify_all();
    if (!status.ok()) co_return status;
    // Others may have opened the rest meanwhile, and have said so before this could wait for it.
  }
}

reactor::Task<Status> SlotJournals::open_here(std::vector<ServerId> hosts) {
  CallSet calls(cluster_);
  for (const ServerId host : hosts) calls.request(host) = calls::encode(calls::OpenJournalRequest{slot_});
  fabric::OperationCounters uncounted;
  Status status = co_await calls.run(calls::kOpenJournalMethod, uncounted);
  for (const ServerId host : hosts) {
    if (calls.reply(host).empty()) continue;  // its error is in the status
    Status opened = open_stream(host, calls.reply(host));
    if (status.ok()) status = std::move(opened);
  }
  co_return status;
}

Status SlotJournals::open_stream(ServerId host, std::string_view reply) {
  const auto opened = calls::decode_open_journal_reply(reply, cluster_.region_map(host).limit_bytes);
  if (!opened || opened->ring_bytes == 0) return unusable("a journal");
  streams_.open({slot_, host, opened->position}, GlobalAddress(host, opened->ring_offset),
                opened->ring_bytes);
  flushes_[host].durable = opened->position;
  return {};
}

bool SlotJournals::take_credit(std::span<const HostBytes> parts) {
  streams_.finish_through(through_);
  const bool taken = streams_.take_credit(parts);
  for (const HostBytes part : parts)
    reclaim(part.host, /*urgent=*/!taken && !streams_.at(part.host).has_credit(part.bytes));
  return taken;
}

void SlotJournals::reclaim(ServerId host, bool urgent) {
  const JournalStream& stream = streams_.at(host);
  const std::uint64_t freeable_bytes = stream.freeable_bytes();
  if (freeable_bytes == 0) return;
  // Otherwise a ring that stays half full would cost a call a commit.
  const bool worthwhile =
      2 * stream.used_bytes() > stream.ring_bytes() && 4 * freeable_bytes > stream.ring_bytes();
  if (urgent || worthwhile) want_freed(host);
}

// --- FLUSH ---

void SlotJournals::want_freed(ServerId host) {
  streams_.finish_through(through_);
  Flush& flush = flushes_.at(host);
  flush.wanted_position = std::max(flush.wanted_position, streams_.at(host).finished());
  flush.wanted_through = std::max(flush.wanted_through, through_);
  if (!flush.under_way && !flush.satisfied()) start(host);
}

void SlotJournals::flush(ServerId host, std::uint64_t position, fabric::OperationCounters& counters) {
  Flush& flush = flushes_.at(host);
  flush.wanted_position = std::max(flush.wanted_position, position);
  if (flush.under_way || flush.satisfied()) return;
  start(host);
  if (!flush.under_way) return;  // drained: the channel failed
  ++counters.calls;
  counters.call_bytes += flush.call.request.size() + kFlushReply_bytes;
}

void SlotJournals::start(ServerId host) {
  if (gate_.closing()) return;
  flushes_.at(host).under_way = true;
  post(host);
  cluster_.executor().spawn(gate_, run(host));
}

void SlotJournals::post(ServerId host) {
  Flush& flush = flushes_.at(host);
  flush.asked_through = through_;
  flush.call.method = calls::kFlushMethod;
  flush.call.request = calls::encode(calls::FlushRequest{slot_, flush.wanted_position, through_});
  flush.call.reply.clear();
  cluster_.channel(host).post(flush.call);
}

Status SlotJournals::learn(ServerId host, Status answered) {
  if (!answered.ok()) return answered;
  Flush& flush = flushes_.at(host);
  const auto reply = calls::decode_flush_reply(flush.call.reply);
  if (!reply || reply->durable_position > streams_.at(host).end() ||
      !streams_.free_to(host, reply->freed_position)) {
    return unusable("an answer to a FLUSH");
  }
  flush.durable = std::max(flush.durable, reply->durable_position);
  flush.told_through = std::max(flush.told_through, flush.asked_through);
  flush.log_full = reply->log_full;
  return Status();
}

reactor::Task<void> SlotJournals::run(ServerId host) {
  Flush& flush = flushes_.at(host);
  fabric::Channel& channel = cluster_.channel(host);
  std::uint64_t durable = flush.durable;
  std::uint64_t progress_ns = cluster_.executor().now_ns();
  while (true) {
    Status status = co_await flush.call.done();
    status = learn(host, std::move(status));
    const bool full = !status.ok() && status.code() == ErrorCode::disk_full;
    if (full) flush.log_full = true;
    ++flush.answers;
    changed_.notify_all();
    const std::uint64_t now_ns = cluster_.executor().now_ns();
    if (std::exchange(durable, flush.durable) != flush.durable) progress_ns = now_ns;
    if (status.ok() && flush.satisfied()) break;
    const bool hopeless = now_ns - progress_ns >= cluster_.max_transaction_ns();
    if (status.ok() && hopeless)
      status = Status(ErrorCode::protocol_violation, "memory server does not find a journal entry");
    if (!status.ok() && (!full || hopeless) && !channel.failed()) channel.give_up(status);
    if (full) co_await cluster_.executor().sleep_for(kFullLogPause_ns);
    if (channel.failed()) break;
    post(host);
  }
  flush.under_way = false;
  changed_.notify_all();
}

reactor::Task<Status> SlotJournals::await_durable(JournalEnd entry) {
  const Flush& flush = flushes_.at(entry.host);
  while (flush.durable < entry.position) {
    if (cluster_.failed() || !flush.under_way) co_return lost();
    co_await changed_.wait();
  }
  co_return Status();
}

void SlotJournals::tell_all_finished() {
  streams_.finish_through(through_);
  for (const auto& [host, stream] : streams_.all()) {
    if (stream.freeable_bytes() != 0) want_freed(host);
  }
}

reactor::Task<void> SlotJournals::tell_finished(ServerId host) {
  want_freed(host);
  const std::uint32_t wanted = through_;
  Flush& flush = flushes_.at(host);
  while (flush.told_through < wanted && flush.under_way) co_await changed_.wait();
}

reactor::Task<void> SlotJournals::ask_again(ServerId host) {
  Flush& flush = flushes_.at(host);
  const std::uint64_t before = flush.answers;
  if (!flush.under_way) start(host);
  while (flush.answers == before && flush.under_way) co_await changed_.wait();
}

// --- the end ---

reactor::Task<void> SlotJournals::drain() {
  while (std::ranges::any_of(flushes_, [](const auto& entry) { return entry.second.under_way; }))
    co_await changed_.wait();
  co_await gate_.close();
}

reactor::Task<Status> SlotJournals::close() {
  CallSet calls(cluster_);
  for (const auto& [host, stream] : streams_.all())
    calls.request(host) = calls::encode(calls::CloseJournalRequest{slot_, through_});
  fabric::OperationCounters uncounted;
  co_return co_await calls.run(calls::kCloseJournalMethod, uncounted);
}

}  // namespace namdb::txn
