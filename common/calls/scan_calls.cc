#include "common/calls/scan_calls.h"

#include <cstring>

#include "common/calls/word_stream.h"
#include "common/layout/record.h"

namespace namdb::calls {
namespace {

constexpr std::size_t kGroupHead_bytes = 16;

}  // namespace

std::size_t bytes_of(std::span<const ScanPart> parts) {
  std::size_t bytes = 0;
  for (const ScanPart& part : parts) bytes += part.length_bytes;
  return bytes;
}

void append(std::string& request, const ScanRequest& scan) {
  append_word(request, scan.table | (std::uint64_t{scan.most_places} << 32));
  append_word(request, scan.after);
  for (const ScanPart& part : scan.parts)
    append_word(request, part.begin | (std::uint64_t{part.length_bytes} << 32));
}

std::optional<ScanRequest> decode_scan(std::string_view request) {
  std::uint64_t table = 0;
  ScanRequest scan;
  if (!take_word(request, table) || !take_word(request, scan.after)) return std::nullopt;
  scan.table = static_cast<std::uint32_t>(table);
  scan.most_places = static_cast<std::uint32_t>(table >> 32);
  if (scan.most_places == 0 || request.size() % 8 != 0 || request.size() / 8 > kMaxScanParts)
    return std::nullopt;
  std::uint64_t end = 0;
  for (std::uint64_t word = 0; take_word(request, word);) {
    const ScanPart part{static_cast<std::uint32_t>(word), static_cast<std::uint32_t>(word >> 32)};
    const bool possible =
        part.begin % 8 == 0 && part.length_bytes % 8 == 0 && part.length_bytes != 0 && part.begin >= end;
    if (!possible) return std::nullopt;
    end = std::uint64_t{part.begin} + part.length_bytes;
    scan.parts.push_back(part);
  }
  if (end > layout::kMaxPayload_bytes) return std::nullopt;
  return scan;
}

layout::BucketEntry ScannedGroup::entry(std::size_t record) const {
  return {0, word_at(records, record * record_bytes)};
}

std::optional<ScannedGroups> ScannedGroups::create(std::string_view reply, std::size_t part_bytes) {
  ScannedGroups groups;
  if (!take_word(reply, groups.after_)) return std::nullopt;
  groups.part_bytes_ = part_bytes;
  groups.rest_ = reply;
  return groups;
}

bool ScannedGroups::next(ScannedGroup& group) {
  std::uint64_t header = 0;
  std::uint64_t count = 0;
  if (!take_word(rest_, header) || !take_word(rest_, count) || count == 0) return false;
  group.header = layout::HeaderWord(header);
  group.record_bytes = 8 + (header == 0 ? 0 : part_bytes_);
  if (count > rest_.size() / group.record_bytes) return false;
  group.count = count;
  group.records = rest_.substr(0, count * group.record_bytes);
  rest_.remove_prefix(group.records.size());
  return true;
}

ScanWriter::ScanWriter(std::string& reply, std::span<const ScanPart> parts)
    : reply_(reply), parts_(parts), longest_bytes_(kGroupHead_bytes + 8 + bytes_of(parts)) {
  append_word(reply_, 0);
}

void ScanWriter::add(layout::HeaderWord header, std::uint64_t location, const std::byte* row) {
  if (group_ == 0 || header != header_) {
    group_ = reply_.size();
    header_ = header;
    count_ = 0;
    append_word(reply_, header.value());
    append_word(reply_, 0);
  }
  ++count_;
  std::memcpy(reply_.data() + group_ + 8, &count_, sizeof count_);
  append_word(reply_, location);
  if (header.value() == 0) return;
  for (const ScanPart& part : parts_)
    reply_.append(reinterpret_cast<const char*>(row) + part.begin, part.length_bytes);
}

void ScanWriter::finish(std::uint64_t after) {
  std::memcpy(reply_.data(), &after, sizeof after);
}

}  // namespace namdb::calls
