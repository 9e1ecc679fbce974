// A connection's output: messages gather in a buffer and leave in one write when there is nothing left to do
// for the client, or when they become too many.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "common/reactor/stream.h"
#include "compute/pgwire/message_writer.h"
#include "compute/sql/execute/result_sink.h"

namespace namdb::pgwire {

class Output final : public sql::ResultSink {
 public:
  explicit Output(reactor::ByteStream& stream) : stream_(&stream) {}
  // All that was written has been flushed.
  void change_stream(reactor::ByteStream& stream) { stream_ = &stream; }

  MessageWriter writer() { return MessageWriter(muted_ ? dropped_ : buffer_); }
  // Messages that are written while it is muted are dropped.
  void mute() { muted_ = true; }
  void unmute() {
    muted_ = false;
    dropped_ = {};
  }
  void flush();
  // Appends bytes that are not a message.
  void raw(std::string_view bytes) { buffer_ += bytes; }
  // Rows of the simple protocol are described before them; those of the extended one on demand.
  void describe_rows(bool describe) { describe_rows_ = describe; }
  // The formats of the portal that will be executed; they stay valid during it.
  void set_formats(std::span<const std::int16_t> formats) { formats_ = formats; }

  void begin_rows(std::span<const sql::ResultColumn> columns, const absl::TimeZone& zone) override;
  void show_binary(bool on) override {
    binary_ = on;
    if (!on) formats_ = {};
  }
  void add_row(std::span<const sql::Datum> values) override {
    writer().data_row(columns_, formats_, values, zone_);
  }
  void notice(std::string_view severity, std::string_view sqlstate, std::string_view message) override {
    writer().notice(severity, sqlstate, message);
  }
  void follow_application_name(std::function<void(std::string_view)> follower) {
    follower_ = std::move(follower);
  }
  void setting_changed(std::string_view name, std::string_view value) override {
    if (follower_ && name == "application_name") follower_(value);
    writer().parameter_status(name, value);
  }
  bool congested() const override {
    return buffer_.size() >= kFlush_bytes || stream_->unsent_bytes() > kUnsent_bytes;
  }
  reactor::Task<Status> relieve() override;
  std::uint64_t position() const override { return flushed_bytes_ + buffer_.size(); }
  bool rewind(std::uint64_t position) override;
  // Data for COPY comes from there; null: from nowhere.
  void set_copy_source(sql::CopySource* source) { copy_source_ = source; }
  sql::CopySource* begin_copy_in(std::size_t columns, bool binary) override;
  bool begin_copy_out(std::size_t columns, bool binary) override {
    writer().copy_response('H', columns, binary);
    return true;
  }
  void copy_data(std::string_view bytes) override { writer().copy_data(bytes); }
  void end_copy_out() override { writer().copy_done(); }
  void complete(const sql::Completion& completion) override;
  void error(const Status& status, const sql::ErrorFields& fields) override {
    writer().error("ERROR", status, fields);
  }

 private:
  static constexpr std::size_t kFlush_bytes = 64 * 1024;
  // The bytes that may wait in the stream before the producer of rows, and the reading of more messages, wait
  // as well.
  static constexpr std::size_t kUnsent_bytes = 256 * 1024;

  reactor::ByteStream* stream_;
  std::function<void(std::string_view)> follower_;
  std::string buffer_;
  bool muted_ = false;
  std::string dropped_;
  std::uint64_t flushed_bytes_ = 0;
  bool describe_rows_ = false;
  std::span<const sql::ResultColumn> columns_;
  std::span<const std::int16_t> formats_;
  bool binary_ = false;  // whatever the client asked for
  std::vector<std::int16_t> binary_formats_;
  absl::TimeZone zone_;
  sql::CopySource* copy_source_ = nullptr;
};

}  // namespace namdb::pgwire
