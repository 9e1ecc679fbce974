#include "common/calls/lock_calls.h"

#include <catch2/catch.hpp>

namespace namdb::calls {
namespace lock_calls_test {

constexpr RegionLength kRegion{4096, 8192};
constexpr std::uint64_t kReply_bytes = 1024;
const layout::HeaderWord kSeen(layout::Stamp{20, 3}, false, true);
const layout::HeaderWord kOwn(layout::Stamp{21, 2}, false, true);

std::string one(LockRequest lock) {
  std::string request;
  append(request, lock);
  return request;
}

TEST_CASE("locks that are waited for come out as they went in", "[calls]") {
  const std::string request = one({4088, kSeen, kOwn}) + one({64, kOwn, kOwn});
  const auto locks = decode_lock(request, kRegion, kReply_bytes);
  REQUIRE(locks.has_value());
  REQUIRE(locks->size() == 2);
  CHECK((*locks)[0].offset == 4088);
  CHECK((*locks)[0].seen == kSeen);
  CHECK((*locks)[0].own == kOwn);
  CHECK((*locks)[1].offset == 64);
}

TEST_CASE("a malformed list of locks, or one beyond the region, is refused", "[calls]") {
  const std::string request = one({64, kSeen, kOwn});
  for (std::size_t length = 0; length < request.size(); ++length)
    CHECK_FALSE(decode_lock(std::string_view(request).substr(0, length), kRegion, kReply_bytes));
  CHECK_FALSE(decode_lock(one({4096, kSeen, kOwn}), kRegion, kReply_bytes));
  CHECK_FALSE(decode_lock(one({68, kSeen, kOwn}), kRegion, kReply_bytes));
  CHECK_FALSE(decode_lock(one({~std::uint64_t{7}, kSeen, kOwn}), kRegion, kReply_bytes));
  CHECK_FALSE(decode_lock(one({64, kSeen, layout::HeaderWord(layout::Stamp{21, 2})}), kRegion, kReply_bytes));
  CHECK_FALSE(decode_lock(one({64, layout::HeaderWord(layout::Stamp{20, 3}), kOwn}), kRegion, kReply_bytes));
  CHECK_FALSE(decode_lock(one({64, kSeen, layout::HeaderWord(1)}), kRegion, kReply_bytes));
  CHECK_FALSE(decode_lock(request + request, kRegion, 8));
}

}  // namespace lock_calls_test
}  // namespace namdb::calls
