#include "tools/conformance/trial.h"

namespace namdb::conformance {

std::string said(const Status& status) {
  return status.ok() ? "committed" : status.to_string();
}

void Trial::expect_commit_or_conflict(const Status& status, const std::string& who) {
  expect(status.ok() || (status.info().sqlstate == "40001" && status.info().retry),
         who + ": " + said(status));
}

void Trial::load(const std::vector<Item>& items) {
  const Status loaded = a.retry([&](Client& client) {
    for (const Item& item : items) client.insert(item);
  });
  expect(loaded.ok(), "load: " + said(loaded));
  settle();
}

void Trial::settle() {
  if (traits.by_clocks) database.wait(10 * kMillisecond_ns);
}

}  // namespace namdb::conformance
