#include "memory/units.h"

#include <bit>

#include "common/base/check.h"

namespace namdb::memory {

Units::Units(Region& region, std::uint64_t unit_bytes, bool zeroed)
    : region_(region),
      unit_bytes_(unit_bytes),
      zeroed_(zeroed),
      run_extents_(region.extents().extents_for(unit_bytes)),
      units_per_run_(run_extents_ * region.extents().extent_bytes() / unit_bytes) {
  NAMDB_CHECK(unit_bytes >= 8 && unit_bytes % 8 == 0);
}

bool Units::add_run() {
  // What is zeroed belongs to tables, which leave some to old versions.
  const std::uint64_t keep_free = zeroed_ ? region_.extents().reserve() : 0;
  const auto run = region_.extents().allocate(run_extents_, keep_free);
  if (!run) return false;
  if (zeroed_ && run->dirty) region_.zero(run->offset, run_extents_ * region_.extents().extent_bytes());
  Run& added = runs_[run->offset];
  added.bits.assign((units_per_run_ + 63) / 64, 0);
  // Bits behind the last piece are never free.
  if (units_per_run_ % 64 != 0) added.bits.back() = ~std::uint64_t{0} << (units_per_run_ % 64);
  open_.insert(run->offset);
  capacity_ += units_per_run_;
  return true;
}

std::optional<std::uint64_t> Units::allocate() {
  if (open_.empty() && !add_run()) return std::nullopt;
  const std::uint64_t base = *open_.begin();
  Run& run = runs_.find(base)->second;
  std::uint64_t word = run.hint / 64;
  while (run.bits[word] == ~std::uint64_t{0}) ++word;
  const std::uint64_t index = word * 64 + static_cast<std::uint64_t>(std::countr_one(run.bits[word]));
  run.bits[word] |= std::uint64_t{1} << (index % 64);
  run.hint = index + 1;
  ++run.used;
  ++used_;
  if (run.used == units_per_run_) open_.erase(base);
  return base + index * unit_bytes_;
}

Units::Runs::const_iterator Units::find(std::uint64_t offset) const {
  auto found = runs_.upper_bound(offset);
  if (found == runs_.begin()) return runs_.end();
  --found;
  const std::uint64_t distance = offset - found->first;
  return distance % unit_bytes_ == 0 && distance / unit_bytes_ < units_per_run_ ? found : runs_.end();
}

bool Units::used(std::uint64_t offset) const {
  const auto run = find(offset);
  if (run == runs_.end()) return false;
  const std::uint64_t index = (offset - run->first) / unit_bytes_;
  return (run->second.bits[index / 64] >> (index % 64) & 1) != 0;
}

void Units::free(std::uint64_t offset) {
  NAMDB_CHECK(used(offset));
  const auto found = runs_.find(find(offset)->first);
  Run& run = found->second;
  const std::uint64_t index = (offset - found->first) / unit_bytes_;
  run.bits[index / 64] &= ~(std::uint64_t{1} << (index % 64));
  if (index < run.hint) run.hint = index;
  --run.used;
  --used_;
  open_.insert(found->first);
  // One open run is kept, so that a piece that comes and goes does not take and return extents each time.
  if (run.used != 0 || open_.size() == 1) return;
  open_.erase(found->first);
  region_.extents().free(found->first, run_extents_);
  capacity_ -= units_per_run_;
  runs_.erase(found);
}

std::uint64_t Units::next_used(std::uint64_t offset) const {
  auto run = runs_.upper_bound(offset);
  if (run != runs_.begin() && offset != 0) --run;
  for (; run != runs_.end(); ++run) {
    const std::uint64_t first = offset < run->first ? 0 : (offset - run->first) / unit_bytes_ + 1;
    for (std::uint64_t index = first; index < units_per_run_; ++index) {
      const std::uint64_t rest = run->second.bits[index / 64] >> (index % 64);
      if (rest == 0) {
        index |= 63;
        continue;
      }
      index += static_cast<std::uint64_t>(std::countr_zero(rest));
      if (index < units_per_run_) return run->first + index * unit_bytes_;
    }
  }
  return 0;
}

std::vector<ExtentRun> Units::extent_runs() const {
  std::vector<ExtentRun> runs;
  for (const auto& [offset, run] : runs_) runs.push_back({offset, run_extents_, true});
  return runs;
}

void Units::release_all() {
  for (const auto& [offset, run] : runs_) region_.extents().free(offset, run_extents_);
  runs_.clear();
  open_.clear();
  used_ = 0;
  capacity_ = 0;
}

}  // namespace namdb::memory
