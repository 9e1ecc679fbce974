// Other systems as DrTM+H compares them with itself (its §6.3, table 4): one protocol, and at each stage the
// primitives that the original uses. A preset gives a database its protocol and stages, and compute servers
// what they leave out; memory servers remember its name. How far it stands for the original is in
// docs/internals/protocols.md.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/protocols/stages.h"

namespace namdb::protocol {

struct Preset {
  std::string_view name;
  std::string_view description;  // for people, one line
  std::string_view protocol;
  std::string_view stages;   // as StageCode::parse takes them
  std::string_view without;  // optimisations that compute servers leave out, whatever their own flags say

  StageCode stage_code() const { return *StageCode::parse(stages); }
};

std::span<const Preset> presets();
std::vector<std::string> preset_names();
// Null: no preset has that name.
const Preset* find_preset(std::string_view name);

}  // namespace namdb::protocol
