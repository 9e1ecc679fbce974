// Byte streams in virtual time. Written bytes arrive later, in pieces and in order; reads are short. Now and
// then the connection breaks while bytes are on their way, and loses a suffix of them.
#pragma once

#include <cstdint>
#include <memory>

#include "common/fabric/sim/world.h"
#include "common/reactor/stream.h"

namespace namdb::sim {

struct StreamOptions {
  fabric::sim::Latency piece{1'000, 1'000, 0, 0};  // from one piece, or the write, to the next one's arrival
  std::uint64_t most_pieces = 1;                   // of a write
  std::uint64_t most_bytes = 64U << 10;            // that one read gives
  double cut_probability = 0;  // for each write: the connection breaks while it is on its way

  // Every option by the seed.
  static StreamOptions swarm(Random& random);
};

struct StreamPair {
  std::unique_ptr<reactor::ByteStream> client;
  std::unique_ptr<reactor::ByteStream> server;
};

// Both ends belong to the executor. The world outlives them.
StreamPair connect_streams(fabric::sim::SimWorld& world, reactor::Executor& executor,
                           const StreamOptions& options);

}  // namespace namdb::sim
