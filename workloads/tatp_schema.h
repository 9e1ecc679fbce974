// TATP's tables: the subscribers of a mobile phone network, what they may use, and where their calls go.
//
// After the TATP Benchmark Description 1.0 (IBM Software Group Information Management, 2009).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "workloads/table_spec.h"

namespace namdb::workloads::tatp {

// Ten columns each of bit_, hex_ and byte2_ follow the number.
inline constexpr std::uint32_t kFlagsOfAKind = 10;
enum SubscriberColumn : std::uint32_t {
  kSubscriberId,
  kSubscriberNumber,
  kSubscriberBit1,
  kSubscriberHex1 = kSubscriberBit1 + kFlagsOfAKind,
  kSubscriberByte1 = kSubscriberHex1 + kFlagsOfAKind,
  kSubscriberMscLocation = kSubscriberByte1 + kFlagsOfAKind,
  kSubscriberVlrLocation,
};
enum AccessColumn : std::uint32_t {
  kAccessId,
  kAccessType,
  kAccessData1,
  kAccessData2,
  kAccessData3,
  kAccessData4
};
enum FacilityColumn : std::uint32_t {
  kFacilityId,
  kFacilityType,
  kFacilityIsActive,
  kFacilityErrorControl,
  kFacilityDataA,
  kFacilityDataB
};
enum ForwardingColumn : std::uint32_t {
  kForwardingId,
  kForwardingType,
  kForwardingStart,
  kForwardingEnd,
  kForwardingNumber
};

enum TableIndex : std::size_t { kSubscribers, kAccess, kFacilities, kForwardings };
std::span<const TableSpec> tables();
inline constexpr const char* kSubscriberByNumber = "subscriber_by_number";

// Access and facility types are 1 to 4; forwarding starts at one of three hours, for at most eight.
inline constexpr std::uint32_t kTypes = 4;
inline constexpr std::array<std::int64_t, 3> kStartTimes{0, 8, 16};
inline constexpr std::int64_t kMaxDuration = 8;

// Fifteen digits.
std::string subscriber_number(std::int64_t subscriber);

}  // namespace namdb::workloads::tatp
