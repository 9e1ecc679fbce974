// A small, fast, seeded generator (xoshiro256**). Everything random in namdb draws from one that it was
// given, so that one seed decides a simulated run. Not for secrets: those come from OpenSSL.
#pragma once

#include <array>
#include <cstdint>

namespace namdb {

class Random {
 public:
  using result_type = std::uint64_t;

  explicit Random(std::uint64_t seed);

  std::uint64_t next();
  // Uniform in [0, bound); bound > 0.
  std::uint64_t below(std::uint64_t bound);
  // Uniform in [low, high], both included.
  std::uint64_t between(std::uint64_t low, std::uint64_t high) { return low + below(high - low + 1); }
  // Uniform in [0, 1).
  double unit();
  bool chance(double probability) { return unit() < probability; }
  // A generator for a part of the work, decided by this one's state.
  Random fork() { return Random(next()); }
  // For tests of determinism: equal states draw equal numbers.
  std::uint64_t state_hash() const;

  static constexpr std::uint64_t min() { return 0; }
  static constexpr std::uint64_t max() { return ~std::uint64_t{0}; }
  std::uint64_t operator()() { return next(); }

 private:
  std::array<std::uint64_t, 4> state_;
};

}  // namespace namdb
