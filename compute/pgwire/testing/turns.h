// Two clients of one server, of which one is busy: how many turns of the executor each waits.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compute/pgwire/testing/test_client.h"

namespace namdb::pgwire::testing {

// Unlike TestClient::send(), does not run the server.
inline void post(TestClient& client, const std::string& bytes) {
  client.pipe().to_server += bytes;
  client.pipe().arrived.notify_all();
}

inline std::string with_parameters(const std::string& sql,
                                   const std::vector<std::optional<std::string>>& values) {
  return parse("", sql) + testing::bind("", "", values) + execute("") + sync();
}

// The number of turns of the executor until the client has its answer; gives up after `most`.
inline std::size_t turns_until_ready(World& world, TestClient& client, std::size_t most,
                                     std::vector<Received>& messages) {
  for (std::size_t turns = 1; turns <= most; ++turns) {
    world.executor.turn();
    for (Received& received : client.receive()) messages.push_back(std::move(received));
    if (kinds(messages).ends_with("Z")) return turns;
  }
  return most + 1;
}

// Starts the client's session, which a cancel request with the key may cancel.
inline std::string cancel_key_of(TestClient& client) {
  std::string key;
  for (const Received& received : client.ask(startup({{"user", "u"}, {"database", "namdb"}}))) {
    if (received.type == 'K') key = received.payload;
  }
  NAMDB_CHECK(key.size() == 8);
  return key;
}

}  // namespace namdb::pgwire::testing
