// The options that a simulated run draws from its seed: latencies, tearing, faults. The defaults are a mild
// network on which nothing fails; swarm() picks every option by the seed, some at zero and some at extremes,
// because bugs live in corners that one fixed setting never visits.
#pragma once

#include <cstdint>

#include "common/base/clock.h"
#include "common/base/random.h"

namespace namdb::fabric::sim {

// min + uniform(spread), or with tail_probability the same plus uniform(tail).
struct Latency {
  std::uint64_t min_ns = 0;
  std::uint64_t spread_ns = 0;
  double tail_probability = 0;
  std::uint64_t tail_ns = 0;

  std::uint64_t draw(Random& random) const;
};

struct SimOptions {
  // From post to the operation's first word at the server, drawn for each operation by itself.
  Latency request{500, 1000, 0, 0};
  // From the last effect of a batch, or the end of a call's handler, to the completion at the client.
  Latency reply{500, 1000, 0, 0};
  // From a coroutine's becoming ready to its node's next turn.
  Latency turn{0, 200, 0, 0};
  // From a cut to the client's notice of it, and from the last effect to the server's on_disconnect.
  Latency notice{1000, 100'000, 0, 0};
  // Each connection multiplies request and reply by a factor from 1 to this.
  std::uint64_t link_factor = 1;

  // The words of a READ or WRITE move at up to this many instants, each word at one of them by the seed.
  std::uint32_t tear_steps = 4;
  // Time between two such instants: 1 ... tear_gap_ns.
  std::uint64_t tear_gap_ns = 300;
  // With this probability an operation's gaps are 1 ... long_tear_gap_ns instead: long enough for whole
  // commits of others between two of its words, while these are quick.
  double long_tear = 0;
  std::uint64_t long_tear_gap_ns = 50'000;
  // Probability that the bytes of a READ or an atomic reach the local buffer only with the completion.
  double late_landing = 0.5;
  // Probability that a READ's or an atomic's destination is overwritten with garbage when it is posted.
  double scribble = 0.5;

  // Reported by the channels. If false, an atomic is, with split_atomics' probability, a fetch and a later
  // store with WRITEs and the server's CPU in between; it stays atomic among atomics.
  bool atomics_with_cpu = false;
  double split_atomics = 0.5;

  // Probability, for each posted batch, that its connection is cut.
  double cut_probability = 0;
  // At a cut: the WRITE that is partly carried out is stopped in the middle with this probability.
  double partial_write = 0.5;

  // Probability, for each turn of a node, that the node is paused before it, and for how long.
  double pause_probability = 0;
  Latency pause{1 * kMillisecond_ns, 10 * kMillisecond_ns, 0, 0};

  // Nodes' clocks start at different values and run faster or slower by up to this.
  std::uint32_t clock_drift_ppm = 0;

  // Every option by the seed. Faults that lose connections or stop nodes stay off: a test turns them on.
  static SimOptions swarm(Random& random);
};

}  // namespace namdb::fabric::sim
