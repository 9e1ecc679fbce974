// A client that gives a password, in the messages of its SCRAM exchange.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compute/authentication/testing/scram_client.h"
#include "compute/pgwire/testing/memory_stream.h"

namespace namdb::pgwire::testing {

inline std::string sasl_initial(std::string_view mechanism, std::string_view data) {
  return message('p', zero_terminated(mechanism) + big_endian(data.size(), 4) + std::string(data));
}
// Authentication, with that code.
inline bool is_authentication(const Received& received, std::uint32_t code) {
  return received.type == 'R' && received.payload.starts_with(big_endian(code, 4));
}

// Through `ask`, which sends bytes and gives the messages that come back. Gives the last answer.
template <typename Ask>
std::vector<Received> log_in(Ask&& ask, std::string_view user, std::string password,
                             std::string certificate_hash = {}) {
  authentication::testing::ScramClient scram(std::move(password), std::move(certificate_hash));
  std::vector<Received> messages = ask(startup({{"user", user}, {"database", "namdb"}}));
  if (messages.empty() || !is_authentication(messages.front(), 10)) return messages;
  messages = ask(sasl_initial(scram.mechanism(), scram.first()));
  if (messages.empty() || !is_authentication(messages.front(), 11)) return messages;
  messages = ask(message('p', scram.last(std::string_view(messages.front().payload).substr(4))));
  if (!messages.empty() && is_authentication(messages.front(), 12))
    NAMDB_CHECK(scram.accepts(std::string_view(messages.front().payload).substr(4)));
  return messages;
}

}  // namespace namdb::pgwire::testing
