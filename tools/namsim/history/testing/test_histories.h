// Hand-made histories in a few letters, for tests of the checkers.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tools/namsim/history/check.h"

namespace namdb::history {

inline Operation r(Key key, Version version) {
  return Operation::read(key, version);
}
inline Operation w(Key key, Version version, Version displaced) {
  return Operation::write(key, version, displaced);
}
inline Operation l(Key key, std::vector<Version> list) {
  return Operation::read_list(key, std::move(list));
}
inline Operation a(Key key, Version element) {
  return Operation::append(key, element);
}

// Committed, concurrent with everything else, in a session of its own, unless said otherwise.
class Made {
 public:
  explicit Made(Model model) : history(model) {}
  Made& add(std::vector<Operation> operations, Outcome outcome = Outcome::committed) {
    return at(0, 1000, std::move(operations), outcome);
  }
  Made& at(std::uint64_t begin_ns, std::uint64_t end_ns, std::vector<Operation> operations,
           Outcome outcome = Outcome::committed) {
    return in(1000 + history.transactions().size(), begin_ns, end_ns, std::move(operations), outcome);
  }
  Made& in(std::uint64_t session, std::uint64_t begin_ns, std::uint64_t end_ns,
           std::vector<Operation> operations, Outcome outcome = Outcome::committed) {
    history.add({.session = session,
                 .begin_ns = begin_ns,
                 .end_ns = outcome == Outcome::unknown ? Transaction::kNever : end_ns,
                 .outcome = outcome,
                 .operations = std::move(operations)});
    return *this;
  }

  // Names of what the level forbids, joined by commas.
  std::string found(const std::string& level, bool all_reads = false) const {
    const Report report = check(history, {*level_from_name(level), all_reads});
    std::vector<std::string> names;
    for (const Anomaly& anomaly : report.anomalies) names.push_back(anomaly.name());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
  }

  History history;
};

inline const std::string kReadCommitted = "read-committed";
inline const std::string kParallel = "parallel-snapshot-isolation";
inline const std::string kSnapshot = "snapshot-isolation";
inline const std::string kStrictSnapshot = "strict-snapshot-isolation";
inline const std::string kSerializable = "serializable";
inline const std::string kStrictSerializable = "strict-serializable";

}  // namespace namdb::history
