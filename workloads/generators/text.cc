#include "workloads/generators/text.h"

#include <array>

#include "common/base/check.h"

namespace namdb::workloads {
namespace {

std::string draw(Random& random, std::string_view alphabet, std::size_t length) {
  std::string text(length, '\0');
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < length; ++i) {
    // Eight characters from one draw; the bias of the modulus does not matter to filler.
    if (i % 8 == 0) bits = random.next();
    text[i] = alphabet[(bits & 0xff) % alphabet.size()];
    bits >>= 8;
  }
  return text;
}

}  // namespace

std::string random_text(Random& random, std::size_t low, std::size_t high) {
  return draw(random, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
              random.between(low, high));
}

std::string random_digits(Random& random, std::size_t length) {
  return draw(random, "0123456789", length);
}

std::string last_name(std::uint32_t number) {
  static constexpr std::array<std::string_view, 10> kSyllables = {"BAR", "OUGHT", "ABLE",  "PRI",   "PRES",
                                                                  "ESE", "ANTI",  "CALLY", "ATION", "EING"};
  NAMDB_CHECK(number < 1000);
  std::string name(kSyllables[number / 100]);
  name += kSyllables[number / 10 % 10];
  name += kSyllables[number % 10];
  return name;
}

std::uint64_t non_uniform(Random& random, std::uint64_t a, std::uint64_t constant, std::uint64_t low,
                          std::uint64_t high) {
  const std::uint64_t first = random.between(0, a);
  const std::uint64_t second = random.between(low, high);
  return ((first | second) + constant) % (high - low + 1) + low;
}

}  // namespace namdb::workloads
