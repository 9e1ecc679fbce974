#include "common/protocols/stages.h"

#include <algorithm>

namespace namdb::protocol {

std::optional<StageCode> StageCode::parse(std::string_view text) {
  if (text == "one-sided") return StageCode();
  if (text == "two-sided") return StageCode::two_sided();
  StageCode code;
  while (true) {
    const std::size_t comma = text.find(',');
    const auto* const found = std::ranges::find(kStageNames, text.substr(0, comma));
    if (found == kStageNames.end()) return std::nullopt;
    code = code.with(static_cast<Stage>(found - kStageNames.begin()));
    if (comma == std::string_view::npos) return code;
    text.remove_prefix(comma + 1);
  }
}

std::string StageCode::text() const {
  if (bits_ == 0) return "one-sided";
  if (bits_ == kAll) return "two-sided";
  std::string names;
  for (std::size_t i = 0; i < kStageNames.size(); ++i) {
    if (two_sided(static_cast<Stage>(i))) names += (names.empty() ? "" : ",") + std::string(kStageNames[i]);
  }
  return names;
}

}  // namespace namdb::protocol
