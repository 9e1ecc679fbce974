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

std::string key_of(const std::string& text, const std::vector<Oid>& parameters) {
  std::string key = text;
  key += '\0';
  for (const Oid oid : parameters) key += std::to_string(oid) + ' ';
  return key;
}

}  // namespace

std::shared_ptr<const Plan> PlanCache::find(const std::string& text,
                                            const std::vector<Oid>& parameters) const {
  const auto found = plans_.find(key_of(text, parameters));
  return found == plans_.end() ? nullptr : found->second.lock();
}

void PlanCache::add(const std::string& text, const std::vector<Oid>& parameters,
                    const std::shared_ptr<const Plan>& plan) {
  if (depends_on_time(text)) return;
  plans_[key_of(text, parameters)] = plan;
  if (plans_.size() < sweep_at_) return;
  std::erase_if(plans_, [](const auto& entry) { return entry.second.expired(); });
  sweep_at_ = std::max<std::size_t>(64, 2 * plans_.size());
}

}  // namespace namdb::sql
