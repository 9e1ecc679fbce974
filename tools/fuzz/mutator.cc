#include "tools/fuzz/mutator.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/random.h"
#include "tools/fuzz/wire_messages.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace namdb::fuzz {
namespace {

// Mode and read limit.
constexpr std::size_t kHead_bytes = 2;
constexpr std::size_t kMaxContent_bytes = 2048;

std::uint32_t length_at(std::string_view bytes, std::size_t at) {
  std::uint32_t length = 0;
  for (std::size_t i = 0; i < 4; ++i) length = length << 8 | static_cast<unsigned char>(bytes[at + i]);
  return length;
}

// A packet without a type, if the input is of a new connection; then messages; then the rest.
std::vector<std::string> split(std::string_view rest, bool new_connection) {
  std::vector<std::string> pieces;
  bool startup = new_connection;
  while (!rest.empty()) {
    const std::size_t type_bytes = startup ? 0 : 1;
    std::size_t length = rest.size();
    if (rest.size() >= type_bytes + 4) length = std::size_t{length_at(rest, type_bytes)} + type_bytes;
    if (length < type_bytes + 4 || length > rest.size()) length = rest.size();
    // Before the start-up packet others may come: of encryption, of eight bytes.
    startup = startup && length == 8;
    pieces.emplace_back(rest.substr(0, length));
    rest.remove_prefix(length);
  }
  return pieces;
}

std::string any_of(const std::vector<std::string>& all, Random& random) {
  return all[random.below(all.size())];
}

// The content changes; the length says what it is afterwards.
void change_content(std::string& piece, std::size_t type_bytes) {
  const std::size_t head_bytes = type_bytes + 4;
  if (piece.size() < head_bytes) return;
  std::string content = piece.substr(head_bytes);
  const std::size_t old_bytes = content.size();
  content.resize(std::max(old_bytes + 64, kMaxContent_bytes));
  content.resize(
      LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(content.data()), old_bytes, content.size()));
  piece.resize(head_bytes);
  const std::size_t length = content.size() + 4;
  for (std::size_t i = 0; i < 4; ++i) piece[type_bytes + i] = static_cast<char>(length >> (8 * (3 - i)));
  piece += content;
}

}  // namespace

std::size_t mutate_bytes(std::uint8_t* data, std::size_t size, std::size_t max_size) {
  return LLVMFuzzerMutate(data, size, max_size);
}

std::size_t mutate_wire(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned int seed) {
  Random random(seed);
  if (size < kHead_bytes || random.chance(0.1)) return mutate_bytes(data, size, max_size);
  if (random.chance(0.05)) data[0] = static_cast<std::uint8_t>(random.below(16));
  if (random.chance(0.02)) data[1] = static_cast<std::uint8_t>(random.below(4));
  const bool new_connection = (data[0] & 2) == 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + kHead_bytes, size - kHead_bytes);
  std::vector<std::string> pieces = split(bytes, new_connection);
  const auto place = [&] {
    return pieces.begin() + static_cast<std::ptrdiff_t>(random.below(pieces.size() + 1));
  };
  const std::size_t changes = 1 + random.below(3);
  for (std::size_t i = 0; i < changes; ++i) {
    const std::uint64_t kind = random.below(10);
    if (pieces.empty() || kind < 3) {
      const bool front = new_connection && random.chance(0.2);
      pieces.insert(front ? pieces.begin() : place(),
                    any_of(front ? wire_startups() : wire_messages(), random));
      continue;
    }
    const std::size_t chosen = random.below(pieces.size());
    if (kind < 7) {
      change_content(pieces[chosen], new_connection && chosen == 0 ? 0 : 1);
    } else if (kind == 7) {
      pieces.insert(place(), std::string(pieces[chosen]));
    } else if (kind == 8) {
      pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(chosen));
    } else {
      std::swap(pieces[chosen], pieces[random.below(pieces.size())]);
    }
  }
  std::string changed;
  for (const std::string& piece : pieces) changed += piece;
  changed.resize(std::min(changed.size(), max_size - kHead_bytes));
  std::memcpy(data + kHead_bytes, changed.data(), changed.size());
  return kHead_bytes + changed.size();
}

}  // namespace namdb::fuzz
