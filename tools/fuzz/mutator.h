// How libFuzzer changes the inputs of targets whose bytes have a structure.
#pragma once

#include <cstddef>
#include <cstdint>

namespace namdb::fuzz {

// As libFuzzer does by itself.
std::size_t mutate_bytes(std::uint8_t* data, std::size_t size, std::size_t max_size);
// Of the target `wire`: mostly whole messages are added, doubled, moved and left out, and the contents of
// one change while its length stays true.
std::size_t mutate_wire(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned int seed);

}  // namespace namdb::fuzz
