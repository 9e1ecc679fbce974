// Of journals.h: from the rings into the log, and when that is durable.
#include <algorithm>
#include <utility>

#include "memory/journals/entry_check.h"
#include "memory/journals/journal_record.h"
#include "memory/journals/journals.h"

namespace namdb::memory {
namespace {

// Bytes of a room that are copied between two yields.
constexpr std::uint64_t kRoomStep_bytes = 256U << 10;
// Looks at the ring with only a yield in between, before a FLUSH waits by time.
constexpr int kYields = 2;
// The list of extents may have so many repetitions before they are dropped.
constexpr std::size_t kFewExtents = 64;

}  // namespace

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
  for (std::uint64_t done = 0; done < length && !stream->closed(); done += kRoomStep_bytes) {
    const std::uint64_t step = std::min(kRoomStep_bytes, length - done);
    region_.read(offset + done, std::span(*bytes).subspan(begin + done, step));
    co_await executor_.yield();
  }
  copying_room_ = false;
  copied_.notify_all();
  if (stream->closed()) co_return false;
  const layout::StreamPlace place{stream->slot(), options_.server_id, entry->position};
  co_return layout::read_journal_room(std::span<const std::byte>(*bytes).subspan(begin), place, *entry);
}

ExtentNumbers Journals::extents_of(const layout::JournalEntry& entry) const {
  ExtentNumbers extents;
  std::size_t distinct = 0;
  const auto drop_repeated = [&] {
    std::ranges::sort(extents);
    extents.erase(std::ranges::unique(extents).begin(), extents.end());
    distinct = extents.size();
  };
  const auto add = [&](layout::GlobalAddress record) {
    // From outside: it may be anything.
    if (record.server() != options_.server_id || record.offset() >= region_.bytes()) return;
    const std::uint32_t extent = region_.changed().number_of(record.offset());
    if (!extents.empty() && extents.back() == extent) return;
    if (extents.size() >= 2 * distinct + kFewExtents) drop_repeated();
    extents.push_back(extent);
  };
  for (const layout::JournalItem& item : entry.items) {
    if (item.kind == layout::JournalItem::Kind::update) add(item.lock);
    for (std::uint32_t i = 0; i < item.new_records; ++i) add(item.writes[i].address);
  }
  if (extents.size() > 1) drop_repeated();
  return extents;
}

void Journals::tell_broken(const JournalStream& stream) {
  ++refused_;
  if (!options_.notice) return;
  const auto peer = peers_.all().find(stream.owner());
  const std::string whose = peer == peers_.all().end() ? std::string() : ", of " + peer->second.name + ",";
  options_.notice(stream.broken().message() + ": slot " + std::to_string(stream.slot()) + whose +
                  " logs nothing more here, and that commit is undone");
}

bool Journals::takes(JournalStream* stream, const layout::JournalEntry& entry) {
  if (check_ == nullptr) return true;
  const Status fits = check_->check(entry);
  if (fits.ok()) return true;
  stream->break_off(Status(fits.code(), "the journal entry of commit " + std::to_string(entry.stamp.counter) +
                                            " of slot " + std::to_string(stream->slot()) + " is refused, " +
                                            fits.message()));
  return false;
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
      if (!stream->take_room(*entry)) {
        tell_broken(*stream);
        break;
      }
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
    if (!takes(stream, *entry)) {
      stream->drop_room(*entry);
      tell_broken(*stream);
      break;
    }
    LogSink::Appended place;
    ExtentNumbers extents;
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
      extents = extents_of(*entry);
      for (const std::uint32_t extent : extents) region_.changed().mark_number(extent);
    }
    if (stream->closed()) break;
    stream->accept(std::move(*entry), place.begin, place.end, std::move(extents));
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
  // Other records wait for none of that: in a full log a decision comes first, and brings room for the rest.
  if (kind == RecordKind::entry && !noted_.empty()) {
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

}  // namespace namdb::memory
