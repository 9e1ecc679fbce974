#include "common/layout/version_image.h"

#include <algorithm>
#include <cstring>

#include "common/base/check.h"
#include "common/base/checksum.h"

namespace namdb::layout {
namespace {

bool is_change(std::span<const std::byte> slot) {
  return (load_word(slot.data() + kBodyMeta_offset) & kChange_bit) != 0;
}

std::uint64_t change_checksum(std::span<const std::byte> image, GlobalAddress record) {
  return checksum64(image.subspan(kImageLength_offset),
                    checksum64(image.first(kBodyPrefix_bytes), record.value));
}

// The runs of a change, wherever it came from: never outside of the image or the body.
class Runs {
 public:
  Runs(std::span<const std::byte> image, std::size_t payload_bytes)
      : rest_(image.subspan(kImageRuns_offset)), payload_bytes_(payload_bytes) {}
  bool empty() const { return rest_.empty(); }
  // False if no run follows.
  bool next(std::uint64_t& offset, std::span<const std::byte>& bytes) {
    if (rest_.size() < 8) return false;
    const std::uint64_t head = load_word(rest_.data());
    offset = head >> 32;
    const std::uint64_t length = head & 0xffffffff;
    if (offset % 8 != 0 || length % 8 != 0 || length > rest_.size() - 8 || offset + length > payload_bytes_)
      return false;
    bytes = rest_.subspan(8, length);
    rest_ = rest_.subspan(8 + length);
    return true;
  }

 private:
  std::span<const std::byte> rest_;
  std::size_t payload_bytes_;
};

}  // namespace

std::uint32_t encode_image(std::span<const std::byte> body, std::span<const std::byte> neighbour,
                           GlobalAddress record, std::span<std::byte> image, ImageForm form) {
  NAMDB_CHECK(image.size() >= body.size());
  auto used = form == ImageForm::whole ? static_cast<std::uint32_t>(body.size()) : kImageRuns_offset;
  ChangedRuns runs(body, neighbour, kBodyPrefix_bytes, kImageRunGap_bytes);
  for (ChangedRun run; used < body.size() && runs.next(run);) {
    const std::uint32_t length = run.end - run.begin;
    if (used + 8 + length < body.size()) {
      store_word(image.data() + used, (std::uint64_t{run.begin - kBodyPrefix_bytes} << 32) | length);
      std::memcpy(image.data() + used + 8, body.data() + run.begin, length);
    }
    used += 8 + length;
  }
  if (used >= body.size()) {
    std::memcpy(image.data(), body.data(), body.size());
    return static_cast<std::uint32_t>(body.size());
  }
  std::memcpy(image.data(), body.data(), kBodyPrefix_bytes);
  store_word(image.data() + kBodyMeta_offset, load_word(body.data() + kBodyMeta_offset) | kChange_bit);
  store_word(image.data() + kImageLength_offset, used);
  store_word(image.data() + kImageChecksum_offset, change_checksum(image.first(used), record));
  return used;
}

bool certify_image(std::span<const std::byte> slot, GlobalAddress record) {
  if (!is_change(slot)) return certify_body(slot, record);
  if (slot.size() < kImageRuns_offset) return false;
  const std::uint64_t length = load_word(slot.data() + kImageLength_offset);
  if (length < kImageRuns_offset || length > slot.size() || length % 8 != 0) return false;
  return load_word(slot.data() + kImageChecksum_offset) == change_checksum(slot.first(length), record);
}

bool restore_body(std::span<const std::byte> slot, GlobalAddress record, std::span<std::byte> body) {
  if (!is_change(slot)) {
    if (slot.size() != body.size()) return false;
    std::memcpy(body.data(), slot.data(), body.size());
    return certify_body(body, record);
  }
  Runs runs(slot.first(load_word(slot.data() + kImageLength_offset)), body.size() - kBodyPrefix_bytes);
  while (!runs.empty()) {
    std::uint64_t offset = 0;
    std::span<const std::byte> bytes;
    if (!runs.next(offset, bytes)) return false;
    std::copy(bytes.begin(), bytes.end(),
              body.begin() + static_cast<std::ptrdiff_t>(kBodyPrefix_bytes + offset));
  }
  std::memcpy(body.data(), slot.data(), kBodyPrefix_bytes);
  store_word(body.data() + kBodyMeta_offset, load_word(slot.data() + kBodyMeta_offset) & ~kChange_bit);
  return certify_body(body, record);
}

}  // namespace namdb::layout
