#include "memory/calls/methods.h"

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>

#include "common/calls/hot_calls.h"
#include "common/placement/follow_calls.h"
#include "common/placement/move_calls.h"

namespace namdb::control {
namespace {

// As if they stood in control::Method.
constexpr auto CONFIGURATION = placement::kConfigurationMethod;
constexpr auto FILES = placement::kFilesMethod;
constexpr auto READ_FILE = placement::kReadFileMethod;
constexpr auto HAND_OVER = placement::kHandOverMethod;
constexpr auto MOVE = placement::kMoveMethod;
constexpr auto FOLLOW = placement::kFollowMethod;
constexpr auto LEASE = calls::kLeaseMethod;
constexpr auto COPY = placement::kCopyMethod;
constexpr auto LEAVE = placement::kLeaveMethod;

}  // namespace
}  // namespace namdb::control

namespace namdb::memory {
namespace {

#define NAMDB_CALL(method, name, Request, Reply, where, when_full) \
  Method{control::method, Where::where, WhenFull::when_full,       \
         &with_messages<control::Request, control::Reply, &handlers::name>, nullptr},
#define NAMDB_WAITING_CALL(method, name, Request, Reply, where, when_full) \
  Method{control::method, Where::where, WhenFull::when_full, nullptr,      \
         &with_messages_waiting<control::Request, control::Reply, &handlers::name>},
#define NAMDB_BYTES(method, name, where, when_full) \
  Method{control::method, Where::where, WhenFull::when_full, &handlers::name, nullptr},
#define NAMDB_WAITING_BYTES(method, name, where, when_full) \
  Method{control::method, Where::where, WhenFull::when_full, nullptr, &handlers::name},
constexpr Method kMethods[] = {
    NAMDB_MEMORY_METHODS(NAMDB_CALL, NAMDB_WAITING_CALL, NAMDB_BYTES, NAMDB_WAITING_BYTES)};
#undef NAMDB_CALL
#undef NAMDB_WAITING_CALL
#undef NAMDB_BYTES
#undef NAMDB_WAITING_BYTES

static_assert(std::ranges::is_sorted(kMethods, std::less_equal{}, &Method::number),
              "rows stand in the order of their numbers, and no number has two");

// Null where no method has that number.
constexpr auto kByNumber = [] {
  std::array<const Method*, kMethods[std::size(kMethods) - 1].number + 1> found{};
  for (const Method& method : kMethods) found[method.number] = &method;
  return found;
}();

}  // namespace

const Method* find_method(std::uint16_t number) {
  return number < kByNumber.size() ? kByNumber[number] : nullptr;
}

bool Method::answered_by(const ServerState& server) const {
  switch (where) {
    case Where::every_server:
      return true;
    case Where::server_0:
      return server.slots != nullptr;
    case Where::not_server_0:
      return server.slots == nullptr;
    case Where::whole_vector:
      return server.has_whole_vector();
    case Where::partitioned_vector:
      return server.slots == nullptr && server.region->map().vector_capacity != 0;
  }
  return false;
}

}  // namespace namdb::memory
