// The search for the stages that are better two-sided (RCC §5.1): every stage code of a protocol is run for a
// moment, the better ones for longer, until only finalists are left. Decides; runs nothing itself.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/protocols/stages.h"
#include "tools/nambench/comparison/measurement.h"

namespace namdb::nambench {

// Without the stages that the protocol has not.
protocol::StageCode stages_that_it_has(std::string_view protocol, protocol::StageCode code);
// The stages that the protocol has, all two-sided.
protocol::StageCode pure_two_sided(std::string_view protocol);
// Every code in which only stages of `varied` are two-sided: one-sided first, `varied` last.
std::vector<protocol::StageCode> stage_codes(protocol::StageCode varied);
// Of the stages of `code` those that a transaction of that measurement comes to, which had times of stages:
// whether the others are one-sided or two-sided makes no difference.
protocol::StageCode stages_that_run(protocol::StageCode code, const Measurement& measurement);
// For people: "two-sided" also where the protocol lacks a stage.
std::string stage_text(std::string_view protocol, protocol::StageCode code);

// The number of codes that each round of a search runs, pure ones included; the first round runs all. A third
// of the codes that are not pure go on to the next round. After the last round there are at most `finalists`
// of them, and the pure ones.
std::vector<std::size_t> round_sizes(std::size_t codes, std::size_t finalists);

// Which of the candidates go on, by their positions, in their order: the pure ones always, and of the others
// those with the highest scores, `keep` in all.
std::vector<std::size_t> survivors(std::span<const double> scores, const std::vector<bool>& pure,
                                   std::size_t keep);

}  // namespace namdb::nambench
