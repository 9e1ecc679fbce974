// Journal items in pieces are the bytes that they are in one buffer.
#include "compute/commit/room_items.h"

#include <catch2/catch.hpp>

#include "common/base/random.h"

namespace namdb::protocol {
namespace room_items_test {

constexpr layout::StreamPlace kPlace{20, 1, 640};
constexpr std::size_t kPiece_bytes = layout::JournalRoomChecksum::kPiece_bytes;

// Chains with records of any length, until there are so many bytes.
void add_items(layout::JournalItems& items, std::uint64_t seed, std::size_t length_bytes) {
  Random random(seed);
  std::vector<std::byte> bytes(20'000);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(random.next());
  for (std::size_t used = 0; used < length_bytes;) {
    const std::size_t record_bytes = 8 * (1 + random.below(bytes.size() / 8));
    items.chain(layout::GlobalAddress(1, 192), 1, 2);
    items.chain_record(layout::GlobalAddress(1, 640), 7, std::span(bytes).first(record_bytes));
    items.chain_write(layout::GlobalAddress(1, 200), std::span(bytes).last(184));
    used += layout::JournalItems::kChain_bytes + layout::JournalItems::chain_record_bytes(record_bytes) +
            layout::JournalItems::chain_write_bytes(184);
  }
}

TEST_CASE("journal items in pieces are the same bytes and have the same checksum as in one", "[room-items]") {
  const std::size_t length_bytes = GENERATE(std::size_t{1}, kPiece_bytes - 20'000, kPiece_bytes - 1,
                                            kPiece_bytes + 100, 3 * kPiece_bytes + 5);
  const std::uint64_t seed = GENERATE(1, 2, 3);
  std::vector<std::byte> whole(length_bytes + 40'000);
  layout::JournalItems items(whole);
  add_items(items, seed, length_bytes);
  whole.resize(items.used_bytes());

  fabric::LocalPool pool;
  std::vector<std::byte> joined;
  layout::JournalRoomChecksum checksum;
  {
    RoomItems in_pieces(pool);
    add_items(in_pieces, seed, length_bytes);
    RoomItems::Pieces pieces = in_pieces.take_full();
    for (RoomItems::Piece& piece : in_pieces.take_rest()) pieces.push_back(std::move(piece));
    for (const RoomItems::Piece& piece : pieces) {
      joined.insert(joined.end(), piece.buffer.data(), piece.buffer.data() + piece.length_bytes);
      checksum.add({piece.buffer.data(), piece.length_bytes});
      CHECK(piece.length_bytes <= kPiece_bytes);
    }
  }
  CHECK((joined == whole));  // without half a megabyte in the message
  CHECK(checksum.at(kPlace) == layout::journal_room_checksum(whole, kPlace));
  CHECK(checksum.at({20, 1, 704}) != checksum.at(kPlace));
  CHECK(pool.used_bytes() == 0);
}

TEST_CASE("an update whose head crosses the end of a piece keeps its length", "[room-items]") {
  // The update begins so many bytes before the end of the first piece.
  const std::size_t before_end = GENERATE(std::size_t{8}, std::size_t{16}, std::size_t{24}, std::size_t{0});
  std::vector<std::byte> body(248);
  std::vector<std::byte> displaced(body.size());
  body[64] = std::byte{7};
  const auto add = [&](layout::JournalItems& items) {
    const std::size_t begin = kPiece_bytes - before_end;
    if (begin % 16 != 0) items.chain_write(layout::GlobalAddress(1, 200), std::span(body).first(8));
    while (items.used_bytes() < begin) items.chain(layout::GlobalAddress(1, 192), 0, 0);
    items.update(layout::GlobalAddress(1, 1280), 3, body, displaced, layout::ImageForm::whole);
  };
  std::vector<std::byte> whole(kPiece_bytes + 4096);
  layout::JournalItems items(whole);
  add(items);
  whole.resize(items.used_bytes());
  fabric::LocalPool pool;
  std::vector<std::byte> joined;
  {
    RoomItems in_pieces(pool);
    add(in_pieces);
    RoomItems::Pieces pieces = in_pieces.take_full();
    for (RoomItems::Piece& piece : in_pieces.take_rest()) pieces.push_back(std::move(piece));
    for (const RoomItems::Piece& piece : pieces)
      joined.insert(joined.end(), piece.buffer.data(), piece.buffer.data() + piece.length_bytes);
  }
  CHECK((joined == whole));  // without half a megabyte in the message
}

}  // namespace room_items_test
}  // namespace namdb::protocol
