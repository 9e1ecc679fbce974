#include "workloads/tatp_workload.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "workloads/generators/text.h"
#include "workloads/rows_access.h"
#include "workloads/tatp_schema.h"

namespace namdb::workloads {
namespace {

using namespace tatp;
using procedure::Value;

enum TypeIndex : std::size_t {
  kGetSubscriberData,
  kGetNewDestination,
  kGetAccessData,
  kUpdateSubscriberData,
  kUpdateLocation,
  kInsertCallForwarding,
  kDeleteCallForwarding,
};

std::int64_t integer_between(Random& random, std::uint64_t low, std::uint64_t high) {
  return static_cast<std::int64_t>(random.between(low, high));
}

std::string random_letters(Random& random, std::size_t length) {
  std::string letters(length, 'A');
  for (char& letter : letters) letter = static_cast<char>('A' + random.below(26));
  return letters;
}

// Some of the numbers, at least `least` of them, each number of them as likely as any other.
template <std::size_t N>
std::vector<std::int64_t> some_of(Random& random, std::array<std::int64_t, N> all, std::uint64_t least) {
  for (std::size_t i = N - 1; i > 0; --i) std::swap(all[i], all[random.below(i + 1)]);
  std::vector<std::int64_t> some(all.begin(),
                                 all.begin() + static_cast<std::ptrdiff_t>(random.between(least, N)));
  std::ranges::sort(some);
  return some;
}

constexpr std::array<std::int64_t, kTypes> kAllTypes{1, 2, 3, 4};

// Every call forwarding belongs to a facility of its subscriber.
class Facilities : public RowCheck {
 public:
  void add(std::size_t table, const layout::RowView& row) override {
    if (table == kFacilities) facilities_.emplace(row.integer(kFacilityId), row.integer(kFacilityType));
    if (table == kForwardings) forwarded_.emplace(row.integer(kForwardingId), row.integer(kForwardingType));
  }
  std::vector<Finding> findings() override {
    Finding finding{.name = "every call forwarding has its facility", .detail = {}};
    const auto without =
        std::ranges::find_if(forwarded_, [&](const auto& one) { return !facilities_.contains(one); });
    if (without != forwarded_.end()) {
      finding.detail = "subscriber " + std::to_string(without->first) + " has no facility of type " +
                       std::to_string(without->second);
    }
    return {finding};
  }

 private:
  std::set<std::pair<std::int64_t, std::int64_t>> facilities_;
  std::set<std::pair<std::int64_t, std::int64_t>> forwarded_;
};

class Tatp : public Workload {
 public:
  explicit Tatp(const TatpOptions& options)
      : Workload(options.seed),
        subscribers_(options.subscribers),
        skewed_(options.skew.has_value()),
        chooser_(options.subscribers, options.skew.value_or(Skew{})) {
    // On average: 2.5 of 4, and 1.5 forwardings of each facility.
    const std::array<std::uint64_t, 4> rows{subscribers_, subscribers_ * 5 / 2, subscribers_ * 5 / 2,
                                            subscribers_ * 15 / 4};
    for (std::size_t i = 0; i < rows.size(); ++i)
      add_table(tatp::tables()[i], std::max<std::uint64_t>(rows[i], 1), subscribers_);
    Check forwardings{.name = "call forwardings are as many as were inserted and not deleted",
                      .change = true};
    forwardings.terms.push_back({1, kForwardings, std::nullopt});
    checks_.push_back(std::move(forwardings));
  }

  Status choose_mix(const Mix& mix) {
    return set_mix({{"get_subscriber_data", "tatp_get_subscriber_data", 35},
                    {"get_new_destination", "tatp_get_new_destination", 10},
                    {"get_access_data", "tatp_get_access_data", 35},
                    {"update_subscriber_data", "tatp_update_subscriber_data", 2},
                    {"update_location", "tatp_update_location", 14},
                    {"insert_call_forwarding", "tatp_insert_call_forwarding", 2},
                    {"delete_call_forwarding", "tatp_delete_call_forwarding", 2}},
                   mix);
  }

  std::string_view name() const override { return "tatp"; }
  std::string population() const override { return std::to_string(subscribers_) + " subscribers"; }

  void make_rows(std::size_t table, std::uint64_t unit, std::vector<layout::Row>& rows) const override {
    const auto id = static_cast<std::int64_t>(unit + 1);
    // Forwardings belong to the facilities that the same draw makes.
    Random random = random_for(std::min<std::size_t>(table, kFacilities), unit);
    const auto add = [&](const auto& fill) {
      layout::Row row(tables_[table].schema);
      Fields fields(row.writer());
      fill(fields);
      NAMDB_CHECK(fields.status().ok());
      rows.push_back(std::move(row));
    };
    if (table == kSubscribers) return add([&](Fields& fields) { fill_subscriber(fields, random, id); });
    for (const std::int64_t type : some_of(random, kAllTypes, 1)) {
      if (table == kAccess) {
        add([&](Fields& fields) {
          fields.integer(kAccessId, id).integer(kAccessType, type);
          fields.integer(kAccessData1, integer_between(random, 0, 255));
          fields.integer(kAccessData2, integer_between(random, 0, 255));
          fields.text(kAccessData3, random_letters(random, 3)).text(kAccessData4, random_letters(random, 5));
        });
        continue;
      }
      const std::int64_t active = random.chance(0.85) ? 1 : 0;
      if (table == kFacilities) {
        Random data = random_for(100 + static_cast<std::uint64_t>(type), unit);
        add([&](Fields& fields) {
          fields.integer(kFacilityId, id).integer(kFacilityType, type).integer(kFacilityIsActive, active);
          fields.integer(kFacilityErrorControl, integer_between(data, 0, 255));
          fields.integer(kFacilityDataA, integer_between(data, 0, 255));
          fields.text(kFacilityDataB, random_letters(data, 5));
        });
        continue;
      }
      Random data = random_for(200 + static_cast<std::uint64_t>(type), unit);
      for (const std::int64_t start : some_of(data, kStartTimes, 0)) {
        add([&](Fields& fields) {
          fields.integer(kForwardingId, id).integer(kForwardingType, type).integer(kForwardingStart, start);
          fields.integer(kForwardingEnd, start + integer_between(data, 1, kMaxDuration));
          fields.text(kForwardingNumber, random_digits(data, 15));
        });
      }
    }
  }

  std::unique_ptr<CallSource> open_client(std::uint64_t client, std::uint64_t) const override;
  std::unique_ptr<RowCheck> open_row_check() const override { return std::make_unique<Facilities>(); }

  std::int64_t call_change(const Call& call, std::span<const Value>) const override {
    if (call.type == kInsertCallForwarding) return 1;
    return call.type == kDeleteCallForwarding ? -1 : 0;
  }

  void next(Random& random, Call& call) const;

 private:
  static void fill_subscriber(Fields& fields, Random& random, std::int64_t id) {
    fields.integer(kSubscriberId, id).text(kSubscriberNumber, subscriber_number(id));
    for (std::uint32_t i = 0; i < kFlagsOfAKind; ++i) {
      fields.integer(kSubscriberBit1 + i, integer_between(random, 0, 1));
      fields.integer(kSubscriberHex1 + i, integer_between(random, 0, 15));
      fields.integer(kSubscriberByte1 + i, integer_between(random, 0, 255));
    }
    fields.integer(kSubscriberMscLocation, integer_between(random, 1, 0xffff'ffff));
    fields.integer(kSubscriberVlrLocation, integer_between(random, 1, 0xffff'ffff));
  }

  std::int64_t subscriber(Random& random) const {
    if (skewed_) return static_cast<std::int64_t>(chooser_.next(random) + 1);
    const std::uint64_t a = subscribers_ <= 1'000'000    ? 65'535
                            : subscribers_ <= 10'000'000 ? 1'048'575
                                                         : 2'097'151;
    return static_cast<std::int64_t>(non_uniform(random, a, 0, 1, subscribers_));
  }

  std::uint64_t subscribers_;
  bool skewed_;
  KeyChooser chooser_;
};

class TatpCalls : public CallSource {
 public:
  TatpCalls(const Tatp& tatp, Random random) : tatp_(tatp), random_(random) {}
  void next(Call& call) override { tatp_.next(random_, call); }

 private:
  const Tatp& tatp_;
  Random random_;
};

std::unique_ptr<CallSource> Tatp::open_client(std::uint64_t client, std::uint64_t) const {
  return std::make_unique<TatpCalls>(*this, random_for(1000, client));
}

void Tatp::next(Random& random, Call& call) const {
  call.type = draw_type(random);
  call.arguments.clear();
  const std::int64_t id = subscriber(random);
  const bool by_number = call.type >= kUpdateLocation;
  if (by_number) {
    call.arguments.emplace_back(subscriber_number(id));
  } else {
    call.arguments.emplace_back(id);
  }
  const auto add = [&](std::uint64_t low, std::uint64_t high) {
    call.arguments.emplace_back(integer_between(random, low, high));
  };
  const std::int64_t start = kStartTimes[random.below(kStartTimes.size())];
  switch (call.type) {
    case kGetSubscriberData:
      break;
    case kGetNewDestination:
      add(1, kTypes);
      call.arguments.emplace_back(start);
      add(1, 24);
      break;
    case kGetAccessData:
      add(1, kTypes);
      break;
    case kUpdateSubscriberData:
      add(0, 1);
      add(1, kTypes);
      add(0, 255);
      break;
    case kUpdateLocation:
      add(1, 0xffff'ffff);
      break;
    case kInsertCallForwarding:
      add(1, kTypes);
      call.arguments.emplace_back(start);
      call.arguments.emplace_back(start + integer_between(random, 1, kMaxDuration));
      call.arguments.emplace_back(random_digits(random, 15));
      break;
    default:
      add(1, kTypes);
      call.arguments.emplace_back(start);
  }
}

}  // namespace

Result<std::unique_ptr<Workload>> make_tatp(const TatpOptions& options) {
  if (options.subscribers < 1 || options.subscribers > 0x7fff'ffff) {
    return Status(ErrorCode::invalid_parameter_value, "tatp has 1 to 2147483647 subscribers");
  }
  auto tatp = std::make_unique<Tatp>(options);
  if (Status status = tatp->choose_mix(options.mix); !status.ok()) return status;
  return std::unique_ptr<Workload>(std::move(tatp));
}

}  // namespace namdb::workloads
