#include "memory/apply/redo.h"

#include <algorithm>
#include <string>

#include "common/base/checksum.h"
#include "common/layout/version_image.h"
#include "memory/region/item_fit.h"

namespace namdb::memory {

using layout::BodyHeader;
using layout::GlobalAddress;
using layout::HeaderWord;
using layout::JournalItem;
using layout::JournalWrite;
using layout::RecordLayout;

namespace {

// Updates that wait, checked without letting others run.
constexpr std::size_t kChecked = 256;

std::string name_of(HeaderWord version) {
  return "<slot " + std::to_string(version.stamp().slot) + ", counter " +
         std::to_string(version.stamp().counter) + ">";
}

Status corrupt(GlobalAddress record, const std::string& what) {
  return Status(
      ErrorCode::corrupt_data,
      "the record at offset " + std::to_string(record.offset()) + " of memory server " +
          std::to_string(record.server()) + " " + what,
      "restore the folder from a backup; or start once with --force unfit-entries, and such changes "
      "are left out");
}

std::uint64_t link_hash(GlobalAddress record, HeaderWord stamp) {
  const std::uint64_t word = stamp.value();
  return checksum64(std::as_bytes(std::span(&word, 1)), record.value);
}

}  // namespace

Status Redo::apply(const layout::JournalEntry& entry) {
  for (const JournalItem& item : entry.items) {
    if (item.lock.server() != region_.map().server_id) continue;
    Status status;
    if (item.kind == JournalItem::Kind::update) status = admit(apply_update(item));
    for (std::uint32_t i = 0; i < item.new_records && status.ok(); ++i)
      status = admit(apply_birth(item.writes[i]));
    if (!status.ok()) return status;
  }
  return Status();
}

Status Redo::admit(Status status) {
  if (status.ok() || !leaves_out_ || status.code() != ErrorCode::corrupt_data) return status;
  if (unfit_.size() < kNamed) unfit_.push_back(status.message());
  ++unfit_count_;
  return Status();
}

std::vector<std::byte> Redo::body(GlobalAddress record, std::uint32_t table,
                                  const RecordLayout& shape) const {
  std::vector<std::byte> bytes;
  if (!places_.life(table, record.offset())) return bytes;
  bytes.resize(shape.body_bytes());
  region_.read(record.offset() + 8, bytes);
  if (!layout::certify_body(bytes, record) || layout::decode_body_header(bytes.data()).table != table)
    bytes.clear();
  return bytes;
}

Status Redo::apply_birth(const JournalWrite& record) {
  if (record.bytes.size() < 8 + layout::kBodyPrefix_bytes)
    return corrupt(record.address, "is too short in the log");
  const BodyHeader header = layout::decode_body_header(record.bytes.data() + 8);
  const RecordLayout* const shape = places_.shape(header.table);
  if (shape == nullptr) {
    if (counts_homeless_) ++homeless_[header.table];
    return Status();
  }
  if (!birth_fits(region_, *shape, record) ||
      !layout::certify_body(record.bytes.subspan(8, shape->body_bytes()), record.address)) {
    return corrupt(record.address, "is born by an entry of the log that does not fit its table");
  }
  const std::optional<std::uint64_t> over = places_.life(header.table, record.address.offset());
  if (!over && counts_homeless_) ++homeless_[header.table];
  if (!over || record.grant <= *over) return Status();
  std::vector<std::byte> framed(record.bytes.begin(), record.bytes.end());
  layout::frame_new_record(framed, *shape);
  places_.born(header.table, record.address.offset(), record.grant);
  region_.write(record.address.offset(), framed);
  return go_on(record.address, header.header_word());
}

Status Redo::apply_update(const JournalItem& item) {
  const BodyHeader header = layout::decode_body_header(item.image.data());
  const RecordLayout* const shape = places_.shape(header.table);
  if (shape == nullptr) return Status();
  if (!update_fits(region_, *shape, item) || !layout::certify_image(item.image, item.lock)) {
    return corrupt(item.lock, "is changed by an entry of the log that does not fit its table");
  }
  displaced_.insert(link_hash(item.lock, item.displaced));
  const Result<bool> installed = install(item.lock, item.displaced, item.image);
  if (!installed.ok()) return installed.status();
  if (*installed) return go_on(item.lock, header.header_word());
  Update update{header.table, header.header_word(), {item.image.begin(), item.image.end()}, age_};
  const auto [known, is_new] =
      waiting_.try_emplace(Link(item.lock.value, item.displaced.value()), std::move(update));
  if (!is_new && known->second.stamp != header.header_word()) {
    return corrupt(item.lock, "has two versions that displaced " + name_of(item.displaced) + ": " +
                                  name_of(known->second.stamp) + " and " + name_of(header.header_word()));
  }
  return Status();
}

Result<bool> Redo::install(GlobalAddress record, HeaderWord displaced, std::span<const std::byte> image) {
  const BodyHeader header = layout::decode_body_header(image.data());
  const RecordLayout& shape = *places_.shape(header.table);
  std::vector<std::byte> bytes = body(record, header.table, shape);
  if (bytes.empty()) return false;
  const BodyHeader standing = layout::decode_body_header(bytes.data());
  if (standing.header_word() != displaced || standing.incarnation != header.incarnation) return false;
  if (!layout::restore_body(image, record, bytes)) {
    return corrupt(record, "cannot become " + name_of(header.header_word()) + " from " + name_of(displaced) +
                               ": the log's change does not fit");
  }
  region_.store(record.offset(), header.header_word().value());
  region_.write(record.offset() + 8, bytes);
  places_.changed(record.offset());
  return true;
}

Status Redo::go_on(GlobalAddress record, HeaderWord stamp) {
  while (true) {
    const auto next = waiting_.find(Link(record.value, stamp.value()));
    if (next == waiting_.end()) return Status();
    const Result<bool> installed = install(record, stamp, next->second.image);
    if (!installed.ok()) return installed.status();
    if (!*installed) return Status();  // of an earlier life
    stamp = next->second.stamp;
    waiting_.erase(next);
  }
}

Status Redo::check_older(GlobalAddress record, HeaderWord displaced, const Update& update) const {
  const RecordLayout& shape = *places_.shape(update.table);
  const std::vector<std::byte> bytes = body(record, update.table, shape);
  if (bytes.empty()) return Status();  // its life is over
  const BodyHeader standing = layout::decode_body_header(bytes.data());
  if (standing.incarnation != layout::decode_body_header(update.image.data()).incarnation) return Status();
  if (standing.header_word() == update.stamp || was_displaced(link_hash(record, update.stamp)))
    return Status();
  if (!shape.timestamps && standing.displaced == update.stamp) return Status();
  return corrupt(record, "stands at version " + name_of(standing.header_word()) + ", and the log has " +
                             name_of(update.stamp) + " in the place of " + name_of(displaced) +
                             ": the versions between are lost");
}

Status Redo::finish() {
  for (const auto& [link, update] : waiting_) {
    Status status = admit(check_older(GlobalAddress(link.first), HeaderWord(link.second), update));
    if (!status.ok()) return status;
  }
  waiting_.clear();
  displaced_.clear();
  earlier_displaced_.clear();
  oldest_displaced_.clear();
  return Status();
}

Result<bool> Redo::end_earlier_ages() {
  auto waiting = checked_ ? waiting_.upper_bound(*checked_) : waiting_.begin();
  for (std::size_t left = kChecked; left != 0 && waiting != waiting_.end(); --left) {
    const auto& [link, update] = *waiting;
    checked_ = link;
    if (update.age == age_) {
      ++waiting;
      continue;
    }
    Status status = admit(check_older(GlobalAddress(link.first), HeaderWord(link.second), update));
    if (!status.ok()) return status;
    waiting = waiting_.erase(waiting);
  }
  if (waiting != waiting_.end()) return true;
  checked_.reset();
  return false;
}

}  // namespace namdb::memory
