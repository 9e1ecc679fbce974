#include "common/fabric/sim/options.h"

#include <array>

namespace namdb::fabric::sim {
namespace {

template <typename T, std::size_t N>
T pick(Random& random, const std::array<T, N>& values) {
  return values[random.below(N)];
}

Latency swarm_latency(Random& random) {
  Latency latency;
  latency.min_ns = pick<std::uint64_t>(random, std::array<std::uint64_t, 3>{1, 500, 2'000});
  latency.spread_ns =
      pick<std::uint64_t>(random, std::array<std::uint64_t, 5>{0, 10, 1'000, 10'000, 100'000});
  latency.tail_probability = pick(random, std::array{0.0, 0.0, 0.01, 0.2});
  latency.tail_ns = pick<std::uint64_t>(random, std::array<std::uint64_t, 3>{10'000, 200'000, 5'000'000});
  return latency;
}

}  // namespace

std::uint64_t Latency::draw(Random& random) const {
  std::uint64_t duration_ns = min_ns;
  if (spread_ns != 0) duration_ns += random.below(spread_ns + 1);
  if (tail_probability > 0 && random.chance(tail_probability)) duration_ns += random.below(tail_ns + 1);
  return duration_ns;
}

SimOptions SimOptions::swarm(Random& random) {
  SimOptions options;
  options.request = swarm_latency(random);
  options.reply = swarm_latency(random);
  options.turn = {0, pick<std::uint64_t>(random, std::array<std::uint64_t, 4>{0, 50, 1'000, 20'000}), 0, 0};
  options.notice = swarm_latency(random);
  options.link_factor = pick<std::uint64_t>(random, std::array<std::uint64_t, 3>{1, 3, 20});
  options.tear_steps = pick<std::uint32_t>(random, std::array<std::uint32_t, 5>{1, 2, 4, 8, 64});
  options.tear_gap_ns = pick<std::uint64_t>(random, std::array<std::uint64_t, 4>{1, 100, 2'000, 50'000});
  options.late_landing = pick(random, std::array{0.0, 0.5, 1.0});
  options.scribble = pick(random, std::array{0.0, 0.5, 1.0});
  options.atomics_with_cpu = random.chance(0.5);
  options.split_atomics = pick(random, std::array{0.0, 0.5, 1.0});
  options.partial_write = pick(random, std::array{0.0, 0.5, 1.0});
  options.clock_drift_ppm = pick<std::uint32_t>(random, std::array<std::uint32_t, 3>{0, 50, 1'000});
  options.long_tear = pick(random, std::array{0.0, 0.0, 0.02, 0.2});
  return options;
}

}  // namespace namdb::fabric::sim
