#include "common/metrics/metric_page.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <map>
#include <sstream>

namespace namdb::metrics {

struct MetricPage::Families {
  std::vector<prometheus::MetricFamily> all;
  std::map<std::string, std::size_t, std::less<>> places;

  prometheus::ClientMetric& add(std::string_view name, std::string_view help, prometheus::MetricType type,
                                Labels labels) {
    const auto [place, is_new] = places.try_emplace(std::string(name), all.size());
    if (is_new) {
      all.emplace_back();
      all.back().name = name;
      all.back().help = help;
      all.back().type = type;
    }
    prometheus::ClientMetric& sample = all[place->second].metric.emplace_back();
    for (auto& [label, value] : labels) sample.label.push_back({std::move(label), std::move(value)});
    return sample;
  }
};

MetricPage::MetricPage() : families_(std::make_unique<Families>()) {}
MetricPage::~MetricPage() = default;
MetricPage::MetricPage(MetricPage&&) noexcept = default;
MetricPage& MetricPage::operator=(MetricPage&&) noexcept = default;

void MetricPage::counter(std::string_view name, std::string_view help, double value, Labels labels) {
  families_->add(name, help, prometheus::MetricType::Counter, std::move(labels)).counter.value = value;
}

void MetricPage::gauge(std::string_view name, std::string_view help, double value, Labels labels) {
  families_->add(name, help, prometheus::MetricType::Gauge, std::move(labels)).gauge.value = value;
}

void MetricPage::info(std::string_view name, std::string_view help, Labels labels) {
  gauge(name, help, 1, std::move(labels));
}

std::string MetricPage::text() const {
  std::ostringstream text;
  prometheus::TextSerializer().Serialize(text, families_->all);
  return text.str();
}

}  // namespace namdb::metrics
