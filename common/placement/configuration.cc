#include "common/placement/configuration.h"

#include "common/calls/fields.h"

namespace namdb::placement {
namespace {

constexpr std::size_t kMaxRegions = 0x10000;
constexpr std::uint64_t kMaxNumber = std::uint64_t{1} << 40;

}  // namespace

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
  calls::put(bytes, static_cast<std::uint32_t>(places_.size()));
  for (const Place& place : places_) {
    calls::put(bytes, place.number);
    calls::put_key(bytes, place.address);
  }
  return bytes;
}

std::optional<Configuration> Configuration::decode(std::string_view bytes) {
  calls::Fields fields(bytes);
  Configuration configuration;
  configuration.database_id_ = fields.take<std::uint64_t>();
  const auto regions = fields.take<std::uint32_t>();
  if (regions > kMaxRegions) return std::nullopt;
  for (std::uint32_t i = 0; i < regions && fields.sound(); ++i) {
    const auto number = fields.take<std::uint64_t>();
    const std::string_view address = fields.take_key();
    if (number > kMaxNumber || address.size() > kMaxAddress_bytes || (number != 0 && address.empty()))
      return std::nullopt;
    configuration.places_.push_back({number, std::string(address)});
  }
  if (!fields.sound() || !fields.at_end()) return std::nullopt;
  return configuration;
}

}  // namespace namdb::placement
