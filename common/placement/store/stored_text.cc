#include "common/placement/store/stored_text.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <utility>

#include "common/base/crc32c.h"
#include "common/base/hex.h"

namespace namdb::placement {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kFormat = 1;

std::string checksum_of(const Configuration& configuration) {
  const std::string bytes = configuration.encode();
  return in_hex(crc32c(std::as_bytes(std::span(bytes.data(), bytes.size()))), 8);
}

std::optional<std::uint64_t> number_of(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number_unsigned()) return std::nullopt;
  return found->get<std::uint64_t>();
}

std::optional<std::string> text_of(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_string()) return std::nullopt;
  return found->get<std::string>();
}

std::optional<std::uint64_t> id_of(const std::string& digits) {
  if (digits.size() != 16 || digits.find_first_not_of("0123456789abcdef") != std::string::npos)
    return std::nullopt;
  return std::stoull(digits, nullptr, 16);
}

std::optional<Place> place_of(const Json& json) {
  if (!json.is_object()) return std::nullopt;
  const auto number = number_of(json, "number");
  auto primary = text_of(json, "primary");
  const auto copies = json.find("copies");
  if (!number || !primary || copies == json.end() || !copies->is_array()) return std::nullopt;
  Place place{*number, std::move(*primary)};
  for (const Json& copy : *copies) {
    if (!copy.is_string()) return std::nullopt;
    place.copies.push_back(copy.get<std::string>());
  }
  return place;
}

std::optional<Configuration> configuration_of(const Json& json) {
  const auto id = text_of(json, "database_id");
  const auto database_id = id ? id_of(*id) : std::nullopt;
  const auto regions = json.find("regions");
  if (!database_id || regions == json.end() || !regions->is_array()) return std::nullopt;
  Configuration configuration(regions->size());
  configuration.set_database_id(*database_id);
  for (std::size_t region = 0; region < regions->size(); ++region) {
    auto place = place_of((*regions)[region]);
    // They must fit when they are encoded.
    if (!place || place->copies.size() > kMaxCopies || place->address.size() > kMaxAddress_bytes)
      return std::nullopt;
    for (const std::string& copy : place->copies)
      if (copy.size() > kMaxAddress_bytes) return std::nullopt;
    configuration.set(region, std::move(*place));
  }
  return configuration;
}

Status no_configuration(const std::string& why) {
  return Status(ErrorCode::configuration, "it is no configuration of namdb: " + why);
}

}  // namespace

Result<std::string> write_stored(const Configuration& configuration) {
  Json regions = Json::array();
  for (std::size_t region = 0; region < configuration.regions(); ++region) {
    const Place& place = configuration.place(region);
    regions.push_back({{"number", place.number}, {"primary", place.address}, {"copies", place.copies}});
  }
  Json json;
  json["format"] = kFormat;
  json["database_id"] = in_hex(configuration.database_id(), 16);
  json["checksum"] = checksum_of(configuration);
  json["regions"] = std::move(regions);
  std::string text = json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
  const auto read = read_stored(text);
  if (read.ok() && read.value() == configuration) return text;
  return Status(ErrorCode::configuration, "an address among the places of regions is no text in UTF-8");
}

Result<Configuration> read_stored(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return no_configuration("it is damaged, or something else");
  const auto format = number_of(json, "format");
  if (!format) return no_configuration("it has no format");
  if (*format > kFormat) {
    return Status(
        ErrorCode::configuration,
        "its format is " + std::to_string(*format) + ", and this program knows " + std::to_string(kFormat),
        "use the version that wrote it, or a later one");
  }
  auto configuration = configuration_of(json);
  if (!configuration) return no_configuration("its fields");
  if (text_of(json, "checksum") != checksum_of(*configuration)) return no_configuration("its checksum");
  if (!Configuration::decode(configuration->encode())) return no_configuration("its places");
  return std::move(*configuration);
}

}  // namespace namdb::placement
