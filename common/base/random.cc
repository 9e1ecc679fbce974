#include "common/base/random.h"

#include <bit>

namespace namdb {

Random::Random(std::uint64_t seed) {
  // splitmix64 spreads a small seed over the whole state.
  for (auto& word : state_) {
    seed += 0x9e3779b97f4a7c15ULL;
    std::uint64_t z = seed;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    word = z ^ (z >> 31);
  }
}

std::uint64_t Random::next() {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t t = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= t;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

std::uint64_t Random::below(std::uint64_t bound) {
  return static_cast<std::uint64_t>((static_cast<unsigned __int128>(next()) * bound) >> 64);
}

double Random::unit() {
  return static_cast<double>(next() >> 11) * 0x1.0p-53;
}

std::uint64_t Random::state_hash() const {
  std::uint64_t hash = 0;
  for (const std::uint64_t word : state_) hash = std::rotl(hash, 13) * 0x9e3779b97f4a7c15ULL ^ word;
  return hash;
}

}  // namespace namdb
