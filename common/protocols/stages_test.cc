#include "common/protocols/stages.h"

#include <catch2/catch.hpp>

namespace namdb::protocol {

TEST_CASE("a stage code is what its text says", "[layout]") {
  CHECK(StageCode::parse("one-sided") == StageCode());
  const auto all = StageCode::parse("two-sided");
  REQUIRE(all.has_value());
  for (std::size_t i = 0; i < kStageNames.size(); ++i) CHECK(all->two_sided(static_cast<Stage>(i)));
  const auto some = StageCode::parse("log,lock");
  REQUIRE(some.has_value());
  CHECK(some->two_sided(Stage::lock));
  CHECK(some->two_sided(Stage::log));
  CHECK_FALSE(some->two_sided(Stage::read));
  CHECK(some->text() == "lock,log");
  for (const std::string_view text : {"one-sided", "two-sided", "read", "lock,validate,install,release"}) {
    CHECK(StageCode::parse(text)->text() == text);
  }
  for (const std::string_view text : {"", "lock,", ",lock", "lock log", "one-sided,lock", "Lock"}) {
    CAPTURE(text);
    CHECK_FALSE(StageCode::parse(text).has_value());
  }
}

}  // namespace namdb::protocol
