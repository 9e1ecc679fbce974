#include "memory/checkpoint/sweeper.h"

#include <algorithm>
#include <string>
#include <utility>

#include "common/layout/stamp.h"
#include "common/layout/words.h"

namespace namdb::memory {
namespace {

// A look for places costs about as much as so many bytes.
constexpr std::uint64_t kLook_bytes = 64;
// A sweep that is ahead of the wanted share looks again after this time.
constexpr std::uint64_t kAheadLook_ns = 20 * kMillisecond_ns;

Status stopped() {
  return Status(ErrorCode::admin_shutdown, "the checkpoint was stopped, the memory server shuts down");
}

}  // namespace

reactor::Task<Status> Sweeper::run() {
  if (stopping_) co_return stopped();
  progress_ = {};
  std::vector<std::uint64_t> extents = region_.changed().take();
  const std::vector<std::uint64_t> taken = extents;
  log_.mark_unfinished(region_.changed());
  Status status = co_await sweep(&extents);
  if (status.ok()) co_return co_await log_.reclaim(store_.oldest_redo());
  for (const std::uint64_t extent : taken) region_.changed().mark(extent);
  const Status abandoned = co_await store_.abandon();
  static_cast<void>(abandoned);  // the first error tells more
  co_return status;
}

// `extents`: those that are left to do.
reactor::Task<Status> Sweeper::sweep(std::vector<std::uint64_t>* extents) {
  progress_.extents = extents->size();
  std::uint64_t redo_from = log_.redo_start();
  store_.begin();
  for (std::uint32_t round = 0; round < kRounds && !extents->empty(); ++round) {
    if (round != 0) co_await wait_until(executor_.now_ns() + options_.again_ns, /*for_pace=*/false);
    progress_.stuck.clear();
    std::vector<std::uint64_t> later;
    for (const std::uint64_t extent : *extents) {
      bool torn = false;
      Status status = co_await write_extent(extent, &torn);
      if (status.ok() && stopping_) status = stopped();
      if (!status.ok()) co_return status;
      if (torn) {
        later.push_back(extent);
      } else {
        ++progress_.done_extents;
      }
    }
    *extents = std::move(later);
  }
  progress_.kept_extents = extents->size();
  if (!extents->empty()) redo_from = std::min(redo_from, store_.newest_redo_from().value_or(0));
  std::vector<std::byte> bytes = state();
  if (Status status = co_await log_.flush(); !status.ok()) co_return status;
  Status status = co_await store_.commit(redo_from, std::move(bytes));
  if (!status.ok()) co_return status;
  for (const std::uint64_t extent : *extents) region_.changed().mark(extent);
  co_return Status();
}

reactor::Task<Status> Sweeper::write_extent(std::uint64_t extent, bool* torn) {
  ChunkWriter chunk(extent);
  std::vector<std::uint32_t> ids;
  for (const auto& [id, table] : tables_.all()) ids.push_back(id);
  for (const std::uint32_t id : ids) {
    Cursor cursor{id, extent, extent + region_.extents().extent_bytes()};
    for (Step next = step(cursor, chunk); next != Step::done; next = step(cursor, chunk)) {
      if (next == Step::torn) {
        ++progress_.rereads;
        *torn = ++cursor.rereads > kRereads;
        if (*torn) co_return Status();
      }
      co_await pause();
      if (stopping_) co_return stopped();
    }
  }
  if (chunk.empty()) {
    store_.drop(extent);
    co_return Status();
  }
  co_await pause();
  const std::vector<std::byte> bytes = chunk.finish();
  Status status = co_await store_.put(extent, bytes);
  progress_.chunk_bytes += bytes.size();
  co_return status;
}

Sweeper::Step Sweeper::step(Cursor& cursor, ChunkWriter& chunk) {
  const TablePointer table = tables_.find(cursor.table);
  if (!table) return Step::done;  // dropped
  turn_bytes_ += kLook_bytes;
  const layout::RecordLayout& shape = table->shape.record;
  do {
    const auto place = table->records.next_granted(cursor.offset, cursor.end);
    if (!place) return Step::done;
    if (!add_place(*place, shape, chunk)) {
      if (cursor.rereads == kRereads) note_stuck(*table, *place);
      return Step::torn;
    }
    turn_bytes_ += kChunkPlace_bytes + (place->used ? shape.current_bytes() : 0);
    cursor.offset = place->offset + 8;
    cursor.rereads = 0;
  } while (turn_bytes_ < options_.turn_bytes);
  return Step::more;
}

bool Sweeper::add_place(const SlabAllocator::Place& place, const layout::RecordLayout& shape,
                        ChunkWriter& chunk) {
  const ChunkShape chunk_shape{shape.record_bytes(), shape.body_bytes()};
  ChunkPlace added{place.offset, place.last_grant, {}};
  if (place.used) {
    record_.resize(shape.current_bytes());
    region_.read(place.offset, record_);
    const bool empty = std::ranges::all_of(record_, [](std::byte byte) { return byte == std::byte{}; });
    const auto body = std::span<const std::byte>(record_).subspan(8);
    if (empty) {
      added.life = place.last_grant - 1;
    } else {
      const layout::BodyHeader header = layout::decode_body_header(body.data());
      if (!layout::certify_body(body, region_.address(place.offset)) || header.table != place.block.table)
        return false;
      const layout::HeaderWord word(layout::load_word(record_.data()));
      const bool reclaimed = header.deleted && word.locked() && word.stamp().slot == layout::kCollectorSlot;
      if (!reclaimed) {
        added.body = body;
        ++progress_.bodies;
      }
    }
  }
  chunk.place(place.block, chunk_shape, added);
  return true;
}

void Sweeper::note_stuck(const Table& table, const SlabAllocator::Place& place) {
  if (progress_.stuck.size() >= kStuckNamed) return;
  const layout::HeaderWord header(region_.load(place.offset));
  progress_.stuck.push_back({table.shape.name, region_.address(place.offset), header});
}

bool Sweeper::ahead() const {
  if (!options_.wanted_share || hurried()) return false;
  const double done = static_cast<double>(progress_.done_extents);
  return done > options_.wanted_share() * static_cast<double>(progress_.extents);
}

reactor::Task<void> Sweeper::pause() {
  while (!stopping_ && ahead()) co_await wait_until(executor_.now_ns() + kAheadLook_ns, /*for_pace=*/true);
  const std::uint64_t now_ns = executor_.now_ns();
  if (options_.rate_bytes != 0 && !hurried())
    next_turn_ns_ = std::max(next_turn_ns_, now_ns) + turn_bytes_ * kSecond_ns / options_.rate_bytes;
  turn_bytes_ = 0;
  if (next_turn_ns_ <= now_ns || hurried()) {
    co_await executor_.yield();
  } else {
    co_await wait_until(next_turn_ns_, /*for_pace=*/true);
  }
  if (hurried()) next_turn_ns_ = 0;
}

reactor::Task<void> Sweeper::wait_until(std::uint64_t when_ns, bool for_pace) {
  while (!stopping_ && executor_.now_ns() < when_ns && !(for_pace && hurried()))
    co_await woken_.wait_until(when_ns);
}

std::vector<std::byte> Sweeper::state() const {
  control::CheckpointState state;
  for (const auto& [id, table] : tables_.all()) {
    if (table->discarded) continue;
    for (const RecordBlock& block : table->records.record_blocks()) {
      control::RecordBlock& added = *state.add_blocks();
      added.set_table(block.table);
      added.set_offset(block.offset);
      added.set_bytes(block.bytes);
      added.set_taken(block.taken);
    }
  }
  state.set_grant_mark(region_.grants().wanted_mark());
  if (options_.add_state) options_.add_state(state);
  const std::string text = state.SerializeAsString();
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

}  // namespace namdb::memory
