#include "common/fabric/tcp/records.h"

#include <openssl/evp.h>

#include <algorithm>
#include <cstring>

#include "common/base/check.h"
#include "common/base/crc32c.h"

namespace namdb::fabric::tcp {
namespace {

constexpr std::size_t kShortRecord_bytes = 8U << 10;

std::uint32_t checksum_of_length(const RecordHeader& header) {
  return crc32c(std::as_bytes(std::span(&header.length_bytes, 1)));
}

unsigned char* characters(std::byte* bytes) {
  return reinterpret_cast<unsigned char*>(bytes);
}

const unsigned char* characters(const std::byte* bytes) {
  return reinterpret_cast<const unsigned char*>(bytes);
}

}  // namespace

RecordCipher::RecordCipher(const Secret& secret, Direction direction, std::uint64_t records_per_key)
    : secret_(secret),
      direction_(direction),
      records_per_key_(records_per_key),
      context_(::EVP_CIPHER_CTX_new()) {
  NAMDB_CHECK(context_ != nullptr);
  const int sealing = direction_ == Direction::seal ? 1 : 0;
  NAMDB_CHECK(::EVP_CipherInit_ex(context_, ::EVP_aes_128_gcm(), nullptr, nullptr, nullptr, sealing) == 1);
  take_key();
}

RecordCipher::~RecordCipher() {
  ::EVP_CIPHER_CTX_free(context_);
}

void RecordCipher::take_key() {
  const RecordKey key = record_key(secret_);
  NAMDB_CHECK(::EVP_CipherInit_ex(context_, nullptr, nullptr, key.key.data(), nullptr, -1) == 1);
  nonce_ = key.nonce;
  record_ = 0;
}

void RecordCipher::begin(const RecordHeader& header) {
  if (record_ == records_per_key_) {
    secret_ = next_secret(secret_);
    take_key();
  }
  std::array<unsigned char, 12> nonce = nonce_;
  for (std::size_t i = 0; i < sizeof record_; ++i)
    nonce[4 + i] ^= static_cast<unsigned char>(record_ >> 8 * i);
  ++record_;
  int length = 0;
  NAMDB_CHECK(::EVP_CipherInit_ex(context_, nullptr, nullptr, nullptr, nonce.data(), -1) == 1);
  NAMDB_CHECK(::EVP_CipherUpdate(context_, nullptr, &length, reinterpret_cast<const unsigned char*>(&header),
                                 sizeof header) == 1);
}

void RecordCipher::add(const std::byte* from, std::byte* to, std::size_t length_bytes) {
  int length = 0;
  NAMDB_CHECK(::EVP_CipherUpdate(context_, characters(to), &length, characters(from),
                                 static_cast<int>(length_bytes)) == 1);
}

void RecordCipher::finish_seal(std::byte* tag) {
  int length = 0;
  unsigned char nothing[16];
  NAMDB_CHECK(::EVP_CipherFinal_ex(context_, nothing, &length) == 1);
  NAMDB_CHECK(::EVP_CIPHER_CTX_ctrl(context_, EVP_CTRL_AEAD_GET_TAG, static_cast<int>(kTag_bytes), tag) == 1);
}

bool RecordCipher::finish_open(const std::byte* tag) {
  int length = 0;
  unsigned char nothing[16];
  // OpenSSL asks for the expected tag without const, and reads it only.
  NAMDB_CHECK(::EVP_CIPHER_CTX_ctrl(context_, EVP_CTRL_AEAD_SET_TAG, static_cast<int>(kTag_bytes),
                                    const_cast<std::byte*>(tag)) == 1);
  return ::EVP_CipherFinal_ex(context_, nothing, &length) == 1;
}

void RecordSealer::filter(std::span<const std::byte> bytes, reactor::OutputBuffer& output) {
  while (!bytes.empty()) {
    const std::size_t length_bytes = std::min(bytes.size(), kMaxRecord_bytes);
    RecordHeader header{static_cast<std::uint32_t>(length_bytes), 0};
    header.checksum = checksum_of_length(header);
    std::byte* const place = output.extend(sizeof header + length_bytes + kTag_bytes);
    std::memcpy(place, &header, sizeof header);
    cipher_.begin(header);
    cipher_.add(bytes.data(), place + sizeof header, length_bytes);
    cipher_.finish_seal(place + sizeof header + length_bytes);
    bytes = bytes.subspan(length_bytes);
  }
}

bool RecordOpener::gather(std::span<const std::byte>& bytes, std::span<std::byte> piece) {
  const std::size_t taken = std::min(bytes.size(), piece.size() - taken_bytes_);
  std::memcpy(piece.data() + taken_bytes_, bytes.data(), taken);
  bytes = bytes.subspan(taken);
  taken_bytes_ += taken;
  if (taken_bytes_ != piece.size()) return false;
  taken_bytes_ = 0;
  return true;
}

// The header is there.
bool RecordOpener::begin() {
  std::memcpy(&header_, header_bytes_.data(), sizeof header_);
  if (header_.checksum != checksum_of_length(header_) || header_.length_bytes == 0 ||
      header_.length_bytes > kMaxRecord_bytes)
    return false;
  // Most connections never see a long one.
  if (opened_.size() < header_.length_bytes)
    opened_.resize(header_.length_bytes <= kShortRecord_bytes ? kShortRecord_bytes : kMaxRecord_bytes);
  cipher_.begin(header_);
  return true;
}

RecordOpener::State RecordOpener::take(std::span<const std::byte>& bytes) {
  if (part_ == Part::header && !bytes.empty() && gather(bytes, header_bytes_))
    part_ = begin() ? Part::data : Part::forged;
  if (part_ == Part::data && !bytes.empty()) {
    const std::size_t taken = std::min(bytes.size(), header_.length_bytes - taken_bytes_);
    cipher_.add(bytes.data(), opened_.data() + taken_bytes_, taken);
    bytes = bytes.subspan(taken);
    taken_bytes_ += taken;
    if (taken_bytes_ == header_.length_bytes) {
      taken_bytes_ = 0;
      part_ = Part::tag;
    }
  }
  if (part_ == Part::tag && !bytes.empty() && gather(bytes, tag_)) {
    part_ = cipher_.finish_open(tag_.data()) ? Part::header : Part::forged;
    if (part_ == Part::header) return State::whole;
  }
  return part_ == Part::forged ? State::forged : State::incomplete;
}

}  // namespace namdb::fabric::tcp
