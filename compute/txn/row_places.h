// Where rows stand in a read and write set, by the hashes of their keys: an open-addressed table of eight
// bytes a place, since a transaction may have millions of rows. Rows are added, never taken out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "compute/api/transaction.h"

namespace namdb::protocol {

class RowPlaces {
 public:
  bool empty() const { return count_ == 0; }
  // The first row with that hash of which matches(row) is true.
  template <typename Matches>
  std::optional<txn::RowId> find(std::uint64_t hash, const Matches& matches) const {
    if (count_ == 0) return std::nullopt;
    const std::uint32_t tag = tag_of(hash);
    for (std::size_t at = tag & mask(); places_[at].row != kFree; at = (at + 1) & mask()) {
      if (places_[at].tag == tag && matches(places_[at].row)) return places_[at].row;
    }
    return std::nullopt;
  }
  void add(std::uint64_t hash, txn::RowId row) {
    if (2 * (count_ + 1) > places_.size()) grow();
    put({tag_of(hash), row});
    ++count_;
  }

 private:
  static constexpr txn::RowId kFree = ~txn::RowId{0};
  static constexpr std::size_t kFirstPlaces = 256;
  struct Place {
    std::uint32_t tag = 0;
    txn::RowId row = kFree;
  };
  static std::uint32_t tag_of(std::uint64_t hash) {
    return static_cast<std::uint32_t>((hash * 0x9e37'79b9'7f4a'7c15ULL) >> 32);
  }
  std::size_t mask() const { return places_.size() - 1; }
  void put(Place place) {
    std::size_t at = place.tag & mask();
    while (places_[at].row != kFree) at = (at + 1) & mask();
    places_[at] = place;
  }
  void grow() {
    std::vector<Place> before(places_.empty() ? kFirstPlaces : 2 * places_.size());
    before.swap(places_);
    for (const Place& place : before) {
      if (place.row != kFree) put(place);
    }
  }

  std::vector<Place> places_;  // a power of two of them
  std::size_t count_ = 0;
};

}  // namespace namdb::protocol
