#include "memory/recovery/progress.h"

#include <array>
#include <string_view>

namespace namdb::memory {

std::string RecoveryProgress::text() const {
  constexpr std::array<std::string_view, 6> kNames{
      "nothing to recover", "records", "buckets", "keys", "pages", "open"};
  std::string line(kNames[static_cast<std::size_t>(stage)]);
  if (!subject.empty()) line += " of " + subject;
  return line + ": " + std::to_string(rows) + " rows, " + std::to_string(bytes) + " bytes; " +
         std::to_string(keys) + " keys";
}

}  // namespace namdb::memory
