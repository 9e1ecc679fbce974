#include "common/layout/region_map.h"

#include <span>

#include "common/base/checksum.h"

namespace namdb::layout {
namespace {

std::uint64_t map_checksum(const RegionMap& map) {
  return checksum64(std::as_bytes(std::span(&map, 1)).first(offsetof(RegionMap, checksum)));
}

}  // namespace

bool RegionMap::certified() const {
  return magic == kRegionMagic && format_version == kRegionFormatVersion && checksum == map_checksum(*this);
}

void RegionMap::seal() {
  checksum = map_checksum(*this);
}

}  // namespace namdb::layout
