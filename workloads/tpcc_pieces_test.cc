// TPC-C as DrTM chops it (its §4.1 and Figure 7).
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "compute/procedure/chopping_graph.h"
#include "compute/procedure/declared_pieces.h"
#include "compute/procedure/piece_watch.h"
#include "workloads/procedures.h"
#include "workloads/testing/memory_database.h"
#include "workloads/tpcc_workload.h"

namespace namdb::workloads {
namespace {

std::string chopped(const std::string& name, procedure::ChoppingRules rules = {}) {
  procedure::DeclaredPieces choppings;
  declare_tpcc_pieces(choppings);
  const auto graph = procedure::chop(choppings.all(), rules);
  REQUIRE(graph.ok());
  std::string text;
  for (std::size_t i = 0; i < graph->procedures.size(); ++i) {
    if (graph->procedures[i].procedure != name) continue;
    for (const auto& group : graph->chopped[i].groups) {
      if (!text.empty()) text += " |";
      for (const std::size_t piece : group)
        text += (text.empty() ? "" : " ") + graph->procedures[i].pieces[piece].name;
    }
  }
  return text;
}

}  // namespace

// "It has three pieces that do not conflict with the others and can be removed from the conflicting piece
// through reordering"; the one that reads ITEM may abort, and comes first, as do the others here.
TEST_CASE("new-order has three pieces that come before the one with conflicts", "[tpcc]") {
  CHECK(chopped("tpcc_new_order") == "warehouse | customer | item | district stock order");
}

TEST_CASE("payment's pieces run alone: the totals of warehouse and district commute", "[tpcc]") {
  CHECK(chopped("tpcc_payment") == "place | customer | warehouse | district | history");
  CHECK(chopped("tpcc_payment_by_name") == chopped("tpcc_payment"));
}

// Order-status and new-order see orders and their lines; and order-status sees the customer, too.
TEST_CASE("delivery is one piece", "[tpcc]") {
  CHECK(chopped("tpcc_delivery") == "due orders lines customers");
}

// "Trivially applying transaction chopping can usually only chop very few transactions."
TEST_CASE("traditional chopping leaves new-order and payment nearly whole", "[tpcc]") {
  const procedure::ChoppingRules traditional{.commutativity = false, .reordering = false};
  CHECK(chopped("tpcc_new_order", traditional) == "warehouse | district customer item stock order");
  CHECK(chopped("tpcc_payment", traditional) == "place | warehouse district customer history");
}

TEST_CASE("every piece of TPC-C names tables of its procedure", "[tpcc]") {
  class Definitions final : public procedure::Registry {
   public:
    void add(procedure::Definition definition) override {
      tables.emplace(definition.name, std::move(definition.tables));
    }
    std::map<std::string, std::vector<std::string>> tables;
  };
  Definitions definitions;
  register_tpcc(definitions);
  procedure::DeclaredPieces choppings;
  declare_tpcc_pieces(choppings);
  CHECK(choppings.all().size() == definitions.tables.size());
  for (const procedure::Chopping& chopping : choppings.all()) {
    REQUIRE(definitions.tables.contains(chopping.procedure));
    std::set<std::string> declared;
    for (const procedure::Piece& piece : chopping.pieces) {
      for (const auto* names : {&piece.reads, &piece.writes, &piece.commutes}) {
        for (const std::string& name : *names) declared.insert(name.substr(0, name.find('.')));
      }
    }
    const std::vector<std::string>& tables = definitions.tables.at(chopping.procedure);
    CHECK(declared == std::set<std::string>(tables.begin(), tables.end()));
  }
}

// Order-status reads customers, orders and their lines; payment writes to four tables.
TEST_CASE("a procedure that does what its pieces do not declare is caught", "[tpcc]") {
  TpccOptions options;
  options.scale = {.warehouses = 1, .items = 20, .customers_per_district = 3, .orders_per_district = 3};
  const auto workload = make_tpcc(options);
  REQUIRE(workload.ok());
  struct Declared {
    const char* procedure;
    procedure::Piece piece;
    std::string error;
  };
  const std::vector<Declared> declarations = {
      {"tpcc_order_status", {.name = "p", .reads = {"customer", "orders", "order_line"}}, ""},
      {"tpcc_order_status",
       {.name = "p", .reads = {"customer.terms", "orders"}, .writes = {"order_line"}},
       ""},
      {"tpcc_order_status",
       {.name = "p", .reads = {"customer", "orders"}},
       "procedure \"tpcc_order_status\" reads table \"order_line\", and none of its pieces is declared to"},
      {"tpcc_payment",
       {.name = "p", .reads = {"customer"}, .writes = {"warehouse"}, .commutes = {"district", "history"}},
       "procedure \"tpcc_payment\" writes to table \"customer\", and none of its pieces is declared to"},
  };
  for (const Declared& each : declarations) {
    INFO(each.error);
    testing::MemoryDatabase database;
    register_tpcc(database);
    database.pieces().add({each.procedure, {each.piece}});
    database.load(**workload);
    std::vector<procedure::Value> arguments = {std::int64_t{1}, std::int64_t{1}, std::int64_t{1}};
    if (std::string_view(each.procedure) == "tpcc_payment")
      arguments.insert(arguments.end(), {std::int64_t{1}, std::int64_t{1}, std::int64_t{500}});
    const Status status = database.run(each.procedure, arguments).status;
    CHECK((status.ok() ? "" : status.message()) == each.error);
  }
}

}  // namespace namdb::workloads
