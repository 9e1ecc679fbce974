// The stages of a transaction that can run one-sided or two-sided, and a database's choice for each of them:
// its stage code, as RCC's hybrid protocols have one (§5). One setting for all servers, chosen when the
// database is created. The stages that a protocol has are in protocol.h.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace namdb::protocol {

enum class Stage : std::uint8_t {
  find,      // a key whose record's address is not cached
  read,      // records at known addresses, older versions, snapshots
  lock,      // records and bucket chains
  validate,  // the read set, once more
  renew,     // leases and floors of timestamps
  log,       // the journal entry
  install,   // new versions, unlocked
  release,   // locks of transactions that abort
};

inline constexpr std::array<std::string_view, 8> kStageNames{"find",  "read", "lock",    "validate",
                                                             "renew", "log",  "install", "release"};

class StageCode {
 public:
  constexpr StageCode() = default;  // all one-sided

  bool two_sided(Stage stage) const { return (bits_ >> static_cast<unsigned>(stage) & 1) != 0; }
  StageCode with(Stage stage) const { return StageCode(bits_ | 1U << static_cast<unsigned>(stage)); }
  StageCode without(Stage stage) const { return StageCode(bits_ & ~(1U << static_cast<unsigned>(stage))); }
  bool one_sided() const { return bits_ == 0; }
  // All of them.
  static constexpr StageCode two_sided() { return StageCode(kAll); }

  // "one-sided", "two-sided", or the names of the two-sided stages, separated by commas. nullopt: a stage is
  // unknown.
  static std::optional<StageCode> parse(std::string_view text);
  std::string text() const;
  friend bool operator==(StageCode, StageCode) = default;

 private:
  explicit constexpr StageCode(std::uint32_t bits) : bits_(bits) {}
  static constexpr std::uint32_t kAll = (1U << kStageNames.size()) - 1;
  std::uint32_t bits_ = 0;
};

}  // namespace namdb::protocol
