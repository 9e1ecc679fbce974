// A history survives writing and reading. Malformed files are refused with the line and the field.
#include "tools/namsim/history/format.h"

#include <catch2/catch.hpp>
#include <sstream>

#include "common/base/random.h"
#include "tools/namsim/history/testing/test_histories.h"

namespace namdb::history {
namespace {

const std::string kRegisters = "{\"format\":\"namdb-history\",\"version\":1,\"model\":\"registers\"}\n";
const std::string kLists = "{\"format\":\"namdb-history\",\"version\":1,\"model\":\"lists\"}\n";

Result<History> parse(const std::string& text, const FormatLimits& limits = {}) {
  std::istringstream in(text);
  return read_history(in, limits);
}

std::string error(const std::string& text, const FormatLimits& limits = {}) {
  const Result<History> history = parse(text, limits);
  return history.ok() ? "" : history.status().message();
}

std::string with_operation(const std::string& operation) {
  return "{\"session\":1,\"begin_ns\":1,\"end_ns\":2,\"outcome\":\"committed\",\"operations\":[" + operation +
         "]}\n";
}

std::string text_of(const History& history) {
  std::string text = header_line(history.model());
  for (const Transaction& transaction : history.transactions())
    text += transaction_line(history.model(), transaction);
  return text;
}

Made sample(Model model) {
  Made made(model);
  if (model == Model::registers) {
    made.in(7, 5, 9, {r(1, 0), w(1, 3, 0), r(1, 3)})
        .add({}, Outcome::aborted)
        .add({w(2, 4, 0)}, Outcome::unknown);
  } else {
    made.in(7, 5, 9, {l(1, {}), a(1, 3), l(1, {3})})
        .add({}, Outcome::aborted)
        .add({a(2, 4)}, Outcome::unknown);
  }
  return made;
}

}  // namespace

TEST_CASE("a written history is read as it was", "[format]") {
  for (const Model model : {Model::registers, Model::lists}) {
    const Made made = sample(model);
    const Result<History> again = parse(text_of(made.history));
    REQUIRE(again.ok());
    CHECK(again->model() == model);
    CHECK(again->transactions() == made.history.transactions());
  }
}

TEST_CASE("the example of the documentation is read", "[format]") {
  const Result<History> history = parse(
      kLists +
      R"({"session":3,"begin_ns":1200,"end_ns":5400,"outcome":"committed","operations":[{"op":"read","key":1,"list":[4,9]},{"op":"append","key":1,"element":12}]})"
      "\n"
      R"({"session":4,"begin_ns":1300,"end_ns":null,"outcome":"unknown","operations":[{"op":"append","key":2,"element":13}]})"
      "\n");
  REQUIRE(history.ok());
  REQUIRE(history->transactions().size() == 2);
  CHECK(history->transactions()[0].operations[0] == l(1, {4, 9}));
  CHECK(history->transactions()[1].end_ns == Transaction::kNever);
}

TEST_CASE("a text that is no history is refused with line and field", "[format]") {
  CHECK(error("") == "the file is empty");
  CHECK(error("hello\n").starts_with("line 1: no JSON: column 1"));
  CHECK(error("[]\n") == "line 1: an object was expected");
  CHECK(error("{}\n") == "line 1: format: is missing");
  CHECK(error("{\"format\":\"x\",\"version\":1,\"model\":\"lists\"}\n") ==
        "line 1: format: is none of: namdb-history");
  CHECK(error("{\"format\":\"namdb-history\",\"version\":2,\"model\":\"lists\"}\n") ==
        "line 1: version: is 2; this program knows 1");
  CHECK(error("{\"format\":\"namdb-history\",\"version\":1,\"model\":\"sets\"}\n") ==
        "line 1: model: is none of: registers, lists");
  CHECK(error(kLists + "{\"session\":1") == "line 2: the line is cut off: no line feed at its end");
  CHECK(error(kLists + "\n").starts_with("line 2: no JSON"));
  CHECK(error(kLists + with_operation("") + with_operation("1")) ==
        "line 3: operations[0]: an object was expected");
}

TEST_CASE("fields of transactions are held to their types and ranges", "[format]") {
  const auto transaction = [](const std::string& session, const std::string& end,
                              const std::string& outcome) {
    return kLists + "{\"session\":" + session + ",\"begin_ns\":5,\"end_ns\":" + end + ",\"outcome\":\"" +
           outcome + "\",\"operations\":[]}\n";
  };
  CHECK(error(transaction("1", "5", "committed")).empty());
  for (const char* bad : {"-1", "1.5", "\"1\"", "null", "[]", "true", "9223372036854775808", "1e3",
                          "123456789012345678901234567890"}) {
    INFO(bad);
    CHECK(error(transaction(bad, "5", "committed")) ==
          "line 2: session: is no whole number from 0 to 9223372036854775807");
  }
  CHECK(error(transaction("1", "4", "aborted")) ==
        "line 2: end_ns: is no whole number from 5 to 9223372036854775807");
  CHECK(error(transaction("1", "9", "unknown")) ==
        "line 2: end_ns: is not null, but nobody knows the outcome");
  CHECK(error(transaction("1", "9", "maybe")) == "line 2: outcome: is none of: committed, aborted, unknown");
  CHECK(error(transaction("1,\"x\":2", "5", "committed")) == "line 2: x: is no field of this object");
  CHECK(error(transaction("1,\"session\":2", "5", "committed")) == "line 2: session: is there twice");
}

TEST_CASE("operations belong to the model and have their fields", "[format]") {
  const auto in_registers = [](const std::string& operation) {
    return error(kRegisters + with_operation(operation));
  };
  const auto in_lists = [](const std::string& operation) {
    return error(kLists + with_operation(operation));
  };
  CHECK(in_registers(R"({"op":"read","key":1,"version":0})").empty());
  CHECK(in_registers(R"({"op":"append","key":1,"element":1})") ==
        "line 2: operations[0].op: is none of: read, write");
  CHECK(in_registers(R"({"op":"write","key":1,"version":1})") ==
        "line 2: operations[0].displaced: is missing");
  CHECK(in_registers(R"({"op":"write","key":1,"version":0,"displaced":0})") ==
        "line 2: operations[0].version: is no whole number from 1 to 9223372036854775807");
  CHECK(in_registers(R"({"op":"read","key":1,"list":[]})") == "line 2: operations[0].version: is missing");
  CHECK(in_lists(R"({"op":"write","key":1,"version":1,"displaced":0})") ==
        "line 2: operations[0].op: is none of: read, append");
  CHECK(in_lists(R"({"op":"read","key":1,"list":3})") == "line 2: operations[0].list: is no array");
  CHECK(in_lists(R"({"op":"read","key":1,"list":[1,0]})") ==
        "line 2: operations[0].list[1]: is no whole number from 1 to 9223372036854775807");
  CHECK(in_lists(R"({"op":"read","key":1,"list":[[1]]})") == "line 2: nested too deeply");
}

TEST_CASE("limits hold before memory is taken", "[format]") {
  CHECK(error(kLists, {.line_bytes = 10}) == "line 1: the line is too long");
  CHECK(error(kLists + with_operation("") + with_operation(""), {.transactions = 1}) ==
        "line 3: too many transactions");
  CHECK(error(std::string(1'000'000, '[') + "\n") == "line 1: nested too deeply");
}

TEST_CASE("damaged histories are read or refused, and those that are read can be checked", "[format]") {
  Random random(11);
  std::uint64_t refused = 0;
  for (int round = 0; round < 3000; ++round) {
    const Model model = round % 2 == 0 ? Model::registers : Model::lists;
    std::string text = text_of(sample(model).history);
    for (std::uint64_t k = random.between(1, 3); k > 0; --k) {
      const std::size_t at = random.below(text.size());
      if (random.chance(0.4)) {
        text[at] = static_cast<char>(random.below(256));
      } else if (random.chance(0.5)) {
        text.erase(at, random.between(1, 4));
      } else {
        text.insert(at, 1, "0123456789,:[]{}\"\n-"[random.below(19)]);
      }
    }
    const Result<History> history = parse(text);
    refused += history.ok() ? 0 : 1;
    if (history.ok()) {
      for (const Level& level : levels()) check(*history, {level, true});
    }
  }
  CHECK(refused > 1000);
  CHECK(refused < 3000);
}

}  // namespace namdb::history
