#include "memory/reclaim/version_mover.h"

#include <algorithm>
#include <array>

#include "common/calls/hot_calls.h"
#include "common/layout/record.h"
#include "common/layout/record_trailer.h"
#include "common/layout/version_image.h"

namespace namdb::memory {
namespace {

// A body that does not certify is being written: how often to look again.
constexpr int kAttempts = 4;

}  // namespace

reactor::Task<Status> VersionMover::move(std::uint32_t id, std::vector<std::uint64_t> offsets) {
  const TablePointer table = tables_.find(id);
  if (!table)
    co_return Status(ErrorCode::undefined_table, "this memory server has no table " + std::to_string(id));
  std::uint32_t in_step = 0;
  for (const std::uint64_t record : offsets) {
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      if (table->discarded || !table->records.used(record)) break;
      const Outcome outcome = move_record(*table, record);
      if (outcome == Outcome::full) co_return tables_.full();
      if (outcome == Outcome::done) break;
      co_await executor_.yield();
    }
    if (++in_step < options_.step_units) continue;
    in_step = 0;
    co_await executor_.yield();
  }
  co_return Status();
}

VersionMover::Outcome VersionMover::move_record(const Table& table, std::uint64_t record) {
  const layout::RecordLayout& shape = table.shape.record;
  const layout::GlobalAddress address = region_.address(record);
  if (!shape.moves_versions()) return Outcome::done;
  body_.resize(shape.body_bytes());
  region_.read(record + 8, body_);
  if (!layout::certify_body(body_, address)) return Outcome::unstable;
  layout::BodyHeader version = layout::decode_body_header(body_.data());
  // A reclaimed record has nothing that anyone could look for.
  if (layout::HeaderWord(region_.load(record)).stamp().slot == layout::kCollectorSlot) return Outcome::done;

  struct Linked {
    std::uint32_t ring_slot;
    layout::Stamp successor;
  };
  std::array<Linked, layout::kMaxRingSlots> linked;
  std::uint32_t count = 0;
  while (count < shape.ring_slots && !version.birth() && version.ring_slot < shape.ring_slots) {
    const layout::HeaderWord word(region_.load(record + shape.ring_header_offset(version.ring_slot)));
    // Moved, or taken again since: older ones have been moved before.
    if (word.moved() || word != version.displaced) break;
    linked[count++] = {version.ring_slot, version.stamp};
    region_.read(record + shape.ring_payload_offset(version.ring_slot), body_);
    const layout::BodyHeader older = layout::decode_body_header(body_.data());
    if (!layout::certify_image(body_, address) || older.header_word() != word) return Outcome::unstable;
    version = older;
  }
  while (count > 0) {
    --count;
    const Outcome outcome = move_slot(table, record, linked[count].ring_slot, linked[count].successor);
    if (outcome != Outcome::done) return outcome;
  }
  return Outcome::done;
}

VersionMover::Outcome VersionMover::move_slot(const Table& table, std::uint64_t record,
                                              std::uint32_t ring_slot, layout::Stamp successor) {
  const layout::RecordLayout& shape = table.shape.record;
  const std::uint32_t entry_bytes = Overflow::entry_bytes(shape.body_bytes());
  const std::uint64_t ring_word = record + shape.ring_header_offset(ring_slot);
  const std::uint64_t head = record + layout::overflow_head_offset(shape);
  const layout::HeaderWord stamp(region_.load(ring_word));
  region_.read(record + shape.ring_payload_offset(ring_slot), body_);
  // The image may have changed since it was certified: the copy itself must certify.
  if (!layout::certify_image(body_, region_.address(record)) ||
      layout::decode_body_header(body_.data()).header_word() != stamp) {
    return Outcome::unstable;
  }
  const layout::OverflowLink older(region_.load(head));
  const auto link = overflow_.allocate(older, entry_bytes);
  if (!link) return Outcome::full;

  const std::uint64_t entry = link->entry();
  region_.store(entry + layout::kOverflowNext_offset, older.word());
  store_far_links(*link, older, shape.body_bytes());
  region_.store(entry + layout::kOverflowStamp_offset, stamp.value());
  region_.write(entry + layout::kOverflowBody_offset, body_);
  region_.store(Overflow::newer_offset(*link, entry_bytes), 0);
  region_.store(head, link->word());
  if (overflow_.used(older, entry_bytes)) {
    region_.store(Overflow::newer_offset(older, entry_bytes), link->word());
  }
  // The word is this server's while it is not moved.
  region_.compare_exchange(ring_word, stamp.value(), stamp.with_moved().value());
  old_versions_.add({record, *link, entry_bytes, table.shape.id}, successor);
  ++moved_;
  return Outcome::done;
}

// From those of the group before: each is one group further away from here.
void VersionMover::store_far_links(layout::OverflowLink entry, layout::OverflowLink older,
                                   std::uint32_t body_bytes) {
  const std::uint32_t entry_bytes = Overflow::entry_bytes(body_bytes);
  const bool knows = entry.place() == 0 && overflow_.used(older, entry_bytes);
  for (std::uint32_t before = 2; before <= layout::overflow_links(body_bytes); ++before) {
    const std::uint64_t nearer = layout::overflow_link_offset(before - 1, body_bytes);
    region_.store(entry.entry() + layout::overflow_link_offset(before, body_bytes),
                  knows ? region_.load(older.group(entry_bytes) + nearer) : 0);
  }
}

Result<RecordList> RecordList::parse(std::string_view request) {
  const auto word = [&](std::size_t index) {
    return layout::load_word(reinterpret_cast<const std::byte*>(request.data()) + 8 * index);
  };
  const std::size_t words = request.size() / 8;
  if (request.size() % 8 != 0 || words == 0 || words > 1 + calls::kMaxMoveVersions ||
      word(0) > ~std::uint32_t{0}) {
    return Status(ErrorCode::protocol_violation, "no list of a table's records");
  }
  RecordList list;
  list.table = static_cast<std::uint32_t>(word(0));
  for (std::size_t i = 1; i < words; ++i) list.offsets.push_back(word(i));
  return list;
}

}  // namespace namdb::memory
