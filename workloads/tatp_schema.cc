#include "workloads/tatp_schema.h"

#include <algorithm>
#include <vector>

namespace namdb::workloads::tatp {
namespace {

constexpr std::size_t kNumberDigits = 15;

std::vector<layout::Column> subscriber_columns() {
  std::vector<layout::Column> columns = {integer_column("s_id"), char_column("sub_nbr", kNumberDigits)};
  for (const char* kind : {"bit_", "hex_", "byte2_"}) {
    for (std::uint32_t i = 1; i <= kFlagsOfAKind; ++i)
      columns.push_back(smallint_column(kind + std::to_string(i)));
  }
  columns.push_back(bigint_column("msc_location"));
  columns.push_back(bigint_column("vlr_location"));
  return columns;
}

}  // namespace

std::span<const TableSpec> tables() {
  static const std::vector<TableSpec> kTables = {
      {"subscriber",
       subscriber_columns(),
       {kSubscriberId},
       2,
       {{kSubscriberByNumber, {{kSubscriberNumber}}}}},
      {"access_info",
       {integer_column("s_id"), smallint_column("ai_type"), smallint_column("data1"),
        smallint_column("data2"), char_column("data3", 3), char_column("data4", 5)},
       {kAccessId, kAccessType},
       1},
      {"special_facility",
       {integer_column("s_id"), smallint_column("sf_type"), smallint_column("is_active"),
        smallint_column("error_cntrl"), smallint_column("data_a"), char_column("data_b", 5)},
       {kFacilityId, kFacilityType},
       2},
      {"call_forwarding",
       {integer_column("s_id"), smallint_column("sf_type"), smallint_column("start_time"),
        smallint_column("end_time"), char_column("numberx", kNumberDigits)},
       {kForwardingId, kForwardingType, kForwardingStart},
       1},
  };
  return kTables;
}

std::string subscriber_number(std::int64_t subscriber) {
  std::string digits = std::to_string(subscriber);
  digits.insert(0, kNumberDigits - std::min(digits.size(), kNumberDigits), '0');
  return digits;
}

}  // namespace namdb::workloads::tatp
