#include "memory/journals/journals.h"

#include <algorithm>
#include <array>
#include <utility>

#include "common/layout/words.h"
#include "memory/journals/journal_record.h"
#include "memory/journals/verdict_records.h"

namespace namdb::memory {
namespace {

// Bytes of a ring that are cleared, or of a room that are copied, between two yields.
constexpr std::uint64_t kStep_bytes = 256U << 10;
// Rings whose owners are gone may take this part of the region's limit, one in so many.
constexpr std::uint64_t kAbandonedPart = 8;
// Looks at the ring with only a yield in between, before a FLUSH waits by time.
constexpr int kYields = 2;

Status no_stream(std::uint32_t slot) {
  return Status(ErrorCode::undefined_object,
                "slot " + std::to_string(slot) + " has no journal here that this channel has opened");
}

}  // namespace

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

// --- reading ---

reactor::Task<bool> Journals::copy_room(JournalStream* stream, layout::JournalEntry* entry,
                                        std::vector<std::byte>* bytes) {
  // One at a time: a copy may be as long as the longest room.
  while (copying_room_) co_await copied_.wait();
  copying_room_ = true;
  const std::uint64_t offset = entry->room->address.offset();
  const std::uint64_t length = entry->room->length_bytes;
  const std::size_t begin = bytes->size();
  bytes->resize(begin + length);
  for (std::uint64_t done = 0; done < length && !stream->closed(); done += kStep_bytes) {
    const std::uint64_t step = std::min(kStep_bytes, length - done);
    region_.read(offset + done, std::span(*bytes).subspan(begin + done, step));
    co_await executor_.yield();
  }
  copying_room_ = false;
  copied_.notify_all();
  if (stream->closed()) co_return false;
  const layout::StreamPlace place{stream->slot(), options_.server_id, entry->position};
  co_return layout::read_journal_room(std::span<const std::byte>(*bytes).subspan(begin), place, *entry);
}

void Journals::mark_records(const layout::JournalEntry& entry, ChangedExtents& changed) const {
  const auto mark = [&](layout::GlobalAddress record) {
    // From outside: it may be anything.
    if (record.server() == options_.server_id && record.offset() < region_.bytes())
      changed.mark(record.offset());
  };
  for (const layout::JournalItem& item : entry.items) {
    if (item.kind == layout::JournalItem::Kind::update) mark(item.lock);
    for (std::uint32_t i = 0; i < item.new_records; ++i) mark(item.writes[i].address);
  }
}

reactor::Task<Status> Journals::append_entries(JournalStream* stream) {
  // Entries that the owner writes meanwhile are left to the next call.
  const std::uint64_t limit = stream->limit();
  std::vector<std::byte> bytes;
  while (stream->certified() < limit && !stream->closed()) {
    bytes.clear();
    std::optional<layout::JournalEntry> entry =
        stream->abandoned() ? stream->next_of_abandoned(bytes) : stream->next(bytes);
    if (!entry) break;
    if (entry->room) {
      if (!stream->take_room(*entry)) break;
      // Where there is no log, nothing of a finished commit is read again.
      const bool needed = sink_ != nullptr || entry->stamp.counter > stream->through();
      const bool whole = !needed || co_await copy_room(stream, &*entry, &bytes);
      if (!whole) {
        stream->drop_room(*entry);
        if (!stream->abandoned()) break;
        stream->skip(*entry);
        continue;
      }
    }
    LogSink::Appended place;
    if (sink_ != nullptr) {
      const layout::StreamPlace at{stream->slot(), options_.server_id, entry->position};
      const auto head = journal_record_head(at, region_.map().epoch);
      const std::span<const std::byte> head_bytes(head);
      const std::span<const std::byte> entry_bytes(bytes);
      const auto appended = co_await append(RecordKind::entry, head_bytes, entry_bytes);
      if (!appended.ok()) {
        stream->drop_room(*entry);
        co_return appended.status();
      }
      place = *appended;
      mark_records(*entry, region_.changed());
    }
    if (stream->closed()) break;
    stream->accept(*entry, place.begin, place.end);
  }
  co_return stream->broken();
}

reactor::Task<Status> Journals::read_on(StreamPointer stream) {
  while (stream->reading) co_await read_.wait();
  if (stream->closed()) co_return no_stream(stream->slot());
  stream->reading = true;
  Status status = co_await append_entries(stream.get());
  stream->reading = false;
  read_.notify_all();
  co_return status;
}

reactor::Task<void> Journals::read_all() {
  for (auto next = streams_.begin(); next != streams_.end();) {
    const StreamPointer stream = next->second;
    // An error is for the stream's own FLUSH, which finds it again.
    if (!stream->reading && stream->may_have_next()) static_cast<void>(co_await read_on(stream));
    next = streams_.upper_bound(stream->slot());
  }
}

// --- flushing ---

reactor::Task<Status> Journals::make_durable(std::uint64_t log_position) {
  while (durable_ < log_position) {
    if (!failure_.ok()) co_return failure_;
    if (flushing_) {
      co_await flushed_.wait();
      continue;
    }
    flushing_ = true;
    co_await read_all();
    const std::uint64_t upto = appended_;
    Status status = co_await sink_->flush(upto);
    if (status.ok()) {
      durable_ = upto;
    } else {
      failure_ = std::move(status);
    }
    flushing_ = false;
    flushed_.notify_all();
  }
  co_return Status();
}

void Journals::note(RecordKind kind, std::vector<std::byte> bytes) {
  if (sink_ != nullptr) noted_.push_back({kind, std::move(bytes)});
}

reactor::Task<Status> Journals::append_noted() {
  while (!noted_.empty()) {
    if (appending_noted_) {
      co_await noted_appended_.wait();
      continue;
    }
    appending_noted_ = true;
    const std::span<const std::byte> no_head;
    const std::span<const std::byte> bytes = noted_.front().bytes;  // later ones do not move it
    const auto appended = co_await sink_->append(noted_.front().kind, no_head, bytes);
    appending_noted_ = false;
    if (appended.ok()) {
      appended_ = std::max(appended_, appended->end);
      noted_.pop_front();
    }
    noted_appended_.notify_all();
    if (!appended.ok()) co_return appended.status();
  }
  co_return Status();
}

reactor::Task<Result<LogSink::Appended>> Journals::append(RecordKind kind, std::span<const std::byte> head,
                                                          std::span<const std::byte> bytes) {
  if (!noted_.empty()) {
    const Status noted = co_await append_noted();
    if (!noted.ok()) co_return noted;
  }
  const auto appended = co_await sink_->append(kind, head, bytes);
  if (appended.ok()) appended_ = std::max(appended_, appended->end);
  co_return appended;
}

reactor::Task<Status> Journals::flush_noted() {
  if (sink_ == nullptr) co_return Status();
  Status status = co_await append_noted();
  if (!status.ok()) co_return status;
  co_return co_await make_durable(appended_);
}

reactor::Task<Status> Journals::record(RecordKind kind, std::span<const std::byte> bytes) {
  if (sink_ == nullptr) co_return Status();
  const std::span<const std::byte> no_head;
  const auto appended = co_await append(kind, no_head, bytes);
  if (!appended.ok()) co_return appended.status();
  co_return co_await make_durable(appended->end);
}

reactor::Task<Status> Journals::read_and_make_room(StreamPointer stream) {
  Status status = co_await read_on(stream);
  if (status.ok() || !stream->broken().ok() || stream->closed()) co_return status;
  // Records take their room in the log until they are written.
  const Status flushed = co_await make_durable(appended_);
  if (!flushed.ok()) co_return flushed;
  co_return co_await read_on(stream);
}

reactor::Task<Status> Journals::await_entries(StreamPointer stream, std::uint64_t position) {
  const std::uint64_t deadline_ns = executor_.now_ns() + kPatience_ns;
  for (int looks = 0; stream->certified() < position; ++looks) {
    if (stream->may_have_next()) {
      const std::uint64_t before = stream->certified();
      Status status = co_await read_and_make_room(stream);
      if (!status.ok()) co_return status;
      if (stream->certified() != before) continue;
    }
    if (!stream->broken().ok()) co_return stream->broken();
    if (stream->closed() || stream->abandoned() || gone(stream->owner())) {
      co_return Status(ErrorCode::fenced, "the compute server is gone, or the memory server ends");
    }
    const std::uint64_t now_ns = executor_.now_ns();
    if (now_ns >= deadline_ns) break;
    if (looks < kYields) {
      co_await executor_.yield();
    } else if (stream->awaited) {
      co_await read_.wait_until(deadline_ns);  // another FLUSH of the slot looks for both
    } else {
      stream->awaited = true;
      co_await arrived_.wait_until(std::min(now_ns + kReread_ns, deadline_ns));
      stream->awaited = false;
      if (executor_.now_ns() >= deadline_ns || gone(stream->owner())) read_.notify_all();
    }
  }
  co_return Status();
}

reactor::Task<Result<calls::FlushReply>> Journals::flush(fabric::PeerId peer, calls::FlushRequest request) {
  using Flushed = Result<calls::FlushReply>;
  const StreamPointer stream = find_of(peer, request.slot);
  if (stream == nullptr) co_return Flushed(no_stream(request.slot));
  stream->learn_through(request.through);
  if (request.position > stream->limit()) {
    co_return Flushed(
        Status(ErrorCode::protocol_violation,
               "a FLUSH of slot " + std::to_string(request.slot) + " names a place that was not free"));
  }
  Status status = co_await await_entries(stream, request.position);
  if (!status.ok()) co_return Flushed(std::move(status));
  if (sink_ != nullptr) {
    status = co_await make_durable(stream->log_end_before(request.position));
    if (!status.ok()) co_return Flushed(std::move(status));
    stream->log_is_durable(durable_);
  }
  if (stream->closed()) co_return Flushed(no_stream(request.slot));
  co_return Flushed(calls::FlushReply{stream->durable(), stream->freed(), sink_ != nullptr && sink_->full()});
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
  if (!status.ok()) co_return status;
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
  const Status read = co_await read_on(stream);
  if (!read.ok() && stream->broken().ok()) co_return read;
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
      // Where there is none its owner wrote over it, and harms only its own commit.
      if (const auto copy = stream->read_again(kept)) mark_records(copy->entry, changed);
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
