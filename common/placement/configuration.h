// Which host has which region of a database: its *configuration*. A host is a memory server's process with
// its folder and its address; a region is named by its memory server's id, and moves from host to host.
//
// Each region has a place: an address, and a number that grows by one with each move. Number 0 is the place
// that the flags of a process name; its address may be unknown. With one copy of each region only the host
// that has a region gives it away, in one durable step (memory/placement/place_record.h). So of two places of
// a region the one with the higher number is true, and configurations are merged place by place, in any
// order. A host that is asked tells its own (CONFIGURATION, move_calls.h); so it comes to all who look for a
// region that is not where it was (ask.h).
//
// The configuration's number is the sum of its places': it grows with each change.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace namdb::placement {

inline constexpr std::size_t kMaxAddress_bytes = 1024;

struct Place {
  std::uint64_t number = 0;
  std::string address;
  friend bool operator==(const Place&, const Place&) = default;
};

class Configuration {
 public:
  Configuration() = default;
  // Of so many regions, with number 0 and without addresses.
  explicit Configuration(std::size_t regions) : places_(regions) {}
  // At those addresses, region 0's first.
  explicit Configuration(const std::vector<std::string>& addresses);

  std::size_t regions() const { return places_.size(); }
  const Place& place(std::size_t region) const { return places_[region]; }
  void set(std::size_t region, Place place) { places_[region] = std::move(place); }
  std::uint64_t number() const;
  // Random, the database's; 0: not known.
  std::uint64_t database_id() const { return database_id_; }
  void set_database_id(std::uint64_t database_id) { database_id_ = database_id; }

  // Takes the other's places where their numbers are higher, and its database's id if this one's is not
  // known. Nothing of another database, or of another number of regions. True if some place is another now.
  bool learn(const Configuration& other);

  std::string encode() const;
  // Outside input: nullopt where the bytes are none.
  static std::optional<Configuration> decode(std::string_view bytes);

  friend bool operator==(const Configuration&, const Configuration&) = default;

 private:
  std::uint64_t database_id_ = 0;
  std::vector<Place> places_;
};

}  // namespace namdb::placement
