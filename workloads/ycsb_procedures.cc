// YCSB as transactions: a number of operations on keys, each a read or an update, together one transaction.
//
//   CALL ycsb_transaction('17,4,711', 5, 'value')
//
// The keys are one text of decimal numbers joined by commas: any number of operations with one parameter to
// send and bind. Bit i of the write mask makes operation i an update; operation i reads or writes field
// i modulo the number of fields. All keys are read in one fetch. The result is a checksum of the fields that
// were read, so that no read can be left out.
#include <array>
#include <charconv>
#include <cstring>

#include "workloads/arguments.h"
#include "workloads/procedures.h"
#include "workloads/ycsb_schema.h"

namespace namdb::workloads {
namespace {

using namespace ycsb;
using procedure::abort_with;
using procedure::ColumnType;
using procedure::Context;
using procedure::Key;
using procedure::RowId;
using procedure::Task;

struct Keys {
  std::array<std::int64_t, kMaxOperations> values{};
  std::size_t count = 0;
};

bool parse_keys(std::string_view text, Keys& keys) {
  const char* next = text.data();
  const char* const end = text.data() + text.size();
  while (keys.count < kMaxOperations) {
    const auto [rest, error] = std::from_chars(next, end, keys.values[keys.count]);
    if (error != std::errc()) return false;
    ++keys.count;
    if (rest == end) return true;
    if (*rest != ',') return false;
    next = rest + 1;
  }
  return false;
}

std::uint64_t first_bytes(std::string_view text) {
  std::uint64_t word = 0;
  std::memcpy(&word, text.data(), std::min(text.size(), sizeof word));
  return word;
}

Task<Status> transaction(Context& context) {
  NAMDB_CO_CHECK(require_arguments(context));
  Keys keys;
  if (!parse_keys(context.text(0), keys)) {
    co_return abort_with("keys must be 1 to 64 decimal numbers, joined by commas");
  }
  const auto write_mask = static_cast<std::uint64_t>(context.integer(1));
  const std::string_view value = context.text(2);
  std::array<RowId, kMaxOperations> rows;
  for (std::size_t i = 0; i < keys.count; ++i) {
    Key key(context.schema(0));
    key.integer(keys.values[i]);
    const bool writes = (write_mask >> i & 1) != 0;
    rows[i] = writes ? context.get(0, key.bytes()) : context.get_to_read(0, key.bytes());
  }
  NAMDB_CO_CHECK(co_await context.fetch());
  const auto fields = static_cast<std::uint32_t>(context.schema(0).columns().size() - 1);
  std::uint64_t checksum = 0;
  for (std::size_t i = 0; i < keys.count; ++i) {
    if (!context.found(rows[i])) co_return abort_with("no record " + std::to_string(keys.values[i]));
    const std::uint32_t field = kField0 + static_cast<std::uint32_t>(i) % fields;
    if ((write_mask >> i & 1) != 0) {
      NAMDB_CO_CHECK(context.update(rows[i]).set_text(field, value));
    } else {
      checksum = checksum * 31 + first_bytes(context.row(rows[i]).text(field));
    }
  }
  context.result(0, static_cast<std::int64_t>(checksum));
  co_return Status();
}

}  // namespace

void register_ycsb(procedure::Registry& registry) {
  registry.add({.name = "ycsb_transaction",
                .parameters = {{.name = "keys", .type = ColumnType::text},
                               {.name = "write_mask"},
                               {.name = "value", .type = ColumnType::text}},
                .results = {{.name = "checksum"}},
                .tables = {"usertable"},
                .run = transaction});
}

}  // namespace namdb::workloads
