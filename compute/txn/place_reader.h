// READs many records for a scan, at places that buckets named, without a lookup for each: nearly all of them
// show at once the version that the transaction sees. A few others are being written, or show a version that
// is too new. They are left to lookups (lookup.h), which begin with the bytes that were READ.
//
// For transactions whose protocol does not validate what it reads.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "common/fabric/local_pool.h"
#include "compute/api/table.h"
#include "compute/cluster/batch_set.h"
#include "compute/txn/place_order.h"
#include "compute/txn/transaction_state.h"

namespace namdb::protocol {

class PlaceReader {
 public:
  // The transaction and the table outlive it.
  PlaceReader(TransactionState& transaction, const storage::Table& table)
      : transaction_(transaction), table_(table), batches_(transaction.worker().cluster) {}

  // READs the records, whose order is that of their addresses or the reverse of it. Then take() has them.
  reactor::Task<Status> read(std::span<const RecordPlace> places);
  // A record that needs a lookup, and its bytes (Lookup::read_from), which stay until the next read().
  struct Left {
    RecordPlace place;
    const std::byte* bytes = nullptr;
  };
  // Calls give(payload) for each row that the transaction sees, and adds the others to `left`.
  template <typename Give>
  void take(std::vector<Left>* left, const Give& give) {
    for (const Read& read : reads_) {
      std::span<const std::byte> payload;
      switch (decide(read, payload)) {
        case Decision::row:
          give(payload);
          break;
        case Decision::none:
          break;
        case Decision::lookup:
          left->push_back({read.place, bytes_.data() + read.at});
          break;
      }
    }
  }

 private:
  struct Read {
    RecordPlace place;
    std::size_t at = 0;  // in bytes_
  };
  enum class Decision : std::uint8_t { row, none, lookup };
  Decision decide(const Read& read, std::span<const std::byte>& payload);
  // Adds a READ of the records from there on that lie so near to each other; the first one behind them.
  std::size_t add_run(std::size_t first, std::uint64_t gap_bytes);

  TransactionState& transaction_;
  const storage::Table& table_;
  txn::BatchSet batches_;
  std::vector<Read> reads_;  // in the order of addresses
  fabric::LocalBuffer bytes_;
  std::size_t used_bytes_ = 0;
  // The header word of an unlocked record whose version the transaction sees: many records have the same.
  layout::HeaderWord visible_;
};

}  // namespace namdb::protocol
