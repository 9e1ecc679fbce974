#include "common/protocols/presets.h"

#include <algorithm>
#include <array>

namespace namdb::protocol {
namespace {

constexpr std::array kPresets = {
    Preset{
        .name = "drtm+h",
        .description = "records READ where their address is cached, else found by call; all else one-sided",
        .protocol = "occ",
        .stages = "find",
        .without = ""},
    Preset{.name = "drtm+r",
           .description = "all one-sided, with a cache of addresses",
           .protocol = "occ",
           .stages = "one-sided",
           .without = "passive-acknowledgement"},
    Preset{.name = "farm",
           .description = "READs through the index, logs by WRITE; locks and commits by call",
           .protocol = "occ",
           .stages = "lock,install,release",
           .without = "location-cache,passive-acknowledgement"},
    Preset{.name = "fasst",
           .description = "all by call",
           .protocol = "occ",
           .stages = "two-sided",
           .without = "location-cache,passive-acknowledgement"},
};

}  // namespace

std::span<const Preset> presets() {
  return kPresets;
}

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const Preset& preset : kPresets) names.emplace_back(preset.name);
  return names;
}

const Preset* find_preset(std::string_view name) {
  const auto* const found = std::ranges::find(kPresets, name, &Preset::name);
  return found == kPresets.end() ? nullptr : found;
}

}  // namespace namdb::protocol
