#include "compute/sql/plan/plan_cache.h"

#include <algorithm>
#include <cctype>

namespace namdb::sql {
namespace {

// Constants like 'now' keep the value of the time at which the statement was prepared.
bool depends_on_time(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  for (const std::string_view word : {"now", "today", "tomorrow", "yesterday", "||", "\\"}) {
    if (lower.find(word) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

std::shared_ptr<const Plan> PlanCache::find(std::string_view text, absl::Span<const Oid> parameters) const {
  const auto found = plans_.find(KeyView(text, parameters));
  return found == plans_.end() ? nullptr : found->second.lock();
}

void PlanCache::add(std::string_view text, absl::Span<const Oid> parameters,
                    const std::shared_ptr<const Plan>& plan) {
  if (depends_on_time(text)) return;
  plans_[Key(text, std::vector<Oid>(parameters.begin(), parameters.end()))] = plan;
  if (plans_.size() < sweep_at_) return;
  absl::erase_if(plans_, [](const auto& entry) { return entry.second.expired(); });
  sweep_at_ = std::max<std::size_t>(64, 2 * plans_.size());
}

}  // namespace namdb::sql
