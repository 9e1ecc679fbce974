#include "common/protocols/presets.h"

#include <catch2/catch.hpp>

#include "common/protocols/protocol.h"

namespace namdb::protocol {

TEST_CASE("presets name protocols that there are, and stages that those have", "[layout]") {
  REQUIRE(presets().size() == 4);
  for (const Preset& preset : presets()) {
    CAPTURE(preset.name);
    CHECK(find_preset(preset.name) == &preset);
    const ProtocolTraits* const protocol = find_protocol(preset.protocol);
    REQUIRE(protocol != nullptr);
    CHECK(parse_stages(*protocol, preset.stages).ok());
  }
  CHECK(find_preset("") == nullptr);
  CHECK(find_preset("occ") == nullptr);
}

}  // namespace namdb::protocol
