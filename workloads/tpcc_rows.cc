#include "workloads/tpcc_rows.h"

#include <numeric>
#include <string>
#include <utility>

#include "common/base/check.h"
#include "workloads/generators/text.h"

namespace namdb::workloads::tpcc {
namespace {

using layout::Row;

// 2026-01-01 in microseconds since 2000-01-01: one seed loads the same bytes on every day.
constexpr std::int64_t kLoaded_us = std::int64_t{9'497} * 24 * 3'600 * 1'000'000;

// Fills a row; the values fit its columns.
class Filler {
 public:
  Filler(Row& row, Random& random) : writer_(row.writer()), random_(random) {}
  void integer(std::uint32_t column, std::int64_t value) {
    NAMDB_CHECK(writer_.set_integer(column, value).ok());
  }
  void between(std::uint32_t column, std::uint64_t low, std::uint64_t high) {
    integer(column, static_cast<std::int64_t>(random_.between(low, high)));
  }
  void text(std::uint32_t column, std::string_view value) {
    NAMDB_CHECK(writer_.set_text(column, value).ok());
  }
  void random(std::uint32_t column, std::size_t low, std::size_t high) {
    text(column, random_text(random_, low, high));
  }
  // One row in ten carries ORIGINAL somewhere in its data.
  void data(std::uint32_t column, std::size_t low, std::size_t high) {
    std::string value = random_text(random_, low, high);
    if (random_.below(10) == 0) value.replace(random_.below(value.size() - 7), 8, "ORIGINAL");
    text(column, value);
  }
  // Street 1, street 2, city, state, zip in five columns that follow each other.
  void address(std::uint32_t first) {
    random(first, 10, 20);
    random(first + 1, 10, 20);
    random(first + 2, 10, 20);
    random(first + 3, 2, 2);
    text(first + 4, random_digits(random_, 4) + "11111");
  }

 private:
  layout::RowWriter writer_;
  Random& random_;
};

// The place of a unit: warehouse and district from 1, and the number within the district from 1.
struct Place {
  std::int64_t warehouse;
  std::int64_t district;
  std::int64_t number;
};

Place place_of(std::uint64_t unit, std::uint64_t per_district) {
  const std::uint64_t district = unit / per_district;
  return {static_cast<std::int64_t>(district / kDistrictsPerWarehouse) + 1,
          static_cast<std::int64_t>(district % kDistrictsPerWarehouse) + 1,
          static_cast<std::int64_t>(unit % per_district) + 1};
}

// Orders of a district belong to its customers in random order, each one once where there are as many.
std::int64_t customer_of_order(const Scale& scale, const Place& place) {
  const std::uint64_t count = scale.customers_per_district;
  std::uint64_t step =
      count / 2 + 1 + static_cast<std::uint64_t>(place.warehouse * 7 + place.district) % count;
  while (std::gcd(step, count) != 1) ++step;
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(place.number) * step % count) + 1;
}

void fill_customer(Filler& fill, Random& random, const Place& place) {
  fill.integer(kCWId, place.warehouse);
  fill.integer(kCDId, place.district);
  fill.integer(kCId, place.number);
  fill.random(kCFirst, 8, 16);
  fill.text(kCMiddle, "OE");
  const auto name = place.number <= 1000
                        ? static_cast<std::uint32_t>(place.number - 1)
                        : static_cast<std::uint32_t>(non_uniform(random, 255, kLastNameConstant, 0, 999));
  fill.text(kCLast, last_name(name));
  fill.address(kCStreet1);
  fill.text(kCPhone, random_digits(random, 16));
  fill.integer(kCSince, kLoaded_us);
  fill.text(kCCredit, random.below(10) == 0 ? "BC" : "GC");
  fill.integer(kCCreditLim, 50'000'00);
  fill.between(kCDiscount, 0, 5'000);
  fill.integer(kCBalance, -10'00);
  fill.integer(kCYtdPayment, 10'00);
  fill.integer(kCPaymentCnt, 1);
  fill.integer(kCDeliveryCnt, 0);
  fill.random(kCData, 300, 500);
}

void fill_history(Filler& fill, const Place& place) {
  fill.integer(kHCWId, place.warehouse);
  fill.integer(kHCDId, place.district);
  fill.integer(kHCId, place.number);
  fill.integer(kHPaymentCnt, 1);
  fill.integer(kHDId, place.district);
  fill.integer(kHWId, place.warehouse);
  fill.integer(kHDate, kLoaded_us);
  fill.integer(kHAmount, 10'00);
  fill.random(kHData, 12, 24);
}

void fill_stock(Filler& fill, const Scale& scale, std::uint64_t unit) {
  fill.integer(kSWId, static_cast<std::int64_t>(unit / scale.items) + 1);
  fill.integer(kSIId, static_cast<std::int64_t>(unit % scale.items) + 1);
  fill.between(kSQuantity, 10, 100);
  for (std::uint32_t column = kSDist01; column <= kSDist10; ++column) fill.random(column, 24, 24);
  fill.integer(kSYtd, 0);
  fill.integer(kSOrderCnt, 0);
  fill.integer(kSRemoteCnt, 0);
  fill.data(kSData, 26, 50);
}

}  // namespace

std::uint64_t undelivered_per_district(const Scale& scale) {
  return scale.orders_per_district * 3 / 10;
}

std::uint64_t unit_count(const Scale& scale, std::size_t table) {
  const std::uint64_t districts = std::uint64_t{scale.warehouses} * kDistrictsPerWarehouse;
  switch (table) {
    case kWarehouse:
      return scale.warehouses;
    case kDistrict:
      return districts;
    case kCustomer:
    case kHistory:
      return districts * scale.customers_per_district;
    case kNewOrder:
      return districts * undelivered_per_district(scale);
    case kOrders:
    case kOrderLine:
      return districts * scale.orders_per_district;
    case kItem:
      return scale.items;
    default:
      return std::uint64_t{scale.warehouses} * scale.items;
  }
}

std::uint64_t expected_rows(const Scale& scale, std::size_t table) {
  return unit_count(scale, table) * (table == kOrderLine ? (kMinOrderLines + kMaxOrderLines) / 2 : 1);
}

void make_rows(const Scale& scale, const layout::Schema& schema, std::size_t table, std::uint64_t unit,
               Random random, std::vector<Row>& rows) {
  Row row(schema);
  Filler fill(row, random);
  switch (table) {
    case kWarehouse:
      fill.integer(kWId, static_cast<std::int64_t>(unit) + 1);
      fill.random(kWName, 6, 10);
      fill.address(kWStreet1);
      fill.between(kWTax, 0, 2'000);
      // The payments of its customers so far, as in history.
      fill.integer(kWYtd, std::int64_t{kDistrictsPerWarehouse} * scale.customers_per_district * 10'00);
      break;
    case kDistrict:
      fill.integer(kDWId, static_cast<std::int64_t>(unit / kDistrictsPerWarehouse) + 1);
      fill.integer(kDId, static_cast<std::int64_t>(unit % kDistrictsPerWarehouse) + 1);
      fill.random(kDName, 6, 10);
      fill.address(kDStreet1);
      fill.between(kDTax, 0, 2'000);
      fill.integer(kDYtd, std::int64_t{scale.customers_per_district} * 10'00);
      fill.integer(kDNextOId, std::int64_t{scale.orders_per_district} + 1);
      break;
    case kCustomer:
      fill_customer(fill, random, place_of(unit, scale.customers_per_district));
      break;
    case kHistory:
      fill_history(fill, place_of(unit, scale.customers_per_district));
      break;
    case kNewOrder: {
      const std::uint64_t undelivered = undelivered_per_district(scale);
      const Place place = place_of(unit, undelivered);
      fill.integer(kNoWId, place.warehouse);
      fill.integer(kNoDId, place.district);
      fill.integer(kNoOId, static_cast<std::int64_t>(scale.orders_per_district - undelivered) + place.number);
      break;
    }
    case kOrders:
    case kOrderLine: {
      const Place place = place_of(unit, scale.orders_per_district);
      const bool delivered = place.number <= static_cast<std::int64_t>(scale.orders_per_district -
                                                                       undelivered_per_district(scale));
      const auto lines = static_cast<std::int64_t>(random.between(kMinOrderLines, kMaxOrderLines));
      if (table == kOrders) {
        fill.integer(kOWId, place.warehouse);
        fill.integer(kODId, place.district);
        fill.integer(kOId, place.number);
        fill.integer(kOCId, customer_of_order(scale, place));
        fill.integer(kOEntryD, kLoaded_us);
        row.writer().set_null(kOCarrierId);
        if (delivered) fill.between(kOCarrierId, 1, 10);
        fill.integer(kOOlCnt, lines);
        fill.integer(kOAllLocal, 1);
        break;
      }
      for (std::int64_t line = 1; line <= lines; ++line) {
        fill.integer(kOlWId, place.warehouse);
        fill.integer(kOlDId, place.district);
        fill.integer(kOlOId, place.number);
        fill.integer(kOlNumber, line);
        fill.between(kOlIId, 1, scale.items);
        fill.integer(kOlSupplyWId, place.warehouse);
        row.writer().set_null(kOlDeliveryD);
        if (delivered) fill.integer(kOlDeliveryD, kLoaded_us);
        fill.integer(kOlQuantity, 5);
        fill.integer(kOlAmount, delivered ? 0 : static_cast<std::int64_t>(random.between(1, 9'999'99)));
        fill.random(kOlDistInfo, 24, 24);
        rows.push_back(row);
      }
      return;
    }
    case kItem:
      fill.integer(kIId, static_cast<std::int64_t>(unit) + 1);
      fill.between(kIImId, 1, 10'000);
      fill.random(kIName, 14, 24);
      fill.between(kIPrice, 1'00, 100'00);
      fill.data(kIData, 26, 50);
      break;
    default:
      fill_stock(fill, scale, unit);
      break;
  }
  rows.push_back(std::move(row));
}

}  // namespace namdb::workloads::tpcc
