// Isolation specs: the answers to concurrent sessions, step by step, for given orders of their steps. A file:
//
//   # What the file shows: the first line, and as many more as it takes.
//   setup                                  before each permutation: statements, each ended by ; at a line's
//     CREATE TABLE t (...);                end, run one by one
//     INSERT INTO t VALUES (1, 10);
//   at-once                                it shows what takes effect at once, and not in the order of
//                                          transactions: skipped where serial orders are wanted
//   everywhere                             after the setup, in each session. A server that knew a dropped
//     SELECT count(*) FROM t;              table of that name answers the first block with 40001; not here
//   teardown                               after each permutation whose setup succeeded
//     DROP TABLE IF EXISTS t;
//   check                                  after each permutation: the rows that are there in the end
//     SELECT * FROM t ORDER BY id;
//
//   session one                            a connection; `session one on 2`: to the second server. Without
//     setup: BEGIN                         `on`, sessions are spread over the servers in order
//     r1: SELECT v FROM t                  a step, sent as one simple query; lines without `name:` go on
//           WHERE id = 1
//     c1: COMMIT
//   session two
//     w2: UPDATE t SET v = 11 WHERE id = 1
//
//   permutation r1 w2 c1                   one order of the steps, and under it what they answer
//     r1: 10
//     w2: UPDATE 1
//     c1: COMMIT
//     check: 1|11
//
// A step is answered before the next one is sent. `drop&` in a permutation only sends the step: its answer is
// awaited where `drop` is named again. Without any `permutation` every order is run that keeps each session's
// steps in theirs, at most kMaxPermutations, and the answers stand beside the file, in NAME.expected.
//
// An answer is one line. Of each statement of the step: its rows, columns separated by | and rows by commas
// ("no rows" if there is none, "" for one empty string), or its command tag, or `error` and the SQLSTATE.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"

namespace namdb::sqltest {

inline constexpr std::size_t kMaxPermutations = 1000;

struct IsolationStep {
  std::string name;
  std::string sql;
  std::size_t session = 0;  // index
};

struct IsolationSession {
  std::string name;
  std::optional<std::size_t> server;  // from 0; none: any
  std::string setup;                  // one simple query each; empty: none
  std::string teardown;
  std::vector<std::size_t> steps;  // indices
};

// One place of a permutation: runs the step; only sends it; or collects the answer of one that was sent.
enum class StepMode { run, send, collect };
struct PermutationStep {
  std::size_t step = 0;
  StepMode mode = StepMode::run;
};

struct Permutation {
  std::size_t line = 0;  // from 1; 0: generated
  std::vector<PermutationStep> steps;
  std::vector<std::string> expected;  // without indentation
  std::size_t expected_end = 0;       // the first line, from 1, after the expected ones
};

struct IsolationSpec {
  std::vector<std::string> setup;
  std::vector<std::string> everywhere;
  std::vector<std::string> teardown;
  std::string check;  // empty: none
  std::vector<IsolationSession> sessions;
  std::vector<IsolationStep> steps;
  std::vector<Permutation> permutations;
  bool generated = false;  // the file lists no permutations
  bool at_once = false;    // no serial order explains the answers

  // As the file writes it: "r1 drop& c1 drop".
  std::string name_of(const Permutation& permutation) const;
};

// Error configuration, with the line.
Result<IsolationSpec> parse_isolation_spec(std::string_view text);

// All orders of steps that keep those of each session in order, the first session's steps first.
// `counts`: how many steps each session has. Each order names sessions, a step's place by its session.
// Error limit_exceeded: there are more than `most`.
Result<std::vector<std::vector<std::size_t>>> interleavings(const std::vector<std::size_t>& counts,
                                                            std::size_t most);

// Fills in the expected lines of generated permutations from an .expected file: `permutation` lines, each
// with its answers, as in the spec. Those that it does not name stay without. Error configuration.
Status read_expected(std::string_view text, IsolationSpec& spec);

}  // namespace namdb::sqltest
