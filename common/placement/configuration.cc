#include "common/placement/configuration.h"

#include <algorithm>
#include <utility>

#include "common/calls/fields.h"

namespace namdb::placement {
namespace {

constexpr std::size_t kMaxRegions = 0x10000;
constexpr std::uint64_t kMaxNumber = std::uint64_t{1} << 40;
// In the number of regions: each place has its copies. Records of older programs have none.
constexpr std::uint32_t kWithCopies = std::uint32_t{1} << 31;

bool is_address(std::string_view address) {
  return !address.empty() && address.size() <= kMaxAddress_bytes;
}

// Nullopt: they do not belong to a place at that address.
std::optional<std::vector<std::string>> take_copies(calls::Fields& fields, std::string_view primary) {
  const std::size_t count = fields.take<std::uint8_t>();
  if (count > kMaxCopies) return std::nullopt;
  std::vector<std::string> copies;
  for (std::size_t i = 0; i < count && fields.sound(); ++i) {
    std::string copy(fields.take_key());
    if (!is_address(copy) || copy == primary || (i != 0 && copy <= copies.back())) return std::nullopt;
    copies.push_back(std::move(copy));
  }
  return copies;
}

}  // namespace

bool Place::has_copy(std::string_view host) const {
  return std::ranges::binary_search(copies, host);
}

std::string Place::text() const {
  std::string text =
      "place " + std::to_string(number) + " at " + address + (copies.empty() ? "" : ", copies");
  for (const std::string& copy : copies) text += " " + copy;
  return text;
}

Configuration::Configuration(const std::vector<std::string>& addresses) {
  for (const std::string& address : addresses) places_.push_back({0, address});
}

std::uint64_t Configuration::number() const {
  std::uint64_t sum = 0;
  for (const Place& place : places_) sum += place.number;
  return sum;
}

bool Configuration::learn(const Configuration& other) {
  if (other.places_.size() != places_.size()) return false;
  if (database_id_ != 0 && other.database_id_ != 0 && database_id_ != other.database_id_) return false;
  if (database_id_ == 0) database_id_ = other.database_id_;
  bool learned = false;
  for (std::size_t region = 0; region < places_.size(); ++region) {
    if (other.places_[region].number <= places_[region].number) continue;
    places_[region] = other.places_[region];
    learned = true;
  }
  return learned;
}

std::string Configuration::encode() const {
  std::string bytes;
  calls::put(bytes, database_id_);
  calls::put(bytes, static_cast<std::uint32_t>(places_.size()) | kWithCopies);
  for (const Place& place : places_) {
    calls::put(bytes, place.number);
    calls::put_key(bytes, place.address);
    calls::put(bytes, static_cast<std::uint8_t>(place.copies.size()));
    for (const std::string& copy : place.copies) calls::put_key(bytes, copy);
  }
  return bytes;
}

std::optional<Configuration> Configuration::decode(std::string_view bytes) {
  calls::Fields fields(bytes);
  Configuration configuration;
  configuration.database_id_ = fields.take<std::uint64_t>();
  const auto counted = fields.take<std::uint32_t>();
  const std::uint32_t regions = counted & ~kWithCopies;
  if (regions > kMaxRegions) return std::nullopt;
  for (std::uint32_t i = 0; i < regions && fields.sound(); ++i) {
    Place place;
    place.number = fields.take<std::uint64_t>();
    place.address = fields.take_key();
    if (place.number > kMaxNumber || place.address.size() > kMaxAddress_bytes ||
        (place.number != 0 && place.address.empty()))
      return std::nullopt;
    if ((counted & kWithCopies) != 0) {
      auto copies = take_copies(fields, place.address);
      // A region without a place has no copies.
      if (!copies || (place.number == 0 && !copies->empty())) return std::nullopt;
      place.copies = std::move(*copies);
    }
    configuration.places_.push_back(std::move(place));
  }
  if (!fields.sound() || !fields.at_end()) return std::nullopt;
  return configuration;
}

}  // namespace namdb::placement
