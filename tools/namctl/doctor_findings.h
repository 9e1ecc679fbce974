// Judgement of a machine and a cluster for `namctl doctor`: facts in, findings out.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/namctl/cluster_view.h"
#include "tools/namctl/machine_facts.h"

namespace namdb::namctl {

// ok: as it should be. note: worth knowing. warning: works, but worse than it could, or not for long.
// failure: does not work, or data is at risk.
enum class Severity { ok, note, warning, failure };
std::string_view severity_name(Severity severity);

struct Finding {
  Severity severity = Severity::ok;
  std::string subject;  // "memory", "memory server 10.0.0.1:7400"
  std::string text;
  std::string cure;  // empty: nothing is to be done
};

std::vector<Finding> judge_machine(const MachineFacts& machine);

// `version`: of this namctl. `clock_offsets_s`: of each compute server's clock against this machine's, in the
// order of the view; nullopt where it is not known.
std::vector<Finding> judge_cluster(const ClusterView& view, const std::string& version,
                                   const std::vector<std::optional<double>>& clock_offsets_s);

}  // namespace namdb::namctl
