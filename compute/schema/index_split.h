// Choosing the keys at which an index is split into parts, one for each of some memory servers, from a random
// sample of its keys; and when doing so again is worth it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace namdb::schema {

// At most `parts` - 1 splits, ascending: the first keys of all parts but the first. Each part gets about as
// many of the keys. A split is as short as can be: a prefix of a key that is greater than the key before it.
// Equal keys are never split: fewer parts come out of few different keys.
//
// Keys of a unique index come without the bytes behind its columns' values, because all entries with the same
// values must be in one part. No value's bytes begin with another's, so a split never falls between entries
// with the same values.
std::vector<std::string> choose_splits(std::vector<std::string> keys, std::size_t parts);

// Whether the largest part of an index is worth rebuilding it: it has more than `least_bytes`, and more than
// one and a half times its share. (Twice would never be more than all, where there are two servers.) `bytes`
// is what each memory server has of it, 0 included; `balanced_bytes` what all had when it was rebuilt for
// that reason. An index is not rebuilt again before it has doubled: perhaps no splits are better. Then, if
// new keys always come at one end, each entry is added only a few times, however large the index gets.
bool out_of_balance(std::span<const std::uint64_t> bytes, std::uint64_t balanced_bytes,
                    std::uint64_t least_bytes);

}  // namespace namdb::schema
