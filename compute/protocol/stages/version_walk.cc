#include "compute/protocol/stages/version_walk.h"

#include "common/layout/version_image.h"

namespace namdb::protocol {

using layout::OverflowLink;

void VersionWalk::start(fabric::LocalPool& pool, const storage::Table& table, layout::GlobalAddress record,
                        std::uint64_t region_bytes, std::span<const std::byte> body) {
  pool_ = &pool;
  table_ = &table;
  record_ = record;
  region_bytes_ = region_bytes;
  body_.assign(body.begin(), body.end());
  version_ = layout::decode_body_header(body_.data());
  place_ = Place::none;
}

// Long rows are READ one by one: most transactions need none but the newest.
bool VersionWalk::whole_ring() const {
  return layout::versions_bytes(table_->record) <= layout::kVersionsRead_bytes;
}

void VersionWalk::fetch(Place place, std::size_t bytes) {
  place_ = place;
  if (!buffer_ || buffer_.size() < bytes) buffer_ = fabric::LocalBuffer(*pool_, bytes);
}

VersionWalk::Step VersionWalk::step() {
  const layout::RecordLayout& layout = table_->record;
  if (version_.ring_slot >= layout.ring_slots) return Step::corrupt;
  if (place_ == Place::overflow) return step_in_group();
  if (place_ == Place::ring && (whole_ring() || ring_slot_ == version_.ring_slot)) return step_in_ring();
  ring_slot_ = version_.ring_slot;
  fetch(Place::ring, whole_ring() ? layout::versions_bytes(layout) : 8 + layout.body_bytes());
  return Step::read;
}

void VersionWalk::add_read(txn::BatchSet& batches) {
  const layout::RecordLayout& layout = table_->record;
  const layout::GlobalAddress head = record_ + layout.overflow_head_offset();
  if (place_ == Place::overflow) {
    const std::uint32_t entry_bytes = layout::overflow_entry_bytes(layout.body_bytes());
    batches.read(layout::GlobalAddress(record_.server(), link_.group(entry_bytes)), buffer_.data(),
                 link_.read_bytes(entry_bytes));
  } else if (whole_ring()) {
    batches.read(head, buffer_.data(), layout::versions_bytes(layout));
  } else {
    batches.read(head, buffer_.data(), 8);
    batches.read(record_ + layout.ring_payload_offset(ring_slot_), buffer_.data() + 8, layout.body_bytes());
  }
}

VersionWalk::Step VersionWalk::step_in_ring() {
  const layout::RecordLayout& layout = table_->record;
  const std::uint32_t at =
      whole_ring() ? layout.ring_payload_offset(version_.ring_slot) - layout.overflow_head_offset() : 8;
  const std::span<const std::byte> image(buffer_.data() + at, layout.body_bytes());
  if (layout::certify_image(image, record_) && is_before(image)) return restore(image);
  if (layout.timestamps) return Step::overwritten;
  // Overwritten since: then it was moved before.
  return follow(OverflowLink(buffer_.word()));
}

VersionWalk::Step VersionWalk::follow(OverflowLink link) {
  const std::uint32_t entry_bytes = layout::overflow_entry_bytes(table_->record.body_bytes());
  if (!link.valid(entry_bytes, region_bytes_)) return Step::lost;
  link_ = link;
  entries_ = link.place() + 1;
  fetch(Place::overflow, link.read_bytes(entry_bytes));
  return Step::read;
}

// Before the one that is looked for there may be newer ones, which were in the ring, too.
VersionWalk::Step VersionWalk::step_in_group() {
  const std::uint32_t entry_bytes = layout::overflow_entry_bytes(table_->record.body_bytes());
  while (entries_ > 0) {
    --entries_;
    const std::byte* const entry = buffer_.data() + std::size_t{entries_} * entry_bytes;
    const std::span<const std::byte> image(entry + layout::kOverflowBody_offset, table_->record.body_bytes());
    if (!layout::certify_image(image, record_)) return Step::lost;  // collected under us
    if (is_before(image)) return restore(image);
  }
  return follow(OverflowLink(layout::load_word(buffer_.data() + layout::kOverflowNext_offset)));
}

bool VersionWalk::is_before(std::span<const std::byte> image) const {
  const layout::BodyHeader found = layout::decode_body_header(image.data());
  // With timestamps, a slot that was taken again since holds a newer version.
  return table_->record.timestamps ? found.timestamp() < version_.timestamp()
                                   : found.stamp == version_.displaced.stamp();
}

VersionWalk::Step VersionWalk::restore(std::span<const std::byte> image) {
  if (!layout::restore_body(image, record_, body_)) return Step::corrupt;
  version_ = layout::decode_body_header(body_.data());
  return Step::found;
}

}  // namespace namdb::protocol
