#include "compute/protocol/drtm/read_leases.h"

#include <algorithm>
#include <utility>

#include "common/layout/record_trailer.h"

namespace namdb::protocol::drtm {

bool ReadLeases::has(const Lookup& lookup) const {
  if (lookup.share() == 0) return false;
  const Lease& lease = leases_[lookup.share() - 1];
  return lease.held && lease.record == lookup.record();
}

std::uint64_t ReadLeases::known_ns(const Lookup& lookup) const {
  const std::uint64_t noted_ns = guesses_.find_lease(lookup.record(), learned_);
  return lookup.done() ? std::max(noted_ns, lookup.waiter().value()) : noted_ns;
}

bool ReadLeases::post(Lookup& lookup, std::uint64_t length_ns, txn::BatchSet& batches) {
  if (has(lookup)) return true;
  const txn::SoftTime& time = worker_.cluster.soft_time();
  if (time.unknown()) return false;
  const txn::TimeBounds now = time.now();
  if (now.width_ns() > kWidestTime_ns) return false;
  Lease& lease = leases_.emplace_back();
  lease.record = lookup.record();
  lease.lookup = &lookup;
  lease.known_ns = known_ns(lookup);
  ++posted_;
  if (read_access({{}, lease.known_ns}, now) == ReadAccess::share) {
    lease.end_ns = lease.known_ns;
    return true;
  }
  lease.end_ns = now.latest_ns + length_ns;
  lease.found = fabric::LocalBuffer(worker_.cluster.pool(), 8);
  layout::store_word(lease.found.data(), ~lease.known_ns);  // stays if no answer comes
  batches.compare_and_swap(lookup.record() + layout::read_lease_offset(lookup.table().record), lease.known_ns,
                           lease.end_ns, lease.found.data());
  return true;
}

void ReadLeases::collect() {
  for (std::size_t i = leases_.size() - posted_; i < leases_.size(); ++i) {
    Lease& lease = leases_[i];
    Lookup& lookup = *std::exchange(lease.lookup, nullptr);
    lease.held = true;
    if (lease.found) {
      const std::uint64_t found_ns = layout::load_word(lease.found.data());
      if (found_ns == ~lease.known_ns) {
        lease.held = false;
        continue;
      }
      if (found_ns != lease.known_ns) {
        // Others have been there. Their lease will do if it is long enough.
        lease.end_ns = found_ns;
        lease.held = read_access({{}, found_ns}, worker_.cluster.soft_time().now()) == ReadAccess::share;
      }
      guesses_.note_lease(lease.record, lease.end_ns, learned_);
    }
    if (lease.held) lookup.set_share(static_cast<std::uint32_t>(i + 1));
  }
  posted_ = 0;
}

}  // namespace namdb::protocol::drtm
