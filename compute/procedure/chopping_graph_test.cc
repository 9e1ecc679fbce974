#include "compute/procedure/chopping_graph.h"

#include <catch2/catch.hpp>

namespace namdb::procedure {
namespace {

// "a b | c": the pieces of each group by their names, in the order in which they run.
std::string text_of(const ChoppingGraph& graph, std::size_t procedure) {
  std::string text;
  for (const auto& group : graph.chopped[procedure].groups) {
    if (!text.empty()) text += " | ";
    for (std::size_t i = 0; i < group.size(); ++i)
      text += (i == 0 ? "" : " ") + graph.procedures[procedure].pieces[group[i]].name;
  }
  return text;
}

std::vector<std::string> chopped(std::vector<Chopping> procedures, ChoppingRules rules = {}) {
  const Result<ChoppingGraph> graph = chop(std::move(procedures), rules);
  REQUIRE(graph.ok());
  std::vector<std::string> all;
  for (std::size_t i = 0; i < graph->procedures.size(); ++i) all.push_back(text_of(*graph, i));
  return all;
}

using Texts = std::vector<std::string>;

constexpr ChoppingRules kTraditional{.commutativity = false, .reordering = false};

std::string error_of(std::vector<Chopping> procedures) {
  const Result<ChoppingGraph> graph = chop(std::move(procedures));
  REQUIRE(!graph.ok());
  return graph.status().message();
}

}  // namespace

// DrTM's Figure 5: TX1 accesses A and B, TX2 accesses B and C. TX1 meets itself on A and on B.
TEST_CASE("pieces of a procedure that meet another one on a cycle are merged", "[chopping]") {
  const Chopping one{"tx1", {{.name = "p1", .writes = {"a"}}, {.name = "p2", .writes = {"b"}}}};
  const Chopping two{"tx2", {{.name = "p3", .reads = {"b"}}, {.name = "p4", .reads = {"c"}}}};
  CHECK(chopped({one, two}) == Texts{"p1 p2", "p3 | p4"});
  CHECK(chopped({one, two}, kTraditional) == Texts{"p1 p2", "p3 | p4"});
  // Without the conflict of TX1 with itself there is no cycle.
  const Chopping reader{"tx1", {{.name = "p1", .reads = {"a"}}, {.name = "p2", .writes = {"b"}}}};
  CHECK(chopped({reader, two}) == Texts{"p1 | p2", "p3 | p4"});
}

TEST_CASE("a cycle may lead through several other procedures", "[chopping]") {
  const Chopping chain{"chain", {{.name = "x", .reads = {"a"}}, {.name = "y", .reads = {"c"}}}};
  const Chopping ab{"ab", {{.name = "ab", .writes = {"a"}, .commutes = {"b"}}}};
  const Chopping bc{"bc", {{.name = "bc", .reads = {"b"}, .commutes = {"c"}}}};
  CHECK(chopped({chain, ab}) == Texts{"x | y", "ab"});
  CHECK(chopped({chain, ab, bc}) == Texts{"x y", "ab", "bc"});
}

TEST_CASE("parts of a table do not meet each other, and meet the table", "[chopping]") {
  const auto writer = [](const char* first, const char* second) {
    return Chopping{"w", {{.name = "p", .reads = {first}}, {.name = "q", .reads = {second}}}};
  };
  const Chopping ytd{"ytd", {{.name = "ytd", .writes = {"district.ytd"}}}};
  CHECK(chopped({writer("district.tax", "district.next"), ytd}) == Texts{"p | q", "ytd"});
  CHECK(chopped({writer("district", "district.ytd"), ytd}) == Texts{"p q", "ytd"});
  CHECK(chopped({writer("districts", "district.ytd"), ytd}) == Texts{"p | q", "ytd"});
}

TEST_CASE("changes that commute conflict with readers and writers, not with each other", "[chopping]") {
  const Chopping pay{"pay",
                     {{.name = "w", .commutes = {"warehouse"}}, {.name = "d", .commutes = {"district"}}}};
  CHECK(chopped({pay}) == Texts{"w | d"});
  CHECK(chopped({pay}, kTraditional) == Texts{"w d"});
  const Chopping reader{"look", {{.name = "look", .reads = {"warehouse", "district"}}}};
  CHECK(chopped({pay, reader}) == Texts{"w d", "look"});
  const Chopping setter{"set", {{.name = "set", .writes = {"warehouse", "district"}}}};
  CHECK(chopped({pay, setter}) == Texts{"w d", "set"});
}

TEST_CASE("pieces that need nothing of each other are reordered around those that are merged", "[chopping]") {
  const auto procedure = [](std::vector<std::string> needs) {
    return Chopping{"p",
                    {{.name = "first", .writes = {"a"}},
                     {.name = "middle", .reads = {"m"}, .needs = std::move(needs)},
                     {.name = "last", .writes = {"b"}, .needs = {"middle"}}}};
  };
  CHECK(chopped({procedure({})}) == Texts{"middle | first last"});
  // It has to be between the two.
  CHECK(chopped({procedure({"first"})}) == Texts{"first middle last"});
  CHECK(chopped({procedure({})}, {.commutativity = true, .reordering = false}) == Texts{"first middle last"});
}

TEST_CASE("a piece that may end the procedure comes before those that others can see", "[chopping]") {
  const Piece sees{.name = "item", .reads = {"item"}, .aborts = true};
  const Piece counts{.name = "count", .commutes = {"counts"}};
  CHECK(chopped({{"p", {counts, sees}}}) == Texts{"item | count"});
  CHECK(chopped({{"p", {counts, sees}}}, {.commutativity = true, .reordering = false}) ==
        Texts{"count item"});
  // It is the first that changes something, and so sees nothing halved.
  const Piece takes{.name = "take", .commutes = {"stock"}, .aborts = true};
  CHECK(chopped({{"p", {counts, takes}}}) == Texts{"take | count"});
  const Piece takes_more{.name = "more", .commutes = {"rest"}, .aborts = true};
  CHECK(chopped({{"p", {counts, takes, takes_more}}}) == Texts{"take more | count"});
  // It cannot come first.
  const Piece checks{.name = "check", .reads = {"item"}, .needs = {"count"}, .aborts = true};
  CHECK(chopped({{"p", {counts, checks}}}) == Texts{"count check"});
}

TEST_CASE("a piece that conflicts with none is free", "[chopping]") {
  const auto graph = chop({{"p", {{.name = "a", .reads = {"x"}}, {.name = "b", .writes = {"y"}}}}});
  REQUIRE(graph.ok());
  CHECK(graph->is_free(0, 0));
  CHECK(!graph->is_free(0, 1));  // another run of the same
  CHECK(graph->conflicts.size() == 1);
  CHECK(graph->conflicts.front().tables == std::vector<std::string>{"y"});
  CHECK(graph->chopped.front().groups == std::vector<std::vector<std::size_t>>{{0}, {1}});
}

TEST_CASE("declarations that cannot be used are refused", "[chopping]") {
  const Piece a{.name = "a"};
  CHECK(error_of({{"p", {}}}) == "the pieces of procedure \"p\": there are none");
  CHECK(error_of({{"p", {a}}, {"p", {a}}}) == "the pieces of procedure \"p\": they are declared twice");
  CHECK(error_of({{"p", {a, a}}}) == "the pieces of procedure \"p\": two are named \"a\"");
  CHECK(error_of({{"p", {{.name = "b", .needs = {"a"}}, a}}}) ==
        "the pieces of procedure \"p\": \"b\" needs \"a\", which does not come before it");
}

}  // namespace namdb::procedure
