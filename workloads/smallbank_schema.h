// SmallBank's tables: customers, and the two balances that each has.
//
// After H-Store's definition, with two differences: money is whole cents in a bigint instead of a float, so
// that sums can be checked to the cent, and customers are named by their number everywhere (H-Store looks
// some up by name, which would need a secondary index).
#pragma once

#include <cstdint>
#include <span>

#include "workloads/table_spec.h"

namespace namdb::workloads::smallbank {

enum AccountsColumn : std::uint32_t { kAccountsCustomer, kAccountsName };
// SAVINGS and CHECKING have the same columns.
enum BalanceColumn : std::uint32_t { kBalanceCustomer, kBalanceCents };

enum TableIndex : std::size_t { kAccounts, kSavings, kChecking };
std::span<const TableSpec> tables();

// A balance is at first uniform between these.
inline constexpr std::int64_t kMinInitialBalance_cents = 10'000'00;
inline constexpr std::int64_t kMaxInitialBalance_cents = 50'000'00;

}  // namespace namdb::workloads::smallbank
