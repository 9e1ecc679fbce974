// Counters of queue pairs, for tests and figures.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

#include "common/fabric/facts.h"

namespace namdb::fabric::verbs {

// The encoding of the standard: 1 is 256 bytes, 5 is 4096.
inline std::uint32_t bytes_of_mtu(ibv_mtu mtu) {
  return 128U << mtu;
}

struct EndpointCounters {
  std::uint64_t requests = 0;     // posted to the send queue
  std::uint64_t doorbells = 0;    // calls that posted them
  std::uint64_t signalled = 0;    // of the requests
  std::uint64_t inlined = 0;      // of the requests
  std::uint64_t completions = 0;  // of signalled requests, that went well
  std::uint64_t sends = 0;        // of the requests: messages, or parts of them
  std::uint64_t received = 0;     // messages, or parts of them
  std::uint64_t errors = 0;       // requests that failed, and queue pairs of which the device said so

  EndpointCounters& operator+=(const EndpointCounters& other) {
    requests += other.requests;
    doorbells += other.doorbells;
    signalled += other.signalled;
    inlined += other.inlined;
    completions += other.completions;
    sends += other.sends;
    received += other.received;
    errors += other.errors;
    return *this;
  }
  void describe(Facts& facts) const {
    facts.count("requests", requests);
    facts.count("doorbells", doorbells);
    facts.count("signalled", signalled);
    facts.count("inlined", inlined);
    facts.count("completions", completions);
    facts.count("sends", sends);
    facts.count("received", received);
    facts.count("errors", errors);
  }
};

}  // namespace namdb::fabric::verbs
