// COPY: rows between a table and the client's data.
#include <optional>
#include <string>
#include <vector>

#include "compute/sql/copy/copy_reader.h"
#include "compute/sql/copy/copy_writer.h"
#include "compute/sql/execute/foreign_keys.h"
#include "compute/sql/execute/long_value_rows.h"
#include "compute/sql/execute/run.h"
#include "compute/sql/execute/write_row.h"
#include "compute/sql/value/value_format.h"

namespace namdb::sql {
namespace {

constexpr std::uint64_t kCopiedAtOnce = 4096;
constexpr std::size_t kMaxShown_bytes = 100;  // of a field, in an error's context

// Takes rows out of the client's data and inserts them.
class CopyIn {
 public:
  CopyIn(Run& run, const CopyFromPlan& plan, CopySource& source)
      : run_(run),
        plan_(plan),
        source_(source),
        reader_(plan.options, names_of(plan)),
        empty_row_(plan.insert.table->schema),
        row_(empty_row_),
        foreign_keys_(run, plan.insert.foreign_keys.get()),
        memory_(run.client_memory) {}

  reactor::Task<Status> copy() {
    while (true) {
      const Result<CopyReader::Next> next = reader_.next(fields_);
      if (!next.ok()) {
        note_place({});
        co_return next.status();
      }
      if (*next == CopyReader::Next::end) break;
      Status status = *next == CopyReader::Next::row ? insert() : Status();
      if (*next == CopyReader::Next::more) {
        status = co_await read_more();
      } else if (run_.work.paused() ||
                 (status.ok() && (fetch_is_due() || run_.work.due() || run_.long_values.work_is_due()))) {
        status = co_await go_on();
      }
      if (!status.ok()) co_return status;
    }
    if (Status status = co_await run_.transaction->fetch(); !status.ok()) co_return status;
    if (Status status = co_await foreign_keys_.finish(); !status.ok()) co_return status;
    co_return co_await drain();
  }

 private:
  static std::vector<std::string> names_of(const CopyFromPlan& plan) {
    std::vector<std::string> names;
    for (const std::uint32_t column : plan.columns)
      names.push_back(plan.insert.table->schema.columns()[column].name);
    return names;
  }

  void note_place(std::string_view more) const {
    if (!run_.error.context.empty() || reader_.line() == 0) return;
    run_.error.context =
        "COPY " + plan_.insert.table->name + ", line " + std::to_string(reader_.line()) + std::string(more);
  }

  reactor::Task<Status> read_more() {
    const auto part = co_await source_.next();
    if (!part.ok()) co_return part.status();
    if (*part) {
      reader_.add(**part);
    } else {
      reader_.end();
      sent_all_ = true;
    }
    if (Status status = memory_.resize(reader_.kept_bytes()); !status.ok()) co_return status;
    co_return run_.interrupt.check();
  }

  // Drops the bytes behind the end of the data.
  reactor::Task<Status> drain() {
    while (!sent_all_) {
      const auto part = co_await source_.next();
      if (!part.ok()) co_return part.status();
      sent_all_ = !part->has_value();
    }
    co_return Status();
  }

  Status parse(std::vector<Datum>& values) {
    values.assign(fields_.size(), Datum());
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      if (!fields_[i]) continue;
      run_.work.charge(fields_[i]->size());
      const TypeId type = plan_.types[i].id;
      Status status = plan_.options.format == CopyFormat::binary
                          ? parse_binary(*fields_[i], type, run_.arena, values[i])
                          : parse_text(*fields_[i], type, run_.facts.time(), run_.arena, values[i]);
      if (status.ok()) continue;
      if (const Status encoding = check_encoding(*fields_[i]); !encoding.ok()) {
        note_place({});
        return encoding;
      }
      const std::string& name = plan_.insert.table->schema.columns()[plan_.columns[i]].name;
      std::string place = ", column " + name;
      if (plan_.options.format != CopyFormat::binary)
        place += ": \"" + std::string(fields_[i]->substr(0, kMaxShown_bytes)) + "\"";
      note_place(place);
      return status;
    }
    return {};
  }

  // As in PostgreSQL, bytes that are not text are the error of a line, before anything else that is wrong
  // with it.
  Status check_encoding(std::string_view field) const {
    if (plan_.options.format == CopyFormat::binary) return {};
    if (Status status = reader_.check_encoding(); !status.ok()) return status;
    // Of bytes that are written as escapes.
    return check_utf8(field);
  }

  Status make() { return make_row(run_, plan_.insert, plan_.insert.rows.front(), values_, row_); }

  // Makes the row whose fields were read.
  Status parse_and_make() {
    if (Status status = parse(values_); !status.ok()) return status;
    row_ = empty_row_;
    return make();
  }

  // Inserts it. When the work is paused, go_on() ends it.
  Status insert() {
    Status status = parse_and_make();
    if (run_.work.paused()) return status;
    if (!status.ok()) {
      note_place({});
      return status;
    }
    return add_row();
  }

  Status add_row() {
    run_.transaction->insert(plan_.insert.table, row_.bytes());
    run_.long_values.note_written(row_.view());
    Status status = foreign_keys_.note_insert(row_.view());
    run_.work.charge(Work::kWrittenRow_units);
    run_.next_row();
    ++run_.affected;
    return status;
  }

  // Now and then, so that a duplicate key is the statement's error and not the commit's.
  bool fetch_is_due() const { return run_.affected % kInsertedAtOnce == 0; }

  // The row is inserted, and fetched if it is time. An error is one of its line.
  reactor::Task<Status> finish_row() {
    if (run_.work.paused()) {
      const auto make_again = [this] { return make(); };
      if (Status status = co_await run_.resume(make_again); !status.ok()) co_return status;
      if (Status status = add_row(); !status.ok()) co_return status;
    }
    if (!fetch_is_due()) co_return Status();
    co_return co_await run_.transaction->fetch();
  }

  // The steps that may take longer than a row.
  reactor::Task<Status> go_on() {
    Status status = co_await finish_row();
    if (!status.ok()) note_place({});
    if (status.ok() && fetch_is_due()) status = co_await foreign_keys_.check_some();
    if (status.ok() && run_.long_values.work_is_due()) status = co_await write_long_values(&run_);
    if (status.ok() && run_.work.due()) status = co_await run_.take_turn();
    co_return status;
  }

  Run& run_;
  const CopyFromPlan& plan_;
  CopySource& source_;
  CopyReader reader_;
  const layout::Row empty_row_;
  layout::Row row_;
  ForeignKeyChecks foreign_keys_;
  MemoryShare memory_;
  std::vector<std::optional<std::string_view>> fields_;
  std::vector<Datum> values_;
  bool sent_all_ = false;
};

// Gives the rows of a query to the client as data of COPY.
class CopyOut final : public ResultSink {
 public:
  CopyOut(ResultSink& client, const CopyToPlan& plan, const absl::TimeZone& zone)
      : client_(client), writer_(plan.options, types_of(plan), zone) {}

  void begin(std::span<const std::string> names) {
    writer_.begin(bytes_, names);
    give();
  }
  void end() {
    writer_.end(bytes_);
    give();
    client_.end_copy_out();
  }

  void begin_rows(std::span<const ResultColumn>, const absl::TimeZone&) override {}
  // One message a row, as in PostgreSQL.
  void add_row(std::span<const Datum> values) override {
    writer_.row(bytes_, values);
    give();
  }
  void notice(std::string_view severity, std::string_view sqlstate, std::string_view message) override {
    client_.notice(severity, sqlstate, message);
  }
  void setting_changed(std::string_view name, std::string_view value) override {
    client_.setting_changed(name, value);
  }
  bool congested() const override { return client_.congested(); }
  reactor::Task<Status> relieve() override { return client_.relieve(); }
  std::uint64_t position() const override { return client_.position(); }
  bool rewind(std::uint64_t position) override { return client_.rewind(position); }
  void complete(const Completion&) override {}
  void error(const Status&, const ErrorFields&) override {}

 private:
  static std::vector<Type> types_of(const CopyToPlan& plan) {
    std::vector<Type> types;
    for (const ResultColumn& column : plan.columns) types.push_back(column.type);
    return types;
  }
  void give() {
    if (!bytes_.empty()) client_.copy_data(bytes_);
    bytes_.clear();
  }

  ResultSink& client_;
  CopyWriter writer_;
  std::string bytes_;
};

Status no_copy() {
  return Status(ErrorCode::feature_not_supported, "COPY with the client is not supported here");
}

}  // namespace

reactor::Task<Status> run_copy_from(Run& run, const CopyFromPlan& plan) {
  CopySource* const source =
      run.sink.begin_copy_in(plan.columns.size(), plan.options.format == CopyFormat::binary);
  if (source == nullptr) co_return no_copy();
  CopyIn copy(run, plan, *source);
  co_return co_await copy.copy();
}

reactor::Task<Status> run_copy_to(Run& run, const CopyToPlan& plan) {
  if (!run.sink.begin_copy_out(plan.columns.size(), plan.options.format == CopyFormat::binary))
    co_return no_copy();
  CopyOut out(run.sink, plan, run.facts.zone());
  std::vector<std::string> names;
  for (const ResultColumn& column : plan.columns) names.push_back(column.name);
  out.begin(names);
  Arena arena;
  Run nested = run.nested(out, arena, run.work, run.outer);
  const std::unique_ptr<Query> query = run.start_query(*plan.query);
  while (!query->done()) {
    Status status = co_await query->fetch(nested, kCopiedAtOnce);
    if (!status.ok()) co_return status;
  }
  run.affected = nested.affected;
  out.end();
  co_return Status();
}

}  // namespace namdb::sql
