// The samples that a daemon shows, in the text format of Prometheus. Names are namdb_..., lower case, with
// their unit last; those that only grow end in _total. docs/metrics.md lists them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace namdb::metrics {

using Labels = std::vector<std::pair<std::string, std::string>>;

// One page, made anew for each reader. Samples of one name form a family, which stands where its first sample
// was added; its help is that sample's.
class MetricPage {
 public:
  MetricPage();
  ~MetricPage();
  MetricPage(MetricPage&&) noexcept;
  MetricPage& operator=(MetricPage&&) noexcept;

  // A number that only grows while the process lives.
  void counter(std::string_view name, std::string_view help, double value, Labels labels = {});
  void gauge(std::string_view name, std::string_view help, double value, Labels labels = {});
  // A gauge whose value is 1: its labels say something.
  void info(std::string_view name, std::string_view help, Labels labels);

  std::string text() const;

 private:
  struct Families;
  std::unique_ptr<Families> families_;
};

// For values that are counted as integers: exact up to 2^53.
inline double amount(std::uint64_t value) {
  return static_cast<double>(value);
}
inline double seconds(std::uint64_t duration_ns) {
  return static_cast<double>(duration_ns) / 1e9;
}

}  // namespace namdb::metrics
