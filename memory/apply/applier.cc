#include "memory/apply/applier.h"

#include <algorithm>
#include <string>

#include "common/layout/bucket.h"
#include "common/layout/record.h"
#include "common/layout/version_image.h"

namespace namdb::memory {

using layout::GlobalAddress;
using layout::HeaderWord;
using layout::JournalItem;
using layout::JournalWrite;
using layout::Stamp;

namespace {

// Items between two suspensions: their locks are released together.
constexpr std::size_t kItemsAtOnce = 64;

Status does_not_fit(GlobalAddress address, const std::string& what) {
  return Status(ErrorCode::corrupt_data, "a journal entry for memory server " +
                                             std::to_string(address.server()) + ", offset " +
                                             std::to_string(address.offset()) + ", " + what);
}

}  // namespace

reactor::Task<Status> Applier::roll_forward(const layout::JournalEntry& entry,
                                            fabric::Channel& loopback) const {
  std::vector<WordSwap> releases;
  Status status;
  for (std::size_t i = 0; i < entry.items.size() && status.ok();) {
    releases.clear();
    for (const std::size_t end = std::min(i + kItemsAtOnce, entry.items.size()); i < end; ++i) {
      const Result<Release> release = install(entry.items[i], entry);
      if (!release.ok()) {
        status = release.status();
        break;
      }
      if (*release) releases.push_back(**release);
    }
    // A release that does not succeed was done by another application of the same entry.
    co_await swap_words(loopback, releases);
    if (loopback.failed())
      co_return Status(ErrorCode::connection_failure, "the memory server's channel to itself has failed");
  }
  co_return status;
}

Result<Applier::Release> Applier::install(const JournalItem& item, const layout::JournalEntry& entry) const {
  if (item.lock.server() != region_.map().server_id) return Release();
  if (item.kind == JournalItem::Kind::update) return install_update(item, entry.lock);
  return install_chain(item, entry.stamp);
}

Result<Applier::Release> Applier::install_update(const JournalItem& item, Stamp lock) const {
  const layout::BodyHeader header = layout::decode_body_header(item.image.data());
  const TablePointer table = tables_.find(header.table);
  const std::uint64_t record = item.lock.offset();
  const HeaderWord locked(lock, false, true);
  if (!table || !table->records.used(record) || region_.load(record) != locked.value()) return Release();
  const layout::RecordLayout& shape = table->shape.record;
  if (item.image.size() > shape.body_bytes() || !layout::certify_image(item.image, item.lock) ||
      item.ring_slot >= std::max(shape.ring_slots, 1U)) {
    return does_not_fit(item.lock, "does not fit its table");
  }
  std::vector<std::byte> body(shape.body_bytes());
  region_.read(record + 8, body);
  // It is the displaced version in part, the new one in part: words that are not in the image are the same in
  // both.
  std::vector<std::byte> new_body = body;
  if (!layout::restore_body(item.image, item.lock, new_body))
    return does_not_fit(item.lock, "does not fit what stands there");

  const auto is_displaced = [&item](std::span<const std::byte> image) {
    return layout::decode_body_header(image.data()).header_word() == item.displaced;
  };
  if (shape.ring_slots != 0) {  // else no transaction will read the displaced version
    const std::uint64_t ring_word = record + shape.ring_header_offset(item.ring_slot);
    const std::uint64_t payload = record + shape.ring_payload_offset(item.ring_slot);
    std::vector<std::byte> image(shape.body_bytes());
    region_.read(payload, image);
    const bool filled = layout::certify_image(image, item.lock) && is_displaced(image) &&
                        HeaderWord(region_.load(ring_word)).stamp() == item.displaced.stamp();
    if (!filled) {
      if (!layout::certify_body(body, item.lock) || !is_displaced(body))
        return does_not_fit(item.lock, "displaces a version that is neither in its place nor in its ring");
      const std::uint32_t length = layout::encode_image(body, new_body, item.lock, image);
      region_.write(payload, std::span(image).first(length));
      region_.store(ring_word, item.displaced.value());
    }
  }
  region_.write(record + 8, new_body);
  return Release(WordSwap{record, locked.value(), header.header_word().value()});
}

Result<Applier::Release> Applier::install_chain(const JournalItem& item, Stamp stamp) const {
  if (item.new_records == 0 || item.writes[0].bytes.size() < 8 + layout::kBodyPrefix_bytes)
    return does_not_fit(item.lock, "has a chain without a new record");
  const TablePointer table = tables_.find(layout::decode_body_header(item.writes[0].bytes.data() + 8).table);
  const std::uint64_t chain = item.lock.offset();
  const HeaderWord locked(stamp, false, true);
  if (!table || !table->is_bucket(chain) || region_.load(chain) != locked.value()) return Release();
  if (Status status = check_chain(item, *table); !status.ok()) return status;
  // Before any bucket is written, that is, while the names in memory are the owner's own.
  std::vector<bool> named;
  for (std::uint32_t i = 0; i < item.new_records; ++i) named.push_back(names_in_memory(item, item.writes[i]));
  for (std::size_t i = 0; i < item.writes.size(); ++i) {
    if (i < named.size() && named[i]) continue;
    region_.write(item.writes[i].address.offset(), item.writes[i].bytes);
  }
  return Release(WordSwap{chain, locked.value(), HeaderWord(stamp).value()});
}

Status Applier::check_chain(const JournalItem& item, const Table& table) const {
  const layout::RecordLayout& shape = table.shape.record;
  for (std::size_t i = 0; i < item.writes.size(); ++i) {
    const JournalWrite& write = item.writes[i];
    if (write.address.server() != item.lock.server())
      return does_not_fit(item.lock, "has a chain that is spread over memory servers");
    const std::uint64_t offset = write.address.offset();
    if (i >= item.new_records) {
      if (!within_bucket(table, offset, write.bytes.size()))
        return does_not_fit(write.address, "is for no bucket of its table");
      continue;
    }
    if (write.bytes.size() != shape.locked_bytes() || !table.records.used(offset) ||
        !layout::certify_body(write.bytes.subspan(8, shape.body_bytes()), write.address) ||
        layout::decode_body_header(write.bytes.data() + 8).table != table.shape.id) {
      return does_not_fit(write.address, "is for no record of its table");
    }
  }
  return Status();
}

bool Applier::within_bucket(const Table& table, std::uint64_t offset, std::uint64_t length_bytes) {
  if (offset % 8 != 0) return false;
  for (std::uint64_t at = layout::kBucketBody_offset; at + length_bytes <= layout::kBucket_bytes; at += 8) {
    if (offset >= at && table.is_bucket(offset - at)) return true;
  }
  return false;
}

bool Applier::names_in_memory(const JournalItem& item, const JournalWrite& new_record) const {
  const auto name = item.name_of(new_record);
  return name && region_.load(name->address.offset()) == name->word;
}

}  // namespace namdb::memory
