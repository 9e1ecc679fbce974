// Reading a whole table by calls. The memory server walks over the places of the table's records in its
// region, in the order of their addresses. It returns the current versions, many in one reply, without the
// old versions that lie beside them, and of each row only the wanted parts.
//
// SCAN (method 71):
//   request  {table id | most places << 32}, {place}, then of each part {begin | length in bytes << 32}
//   reply    {place}, then groups of records: {header word}, {number of records}, and of each record
//            {location} and the bytes of its parts
// All fields are 64-bit words. The walk begins behind the request's place, or with the first place if that is
// 0. The next request goes on behind the reply's place; if that is 0, the walk is at its end. A location is
// that of a bucket's entry (bucket.h). Parts are of the row, in ascending order.
//
// The records of a group have the same header word: unlocked, and that of their current version. Their bytes
// are of that version, whole. Records that are being written, for which this is not certain, are in groups
// with the header word 0 and without bytes: the caller has to READ them. Places in which nothing was
// installed yet are left out: no snapshot that was taken before the call shows a row there. A reply may have
// no records, though the walk goes on.
//
// Error catalog_changed: the table is gone.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/layout/bucket.h"
#include "common/layout/stamp.h"

namespace namdb::calls {

inline constexpr std::uint16_t kScanMethod = 71;
inline constexpr std::uint32_t kMaxScanParts = 512;
// The memory server ends a reply before it is longer, unless one record is.
inline constexpr std::uint32_t kScanReply_bytes = 128U << 10;

// Multiples of 8 bytes.
struct ScanPart {
  std::uint32_t begin = 0;
  std::uint32_t length_bytes = 0;
  friend bool operator==(const ScanPart&, const ScanPart&) = default;
};

struct ScanRequest {
  std::uint32_t table = 0;
  std::uint32_t most_places = 0;  // that are examined, at least 1
  std::uint64_t after = 0;
  std::vector<ScanPart> parts;
};

std::size_t bytes_of(std::span<const ScanPart> parts);

void append(std::string& request, const ScanRequest& scan);
// nullopt if the request is malformed, or has parts of longer rows than there are.
std::optional<ScanRequest> decode_scan(std::string_view request);

// Records of one group, in a reply.
struct ScannedGroup {
  layout::HeaderWord header;  // 0: they are to be READ
  std::size_t count = 0;
  std::size_t record_bytes = 0;  // of each
  std::string_view records;

  // The record's bucket entry, without its key hash (0).
  layout::BucketEntry entry(std::size_t record) const;
  const char* parts(std::size_t record) const { return records.data() + record * record_bytes + 8; }
};

// Reads a reply, whose bytes it borrows.
class ScannedGroups {
 public:
  // nullopt: the reply is too short.
  static std::optional<ScannedGroups> create(std::string_view reply, std::size_t part_bytes);
  std::uint64_t after() const { return after_; }
  bool empty() const { return rest_.empty(); }
  // False: the rest cannot be read.
  bool next(ScannedGroup& group);

 private:
  std::uint64_t after_ = 0;
  std::size_t part_bytes_ = 0;
  std::string_view rest_;
};

// The memory server's side.
class ScanWriter {
 public:
  // Appends to the reply, which is empty.
  ScanWriter(std::string& reply, std::span<const ScanPart> parts);
  // `row` is not read where the header word is 0.
  void add(layout::HeaderWord header, std::uint64_t location, const std::byte* row);
  // Whether another record fits.
  bool has_room() const { return reply_.size() + longest_bytes_ <= kScanReply_bytes; }
  void finish(std::uint64_t after);

 private:
  std::string& reply_;
  std::span<const ScanPart> parts_;
  std::size_t longest_bytes_;
  std::size_t group_ = 0;  // where the last one begins; 0: there is none
  layout::HeaderWord header_;
  std::uint64_t count_ = 0;  // of the group
};

}  // namespace namdb::calls
