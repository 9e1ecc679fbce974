// The transactions that are in order, as one worker knows them: its own, and those of others that may come
// before. For each row there is a queue, as for a lock. A transaction may run once every earlier transaction
// that shares a row with it is gone; two transactions that only read a row do not wait for each other there.
// Rows are known by hashes: two rows of one hash are one row, which makes transactions wait for no need, and
// no more.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <absl/container/flat_hash_map.h>

namespace namdb::protocol {

// 31 bits of hash, and whether the transaction may write the row.
using OrderRow = std::uint32_t;
inline constexpr OrderRow order_row(std::uint32_t table, std::uint64_t key_hash, bool writes) {
  const std::uint64_t mixed = (key_hash ^ (std::uint64_t{table} << 32 | table)) * 0x9e37'79b9'7f4a'7c15U;
  return static_cast<OrderRow>(mixed >> 33 << 1) | (writes ? 1U : 0U);
}

struct OrderedTransaction {
  // Sorted by hash, each hash once.
  std::vector<OrderRow> rows;
  // Its place in the order: numbers of 32 bits that go round and round; then the slot of its lane, then its
  // place in its worker's order. Number 0: not known yet, and it may come before any other.
  std::uint32_t number = 0;
  std::uint32_t slot = 0;
  std::uint32_t sequence = 0;
  bool remote = false;

  // --- of the queue ---
  std::uint32_t waits_for = 0;         // rows and transactions
  std::uint32_t waits_for_remote = 0;  // of those
  std::vector<std::shared_ptr<OrderedTransaction>> followers;
  bool queued = false;

  bool may_go() const { return queued && waits_for == 0; }
  bool comes_before(const OrderedTransaction& other) const;
};

class OrderQueue {
 public:
  using Ref = std::shared_ptr<OrderedTransaction>;

  // All that come before a transaction of this worker are added before it is.
  void add(const Ref& transaction);
  // The number of a remote transaction that had none. Gives those that may go now.
  std::vector<Ref> settle(OrderedTransaction& transaction, std::uint32_t number);
  // The transaction is gone. Returns those that may go now.
  std::vector<Ref> remove(OrderedTransaction& transaction);

  bool empty() const { return rows_.empty(); }

 private:
  using Queue = std::vector<Ref>;
  static bool let_go(OrderedTransaction& follower, bool remote);

  absl::flat_hash_map<std::uint32_t, Queue> rows_;  // by hash
};

// Sorts the rows, and leaves each once: with the right to write where that was asked for.
void normalize(std::vector<OrderRow>& rows);

}  // namespace namdb::protocol
