// SCAN (common/calls/scan_calls.h): walks over the places of records that the table's slabs have given out.
// Every body that certifies there is of a committed transaction, since an install follows its log, and a
// place is zero when it is given out; so the places alone lead to all rows, and no bucket is needed.
//
// Where parts of rows are wanted, header word and body are copied and the copy must certify. Where none are,
// the header word decides alone: it is one word, and a writer changes it behind all that it writes.
//
// Others have their turn between parts of the walk. Errors protocol_violation, catalog_changed.
#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "common/calls/scan_calls.h"
#include "common/layout/record.h"
#include "common/layout/words.h"
#include "memory/calls/methods.h"

namespace namdb::memory::handlers {
namespace {

// Of one turn: places, and the bytes that are copied and checked there.
constexpr std::size_t kPlacesInTurn = 512;
constexpr std::size_t kTurn_bytes = std::size_t{256} << 10;
// Records ahead of the one that is read: each lies in lines of memory of its own.
constexpr std::size_t kPrefetched = 12;

class Walk {
 public:
  Walk(const Region& region, const Table& table, const calls::ScanRequest& request, std::string& reply)
      : region_(region),
        table_(table.shape.id),
        has_parts_(!request.parts.empty()),
        writer_(reply, request.parts),
        copy_(has_parts_ ? table.shape.record.current_bytes() : 8 + layout::kBodyPrefix_bytes) {}

  std::size_t places_in_turn() const {
    return std::clamp<std::size_t>(kTurn_bytes / copy_.size(), 1, kPlacesInTurn);
  }
  // The number of places that were examined before the reply was full.
  std::size_t look_at(std::span<const std::uint64_t> places) {
    for (std::size_t i = 0; i < std::min(kPrefetched, places.size()); ++i) prefetch(places[i]);
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (began_ && !writer_.has_room()) return i;
      began_ = true;
      if (i + kPrefetched < places.size()) prefetch(places[i + kPrefetched]);
      look_at(places[i]);
    }
    return places.size();
  }
  bool full() const { return began_ && !writer_.has_room(); }
  void finish(std::uint64_t after) { writer_.finish(after); }

 private:
  void prefetch(std::uint64_t place) const {
    for (std::size_t at = 0; at < copy_.size(); at += 64) __builtin_prefetch(region_.at(place + at));
  }
  void look_at(std::uint64_t place) {
    region_.read(place, copy_);
    const std::span<const std::byte> body = std::span<const std::byte>(copy_).subspan(8);
    const layout::BodyHeader found = layout::decode_body_header(body.data());
    const layout::HeaderWord header(layout::load_word(copy_.data()));
    if (found.table == 0) return;  // nothing was installed yet
    // A reclaimed tombstone, older than every snapshot: it waits until its memory may be used again.
    if (found.deleted && header.locked() && header.stamp().slot == layout::kCollectorSlot) return;
    const std::uint64_t location = layout::BucketEntry::make(0, place, found.incarnation).location;
    const bool whole = found.table == table_ && header == found.header_word() && header.value() != 0 &&
                       (!has_parts_ || layout::certify_body(body, region_.address(place)));
    if (whole) {
      writer_.add(header, location, body.data() + layout::kBodyPrefix_bytes);
    } else {
      writer_.add({}, location, nullptr);
    }
  }

  const Region& region_;
  std::uint32_t table_;
  bool has_parts_;
  calls::ScanWriter writer_;
  std::vector<std::byte> copy_;  // of one record: header word and body, or what is before the row
  bool began_ = false;
};

}  // namespace

reactor::Task<Status> scan(Call call) {
  ServerState& server = call.caller.server;
  const auto request = calls::decode_scan(call.request);
  if (!request) co_return malformed(call.method);
  const TablePointer table = server.tables.find(request->table);
  const Status dropped(ErrorCode::catalog_changed,
                       "the table was dropped or rebuilt while the transaction ran");
  if (!table) co_return dropped;
  if (!request->parts.empty()) {
    const calls::ScanPart& last = request->parts.back();
    if (last.begin + last.length_bytes > table->shape.record.payload_bytes) co_return malformed(call.method);
  }
  Walk walk(*server.region, *table, *request, call.reply);
  std::uint64_t after = request->after;
  std::array<std::uint64_t, kPlacesInTurn> places{};
  for (std::size_t left = request->most_places; left != 0 && !walk.full();) {
    const std::size_t wanted = std::min(left, walk.places_in_turn());
    const std::size_t count = table->records.used_behind(after, std::span(places).first(wanted));
    if (count == 0) {
      after = 0;
      break;
    }
    const std::size_t seen = walk.look_at(std::span(places).first(count));
    after = places[seen - 1];
    left -= seen;
    if (seen < wanted || left == 0) continue;
    co_await server.executor.yield();
    if (table->discarded) co_return dropped;
  }
  walk.finish(after);
  co_return Status();
}

}  // namespace namdb::memory::handlers
