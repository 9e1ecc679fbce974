// The journal items of a commit that stand in a room (common/layout/journal.h), as pieces in registered
// memory: those that are full are taken, WRITTEN and forgotten while the rest is still to come.
#pragma once

#include <cstring>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "common/fabric/fabric.h"
#include "common/fabric/local_pool.h"
#include "common/layout/journal.h"

namespace namdb::protocol {

class RoomItems final : public layout::JournalItems {
 public:
  explicit RoomItems(fabric::LocalPool& pool) : JournalItems({}), pool_(pool) { begin_piece(); }

  struct Piece {
    fabric::LocalBuffer buffer;
    std::size_t length_bytes;
  };
  using Pieces = std::vector<Piece>;
  // Several are full: enough for a round trip.
  bool has_enough() const { return full_.size() * kPiece_bytes >= fabric::kMaxOperation_bytes; }
  // The full pieces, in order.
  Pieces take_full() { return std::exchange(full_, {}); }
  // The rest; no more items come.
  Pieces take_rest() {
    if (used_ >= kPiece_bytes) end_piece();
    if (used_ != 0) full_.push_back({std::move(piece_), used_});
    return take_full();
  }

 private:
  static constexpr std::size_t kPiece_bytes = layout::JournalRoomChecksum::kPiece_bytes;
  // Behind the piece is place for the end of an item that begins in it.
  static constexpr std::size_t kBuffer_bytes = 2 * kPiece_bytes;

  void begin_piece() {
    piece_ = fabric::LocalBuffer(pool_, kBuffer_bytes);
    buffer_ = {piece_.data(), kBuffer_bytes};
    limit_ = kPiece_bytes;
  }
  void end_piece() {
    full_.push_back({std::move(piece_), kPiece_bytes});
    begin_piece();
    used_ -= kPiece_bytes;
    std::memcpy(piece_.data(), full_.back().buffer.data() + kPiece_bytes, used_);
  }
  void pass_limit(std::size_t length_bytes) override {
    if (used_ >= kPiece_bytes) end_piece();
    NAMDB_CHECK(used_ + length_bytes <= kBuffer_bytes);
  }

  fabric::LocalPool& pool_;
  fabric::LocalBuffer piece_;
  Pieces full_;
};

}  // namespace namdb::protocol
