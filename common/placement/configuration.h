// Which host has which region of a database: its *configuration*. A host is a memory server's process with
// its folder and its address; a region is named by its memory server's id, and moves from host to host.
//
// Each region has a place: an address, the addresses of its copies in sync, and a number that grows by one
// with each change of the two. Number 0 is the place that the flags of a process name; its address may be
// unknown. Of two places of a region the one with the higher number is valid, and configurations are merged
// place by place, in any order. A host answers with its own configuration (CONFIGURATION, move_calls.h): so
// every peer that looks for a moved region can learn the new place (ask.h).
//
// A new number is decided by the configuration store, if the cluster has one (configuration_store.h), and
// otherwise by the host that has the region, in one durable step (memory/placement/place_record.h).
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
inline constexpr std::size_t kMaxCopies = 16;

struct Place {
  std::uint64_t number = 0;
  std::string address;
  // The copies in sync: other hosts, each once, by ascending address. Each has every acknowledged commit on
  // its disk.
  std::vector<std::string> copies = {};
  bool has_copy(std::string_view host) const;
  // For people: "place 5 at a:1, copies b:1 c:1".
  std::string text() const;
  friend bool operator==(const Place&, const Place&) = default;
};

class Configuration {
 public:
  Configuration() = default;
  // A configuration of so many regions, with number 0 and without addresses.
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
  // Outside input: nullopt where the bytes are malformed.
  static std::optional<Configuration> decode(std::string_view bytes);

  friend bool operator==(const Configuration&, const Configuration&) = default;

 private:
  std::uint64_t database_id_ = 0;
  std::vector<Place> places_;
};

}  // namespace namdb::placement
