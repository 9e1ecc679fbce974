#include "memory/journals/journals.h"

#include <algorithm>
#include <array>
#include <utility>

#include "common/layout/words.h"
#include "memory/journals/verdict_records.h"

namespace namdb::memory {
namespace {

// Bytes of a ring that are cleared between two yields.
constexpr std::uint64_t kStep_bytes = 256U << 10;
// Rings whose owners are gone may take this part of the region's limit, one in so many.
constexpr std::uint64_t kAbandonedPart = 8;

}  // namespace

Status Journals::no_stream(std::uint32_t slot) {
  return Status(ErrorCode::undefined_object,
                "slot " + std::to_string(slot) + " has no journal here that this channel has opened");
}

Journals::Journals(reactor::Executor& executor, Region& region, const Options& options, const Peers& peers)
    : executor_(executor),
      region_(region),
      options_(options),
      peers_(peers),
      arrived_(executor),
      read_(executor),
      flushed_(executor),
      noted_appended_(executor),
      copied_(executor) {}

void Journals::stop() {
  stopping_ = true;
  arrived_.notify_all();
  read_.notify_all();
}

bool Journals::gone(fabric::PeerId id) const {
  const auto peer = peers_.all().find(id);
  return stopping_ || peer == peers_.all().end() || peers_.fenced(peer->second.compute_id);
}

std::size_t Journals::streams_of(fabric::PeerId peer) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(streams_, [peer](const auto& entry) { return entry.second->owner() == peer; }));
}

const JournalStream* Journals::find(std::uint32_t slot) const {
  const auto found = streams_.find(slot);
  return found == streams_.end() ? nullptr : found->second.get();
}

Journals::StreamPointer Journals::find_of(fabric::PeerId peer, std::uint32_t slot) const {
  const auto found = streams_.find(slot);
  if (found == streams_.end() || found->second->owner() != peer || found->second->abandoned()) return nullptr;
  return found->second;
}

std::uint64_t Journals::abandoned_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& [slot, stream] : streams_) {
    if (stream->abandoned()) bytes += stream->held_bytes();
  }
  return bytes;
}

// --- opening ---

Status Journals::may_open(fabric::PeerId peer, std::uint32_t slot) const {
  if (gone(peer)) return Status(ErrorCode::fenced, "this channel is not connected");
  if (streams_.contains(slot)) return no_stream(slot);
  if (streams_of(peer) >= options_.max_slots_per_peer) {
    return Status(ErrorCode::limit_exceeded,
                  "a channel can hold at most " + std::to_string(options_.max_slots_per_peer) + " journals");
  }
  if (abandoned_bytes() > region_.limit_bytes() / kAbandonedPart) {
    return Status(ErrorCode::out_of_memory,
                  "the journals of compute servers that died take too much of the region",
                  "they are free again when the commits that those left are decided");
  }
  return Status();
}

reactor::Task<Result<calls::OpenJournalReply>> Journals::open(fabric::PeerId peer, std::uint32_t slot) {
  using Opened = Result<calls::OpenJournalReply>;
  StreamPointer stream = find_of(peer, slot);
  if (stream == nullptr) {
    Status status = may_open(peer, slot);
    if (!status.ok()) co_return Opened(std::move(status));
    const std::optional<Block> ring = region_.blocks().allocate(options_.journal_bytes);
    if (!ring)
      co_return Opened(Status(ErrorCode::out_of_memory, "the region has no room for another journal"));
    charged_bytes_ += ring->bytes;  // while it is cleared
    for (std::uint64_t done = 0; ring->dirty && done < ring->bytes; done += kStep_bytes) {
      region_.zero(ring->offset + done, std::min(kStep_bytes, ring->bytes - done));
      co_await executor_.yield();
    }
    charged_bytes_ -= ring->bytes;
    status = may_open(peer, slot);  // the peer may be gone, or have called twice
    if (!status.ok()) {
      region_.blocks().free(ring->offset, ring->bytes);
      co_return Opened(std::move(status));
    }
    const std::string compute_id = peers_.all().at(peer).compute_id;
    const layout::StreamPlace begin{slot, options_.server_id, 0};
    stream = std::make_shared<JournalStream>(region_, *ring, begin, peer, compute_id, charged_bytes_);
    streams_.emplace(slot, stream);
  }
  co_return Opened(calls::OpenJournalReply{stream->ring().offset, stream->ring().bytes, stream->certified()});
}

// --- rooms ---

std::uint64_t Journals::max_room_bytes() const {
  const std::uint64_t most = options_.max_journal_room_bytes;
  return sink_ == nullptr ? most : std::min(most, sink_->max_entry_bytes());
}

Result<std::uint64_t> Journals::lend_room(fabric::PeerId peer, std::uint32_t slot,
                                          std::uint64_t length_bytes) {
  const StreamPointer stream = find_of(peer, slot);
  if (stream == nullptr) return no_stream(slot);
  if (length_bytes == 0 || length_bytes > max_room_bytes()) {
    return Status(ErrorCode::limit_exceeded,
                  "a journal entry can have at most " + std::to_string(max_room_bytes()) + " bytes");
  }
  const auto room = region_.blocks().allocate(length_bytes, /*keep_reserve=*/true);
  if (!room)
    return Status(ErrorCode::out_of_memory, "the region has no room for the journal of a large transaction");
  stream->add_room(*room);
  return room->offset;
}

Status Journals::give_back_room(fabric::PeerId peer, std::uint32_t slot, std::uint64_t offset) {
  const StreamPointer stream = find_of(peer, slot);
  if (stream == nullptr) return no_stream(slot);
  if (!stream->give_back_room(offset))
    return Status(ErrorCode::undefined_object,
                  "slot " + std::to_string(slot) + " has no such room to give back");
  return Status();
}

// --- ends ---

void Journals::disconnected(fabric::PeerId peer) {
  for (const auto& [slot, stream] : streams_) {
    if (stream->owner() == peer) stream->abandon();
  }
  arrived_.notify_all();
}

void Journals::left(std::uint32_t slot) {
  if (const auto found = streams_.find(slot); found != streams_.end()) found->second->abandon();
  arrived_.notify_all();
}

bool Journals::holds(const std::string& compute_id) const {
  return std::ranges::any_of(streams_,
                             [&](const auto& entry) { return entry.second->compute_id() == compute_id; });
}

void Journals::settle(const std::set<std::string>& ended) {
  for (auto entry = streams_.begin(); entry != streams_.end();) {
    JournalStream& stream = *entry->second;
    if (stream.abandoned() && ended.contains(stream.compute_id())) {
      stream.close();
      entry = streams_.erase(entry);
    } else {
      ++entry;
    }
  }
  read_.notify_all();
}

reactor::Task<Status> Journals::end(StreamPointer stream, Ended how) {
  stream->learn_through(how.through);
  Status status = co_await read_on(stream);
  // Where the stream broke the decider goes by what is before.
  if (!status.ok() && (stream->broken().ok() || !how.decided)) co_return status;
  if (stream->oldest_undecided_log_begin()) {
    co_return Status(ErrorCode::protocol_violation, "slot " + std::to_string(stream->slot()) +
                                                        " has an entry in its journal that is not decided");
  }
  const std::array<std::byte, 8> bytes = end_record(stream->slot(), stream->through());
  status = co_await record(how.decided ? RecordKind::closed : RecordKind::through, bytes);
  if (!status.ok() || stream->closed()) co_return status;
  stream->close();
  how.through = stream->through();
  ended_[stream->slot()] = how;
  streams_.erase(stream->slot());
  arrived_.notify_all();
  read_.notify_all();
  co_return Status();
}

reactor::Task<Status> Journals::close(fabric::PeerId peer, std::uint32_t slot, std::uint32_t through) {
  StreamPointer stream = find_of(peer, slot);
  if (stream == nullptr) co_return no_stream(slot);
  const Ended how{through, false};
  co_return co_await end(std::move(stream), how);
}

reactor::Task<Status> Journals::close_decided(std::uint32_t slot, std::uint32_t final_counter) {
  const auto found = streams_.find(slot);
  if (found == streams_.end()) co_return Status();  // it is closed already
  StreamPointer stream = found->second;
  NAMDB_CHECK(stream->abandoned());
  const Ended how{final_counter, true};
  co_return co_await end(std::move(stream), how);
}

// --- for the decider, and for redo ---

reactor::Task<Status> Journals::read_rest(std::uint32_t slot) {
  const auto found = streams_.find(slot);
  if (found == streams_.end()) co_return Status();
  const StreamPointer stream = found->second;
  NAMDB_CHECK(stream->abandoned());
  // A broken stream ends where it broke: the owner, not this host, is at fault.
  const Status read = co_await read_and_make_room(stream);
  if (!read.ok() && stream->broken().ok()) {
    if (read.code() != ErrorCode::disk_full) co_return read;
    // An entry that is not in the log was installed nowhere: installing comes after the flush.
    stream->break_off(read);
  }
  if (sink_ == nullptr) co_return Status();
  Status status = co_await make_durable(stream->log_end_before(~std::uint64_t{0}));
  if (status.ok()) stream->log_is_durable(durable_);
  co_return status;
}

void Journals::learn_through(std::uint32_t slot, std::uint32_t counter) {
  if (const auto found = streams_.find(slot); found != streams_.end()) found->second->learn_through(counter);
}

void Journals::decide(std::uint32_t slot, std::uint32_t counter, Verdict verdict) {
  if (const auto found = streams_.find(slot); found != streams_.end())
    found->second->decide(counter, verdict);
}

std::optional<Journals::Ended> Journals::ended(std::uint32_t slot) const {
  const auto found = ended_.find(slot);
  return found == ended_.end() ? std::nullopt : std::optional(found->second);
}

void Journals::mark_undecided(ChangedExtents& changed) const {
  for (const auto& [slot, stream] : streams_) {
    for (const KeptEntry& kept : stream->entries()) {
      if (stream->decided(kept)) continue;
      for (const std::uint32_t extent : kept.extents) changed.mark_number(extent);
    }
  }
}

std::uint64_t Journals::redo_start() const {
  std::uint64_t start = ~std::uint64_t{0};
  for (const auto& [slot, stream] : streams_) {
    if (const auto oldest = stream->oldest_undecided_log_begin()) start = std::min(start, *oldest);
  }
  return start;
}

}  // namespace namdb::memory
