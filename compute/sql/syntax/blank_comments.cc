#include "compute/sql/syntax/blank_comments.h"

#include <pg_query.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "compute/sql/syntax/scan_tokens.h"

namespace namdb::sql {
namespace {

// So often a text is scanned again, at most: the parser refuses what is left.
constexpr int kMaxScans = 8;

constexpr std::uint64_t kString = 261;       // SCONST
constexpr std::uint64_t kLastString = 264;   // behind USCONST and BCONST: XCONST
constexpr std::uint64_t kLineComment = 275;  // SQL_COMMENT

bool is_quoted(const ScanToken& token) {
  return token.code >= kString && token.code <= kLastString && !token.text.starts_with('$');
}

bool has_escapes(const ScanToken& token) {
  return token.code == kString && (token.text.starts_with('E') || token.text.starts_with('e'));
}

// The comments between parts of strings, up to a part that has to be scanned again: the scanner has taken it
// for a string without escapes. `again`: there is such a part.
std::vector<std::pair<std::size_t, std::size_t>> comments_in_strings(std::string_view scan_result,
                                                                     std::string_view sql, bool& again) {
  ScanTokens tokens(scan_result, sql);
  std::vector<std::pair<std::size_t, std::size_t>> found;
  std::size_t sure = 0;  // of those found
  bool in_string = false;
  bool escapes = false;
  while (const std::optional<ScanToken> token = tokens.next()) {
    if (token->code == kLineComment && in_string) {
      found.emplace_back(token->begin, token->text.size());
      continue;
    }
    if (in_string && found.size() > sure && token->text.starts_with('\'')) {
      sure = found.size();
      again = escapes && token->text.find('\\') != std::string_view::npos;
      if (again) break;
      continue;
    }
    found.resize(sure);
    in_string = is_quoted(*token);
    escapes = in_string && has_escapes(*token);
  }
  found.resize(sure);
  return found;
}

}  // namespace

std::string blank_line_comments(std::string sql) {
  bool again = true;
  for (int scans = 0; again && scans < kMaxScans; ++scans) {
    again = false;
    const PgQueryScanResult scan = pg_query_scan(sql.c_str());
    if (scan.error == nullptr) {
      for (const auto& [begin, length] : comments_in_strings({scan.pbuf.data, scan.pbuf.len}, sql, again))
        std::fill_n(sql.begin() + static_cast<std::ptrdiff_t>(begin), length, ' ');
    }
    pg_query_free_scan_result(scan);
  }
  return sql;
}

}  // namespace namdb::sql
