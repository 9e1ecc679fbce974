#include "workloads/ycsb_workload.h"

#include <array>
#include <utility>

#include "workloads/generators/text.h"

namespace namdb::workloads {
namespace {

class Ycsb : public Workload {
 public:
  explicit Ycsb(const YcsbOptions& options)
      : Workload(options.seed), options_(options), keys_(options.records, options.skew) {
    add_table(ycsb::table(options.shape), options.records, options.records);
    NAMDB_CHECK(set_mix({{"transaction", "ycsb_transaction", 1}}, {}).ok());
    Check rows{.name = "no record is made or lost", .change = true};
    rows.terms.push_back({1, 0, std::nullopt});
    checks_.push_back(std::move(rows));
  }

  std::string_view name() const override { return "ycsb"; }
  std::string population() const override { return std::to_string(options_.records) + " records"; }

  void make_rows(std::size_t, std::uint64_t unit, std::vector<layout::Row>& rows) const override {
    Random random = random_for(0, unit);
    layout::Row row(tables_[0].schema);
    Status status = row.writer().set_integer(ycsb::kKey, static_cast<std::int64_t>(unit));
    for (std::uint32_t field = 0; field < options_.shape.fields && status.ok(); ++field) {
      const std::string text = random_text(random, options_.shape.field_bytes, options_.shape.field_bytes);
      status = row.writer().set_text(ycsb::kField0 + field, text);
    }
    NAMDB_CHECK(status.ok());
    rows.push_back(std::move(row));
  }

  std::unique_ptr<CallSource> open_client(std::uint64_t client, std::uint64_t) const override;
  void next(Random& random, Call& call) const;

 private:
  YcsbOptions options_;
  KeyChooser keys_;
};

class YcsbCalls : public CallSource {
 public:
  YcsbCalls(const Ycsb& ycsb, Random random) : ycsb_(ycsb), random_(random) {}
  void next(Call& call) override { ycsb_.next(random_, call); }

 private:
  const Ycsb& ycsb_;
  Random random_;
};

std::unique_ptr<CallSource> Ycsb::open_client(std::uint64_t client, std::uint64_t) const {
  return std::make_unique<YcsbCalls>(*this, random_for(1, client));
}

void Ycsb::next(Random& random, Call& call) const {
  std::array<std::uint64_t, ycsb::kMaxOperations> chosen{};
  const std::span<std::uint64_t> keys(chosen.data(), options_.operations);
  keys_.next_distinct(random, keys);
  std::string text;
  std::uint64_t write_mask = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (i > 0) text += ',';
    text += std::to_string(keys[i]);
    if (!random.chance(options_.reads)) write_mask |= std::uint64_t{1} << i;
  }
  call.type = 0;
  call.arguments.clear();
  call.arguments.emplace_back(std::move(text));
  call.arguments.emplace_back(static_cast<std::int64_t>(write_mask));
  const std::uint32_t bytes = write_mask == 0 ? 0 : options_.shape.field_bytes;
  call.arguments.emplace_back(random_text(random, bytes, bytes));
}

}  // namespace

Result<std::unique_ptr<Workload>> make_ycsb(const YcsbOptions& options) {
  const auto invalid = [](std::string message) {
    return Status(ErrorCode::invalid_parameter_value, std::move(message));
  };
  if (options.operations < 1 || options.operations > ycsb::kMaxOperations) {
    return invalid("a ycsb transaction has 1 to " + std::to_string(ycsb::kMaxOperations) + " operations");
  }
  if (options.records < options.operations) {
    return invalid("ycsb needs at least as many records as operations in a transaction");
  }
  if (!(options.reads >= 0 && options.reads <= 1)) return invalid("the share of reads is between 0 and 1");
  if (options.shape.fields < 1 || options.shape.field_bytes < 1) return invalid("ycsb needs a field");
  if (Result<layout::Schema> schema =
          layout::Schema::create(ycsb::table(options.shape).columns, ycsb::table(options.shape).key);
      !schema.ok()) {
    return schema.status();
  }
  return std::unique_ptr<Workload>(std::make_unique<Ycsb>(options));
}

}  // namespace namdb::workloads
