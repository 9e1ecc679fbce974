// The cases that hold for every database, under any protocol, with any two-sided stages and over any
// transport: small histories of two clients at different compute servers, one step after the other.
//
// A commit is answered once it is logged, and a transaction that gave way releases its locks in the
// background. Right after either, another compute server may meet a lock and get a conflict, as any client
// may. So where a case needs one certain answer it tries again until it has it.
//
// Client a always begins first. Where the older transaction waits for the younger one, and the younger one
// gives way, no transaction waits for a step that comes later.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "common/protocols/protocol.h"
#include "tools/conformance/client.h"

namespace namdb::conformance {

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

// All of them, those of read_cases.h included.
std::vector<Case> cases();

// How a transaction ended: "committed", or the error.
std::string said(const Status& status);

// Of a database whose transactions may last so long.
void long_transactions_end(Trial& trial, std::uint64_t max_transaction_ns);

}  // namespace namdb::conformance
