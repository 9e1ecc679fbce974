// The table of methods against the protocol: every number of control::Method has a row, and each server
// answers the methods that are its own.
#include "memory/calls/methods.h"

#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "common/calls/batch_calls.h"
#include "common/calls/decider_calls.h"
#include "common/calls/find_calls.h"
#include "common/calls/hot_calls.h"
#include "common/calls/index_calls.h"
#include "common/calls/index_load_calls.h"
#include "common/calls/journal_calls.h"
#include "common/calls/lock_calls.h"
#include "common/calls/scan_calls.h"
#include "common/placement/follow_calls.h"
#include "common/placement/move_calls.h"
#include "memory/testing/test_cluster.h"

namespace namdb::memory {
namespace {

static_assert(
    calls::kMoveVersionsMethod == control::MOVE_VERSIONS && calls::kSnapshotMethod == control::SNAPSHOT &&
    calls::kNoteDeletesMethod == control::NOTE_DELETES && calls::kIndexWriteMethod == control::INDEX_WRITE &&
    calls::kIndexSettleMethod == control::INDEX_SETTLE &&
    calls::kIndexDoubtsMethod == control::INDEX_DOUBTS && calls::kIndexSeekMethod == control::INDEX_SEEK &&
    calls::kBatchCallMethod == control::BATCH_CALL && calls::kPingMethod == control::PING &&
    calls::kFindMethod == control::FIND && calls::kLockMethod == control::LOCK &&
    calls::kOpenJournalMethod == control::OPEN_JOURNAL && calls::kFlushMethod == control::FLUSH &&
    calls::kCloseJournalMethod == control::CLOSE_JOURNAL && calls::kIndexLoadMethod == control::INDEX_LOAD &&
    calls::kLookMethod == control::LOOK && calls::kVoidMethod == control::VOID &&
    calls::kVerdictMethod == control::VERDICT && calls::kScanMethod == control::SCAN);

std::set<int> all_methods() {
  std::set<int> numbers;
  const auto& methods = *control::Method_descriptor();
  for (int i = 0; i < methods.value_count(); ++i) numbers.insert(methods.value(i)->number());
  numbers.erase(control::METHOD_NONE);
  numbers.insert({placement::kConfigurationMethod, placement::kFilesMethod, placement::kReadFileMethod,
                  placement::kHandOverMethod, placement::kMoveMethod, placement::kFollowMethod,
                  calls::kLeaseMethod, placement::kCopyMethod, placement::kLeaveMethod});
  return numbers;
}

// The methods that a server with these options refuses as unknown.
std::set<int> unknown_to(const Options& options) {
  testing::TestCluster cluster(options);
  const auto client = cluster.client("c");
  REQUIRE(client->connect(testing::hello('a')).ok());
  std::set<int> unknown;
  for (const int method : all_methods()) {
    const auto reply = client->call(static_cast<std::uint16_t>(method), "no request of any method");
    if (!reply.ok() &&
        reply.status().message() == "there is no call " + std::to_string(method) + " on this memory server") {
      unknown.insert(method);
    }
  }
  return unknown;
}

Options options_of(std::uint16_t server, layout::VectorSpread vector) {
  Options options = testing::small_options();
  options.server_id = server;
  options.server_count = 2;
  options.timestamp_vector = vector;
  return options;
}

std::set<int> duties_of_server_0() {
  return {control::LEASE_SLOT,     control::CLOSE_SLOT,         control::LIST_SLOTS,
          control::GET_CATALOG,    control::BEGIN_CREATE_TABLE, control::FINISH_CREATE_TABLE,
          control::DROP_TABLE,     control::GROW_TABLE,         control::BEGIN_CREATE_INDEX,
          control::ADVANCE_INDEX,  control::DROP_INDEX,         control::ENDED_COMPUTES,
          control::COMMIT_OUTCOME, control::ALTER_TABLE,        control::REPLACE_TABLE,
          control::CREATE_ROUTINE, control::DROP_ROUTINE,       control::CHANGE_ROLES,
          control::LIST_COMPUTES,  control::DRAIN_COMPUTE};
}

}  // namespace

TEST_CASE("every method of the protocol has a row, and no other number has one", "[memory]") {
  const std::set<int> methods = all_methods();
  for (int number = 0; number <= 0xffff; ++number) {
    const Method* const method = find_method(static_cast<std::uint16_t>(number));
    INFO("method " << number);
    REQUIRE((method != nullptr) == methods.contains(number));
    if (method == nullptr) continue;
    CHECK(method->number == number);
    CHECK((method->handler == nullptr) != (method->waiting == nullptr));
  }
}

TEST_CASE("server 0 refuses the methods of other servers only", "[memory]") {
  CHECK(unknown_to(options_of(0, layout::VectorSpread::whole)) ==
        std::set<int>{control::SETTLE_DEPARTED, control::PLACE_SLOT});
  CHECK(unknown_to(options_of(0, layout::VectorSpread::partitioned)) ==
        std::set<int>{control::SETTLE_DEPARTED, control::PLACE_SLOT, control::SNAPSHOT});
}

TEST_CASE("other servers refuse the methods of server 0", "[memory]") {
  std::set<int> refused = duties_of_server_0();
  refused.insert(control::SNAPSHOT);
  CHECK(unknown_to(options_of(1, layout::VectorSpread::partitioned)) == refused);
  refused.insert(control::PLACE_SLOT);
  CHECK(unknown_to(options_of(1, layout::VectorSpread::whole)) == refused);
}

}  // namespace namdb::memory
