#include "workloads/smallbank_workload.h"

#include <array>
#include <utility>

#include "workloads/smallbank_schema.h"

namespace namdb::workloads {
namespace {

using namespace smallbank;
using procedure::Value;

enum TypeIndex : std::size_t {
  kAmalgamate,
  kBalance,
  kDepositChecking,
  kSendPayment,
  kTransactSavings,
  kWriteCheck,
};

// H-Store's amounts.
constexpr std::int64_t kDeposit_cents = 130;
constexpr std::int64_t kPayment_cents = 500;
constexpr std::int64_t kSavings_cents = 2'020;
constexpr std::int64_t kCheck_cents = 500;

class SmallBank;

class SmallBankCalls : public CallSource {
 public:
  SmallBankCalls(const SmallBank& bank, Random random) : bank_(bank), random_(random) {}
  void next(Call& call) override;

 private:
  const SmallBank& bank_;
  Random random_;
};

class SmallBank : public Workload {
 public:
  SmallBank(const SmallBankOptions& options)
      : Workload(options.seed), accounts_(options.accounts), customers_(options.accounts, options.skew) {
    for (const TableSpec& spec : smallbank::tables()) add_table(spec, accounts_, accounts_);
    Check money{.name = "money is neither made nor lost", .change = true};
    money.terms.push_back({1, kSavings, kBalanceCents});
    money.terms.push_back({1, kChecking, kBalanceCents});
    checks_.push_back(std::move(money));
  }

  Status choose_mix(const Mix& mix) {
    return set_mix({{"amalgamate", "smallbank_amalgamate", 15},
                    {"balance", "smallbank_balance", 15},
                    {"deposit_checking", "smallbank_deposit_checking", 15},
                    {"send_payment", "smallbank_send_payment", 25},
                    {"transact_savings", "smallbank_transact_savings", 15},
                    {"write_check", "smallbank_write_check", 15}},
                   mix);
  }

  std::string_view name() const override { return "smallbank"; }
  std::string population() const override { return std::to_string(accounts_) + " accounts"; }

  void make_rows(std::size_t table, std::uint64_t unit, std::vector<layout::Row>& rows) const override {
    layout::Row row(tables_[table].schema);
    const auto customer = static_cast<std::int64_t>(unit);
    Status status = row.writer().set_integer(kBalanceCustomer, customer);
    if (table == kAccounts) {
      std::string number = std::to_string(customer);
      number.insert(0, 12 - std::min<std::size_t>(number.size(), 12), '0');
      if (status.ok()) status = row.writer().set_text(kAccountsName, "Customer " + number);
    } else {
      Random random = random_for(table, unit);
      const auto balance =
          static_cast<std::int64_t>(random.between(kMinInitialBalance_cents, kMaxInitialBalance_cents));
      if (status.ok()) status = row.writer().set_integer(kBalanceCents, balance);
    }
    NAMDB_CHECK(status.ok());
    rows.push_back(std::move(row));
  }

  std::unique_ptr<CallSource> open_client(std::uint64_t client, std::uint64_t) const override {
    return std::make_unique<SmallBankCalls>(*this, random_for(1000, client));
  }

  std::int64_t call_change(const Call& call, std::span<const Value> results) const override {
    switch (call.type) {
      case kDepositChecking:
      case kTransactSavings:
        return std::get<std::int64_t>(call.arguments[1]);
      case kWriteCheck:
        return results.empty() ? 0 : -std::get<std::int64_t>(results[0]);
      default:
        return 0;
    }
  }

  std::size_t type(Random& random) const { return draw_type(random); }
  const KeyChooser& customers() const { return customers_; }

 private:
  std::uint64_t accounts_;
  KeyChooser customers_;
};

void SmallBankCalls::next(Call& call) {
  call.type = bank_.type(random_);
  call.arguments.clear();
  std::array<std::uint64_t, 2> customers{};
  const bool two = call.type == kAmalgamate || call.type == kSendPayment;
  const std::span<std::uint64_t> chosen(customers.data(), two ? 2 : 1);
  bank_.customers().next_distinct(random_, chosen);
  for (const std::uint64_t customer : chosen)
    call.arguments.emplace_back(static_cast<std::int64_t>(customer));
  switch (call.type) {
    case kDepositChecking:
      call.arguments.emplace_back(kDeposit_cents);
      break;
    case kSendPayment:
      call.arguments.emplace_back(kPayment_cents);
      break;
    case kTransactSavings:
      call.arguments.emplace_back(kSavings_cents);
      break;
    case kWriteCheck:
      call.arguments.emplace_back(kCheck_cents);
      break;
    default:
      break;
  }
}

}  // namespace

Result<std::unique_ptr<Workload>> make_smallbank(const SmallBankOptions& options) {
  if (options.accounts < 2) {
    return Status(ErrorCode::invalid_parameter_value, "smallbank needs at least 2 accounts");
  }
  auto bank = std::make_unique<SmallBank>(options);
  if (Status status = bank->choose_mix(options.mix); !status.ok()) return status;
  return std::unique_ptr<Workload>(std::move(bank));
}

}  // namespace namdb::workloads
