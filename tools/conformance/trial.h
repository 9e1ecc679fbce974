// A case as it runs on a database: two clients at different compute servers, and the mistakes that it finds.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "common/protocols/protocol.h"
#include "tools/conformance/client.h"

namespace namdb::conformance {

// How a transaction ended: "committed", or the error.
std::string said(const Status& status);

struct Trial {
  Database& database;
  const protocol::ProtocolTraits& traits;
  bool shared_read_locks;  // of the database
  Client a;
  Client b;
  // The case's own: ids, codes and groups from this on, fewer than 100.
  std::int64_t base;
  std::vector<std::string> mistakes;
  std::string skipped;  // why, if the case says nothing about such a database

  void expect(bool holds, const std::string& what) {
    if (!holds) mistakes.push_back(what);
  }
  // Committed, or a conflict with another transaction.
  void expect_commit_or_conflict(const Status& status, const std::string& who);
  // In a transaction of client a.
  void load(const std::vector<Item>& items);
  // Transactions that begin afterwards see all commits so far, although clocks of compute servers differ.
  void settle();
};

struct Case {
  std::string_view name;
  void (*run)(Trial& trial);
};

}  // namespace namdb::conformance
