#include "tools/nambench/comparison/stage_search.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

#include "common/protocols/protocol.h"

namespace namdb::nambench {
namespace {

constexpr std::size_t kPure = 2;
constexpr std::size_t kSharePerRound = 3;
constexpr double kSeldom = 0.01;  // of the transactions

std::vector<protocol::Stage> stages_of(protocol::StageCode code) {
  std::vector<protocol::Stage> stages;
  for (std::size_t i = 0; i < protocol::kStageNames.size(); ++i) {
    if (const auto stage = static_cast<protocol::Stage>(i); code.two_sided(stage)) stages.push_back(stage);
  }
  return stages;
}

}  // namespace

protocol::StageCode stages_that_it_has(std::string_view protocol, protocol::StageCode code) {
  const protocol::ProtocolTraits& traits = *protocol::find_protocol(protocol);
  for (const protocol::Stage stage : stages_of(code)) {
    if (!traits.has(stage)) code = code.without(stage);
  }
  return code;
}

protocol::StageCode pure_two_sided(std::string_view protocol) {
  return stages_that_it_has(protocol, protocol::StageCode::two_sided());
}

std::vector<protocol::StageCode> stage_codes(protocol::StageCode varied) {
  const std::vector<protocol::Stage> stages = stages_of(varied);
  std::vector<std::uint32_t> all(std::size_t{1} << stages.size());
  for (std::uint32_t bits = 0; bits < all.size(); ++bits) all[bits] = bits;
  std::ranges::sort(all, {}, [](std::uint32_t bits) { return std::pair(std::popcount(bits), bits); });
  std::vector<protocol::StageCode> codes;
  for (const std::uint32_t bits : all) {
    protocol::StageCode code;
    for (std::size_t i = 0; i < stages.size(); ++i) {
      if ((bits >> i & 1) != 0) code = code.with(stages[i]);
    }
    codes.push_back(code);
  }
  return codes;
}

protocol::StageCode stages_that_run(protocol::StageCode code, const Measurement& measurement) {
  using protocol::Stage;
  const auto times = [&](Stage stage) {
    const std::string_view name = protocol::kStageNames[static_cast<std::size_t>(stage)];
    const auto found = std::ranges::find(measurement.time_shares, name, &support::TimeShare::name);
    return found == measurement.time_shares.end() ? 0.0 : found->times;
  };
  // The others are in every transaction that writes.
  for (const Stage stage : {Stage::find, Stage::validate, Stage::renew}) {
    if (times(stage) < kSeldom) code = code.without(stage);
  }
  // In the background, mostly: no transaction waits.
  if (measurement.aborts_percent < 100 * kSeldom) code = code.without(Stage::release);
  return code;
}

std::string stage_text(std::string_view protocol, protocol::StageCode code) {
  return code == pure_two_sided(protocol) ? "two-sided" : code.text();
}

std::vector<std::size_t> round_sizes(std::size_t codes, std::size_t finalists) {
  std::vector<std::size_t> sizes;
  const std::size_t goal = finalists + kPure;
  for (std::size_t size = codes; size > goal;) {
    sizes.push_back(size);
    const std::size_t others = size - std::min(size, kPure);
    size = std::max(kPure + (others + kSharePerRound - 1) / kSharePerRound, goal);
  }
  return sizes;
}

std::vector<std::size_t> survivors(std::span<const double> scores, const std::vector<bool>& pure,
                                   std::size_t keep) {
  std::vector<std::size_t> order(scores.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    if (pure[a] != pure[b]) return bool{pure[a]};
    return scores[a] == scores[b] ? a < b : scores[a] > scores[b];
  });
  const auto all_pure = static_cast<std::size_t>(std::ranges::count(pure, true));
  order.resize(std::min(order.size(), std::max(keep, all_pure)));
  std::ranges::sort(order);
  return order;
}

}  // namespace namdb::nambench
