// Compares the answers of two servers to one statement.
#pragma once

#include <string>
#include <vector>

#include "tools/sqltest/generate/answers.h"

namespace namdb::sqltest {

enum class Verdict { same, refused, explained, different };

struct Judgement {
  Verdict verdict = Verdict::same;
  std::string reason;  // of the refusal; the rule that explains it; the difference
};

// The way to ask: by the simple protocol; by the extended one, with results in binary form; with literals as
// parameters.
enum class Form { simple, binary, parameters };

struct Asked {
  std::string sql;
  bool ordered = false;  // rows are compared in their order
  bool block = false;    // it stands in a block
  bool binary = false;   // the results are in binary form
  std::vector<std::string> parameters;
  bool mistaken = false;  // it has a mistake on purpose, and so perhaps several
};

Judgement judge(const Asked& asked, const Answer& answer, const Answer& reference);

// A message without the names and numbers in it, to count messages of one sort.
std::string without_details(const std::string& message);
// With `other`: of the rows, those that the other answer has not.
std::string shown(const Answer& answer, const Answer* other = nullptr);

}  // namespace namdb::sqltest
