#include "memory/log/folder_identity.h"

#include <charconv>
#include <span>
#include <system_error>

#include "common/base/crc32c.h"
#include "common/base/hex.h"

namespace namdb::memory {
namespace {

constexpr std::string_view kTitle = "namdb database folder\n";
constexpr std::string_view kChecksum = "checksum = ";

std::uint32_t checksum_of(std::string_view text) {
  return crc32c(std::as_bytes(std::span(text.data(), text.size())));
}

// Takes "NAME = VALUE\n" off the front.
bool take_line(std::string_view& text, std::string_view name, std::string_view& value) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  if (end == std::string_view::npos || !line.starts_with(name) ||
      !line.substr(name.size()).starts_with(" = "))
    return false;
  value = line.substr(name.size() + 3);
  text.remove_prefix(end + 1);
  return true;
}

template <typename Number>
bool take_number(std::string_view& text, std::string_view name, int base, Number& number) {
  std::string_view value;
  if (!take_line(text, name, value)) return false;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number, base);
  return error == std::errc() && end == value.data() + value.size();
}

Status damaged(std::string_view field) {
  return Status(ErrorCode::corrupt_data, "its field " + std::string(field) + " is damaged",
                "restore the file from a backup of the folder");
}

}  // namespace

std::string write_folder_identity(const FolderIdentity& identity) {
  std::string text(kTitle);
  text += "format = " + std::to_string(identity.format) + "\n";
  text += "database = " + in_hex(identity.database_id, 16) + "\n";
  text += "server = " + std::to_string(identity.server_id) + "\n";
  text += std::string("state = ") + (identity.complete ? "complete" : "creating") + "\n";
  text += "written_by = " + identity.written_by + "\n";
  return text + std::string(kChecksum) + in_hex(checksum_of(text), 8) + "\n";
}

Result<FolderIdentity> read_folder_identity(std::string_view text) {
  std::string_view rest = text;
  FolderIdentity identity;
  if (!rest.starts_with(kTitle)) return damaged("title");
  rest.remove_prefix(kTitle.size());
  if (!take_number(rest, "format", 10, identity.format)) return damaged("format");
  if (identity.format > kFolderFormat) {
    // The rest may look otherwise; its writer's name does not.
    const std::size_t at = rest.find("written_by = ");
    std::string writer;
    if (at != std::string_view::npos) writer = rest.substr(at + 13, rest.find('\n', at) - at - 13);
    return Status(ErrorCode::configuration,
                  "its field format is " + std::to_string(identity.format) + ", and this program knows " +
                      std::to_string(kFolderFormat) +
                      (writer.empty() ? "" : "; namdb " + writer + " wrote it"),
                  "use that version or a later one");
  }
  if (!take_number(rest, "database", 16, identity.database_id) || identity.database_id == 0)
    return damaged("database");
  if (!take_number(rest, "server", 10, identity.server_id)) return damaged("server");
  std::string_view state;
  if (!take_line(rest, "state", state) || (state != "complete" && state != "creating"))
    return damaged("state");
  identity.complete = state == "complete";
  std::string_view writer;
  if (!take_line(rest, "written_by", writer)) return damaged("written_by");
  identity.written_by = writer;
  if (write_folder_identity(identity) != text) return damaged("checksum");
  return identity;
}

}  // namespace namdb::memory
