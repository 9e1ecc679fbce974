#include "compute/protocol/calvin/order_queue.h"

#include <algorithm>

#include "common/base/check.h"
#include "common/layout/age.h"

namespace namdb::protocol {
namespace {

constexpr std::uint32_t hash_of(OrderRow row) {
  return row >> 1;
}
constexpr bool writes(OrderRow row) {
  return (row & 1U) != 0;
}

}  // namespace

bool OrderedTransaction::comes_before(const OrderedTransaction& other) const {
  if (number == 0) return true;
  if (number != other.number) return layout::later(other.number, number);
  return slot != other.slot ? slot < other.slot : sequence < other.sequence;
}

void OrderQueue::add(const Ref& transaction) {
  NAMDB_CHECK(!transaction->queued);
  transaction->queued = true;
  for (const OrderRow row : transaction->rows) {
    Queue& queue = rows_[hash_of(row)];
    for (const Ref& other : queue) {
      if (transaction->remote || !other->comes_before(*transaction)) continue;
      const auto shared = std::ranges::lower_bound(other->rows, hash_of(row), {}, hash_of);
      if (!writes(row) && !writes(*shared)) continue;
      ++transaction->waits_for;
      if (other->remote) ++transaction->waits_for_remote;
      other->followers.push_back(transaction);
    }
    queue.push_back(transaction);
  }
}

bool OrderQueue::let_go(OrderedTransaction& follower, bool remote) {
  --follower.waits_for;
  if (remote) --follower.waits_for_remote;
  return follower.may_go();
}

std::vector<OrderQueue::Ref> OrderQueue::settle(OrderedTransaction& transaction, std::uint32_t number) {
  transaction.number = number;
  std::vector<Ref> free;
  std::erase_if(transaction.followers, [&](const Ref& follower) {
    if (transaction.comes_before(*follower)) return false;
    if (let_go(*follower, transaction.remote)) free.push_back(follower);
    return true;
  });
  return free;
}

std::vector<OrderQueue::Ref> OrderQueue::remove(OrderedTransaction& transaction) {
  std::vector<Ref> free;
  if (!transaction.queued) return free;
  transaction.queued = false;
  for (const OrderRow row : transaction.rows) {
    const auto queue = rows_.find(hash_of(row));
    NAMDB_CHECK(queue != rows_.end());
    std::erase_if(queue->second, [&](const Ref& other) { return other.get() == &transaction; });
    if (queue->second.empty()) rows_.erase(queue);
  }
  for (const Ref& follower : transaction.followers) {
    if (let_go(*follower, transaction.remote)) free.push_back(follower);
  }
  transaction.followers.clear();
  return free;
}

void normalize(std::vector<OrderRow>& rows) {
  std::ranges::sort(rows);
  std::vector<OrderRow> once;
  for (const OrderRow row : rows) {
    if (!once.empty() && hash_of(once.back()) == hash_of(row)) {
      once.back() |= row;
    } else {
      once.push_back(row);
    }
  }
  rows = std::move(once);
}

}  // namespace namdb::protocol
