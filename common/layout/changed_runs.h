// The words in which two images of the same object differ: writing them turns one into the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/base/check.h"
#include "common/layout/words.h"

namespace namdb::layout {

// Bytes [begin, end) of an image.
struct ChangedRun {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

// The runs of words in which `image` and `other`, of one length, differ from byte `begin` on, ascending. Runs
// with at most `gap_bytes` between them are joined. The images outlive it; begin and lengths are multiples
// of 8.
class ChangedRuns {
 public:
  ChangedRuns(std::span<const std::byte> image, std::span<const std::byte> other, std::uint32_t begin,
              std::uint32_t gap_bytes)
      : image_(image), other_(other), gap_bytes_(gap_bytes), at_(begin) {
    NAMDB_CHECK(image.size() == other.size());
  }

  // False behind the last run.
  bool next(ChangedRun& run) {
    while (at_ < image_.size() && !differs(at_)) at_ += 8;
    if (at_ >= image_.size()) return false;
    run = {at_, at_ + 8};
    for (at_ += 8; at_ < image_.size() && at_ - run.end <= gap_bytes_; at_ += 8) {
      if (differs(at_)) run.end = at_ + 8;
    }
    return true;
  }

 private:
  bool differs(std::uint32_t at) const {
    return load_word(image_.data() + at) != load_word(other_.data() + at);
  }

  std::span<const std::byte> image_;
  std::span<const std::byte> other_;
  std::uint32_t gap_bytes_;
  std::uint32_t at_;
};

}  // namespace namdb::layout
