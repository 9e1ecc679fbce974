// Clients on threads of their own, each with connections of its own, that conflict with each other. They move
// money between few accounts, add it all up, insert and delete the same keys, cancel statements, disconnect
// without notice, and change the catalog.
#pragma once

#include <cstdint>
#include <mutex>
#include <set>
#include <string>

#include "tools/support/client/connection.h"

namespace namdb::stress {

inline constexpr std::int64_t kAccounts = 12;
inline constexpr std::int64_t kTotal = kAccounts * 100;

// The violations that clients found. Any thread may call it.
class Complaints {
 public:
  void add(std::string complaint);
  std::string all() const;

 private:
  mutable std::mutex mutex_;
  std::set<std::string> complaints_;
};

// The tables that the clients use.
Status create_tables(const support::Endpoint& endpoint);

// Each does `rounds` things, drawn from the seed, and returns. `leaving`: the server may go away meanwhile;
// then the client ends without complaint.
struct ClientOptions {
  support::Endpoint endpoint;
  std::uint64_t seed = 0;
  std::uint64_t rounds = 100;
  bool leaving = false;
};
void run_client(const ClientOptions& options, Complaints& complaints);

// The sum of all accounts, or what went wrong.
Result<std::int64_t> sum_of_accounts(const support::Endpoint& endpoint);

}  // namespace namdb::stress
