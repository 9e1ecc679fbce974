// The rows of a transaction in parts: a loop over many rows gives other coroutines their turn between two of
// them. Most transactions have one part only.
//
//   for (RowParts part(rows.size()); part.next();) {
//     do_some(part.begin(), part.end());
//     if (part.more()) co_await executor.yield();
//   }
#pragma once

#include <algorithm>
#include <cstddef>

namespace namdb::protocol {

class RowParts {
 public:
  static constexpr std::size_t kRowsInTurn = 1024;

  // `in_turn`: how many of them have kRowsInTurn rows, where one has several.
  explicit RowParts(std::size_t count, std::size_t in_turn = kRowsInTurn)
      : count_(count), in_turn_(in_turn) {}
  // False behind the last part.
  bool next() {
    begin_ = end_;
    end_ = std::min(count_, begin_ + in_turn_);
    return begin_ != end_;
  }
  std::size_t begin() const { return begin_; }
  std::size_t end() const { return end_; }
  // Behind this part.
  bool more() const { return end_ != count_; }

 private:
  std::size_t count_;
  std::size_t in_turn_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace namdb::protocol
