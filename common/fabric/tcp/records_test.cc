// Records over memory: all that is sealed comes out, and nothing else does.
#include "common/fabric/tcp/records.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/crc32c.h"
#include "common/base/random.h"

namespace namdb::fabric::tcp {
namespace {

Secret secret_of(unsigned char byte) {
  Secret secret;
  secret.bytes.fill(byte);
  return secret;
}

std::string seal_with(RecordSealer& sealer, std::string_view plain) {
  reactor::OutputBuffer output;
  sealer.filter(std::as_bytes(std::span(plain)), output);
  return std::string(reinterpret_cast<const char*>(output.data()), output.size());
}

struct Opened {
  std::string bytes;
  bool forged = false;
};

// In pieces of at most that many bytes.
Opened open_with(RecordOpener& opener, std::string_view sealed_bytes, std::size_t piece_bytes) {
  Opened opened;
  while (!sealed_bytes.empty() && !opened.forged) {
    const std::string_view piece = sealed_bytes.substr(0, piece_bytes);
    sealed_bytes.remove_prefix(piece.size());
    std::span<const std::byte> bytes = std::as_bytes(std::span(piece));
    while (!bytes.empty() && !opened.forged) {
      const RecordOpener::State state = opener.take(bytes);
      opened.forged = state == RecordOpener::State::forged;
      if (state == RecordOpener::State::whole)
        opened.bytes.append(reinterpret_cast<const char*>(opener.opened().data()), opener.opened().size());
    }
  }
  return opened;
}

Opened open_new(std::string_view sealed_bytes) {
  RecordOpener opener(secret_of(1));
  return open_with(opener, sealed_bytes, sealed_bytes.size());
}

std::string noise(std::size_t length_bytes) {
  Random random(5);
  std::string bytes(length_bytes, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random.below(256));
  return bytes;
}

TEST_CASE("sealed bytes come out, however they are cut on the way") {
  const std::string plain = noise(200'000);
  for (const std::size_t piece_bytes : {1, 7, 1000, 16'384, 1'000'000}) {
    RecordSealer sealer(secret_of(1));
    RecordOpener opener(secret_of(1));
    for (const std::size_t length_bytes : {1, 15, 16, 17, 8'193, 65'535, 65'536, 65'537, 200'000}) {
      const std::string_view part = std::string_view(plain).substr(0, length_bytes);
      const std::string sealed_bytes = seal_with(sealer, part);
      const std::size_t records = (length_bytes + kMaxRecord_bytes - 1) / kMaxRecord_bytes;
      CHECK(sealed_bytes.size() == length_bytes + records * (sizeof(RecordHeader) + kTag_bytes));
      const Opened opened = open_with(opener, sealed_bytes, piece_bytes);
      CHECK(!opened.forged);
      CHECK(opened.bytes == part);
    }
  }
}

TEST_CASE("equal bytes look different each time, and like nothing") {
  RecordSealer sealer(secret_of(1));
  const std::string plain(64, 'a');
  const std::string first = seal_with(sealer, plain);
  const std::string second = seal_with(sealer, plain);
  CHECK(first.substr(sizeof(RecordHeader)) != second.substr(sizeof(RecordHeader)));
  CHECK(first.find("aaaa") == std::string::npos);
}

TEST_CASE("a record with a flipped bit is forged, and so is all behind it") {
  RecordSealer sealer(secret_of(1));
  const std::string first = seal_with(sealer, noise(100));
  const std::string second = seal_with(sealer, noise(100));
  for (std::size_t bit = 0; bit < 8 * first.size(); ++bit) {
    std::string changed = first;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
    RecordOpener opener(secret_of(1));
    INFO("bit " << bit);
    const Opened opened = open_with(opener, changed, changed.size());
    CHECK(opened.forged);
    CHECK(opened.bytes.empty());
    CHECK(open_with(opener, second, second.size()).forged);
    CHECK(open_with(opener, first, first.size()).forged);
  }
}

TEST_CASE("records that are repeated, left out, exchanged or of another connection are forged") {
  RecordSealer sealer(secret_of(1));
  const std::string first = seal_with(sealer, "first");
  const std::string second = seal_with(sealer, "second");
  CHECK(open_new(first + second).bytes == "firstsecond");
  CHECK(open_new(first + first).forged);
  CHECK(open_new(second).forged);
  CHECK(open_new(second + first).forged);
  RecordSealer other(secret_of(2));
  CHECK(open_new(seal_with(other, "first")).forged);
}

TEST_CASE("a record that is cut gives nothing") {
  RecordSealer sealer(secret_of(1));
  const std::string whole = seal_with(sealer, "something");
  for (std::size_t length_bytes = 0; length_bytes < whole.size(); ++length_bytes) {
    const Opened opened = open_new(whole.substr(0, length_bytes));
    CHECK(!opened.forged);
    CHECK(opened.bytes.empty());
  }
  // Nor does one whose end is the next one's beginning.
  const std::string next = seal_with(sealer, "something");
  CHECK(open_new(whole.substr(0, whole.size() - 1) + next).forged);
}

TEST_CASE("lengths that no record has are forged, whatever their checksum says") {
  for (const std::uint32_t length_bytes : {0U, std::uint32_t{kMaxRecord_bytes} + 1, 0xFFFFFFFFU}) {
    RecordHeader header{length_bytes, 0};
    header.checksum = crc32c(std::as_bytes(std::span(&header.length_bytes, 1)));
    CHECK(open_new(std::string(reinterpret_cast<const char*>(&header), sizeof header)).forged);
  }
}

TEST_CASE("both sides take new keys after as many records") {
  constexpr std::uint64_t kFew = 3;
  RecordSealer sealer(secret_of(1), kFew);
  RecordOpener opener(secret_of(1), kFew);
  RecordOpener lasting(secret_of(1));
  for (std::uint64_t i = 0; i < 5 * kFew; ++i) {
    const std::string sealed_bytes = seal_with(sealer, "record");
    CHECK(open_with(opener, sealed_bytes, sealed_bytes.size()).bytes == "record");
    // The old key is not used any more.
    CHECK(open_with(lasting, sealed_bytes, sealed_bytes.size()).forged == (i >= kFew));
  }
}

TEST_CASE("random bytes open to nothing") {
  for (std::size_t begin = 0; begin < 2000; ++begin) CHECK(open_new(noise(4000).substr(begin)).forged);
}

}  // namespace
}  // namespace namdb::fabric::tcp
