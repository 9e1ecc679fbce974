// Where the words of the timestamp vector (timestamp_vector.h) stand: whole on memory server 0, or
// partitioned over all memory servers (NAM-DB §4.2), chosen when the database is created. A position means
// the same slot either way; with n parts its word is the (p / n)-th of memory server p mod n, so that the
// lowest positions, which are leased first, load all servers alike.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "common/layout/global_address.h"

namespace namdb::layout {

enum class VectorSpread : std::uint8_t { whole, partitioned };

inline constexpr std::array<std::string_view, 2> kVectorSpreadNames{"whole", "partitioned"};

inline constexpr std::string_view name_of(VectorSpread spread) {
  return kVectorSpreadNames[static_cast<std::size_t>(spread)];
}
// nullopt: none of the names.
inline constexpr std::optional<VectorSpread> find_vector_spread(std::string_view name) {
  for (const VectorSpread spread : {VectorSpread::whole, VectorSpread::partitioned}) {
    if (name_of(spread) == name) return spread;
  }
  return std::nullopt;
}

class VectorParts {
 public:
  constexpr VectorParts() = default;  // whole
  constexpr VectorParts(VectorSpread spread, std::uint32_t servers)
      : count_(spread == VectorSpread::partitioned ? servers : 1) {}

  // Memory servers that have a part: those from 0 on.
  constexpr std::uint32_t count() const { return count_; }
  constexpr bool has(ServerId server) const { return server < count_; }

  struct Place {
    ServerId server = 0;
    std::uint64_t index = 0;  // of the word within the server's part
    friend constexpr bool operator==(const Place&, const Place&) = default;
  };
  constexpr Place place(std::uint64_t position) const {
    return {static_cast<ServerId>(position % count_), position / count_};
  }
  constexpr std::uint64_t position(const Place& place) const { return place.index * count_ + place.server; }
  // How many of the first `positions` words stand on that server.
  constexpr std::uint64_t words(ServerId server, std::uint64_t positions) const {
    return positions <= server ? 0 : (positions - server + count_ - 1) / count_;
  }
  // Words for which each part has room where there is room for so many positions: the same everywhere.
  constexpr std::uint64_t capacity(std::uint64_t positions) const { return words(0, positions); }

 private:
  std::uint32_t count_ = 1;
};

}  // namespace namdb::layout
