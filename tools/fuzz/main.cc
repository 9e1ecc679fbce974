// A fuzz target under libFuzzer. The environment says which target (NAMDB_FUZZ_TARGET), and how many
// milliseconds a processor may take for one turn (NAMDB_FUZZ_TURN_MS), and a folder for the inputs that the
// target has itself (NAMDB_FUZZ_INPUTS). tools/fuzz/run.py sets them.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

#include "tools/fuzz/executor.h"
#include "tools/fuzz/mutator.h"
#include "tools/fuzz/targets.h"

namespace {

const namdb::fuzz::Target* chosen = nullptr;

void write_inputs(const std::string& folder) {
  if (chosen->inputs == nullptr) return;
  std::size_t number = 0;
  for (const std::string& input : chosen->inputs())
    std::ofstream(folder + "/made-" + std::to_string(number++), std::ios::binary) << input;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  const char* name = std::getenv("NAMDB_FUZZ_TARGET");
  chosen = name == nullptr ? nullptr : namdb::fuzz::find_target(name);
  if (chosen == nullptr) {
    std::fputs("NAMDB_FUZZ_TARGET must be one of:\n", stderr);
    for (const namdb::fuzz::Target& target : namdb::fuzz::targets())
      std::fprintf(stderr, "  %.*s\n", static_cast<int>(target.name.size()), target.name.data());
    std::exit(2);
  }
  const char* turn_ms = std::getenv("NAMDB_FUZZ_TURN_MS");
  if (turn_ms != nullptr) namdb::fuzz::set_longest_turn(std::strtoull(turn_ms, nullptr, 10) * 1'000'000);
  const char* folder = std::getenv("NAMDB_FUZZ_INPUTS");
  if (folder != nullptr) write_inputs(folder);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  chosen->run({data, size});
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned int seed) {
  if (chosen->name == "wire") return namdb::fuzz::mutate_wire(data, size, max_size, seed);
  return namdb::fuzz::mutate_bytes(data, size, max_size);
}
