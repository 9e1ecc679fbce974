#include "common/placement/configuration.h"

#include <catch2/catch.hpp>

namespace namdb::placement {

TEST_CASE("of two places of a region the one with the higher number is taken, in any order", "[placement]") {
  Configuration flags({"a:1", "b:1"});
  Configuration first = flags;
  first.set(0, {1, "c:1"});
  Configuration second = first;
  second.set(0, {2, "d:1"});
  Configuration other = flags;
  other.set(1, {1, "e:1"});
  for (const bool forwards : {true, false}) {
    Configuration all = flags;
    CHECK(all.learn(forwards ? first : second));
    CHECK(all.learn(forwards ? second : first) == forwards);
    CHECK(all.learn(other));
    CHECK_FALSE(all.learn(other));
    CHECK_FALSE(all.learn(flags));
    CHECK(all.place(0) == Place{2, "d:1"});
    CHECK(all.place(1) == Place{1, "e:1"});
    CHECK(all.number() == 3);
  }
}

TEST_CASE("nothing is learned of another database, or of another number of regions", "[placement]") {
  Configuration known({"a:1"});
  known.set_database_id(1);
  Configuration moved({"a:1"});
  moved.set(0, {1, "b:1"});
  moved.set_database_id(2);
  CHECK_FALSE(known.learn(moved));
  CHECK(known.number() == 0);
  moved.set_database_id(1);
  CHECK(known.learn(moved));
  CHECK_FALSE(known.learn(Configuration({"x:1", "y:1"})));
  // The id comes with the first that knows it.
  Configuration unknown({"a:1"});
  CHECK(unknown.learn(moved));
  CHECK(unknown.database_id() == 1);
}

TEST_CASE("a configuration's bytes are read back, and others are malformed", "[placement]") {
  Configuration configuration({"", "host:7400", "unix:/tmp/socket"});
  configuration.set_database_id(0x1234);
  configuration.set(2, {7, "other:7400"});
  const std::string bytes = configuration.encode();
  const auto read = Configuration::decode(bytes);
  REQUIRE(read.has_value());
  CHECK(*read == configuration);
  for (std::size_t length = 0; length < bytes.size(); ++length)
    CHECK_FALSE(Configuration::decode(bytes.substr(0, length)).has_value());
  CHECK_FALSE(Configuration::decode(bytes + "x").has_value());
  // A region that moved is somewhere.
  Configuration nowhere(1);
  nowhere.set(0, {1, ""});
  CHECK_FALSE(Configuration::decode(nowhere.encode()).has_value());
}

TEST_CASE("a place has its copies", "[placement]") {
  Place place{3, "a:1", {"b:1", "c:1"}};
  CHECK(place.has_copy("b:1"));
  CHECK_FALSE(place.has_copy("a:1"));
  Configuration configuration(2);
  configuration.set(0, place);
  const std::string bytes = configuration.encode();
  REQUIRE(Configuration::decode(bytes) == configuration);
  for (std::size_t length = 0; length < bytes.size(); ++length)
    CHECK_FALSE(Configuration::decode(bytes.substr(0, length)).has_value());
  // They come with the number.
  Configuration known(2);
  CHECK(known.learn(configuration));
  CHECK(known == configuration);
  place.copies = {"c:1"};
  configuration.set(0, place);
  CHECK_FALSE(known.learn(configuration));
  place.number = 4;
  configuration.set(0, place);
  CHECK(known.learn(configuration));
  CHECK(known.place(0).copies == std::vector<std::string>{"c:1"});
}

TEST_CASE("copies are other hosts, each once, of a place that is somewhere", "[placement]") {
  const auto decoded = [](const Place& place) {
    Configuration configuration(1);
    configuration.set(0, place);
    return Configuration::decode(configuration.encode()).has_value();
  };
  CHECK(decoded(Place{1, "a:1", {"b:1", "c:1"}}));
  CHECK_FALSE(decoded(Place{0, "a:1", {"b:1"}}));
  CHECK_FALSE(decoded(Place{1, "a:1", {"a:1"}}));
  CHECK_FALSE(decoded(Place{1, "a:1", {"c:1", "b:1"}}));
  CHECK_FALSE(decoded(Place{1, "a:1", {"b:1", "b:1"}}));
  CHECK_FALSE(decoded(Place{1, "a:1", {""}}));
  std::vector<std::string> many;
  for (char name = 'b'; many.size() <= kMaxCopies; ++name) many.push_back(std::string(1, name));
  CHECK_FALSE(decoded(Place{1, "a:1", many}));
  many.pop_back();
  CHECK(decoded(Place{1, "a:1", many}));
}

TEST_CASE("a configuration of a record that knew no copies is read", "[placement]") {
  Configuration configuration({"a:1"});
  configuration.set(0, {1, "b:1"});
  std::string bytes = configuration.encode();
  bytes[11] = 0;     // the highest byte of the number of regions
  bytes.pop_back();  // the number of copies
  CHECK(Configuration::decode(bytes) == configuration);
}

}  // namespace namdb::placement
