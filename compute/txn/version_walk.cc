#include "compute/txn/version_walk.h"

#include <algorithm>

#include "common/layout/record_trailer.h"
#include "common/layout/version_image.h"

namespace namdb::protocol {

using layout::GlobalAddress;
using layout::OverflowLink;

void VersionWalk::start(fabric::LocalPool& pool, const storage::Table& table, GlobalAddress record,
                        std::uint64_t region_bytes, std::span<const std::byte> body) {
  pool_ = &pool;
  table_ = &table;
  record_ = record;
  region_bytes_ = region_bytes;
  body_.assign(body.begin(), body.end());
  version_ = layout::decode_body_header(body_.data());
  place_ = Place::none;
  buffer_.reset();
}

VersionWalk::Step VersionWalk::step() {
  if (version_.ring_slot >= table_->record.ring_slots) return Step::corrupt;
  switch (place_) {
    case Place::none:
      place_ = Place::ring;
      read_bytes_ = layout::versions_bytes(table_->record);
      return Step::read;
    case Place::ring:
      return step_in_ring();
    case Place::overflow:
      return step_in_groups();
  }
  return Step::corrupt;
}

void VersionWalk::add_read(txn::BatchSet& batches) {
  if (!buffer_) buffer_ = fabric::LocalBuffer(*pool_, read_bytes_);
  if (place_ == Place::ring) {
    const GlobalAddress head = record_ + layout::overflow_head_offset(table_->record);
    for (std::size_t at = 0; at < read_bytes_; at += fabric::kMaxOperation_bytes)
      batches.read(head + at, buffer_.data() + at,
                   std::min<std::size_t>(read_bytes_ - at, fabric::kMaxOperation_bytes));
    return;
  }
  std::byte* local = buffer_.data();
  for (const OverflowLink link : groups_) {
    batches.read(GlobalAddress(record_.server(), link.group(entry_bytes())), local,
                 link.read_bytes(entry_bytes()));
    local += link.read_bytes(entry_bytes());
  }
}

VersionWalk::Step VersionWalk::step_in_ring() {
  const layout::RecordLayout& layout = table_->record;
  const std::uint32_t at =
      layout.ring_payload_offset(version_.ring_slot) - layout::overflow_head_offset(layout);
  const std::span<const std::byte> image(buffer_.data() + at, layout.body_bytes());
  if (layout::certify_image(image, record_) && is_before(image)) return restore(image);
  if (layout.timestamps) return Step::overwritten;
  // Overwritten since: then it was moved before.
  groups_.assign(1, OverflowLink(buffer_.word()));
  return read_groups();
}

// Before the one that is looked for there may be newer ones, which were in the ring, too.
VersionWalk::Step VersionWalk::step_in_groups() {
  const std::uint32_t body_bytes = table_->record.body_bytes();
  while (true) {
    const std::byte* const group = buffer_.data() + group_at_;
    while (entries_ > 0) {
      --entries_;
      const std::byte* const entry = group + std::size_t{entries_} * entry_bytes();
      const std::span<const std::byte> image(entry + layout::kOverflowBody_offset, body_bytes);
      if (!layout::certify_image(image, record_)) return lost();  // collected under us
      if (is_before(image)) return restore(image);
    }
    if (group_ + 1 == groups_.size()) {
      groups_.clear();
      for (std::uint32_t before = 1; before <= layout::overflow_links(body_bytes); ++before)
        groups_.emplace_back(layout::load_word(group + layout::overflow_link_offset(before, body_bytes)));
      return read_groups();
    }
    // A link to farther groups may be older than what is there now, and even lead to newer versions.
    if (groups_[group_ + 1].word() != layout::load_word(group + layout::kOverflowNext_offset)) return lost();
    group_at_ += groups_[group_].read_bytes(entry_bytes());
    entries_ = groups_[++group_].place() + 1;
  }
}

VersionWalk::Step VersionWalk::read_groups() {
  const auto end = std::ranges::find_if_not(
      groups_, [this](OverflowLink link) { return link.valid(entry_bytes(), region_bytes_); });
  groups_.erase(end, groups_.end());
  if (groups_.empty()) return lost();
  buffer_.reset();
  place_ = Place::overflow;
  read_bytes_ = 0;
  for (const OverflowLink link : groups_) read_bytes_ += link.read_bytes(entry_bytes());
  group_ = 0;
  group_at_ = 0;
  entries_ = groups_.front().place() + 1;
  return Step::read;
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

VersionWalk::Step VersionWalk::lost() {
  end();
  return Step::lost;
}

}  // namespace namdb::protocol
