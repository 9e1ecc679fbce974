#include "workloads/workload.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace namdb::workloads {

Result<Mix> parse_mix(std::string_view text) {
  Mix mix;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view part = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    const std::size_t equals = part.find('=');
    double weight = 0;
    const std::string_view number =
        equals == std::string_view::npos ? std::string_view() : part.substr(equals + 1);
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), weight);
    if (error != std::errc() || end != number.data() + number.size() || !(weight >= 0) || weight > 1e9) {
      return Status(ErrorCode::invalid_parameter_value,
                    "a mix is name=weight,...; \"" + std::string(part) + "\" is no part of one");
    }
    mix.emplace_back(part.substr(0, equals), weight);
  }
  return mix;
}

std::optional<std::int64_t> Workload::partition_of(std::uint64_t) const {
  return std::nullopt;
}

std::int64_t Workload::call_change(const Call&, std::span<const procedure::Value>) const {
  return 0;
}

void Workload::add_table(TableSpec spec, std::uint64_t size_hint_rows, std::uint64_t units) {
  layout::Schema schema = spec.schema();
  tables_.push_back({std::move(spec), std::move(schema), std::max<std::uint64_t>(size_hint_rows, 1), units});
}

Status Workload::set_mix(std::vector<TransactionType> defaults, const Mix& mix) {
  transactions_ = std::move(defaults);
  if (!mix.empty()) {
    for (TransactionType& type : transactions_) type.weight = 0;
  }
  for (const auto& [name, weight] : mix) {
    const auto type = std::ranges::find(transactions_, name, &TransactionType::name);
    if (type == transactions_.end()) {
      std::string names;
      for (const TransactionType& known : transactions_) names += (names.empty() ? "" : ", ") + known.name;
      return Status(ErrorCode::invalid_parameter_value,
                    std::string(this->name()) + " has no transaction \"" + name + "\"", "it has " + names);
    }
    type->weight = weight;
  }
  total_weight_ = 0;
  for (const TransactionType& type : transactions_) total_weight_ += type.weight;
  if (!(total_weight_ > 0)) {
    return Status(ErrorCode::invalid_parameter_value, "the mix has no transaction with a weight");
  }
  return {};
}

std::size_t Workload::draw_type(Random& random) const {
  double left = random.unit() * total_weight_;
  std::size_t last = 0;
  for (std::size_t i = 0; i < transactions_.size(); ++i) {
    if (transactions_[i].weight <= 0) continue;
    last = i;
    left -= transactions_[i].weight;
    if (left < 0) break;
  }
  return last;
}

Random Workload::random_for(std::uint64_t purpose, std::uint64_t part) const {
  // Mixing by the generator itself: its seeding spreads neighbouring numbers.
  Random purposes(seed_ ^ (purpose * 0x9e3779b97f4a7c15ULL));
  return Random(purposes.next() ^ (part * 0xd1b54a32d192ed03ULL));
}

}  // namespace namdb::workloads
