#include "tools/sqltest/isolation_runner.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "tools/sqltest/serial_orders.h"

namespace namdb::sqltest {
namespace {

// Writes down what it is sent, and answers with it as a command tag. FAIL is an error, HANG never answers.
class ScriptedClient final : public StepClient {
 public:
  ScriptedClient(std::size_t server, std::vector<std::string>& log) : server_(server), log_(log) {}

  void send(const std::string& sql) override {
    sql_ = sql;
    log_.push_back(std::to_string(server_) + " " + sql);
    if (sql == "BEGIN") in_block_ = true;
    if (sql == "ROLLBACK" || sql == "COMMIT") in_block_ = false;
  }
  bool answers_within(std::chrono::milliseconds) override {
    if (sql_ == "WAIT")
      return std::ranges::any_of(log_, [](const std::string& line) { return line.ends_with(" COMMIT"); });
    return sql_ != "HANG";
  }
  std::optional<std::vector<Outcome>> answer(std::chrono::milliseconds) override {
    log_.push_back(std::to_string(server_) + " answers");
    if (sql_ == "HANG") {
      broken_ = true;
      return std::nullopt;
    }
    Outcome outcome;
    outcome.tag = sql_;
    if (sql_ == "FAIL") outcome.sqlstate = "40001";
    if (sql_ == "FAIL") outcome.message = "a conflict";
    return {{outcome}};
  }
  bool in_block() override { return in_block_; }
  bool broken() override { return broken_; }

 private:
  std::size_t server_;
  std::vector<std::string>& log_;
  std::string sql_;
  bool in_block_ = false;
  bool broken_ = false;
};

struct Rig {
  explicit Rig(const std::string& text)
      : spec(*parse_isolation_spec(text)),
        runner(spec, {[this](std::size_t server) {
                        ++opened;
                        return std::make_unique<ScriptedClient>(server, log);
                      },
                      2, std::chrono::seconds(7)}) {}

  std::vector<std::string> run(std::size_t permutation) {
    return runner.run(spec.permutations[permutation])->lines;
  }

  IsolationSpec spec;
  std::vector<std::string> log;
  int opened = 0;
  IsolationRunner runner;
};

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("a permutation runs between setups and teardowns, sessions spread over the servers", "[sqltest]") {
  Rig rig(
      "# x\nsetup\n  CREATE;\neverywhere\n  WARM;\nteardown\n  DROP;\ncheck\n  LOOK\n"
      "session one\n  setup: BEGIN\n  a: A\nsession two\n  b: FAIL\nsession three on 2\n  teardown: T\n  c: "
      "C\n"
      "permutation b a c\n");
  CHECK(rig.run(0) == Lines{"b: error 40001", "a: A", "c: C", "check: LOOK"});
  Lines sent;
  for (const std::string& line : rig.log) {
    if (!line.ends_with("answers")) sent.push_back(line);
  }
  CHECK(sent == Lines{"0 CREATE;", "0 WARM;", "0 BEGIN", "1 WARM;", "1 WARM;", "1 FAIL", "0 A", "1 C",
                      "0 ROLLBACK", "1 T", "0 LOOK", "0 DROP;"});
  rig.run(0);
  CHECK(rig.opened == 4);
}

TEST_CASE("a step that is only sent is answered where it is named again", "[sqltest]") {
  Rig rig("# x\nsession one\n  a: A\nsession two\n  b: B\npermutation a& b a\n");
  CHECK(rig.run(0) == Lines{"b: B", "a: A"});
  CHECK(rig.log == Lines{"0 A", "1 B", "1 answers", "0 answers"});
}

TEST_CASE("a step without an answer ends its permutation, and the next one has new connections",
          "[sqltest]") {
  Rig rig(
      "# x\nteardown\n  DROP;\ncheck\n  LOOK\nsession one\n  a: HANG\n  b: B\nsession two\n  c: C\n"
      "permutation a b\npermutation b c\n");
  CHECK(rig.run(0) == Lines{"a: no answer within 7 s"});
  CHECK(rig.log.back() == "0 answers");
  CHECK(rig.log[rig.log.size() - 2] == "0 DROP;");
  CHECK(rig.run(1) == Lines{"b: B", "c: C", "check: LOOK"});
  CHECK(rig.opened == 5);
}

TEST_CASE("where the setup fails nothing is torn down, since it may be somebody else's", "[sqltest]") {
  Rig rig("# x\nsetup\n  FAIL\n  ;\n  CREATE;\nteardown\n  DROP;\nsession one\n  a: A\n");
  rig.spec.setup[0] = "FAIL";
  CHECK(rig.run(0) == Lines{"setup: error 40001"});
  CHECK(rig.log == Lines{"0 FAIL", "0 answers"});
}

TEST_CASE("a session's setup that fails is what the permutation answers", "[sqltest]") {
  Rig rig("# x\nteardown\n  DROP;\nsession one\n  setup: FAIL\n  a: A\n");
  CHECK(rig.run(0) == Lines{"one's setup: error 40001"});
  CHECK(rig.log[rig.log.size() - 2] == "0 DROP;");
}

TEST_CASE("an answer is one line", "[sqltest]") {
  Outcome rows;
  rows.names = {"a", "b"};
  CHECK(shown({rows}) == "no rows");
  rows.rows = {{"1", std::nullopt}, {"2", "x"}};
  Outcome begin;
  begin.tag = "BEGIN";
  Outcome error;
  error.sqlstate = "23505";
  CHECK(shown({begin, rows, error}) == "BEGIN; 1|NULL, 2|x; error 23505");
  Outcome empty;
  empty.names = {"a"};
  empty.rows = {{""}};
  CHECK(shown({empty}) == "\"\"");
}

TEST_CASE("a difference marks what only one side has", "[sqltest]") {
  CHECK(difference({"a", "b", "c"}, {"a", "x", "c", "d"}) == "    a\n  - b\n  + x\n    c\n  + d\n");
  CHECK(difference({}, {"a"}) == "  + a\n");
  CHECK(difference({"a"}, {"a"}) == "    a\n");
}

TEST_CASE("a step that waits for another session is left behind, and its session's later ones with it",
          "[isolation]") {
  Rig rig(
      "# Waits.\nsession one\n  w: WAIT\n  x: AFTER\nsession two\n  y: OTHER\n  c: COMMIT\n"
      "permutation w x y c\n");
  const auto outcome = rig.runner.run_with_waits(rig.spec.permutations[0], std::chrono::milliseconds(1));
  REQUIRE(outcome.ok());
  CHECK(outcome->lines == std::vector<std::string>{"y: OTHER", "c: COMMIT", "w: WAIT", "x: AFTER"});
}

TEST_CASE(
    "transactions are blocks and single statements, and count unless they end with a conflict or are given "
    "up",
    "[isolation]") {
  Rig rig(
      "# Blocks.\nsession one\n  setup: BEGIN\n  r: READ\n  c: COMMIT\n  s: SINGLE\n"
      "session two\n  b: BEGIN\n  f: FAIL\n  a: ROLLBACK\n  g: BEGIN\n"
      "permutation r b c s f a b a g\n");
  const auto outcome = rig.runner.run(rig.spec.permutations[0]);
  REQUIRE(outcome.ok());
  const auto transactions = transactions_of(rig.spec, *outcome, {true, false});
  std::vector<std::string> seen;
  for (const StepTransaction& transaction : transactions) {
    std::string text = transaction.counts ? "counts:" : "does not:";
    for (const std::size_t step : transaction.steps) text += " " + rig.spec.steps[step].name;
    seen.push_back(text + (transaction.first ? " (first)" : ""));
  }
  CHECK(seen == std::vector<std::string>{"counts: r c (first)", "counts: s", "does not: b f a",
                                         "does not: b a", "does not: g"});
}

}  // namespace namdb::sqltest
