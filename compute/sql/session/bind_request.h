// A client's wish for a portal: the Bind message. The strings are the client's; they live until bind() ends.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace namdb::sql {

struct BindRequest {
  std::string_view portal;
  std::string_view statement;
  std::span<const std::int16_t> parameter_formats;  // none, one for all, or one each; 0 text, 1 binary
  std::span<const std::optional<std::string_view>> parameters;
  std::span<const std::int16_t> result_formats;
};

}  // namespace namdb::sql
