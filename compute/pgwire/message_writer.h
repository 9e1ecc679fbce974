// PostgreSQL's protocol, version 3: the messages that servers send, appended to a buffer.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "compute/sql/execute/result_sink.h"
#include "compute/sql/plan/plan.h"
#include "compute/sql/syntax/error_fields.h"

namespace namdb::pgwire {

class MessageWriter {
 public:
  explicit MessageWriter(std::string& out) : out_(out) {}

  void authentication_ok();
  void authentication_sasl(const std::vector<std::string_view>& mechanisms);
  void authentication_sasl_continue(std::string_view data) { authentication_data(11, data); }
  void authentication_sasl_final(std::string_view data) { authentication_data(12, data); }
  void parameter_status(std::string_view name, std::string_view value);
  void backend_key_data(std::int32_t process_id, std::uint32_t secret);
  void negotiate_protocol_version(const std::vector<std::string_view>& unknown_options);
  void ready_for_query(char transaction_status);

  void parse_complete() { empty('1'); }
  void bind_complete() { empty('2'); }
  void close_complete() { empty('3'); }
  void no_data() { empty('n'); }
  void portal_suspended() { empty('s'); }
  void empty_query() { empty('I'); }
  void parameter_description(std::span<const sql::Type> types, std::span<const sql::Oid> declared);
  // `formats`: one for each column; none: all text.
  void row_description(std::span<const sql::ResultColumn> columns, std::span<const std::int16_t> formats);
  void data_row(std::span<const sql::ResultColumn> columns, std::span<const std::int16_t> formats,
                std::span<const sql::Datum> values, const absl::TimeZone& zone);
  // CopyInResponse ('G') and CopyOutResponse ('H').
  void copy_response(char type, std::size_t columns, bool binary);
  void copy_data(std::string_view bytes);
  void copy_done() { empty('c'); }
  void command_complete(const sql::Completion& completion);
  // `severity`: ERROR or FATAL.
  void error(std::string_view severity, const Status& status, const sql::ErrorFields& fields = {});
  void notice(std::string_view severity, std::string_view sqlstate, std::string_view message);

 private:
  void authentication_data(std::uint32_t code, std::string_view data);
  void empty(char type);
  std::size_t begin(char type);
  void end(std::size_t at);
  void u32(std::uint32_t value);
  void u16(std::uint16_t value);
  void string(std::string_view text);
  void field(char code, std::string_view text);
  void field_if_any(char code, std::string_view text);
  void patch_u32(std::size_t at, std::uint32_t value);

  std::string& out_;
};

}  // namespace namdb::pgwire
