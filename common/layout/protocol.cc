#include "common/layout/protocol.h"

#include <algorithm>
#include <array>
#include <string>

#include "common/layout/protocol_list.h"

namespace namdb::layout {
namespace {

#define NAMDB_TRAITS(protocol, ...) ProtocolTraits{.name = #protocol, __VA_ARGS__},
constexpr std::array kProtocols = {NAMDB_PROTOCOLS(NAMDB_TRAITS)};
#undef NAMDB_TRAITS

const ProtocolTraits* extra = nullptr;

}  // namespace

std::span<const ProtocolTraits> protocol_traits() {
  return kProtocols;
}

const ProtocolTraits* find_protocol(std::string_view name) {
  if (extra != nullptr && extra->name == name) return extra;
  const auto* const found = std::ranges::find(kProtocols, name, &ProtocolTraits::name);
  return found == kProtocols.end() ? nullptr : found;
}

bool ProtocolTraits::swaps(Stage stage) const {
  switch (stage) {
    case Stage::lock:
      return true;
    case Stage::read:
      return timestamps || locks_reads;
    case Stage::renew:
      return timestamps;
    case Stage::install:
    case Stage::release:
      return locks_rows;
    case Stage::find:  // never one-sided
    case Stage::validate:
    case Stage::log:
      return false;
  }
  return true;
}

bool ProtocolTraits::swaps_by_calls(StageCode code) const {
  for (std::size_t i = 0; i < kStageNames.size(); ++i) {
    const auto stage = static_cast<Stage>(i);
    if (swaps(stage) && !code.two_sided(stage)) return false;
  }
  return true;
}

ExtraProtocol::ExtraProtocol(const ProtocolTraits& traits) {
  extra = &traits;
}

ExtraProtocol::~ExtraProtocol() {
  extra = nullptr;
}

Result<StageCode> parse_stages(const ProtocolTraits& protocol, std::string_view text) {
  const auto code = StageCode::parse(text);
  std::string known;
  for (std::size_t i = 0; i < kStageNames.size(); ++i) {
    const auto stage = static_cast<Stage>(i);
    if (protocol.has(stage)) known += (known.empty() ? "" : ", ") + std::string(kStageNames[i]);
    if (!code || *code == StageCode::two_sided() || protocol.has(stage) || !code->two_sided(stage)) continue;
    return Status(ErrorCode::invalid_parameter_value,
                  "protocol " + std::string(protocol.name) + " has no stage " + std::string(kStageNames[i]));
  }
  if (code) return *code;
  return Status(ErrorCode::invalid_parameter_value, "no stages: \"" + std::string(text) + "\"",
                "give one-sided, two-sided, or some of " + known + ", separated by commas");
}

}  // namespace namdb::layout
