#include "compute/sql/system/settings.h"

#include <catch2/catch.hpp>

namespace namdb::sql {
namespace {

using Scope = Settings::Scope;
using BlockEnd = Settings::BlockEnd;

// Both names of the choice, and what it comes to.
std::string shown(const Settings& settings) {
  return *settings.get("synchronous_commit") + ", " + *settings.get("namdb.durability") +
         (settings.answers_when_logged() ? ", early" : "");
}

}  // namespace

TEST_CASE("synchronous_commit and namdb.durability are one choice, and the later SET counts", "[settings]") {
  Settings settings(false, /*flushed=*/true);
  CHECK(shown(settings) == "on, flushed");
  for (const char* off : {"off", "OFF", "false", "no", "0"}) {
    REQUIRE(settings.set("synchronous_commit", off, Scope::session).ok());
    CHECK(shown(settings) == "off, memory, early");
    REQUIRE(settings.set("namdb.durability", "flushed", Scope::session).ok());
    CHECK(shown(settings) == "on, flushed");
  }
  for (const char* on : {"on", "local", "remote_write", "remote_apply", "true", "1"}) {
    REQUIRE(settings.set("namdb.durability", "MEMORY", Scope::session).ok());
    CHECK(shown(settings) == "off, memory, early");
    REQUIRE(settings.set("synchronous_commit", on, Scope::session).ok());
    CHECK_FALSE(settings.answers_when_logged());
    CHECK(*settings.get("namdb.durability") == "flushed");
  }
  REQUIRE(settings.set("synchronous_commit", "remote_apply", Scope::session).ok());
  REQUIRE(settings.set("namdb.durability", "flushed", Scope::session).ok());
  CHECK(shown(settings) == "remote_apply, flushed");
  for (const char* name : {"synchronous_commit", "namdb.durability"}) {
    CHECK(settings.set(name, "sometimes", Scope::session).code() == ErrorCode::invalid_parameter_value);
    CHECK(settings.set(name, "", Scope::session).code() == ErrorCode::invalid_parameter_value);
  }
}

TEST_CASE("SET LOCAL, ROLLBACK, RESET and the start-up packet's values hold for both names", "[settings]") {
  Settings settings(false, /*flushed=*/true);
  settings.begin_block();
  REQUIRE(settings.set("namdb.durability", "memory", Scope::transaction).ok());
  CHECK(shown(settings) == "off, memory, early");
  settings.end_block(BlockEnd::committed);
  CHECK(shown(settings) == "on, flushed");

  settings.begin_block();
  REQUIRE(settings.set("synchronous_commit", "off", Scope::session).ok());
  settings.end_block(BlockEnd::rolled_back);
  CHECK(shown(settings) == "on, flushed");

  settings.begin_block();
  REQUIRE(settings.set("synchronous_commit", "off", Scope::session).ok());
  REQUIRE(settings.set("synchronous_commit", "on", Scope::transaction).ok());
  CHECK(shown(settings) == "on, flushed");
  settings.end_block(BlockEnd::committed);
  CHECK(shown(settings) == "off, memory, early");
  REQUIRE(settings.reset("namdb.durability").ok());
  CHECK(shown(settings) == "on, flushed");

  REQUIRE(settings.set("synchronous_commit", "off", Scope::session).ok());
  settings.make_current_default();
  REQUIRE(settings.set("namdb.durability", "flushed", Scope::session).ok());
  settings.reset_all();
  CHECK(shown(settings) == "off, memory, early");
}

TEST_CASE("in a database that is in memory only nothing is answered earlier, and more is refused",
          "[settings]") {
  Settings settings;
  CHECK(shown(settings) == "on, memory");
  const Status refused = settings.set("namdb.durability", "flushed", Scope::session);
  CHECK(refused.code() == ErrorCode::invalid_parameter_value);
  CHECK(refused.info().sqlstate == std::string_view("22023"));
  REQUIRE(settings.set("namdb.durability", "memory", Scope::session).ok());
  CHECK(shown(settings) == "on, memory");
  REQUIRE(settings.set("synchronous_commit", "off", Scope::session).ok());
  CHECK(shown(settings) == "off, memory");
  REQUIRE(settings.set("synchronous_commit", "on", Scope::session).ok());
  CHECK(shown(settings) == "on, memory");
}

}  // namespace namdb::sql
