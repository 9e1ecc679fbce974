// Where the keys of an index are split into parts, one for each of some memory servers, from a random sample
// of them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace namdb::storage {

// At most `parts` - 1 splits, ascending: each is the first key of a part, but for the first part's, and each
// part gets about as many of the keys. A split is as short as can be: a prefix of a key that is greater than
// the key before it. Equal keys are never split: fewer parts come out of few different keys.
//
// Keys of a unique index come without what follows its columns' values, for all entries with the same values
// must be in one part: a prefix of one value's bytes is never inside of another's, as none begins with
// another.
std::vector<std::string> choose_splits(std::vector<std::string> keys, std::size_t parts);

}  // namespace namdb::storage
