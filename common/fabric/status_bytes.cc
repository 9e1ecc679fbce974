#include "common/fabric/status_bytes.h"

namespace namdb::fabric {

std::string encode_status(const Status& status) {
  std::string text(status.info().name);
  text += '\0';
  text += status.message();
  text += '\0';
  text += status.hint();
  return text;
}

Status decode_status(std::string_view bytes) {
  const std::size_t first = bytes.find('\0');
  if (first == std::string_view::npos) return Status(ErrorCode::internal, std::string(bytes));
  const std::size_t second = bytes.find('\0', first + 1);
  const std::string_view name = bytes.substr(0, first);
  const std::string_view message = bytes.substr(first + 1, second - first - 1);
  const std::string_view hint = second == std::string_view::npos ? "" : bytes.substr(second + 1);
  return Status(error_code_from_name(name).value_or(ErrorCode::internal), std::string(message),
                std::string(hint));
}

}  // namespace namdb::fabric
