#include "tools/fuzz/targets.h"

#include <algorithm>
#include <array>

namespace namdb::fuzz {
namespace {

constexpr std::array kTargets = {
    Target{"authentication", run_authentication, authentication_inputs},
    Target{"calls", run_calls, call_inputs},
    Target{"config", run_config},
    Target{"copy", run_copy},
    Target{"descriptors", run_descriptors, descriptor_inputs},
    Target{"frames", run_frames, frame_inputs},
    Target{"journal", run_journal, journal_inputs},
    Target{"log", run_log, log_inputs},
    Target{"statements", run_statements},
    Target{"values", run_values, value_inputs},
    Target{"wire", run_wire, wire_inputs},
};

}  // namespace

std::span<const Target> targets() {
  return kTargets;
}

const Target* find_target(std::string_view name) {
  const auto found = std::ranges::find(kTargets, name, &Target::name);
  return found == kTargets.end() ? nullptr : &*found;
}

void read_all(std::span<const std::byte> bytes) {
  for (const std::byte byte : bytes) {
    const volatile std::byte read = byte;
    (void)read;
  }
}

}  // namespace namdb::fuzz
