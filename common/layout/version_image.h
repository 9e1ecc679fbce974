// Images of a version that lean on the version beside it, in ring slots, overflow entries and journal items.
// Beyond NAM-DB (§5.1), which keeps whole copies.
//
// An image is either a whole body (record.h), or the *change* that makes this body from a neighbour's. In
// ring slots and overflow entries the neighbour is the version that displaced it; in a journal item it is the
// version that it displaces. A change certifies by itself, and the body that it gives certifies again:
//   0   stamp word, displaced word and meta word of the body, in the last one kChange_bit set
//   24  checksum of the body
//   32  checksum of the image, seeded with the record's address, over words 0 to 3 and all from 40 on
//   40  length of the image in bytes
//   48  runs, ascending: {offset in the payload (high 32 bits), length (low 32) | bytes}; multiples of 8
// decode_body_header() reads the header fields of both.
//
// A change may be applied to the remains of a dead writer. It still gives its own body if the body there is
// partly its neighbour's and partly its own, and the two differ only at the change's runs and in the prefix.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/layout/changed_runs.h"
#include "common/layout/record.h"

namespace namdb::layout {

inline constexpr std::uint32_t kImageChecksum_offset = kBodyPrefix_bytes;
inline constexpr std::uint32_t kImageLength_offset = kBodyPrefix_bytes + 8;
inline constexpr std::uint32_t kImageRuns_offset = kBodyPrefix_bytes + 16;
// Runs of changed words with no more unchanged bytes between them than this are one: a run's head is a word.
inline constexpr std::uint32_t kImageRunGap_bytes = 8;

enum class ImageForm : std::uint8_t {
  shorter,  // the whole body or a change, whichever is shorter
  whole,
};

// Writes an image of the sealed `body`, given the sealed body `neighbour` of the same record, to `image`,
// which has room for body.size() bytes. Returns its length, a multiple of 8.
std::uint32_t encode_image(std::span<const std::byte> body, std::span<const std::byte> neighbour,
                           GlobalAddress record, std::span<std::byte> image,
                           ImageForm form = ImageForm::shorter);

// True if a whole image stands at the start of `slot`, which is as long as a body of the record.
bool certify_image(std::span<const std::byte> slot, GlobalAddress record);

// Turns `body`, the neighbour's, into the one whose certified image stands at the start of `slot`. False if
// the result does not certify: `body` was not that neighbour.
bool restore_body(std::span<const std::byte> slot, GlobalAddress record, std::span<std::byte> body);

}  // namespace namdb::layout
