#include "tools/support/report/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace namdb::support {
namespace {

constexpr unsigned kSubBits = 6;
constexpr std::size_t kBuckets = (64 - kSubBits + 1) << kSubBits;

// Values below 64 have a bucket each; above, the six bits after the leading one choose it.
std::size_t bucket_of(std::uint64_t value) {
  if (value < (1U << kSubBits)) return value;
  const unsigned shift = 63 - static_cast<unsigned>(std::countl_zero(value)) - kSubBits;
  return (static_cast<std::size_t>(shift + 1) << kSubBits) + ((value >> shift) & ((1U << kSubBits) - 1));
}

// The largest value of the bucket.
std::uint64_t bucket_end(std::size_t bucket) {
  const std::size_t row = bucket >> kSubBits;
  if (row == 0) return bucket;
  const std::uint64_t low = (1U << kSubBits) + (bucket & ((1U << kSubBits) - 1));
  const std::size_t shift = row - 1;
  return (low << shift) + ((std::uint64_t{1} << shift) - 1);
}

}  // namespace

Histogram::Histogram() : buckets_(kBuckets) {}

void Histogram::record(std::uint64_t value_ns) {
  ++buckets_[bucket_of(value_ns)];
  ++count_;
  sum_ns_ += value_ns;
  max_ns_ = std::max(max_ns_, value_ns);
}

void Histogram::merge(const Histogram& other) {
  for (std::size_t i = 0; i < buckets_.size(); ++i) buckets_[i] += other.buckets_[i];
  count_ += other.count_;
  sum_ns_ += other.sum_ns_;
  max_ns_ = std::max(max_ns_, other.max_ns_);
}

double Histogram::mean_ns() const {
  return count_ == 0 ? 0 : static_cast<double>(sum_ns_) / static_cast<double>(count_);
}

std::uint64_t Histogram::percentile_ns(double share) const {
  if (count_ == 0) return 0;
  const auto wanted =
      std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(count_))));
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    seen += buckets_[i];
    if (seen >= wanted) return std::min(bucket_end(i), max_ns_);
  }
  return max_ns_;
}

}  // namespace namdb::support
