// Each kept input of each fuzz target once: mended findings stay mended.
#include <catch2/catch.hpp>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tools/fuzz/targets.h"

namespace namdb::fuzz {
namespace {

std::vector<std::uint8_t> read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("each target takes the inputs that are kept for it", "[fuzz]") {
  for (const Target& target : targets()) {
    DYNAMIC_SECTION(target.name) {
      const std::filesystem::path folder = std::filesystem::path(NAMDB_FUZZ_SEEDS) / target.name;
      std::size_t inputs = 0;
      for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        INFO(entry.path().filename().string());
        target.run(read_file(entry.path()));
        ++inputs;
      }
      CHECK(inputs > 0);
      target.run({});
      if (target.inputs == nullptr) return;
      for (const std::string& input : target.inputs()) target.run(as_bytes(input));
    }
  }
}

}  // namespace namdb::fuzz
