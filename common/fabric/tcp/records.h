// Records: the bytes of an encrypted connection after both sides have proven the cluster key. All that one
// send takes is cut into records, each sealed with AES-128-GCM:
//
//   record   RecordHeader, then as many encrypted bytes as it says, then a tag of 16 bytes
//
// The tag covers the header, too. The nonce is the record's number, which is not sent: a record that is
// changed, cut, repeated, left out or moved does not fit its tag, and ends the connection. Nothing of a
// record is handed on before its tag agrees. After so many records both sides take a new key, made of the
// one before.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/fabric/session_keys.h"
#include "common/reactor/output_buffer.h"
#include "common/reactor/socket.h"

struct evp_cipher_ctx_st;

namespace namdb::fabric::tcp {

struct RecordHeader {
  std::uint32_t length_bytes;
  // CRC-32C of the length, which is used before the tag has arrived: so a flipped bit does not make the
  // receiver wait for bytes that never come.
  std::uint32_t checksum;
};
static_assert(sizeof(RecordHeader) == 8);

// Without header and tag. AES is the faster the longer a record is, up to about here.
inline constexpr std::size_t kMaxRecord_bytes = 64U << 10;
inline constexpr std::size_t kTag_bytes = 16;
// The records of one key: at most 64 GiB, far from where two blocks of AES may be alike.
inline constexpr std::uint64_t kRecordsPerKey = std::uint64_t{1} << 20;

inline constexpr const char* kForged =
    "a record that is not what was sent (its tag or CRC-32C does not agree)";

// One direction's key and the number of its next record.
class RecordCipher {
 public:
  enum class Direction : std::uint8_t { seal, open };
  RecordCipher(const Secret& secret, Direction direction, std::uint64_t records_per_key);
  ~RecordCipher();
  RecordCipher(const RecordCipher&) = delete;
  RecordCipher& operator=(const RecordCipher&) = delete;

  // Begins the next record.
  void begin(const RecordHeader& header);
  // Encrypts or decrypts more of it.
  void add(const std::byte* from, std::byte* to, std::size_t length_bytes);
  void finish_seal(std::byte* tag);
  bool finish_open(const std::byte* tag);

 private:
  void take_key();

  Secret secret_;
  const Direction direction_;
  const std::uint64_t records_per_key_;
  evp_cipher_ctx_st* context_;
  std::array<unsigned char, 12> nonce_{};
  std::uint64_t record_ = 0;  // of this key
};

// Seals the bytes that one side sends.
class RecordSealer final : public reactor::OutputFilter {
 public:
  explicit RecordSealer(const Secret& secret, std::uint64_t records_per_key = kRecordsPerKey)
      : cipher_(secret, RecordCipher::Direction::seal, records_per_key) {}
  void filter(std::span<const std::byte> bytes, reactor::OutputBuffer& output) override;

 private:
  RecordCipher cipher_;
};

// Opens the bytes that one side receives: outside input.
class RecordOpener {
 public:
  explicit RecordOpener(const Secret& secret, std::uint64_t records_per_key = kRecordsPerKey)
      : cipher_(secret, RecordCipher::Direction::open, records_per_key) {}

  // incomplete: all of `bytes` was taken. whole: opened() is a record's, until the next call. forged: the
  // connection must end; it stays so.
  enum class State : std::uint8_t { incomplete, whole, forged };
  // Takes from the front of `bytes`, at most to the end of a record.
  State take(std::span<const std::byte>& bytes);
  std::span<const std::byte> opened() const { return {opened_.data(), header_.length_bytes}; }

 private:
  // Takes bytes until `piece` is full; false: they did not suffice.
  bool gather(std::span<const std::byte>& bytes, std::span<std::byte> piece);
  bool begin();

  RecordCipher cipher_;
  enum class Part : std::uint8_t { header, data, tag, forged };
  Part part_ = Part::header;
  std::size_t taken_bytes_ = 0;  // of the part
  std::array<std::byte, sizeof(RecordHeader)> header_bytes_{};
  std::array<std::byte, kTag_bytes> tag_{};
  RecordHeader header_{};
  std::vector<std::byte> opened_;
};

}  // namespace namdb::fabric::tcp
