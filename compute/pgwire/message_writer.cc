#include "compute/pgwire/message_writer.h"

#include <array>
#include <charconv>

#include "compute/sql/catalog/temporary_name.h"
#include "compute/sql/value/value_format.h"

namespace namdb::pgwire {

void MessageWriter::u32(std::uint32_t value) {
  const std::array<char, 4> bytes = {static_cast<char>(value >> 24), static_cast<char>(value >> 16),
                                     static_cast<char>(value >> 8), static_cast<char>(value)};
  out_.append(bytes.data(), bytes.size());
}

void MessageWriter::u16(std::uint16_t value) {
  out_ += static_cast<char>(value >> 8);
  out_ += static_cast<char>(value);
}

void MessageWriter::patch_u32(std::size_t at, std::uint32_t value) {
  for (std::size_t i = 0; i < 4; ++i) out_[at + i] = static_cast<char>(value >> (24 - 8 * i));
}

// The text up to a zero byte, which would end the protocol's string.
void MessageWriter::string(std::string_view text) {
  out_ += text.substr(0, text.find('\0'));
  out_ += '\0';
}

void MessageWriter::field(char code, std::string_view text) {
  out_ += code;
  string(text);
}

void MessageWriter::field_if_any(char code, std::string_view text) {
  if (!text.empty()) field(code, text);
}

std::size_t MessageWriter::begin(char type) {
  out_ += type;
  const std::size_t at = out_.size();
  out_.append(4, '\0');
  return at;
}

void MessageWriter::end(std::size_t at) {
  patch_u32(at, static_cast<std::uint32_t>(out_.size() - at));
}

void MessageWriter::empty(char type) {
  const std::array<char, 5> bytes = {type, 0, 0, 0, 4};
  out_.append(bytes.data(), bytes.size());
}

void MessageWriter::authentication_ok() {
  const std::size_t at = begin('R');
  u32(0);
  end(at);
}

void MessageWriter::authentication_sasl(const std::vector<std::string_view>& mechanisms) {
  const std::size_t at = begin('R');
  u32(10);
  for (const std::string_view mechanism : mechanisms) string(mechanism);
  out_ += '\0';
  end(at);
}

void MessageWriter::authentication_data(std::uint32_t code, std::string_view data) {
  const std::size_t at = begin('R');
  u32(code);
  out_ += data;
  end(at);
}

void MessageWriter::parameter_status(std::string_view name, std::string_view value) {
  const std::size_t at = begin('S');
  string(name);
  string(value);
  end(at);
}

void MessageWriter::backend_key_data(std::int32_t process_id, std::uint32_t secret) {
  const std::size_t at = begin('K');
  u32(static_cast<std::uint32_t>(process_id));
  u32(secret);
  end(at);
}

void MessageWriter::negotiate_protocol_version(const std::vector<std::string_view>& unknown_options) {
  const std::size_t at = begin('v');
  u32(3U << 16);  // the newest version that this server speaks: 3.0
  u32(static_cast<std::uint32_t>(unknown_options.size()));
  for (const std::string_view option : unknown_options) string(option);
  end(at);
}

void MessageWriter::ready_for_query(char transaction_status) {
  const std::array<char, 6> bytes = {'Z', 0, 0, 0, 5, transaction_status};
  out_.append(bytes.data(), bytes.size());
}

void MessageWriter::parameter_description(std::span<const sql::Type> types,
                                          std::span<const sql::Oid> declared) {
  const std::size_t at = begin('t');
  u16(static_cast<std::uint16_t>(types.size()));
  for (std::size_t i = 0; i < types.size(); ++i) {
    const bool said = i < declared.size() && declared[i] != 0 && declared[i] != sql::kOidUnknown;
    u32(said ? declared[i] : sql::type_oid(types[i].id));
  }
  end(at);
}

void MessageWriter::row_description(std::span<const sql::ResultColumn> columns,
                                    std::span<const std::int16_t> formats) {
  const std::size_t at = begin('T');
  u16(static_cast<std::uint16_t>(columns.size()));
  for (std::size_t i = 0; i < columns.size(); ++i) {
    string(columns[i].name);
    u32(columns[i].table);
    u16(columns[i].number);
    u32(sql::type_oid(columns[i].type.id));
    u16(static_cast<std::uint16_t>(sql::type_size(columns[i].type.id)));
    u32(static_cast<std::uint32_t>(columns[i].type.modifier));
    u16(static_cast<std::uint16_t>(i < formats.size() ? formats[i] : 0));
  }
  end(at);
}

void MessageWriter::data_row(std::span<const sql::ResultColumn> columns,
                             std::span<const std::int16_t> formats, std::span<const sql::Datum> values,
                             const absl::TimeZone& zone) {
  const std::size_t at = begin('D');
  u16(static_cast<std::uint16_t>(values.size()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i].null) {
      u32(~std::uint32_t{0});
      continue;
    }
    const std::size_t length_at = out_.size();
    out_.append(4, '\0');
    if (i < formats.size() && formats[i] == 1) {
      sql::append_binary(out_, columns[i].type, values[i]);
    } else {
      sql::append_text(out_, columns[i].type, values[i], zone);
    }
    patch_u32(length_at, static_cast<std::uint32_t>(out_.size() - length_at - 4));
  }
  end(at);
}

void MessageWriter::command_complete(const sql::Completion& completion) {
  const std::size_t at = begin('C');
  out_ += completion.tag;
  if (completion.counts_rows) {
    out_ += completion.tag == "INSERT" ? " 0 " : " ";
    std::array<char, 24> digits;
    const auto end_of_digits =
        std::to_chars(digits.data(), digits.data() + digits.size(), completion.rows).ptr;
    out_.append(digits.data(), static_cast<std::size_t>(end_of_digits - digits.data()));
  }
  out_ += '\0';
  end(at);
}

void MessageWriter::copy_response(char type, std::size_t columns, bool binary) {
  const std::size_t at = begin(type);
  out_ += static_cast<char>(binary ? 1 : 0);
  u16(static_cast<std::uint16_t>(columns));
  for (std::size_t i = 0; i < columns; ++i) u16(binary ? 1 : 0);
  end(at);
}

void MessageWriter::copy_data(std::string_view bytes) {
  const std::size_t at = begin('d');
  out_ += bytes;
  end(at);
}

void MessageWriter::error(std::string_view severity, const Status& status, const sql::ErrorFields& fields) {
  const std::size_t at = begin('E');
  field('S', severity);
  field('V', severity);
  field('C', fields.sqlstate.empty() ? status.info().sqlstate : std::string_view(fields.sqlstate));
  field('M', sql::without_prefixes(status.message()));
  field_if_any('D', sql::without_prefixes(fields.detail.empty() ? status.detail() : fields.detail));
  field_if_any('H', sql::without_prefixes(status.hint()));
  field_if_any('W', fields.context);
  if (fields.position != 0) field('P', std::to_string(fields.position));
  field_if_any('s', fields.schema);
  field_if_any('t', sql::without_prefixes(fields.table));
  field_if_any('c', fields.column);
  field_if_any('n', sql::without_prefixes(fields.constraint));
  // PostgreSQL's source routine: here the reason's name, which is finer than the SQLSTATE.
  field('R', status.info().name);
  out_ += '\0';
  end(at);
}

void MessageWriter::notice(std::string_view severity, std::string_view sqlstate, std::string_view message) {
  const std::size_t at = begin('N');
  field('S', severity);
  field('V', severity);
  field('C', sqlstate);
  field('M', sql::without_prefixes(message));
  out_ += '\0';
  end(at);
}

}  // namespace namdb::pgwire
