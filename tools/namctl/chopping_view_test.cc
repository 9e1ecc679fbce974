#include "tools/namctl/chopping_view.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace namdb::namctl {
namespace {

procedure::ChoppingGraph example() {
  auto graph = procedure::chop({{"pay",
                                 {{.name = "check", .reads = {"accounts.owner"}, .aborts = true},
                                  {.name = "take", .writes = {"accounts.balance"}},
                                  {.name = "give", .writes = {"accounts.balance"}},
                                  {.name = "count", .commutes = {"counts"}}}},
                                {"a<b", {{.name = "look", .reads = {"accounts.balance"}}}}});
  REQUIRE(graph.ok());
  return std::move(*graph);
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

}  // namespace

TEST_CASE("the lines of a chopping name its transactions and why pieces are in them", "[chopping]") {
  CHECK(to_lines(example()) == std::vector<std::string>{
                                   "pay: 4 pieces, 3 transactions",
                                   "  1. check: reads accounts.owner; may abort; conflicts with none",
                                   "  2. take: writes accounts.balance",
                                   "     give: writes accounts.balance",
                                   "  3. count: adds to counts; conflicts with none",
                                   "a<b: 1 piece, 1 transaction",
                                   "  1. look: reads accounts.balance",
                               });
}

TEST_CASE("the picture of a chopping has its pieces, transactions and edges", "[chopping]") {
  const std::string svg = to_svg(example());
  CHECK(svg.starts_with("<svg "));
  CHECK(svg.ends_with("</svg>\n"));
  CHECK(count(svg, "class=\"b\"") == 5);          // pieces
  CHECK(count(svg, "class=\"g\"") == 4);          // transactions
  CHECK(count(svg, "<line class=\"s\"") == 3);    // between pieces of pay
  CHECK(count(svg, "<circle class=\"c\"") == 2);  // take and give, each with another run of itself
  CHECK(count(svg, "<path class=\"c\"") == 3);    // take and give, each of them and look
  CHECK(svg.find("a&lt;b") != std::string::npos);
}

TEST_CASE("the document of a chopping has transactions and conflicts", "[chopping]") {
  const nlohmann::json document = to_json(example());
  CHECK(document["procedures"][0]["transactions"] ==
        nlohmann::json::parse(R"([["check"], ["take", "give"], ["count"]])"));
  CHECK(document["conflicts"].size() == 5);
  CHECK(document["conflicts"][4]["on"] == nlohmann::json::parse(R"(["accounts.balance"])"));
}

}  // namespace namdb::namctl
