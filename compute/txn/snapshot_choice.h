// Whether a snapshot is taken by READs of the vector or by a call. Where both are possible the READs are
// cheaper as long as their confirmations succeed; each publish within a round trip makes one fail. Where a
// fence costs nothing, both READs and those of rows go together (snapshot.h).
#pragma once

#include <cstdint>

namespace namdb::txn {

enum class SnapshotMode : std::uint8_t { reads, call, adaptive, together };

class SnapshotChoice {
 public:
  explicit SnapshotChoice(SnapshotMode mode) : mode_(mode) {}

  // For the next snapshot. Adaptive: a call while too many confirmations failed lately, except for an
  // occasional snapshot by READs, which shows whether READs pay again.
  bool use_call() {
    if (mode_ != SnapshotMode::adaptive) return mode_ == SnapshotMode::call;
    if (failed_share_ <= kTooManyFail || calls_in_a_row_ == kCallsBetweenTries) {
      calls_in_a_row_ = 0;
      return false;
    }
    ++calls_in_a_row_;
    return true;
  }
  bool together() const { return mode_ == SnapshotMode::together; }
  // The outcome of a confirmation.
  void note(bool confirmed) { failed_share_ += ((confirmed ? 0.0 : 1.0) - failed_share_) * kWeightOfOne; }

  static constexpr double kTooManyFail = 0.3;
  static constexpr double kWeightOfOne = 1.0 / 16;
  static constexpr std::uint32_t kCallsBetweenTries = 16;

 private:
  SnapshotMode mode_;
  double failed_share_ = 0;
  std::uint32_t calls_in_a_row_ = 0;
};

}  // namespace namdb::txn
