#include "compute/cluster/optimisations.h"

#include <algorithm>
#include <array>

namespace namdb::txn {
namespace {

struct Name {
  std::string_view text;
  bool Optimisations::* member;
};

constexpr std::array kNames = {
    Name{"outstanding-requests", &Optimisations::outstanding_requests},
    Name{"doorbell-batching", &Optimisations::doorbell_batching},
    Name{"location-cache", &Optimisations::location_cache},
    Name{"speculative-reads", &Optimisations::speculative_reads},
    Name{"passive-acknowledgement", &Optimisations::passive_acknowledgement},
    Name{"adaptive-backoff", &Optimisations::adaptive_backoff},
};

}  // namespace

std::optional<Optimisations> Optimisations::leave_out(std::string_view list) const {
  Optimisations all = *this;
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    const auto* const found = std::ranges::find(kNames, list.substr(0, comma), &Name::text);
    if (found == kNames.end() || comma == list.size() - 1) return std::nullopt;
    all.*found->member = false;
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
  }
  return all;
}

std::string Optimisations::names() {
  std::string all;
  for (const Name& name : kNames) all += (all.empty() ? "" : ", ") + std::string(name.text);
  return all;
}

}  // namespace namdb::txn
