#include "tools/namsql/history_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "tools/namsql/text.h"

namespace namdb::namsql {
namespace {

std::string escaped(std::string_view entry) {
  std::string line;
  for (const char c : entry) {
    if (c == '\n') {
      line += "\\n";
    } else {
      line.append(c == '\\' ? 2 : 1, c);
    }
  }
  return line + "\n";
}

std::string unescaped(std::string_view line) {
  std::string entry;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\\' || i + 1 == line.size()) {
      entry += line[i];
    } else {
      ++i;
      entry += line[i] == 'n' ? '\n' : line[i];
    }
  }
  return entry;
}

// CREATE and ALTER of roles with a password, wherever they stand in the entry. Rather too many than too few.
bool sets_password(std::string_view entry) {
  const std::string words = lower(entry);
  const auto has = [&words](std::string_view word) { return words.find(word) != std::string::npos; };
  return has("password") && (has("role") || has("user") || has("group"));
}

}  // namespace

std::string default_history_path() {
  constexpr std::string_view kName = "/namdb/namsql_history";
  if (const char* state = std::getenv("XDG_STATE_HOME"); state != nullptr && *state == '/')
    return concat(state, kName);
  const char* home = std::getenv("HOME");
  return home != nullptr && *home == '/' ? concat(home, "/.local/state", kName) : "";
}

bool HistoryFile::write(const std::string& path, int flags, std::string_view text) const {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0600);
  if (file < 0) return false;
  // One write: entries of several programs do not mix.
  const bool written = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  return ::close(file) == 0 && written;
}

std::vector<std::string> HistoryFile::load() {
  if (path_.empty()) return {};
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), ignored);
  std::vector<std::string> lines;
  {
    std::ifstream file(path_);
    for (std::string line; std::getline(file, line);) lines.push_back(std::move(line));
  }
  const bool cut = lines.size() > 2 * limit_;
  if (lines.size() > limit_) lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(limit_));
  if (cut) {
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    const std::string other = concat(path_, ".", ::getpid());
    if (!write(other, O_TRUNC, text) || std::rename(other.c_str(), path_.c_str()) != 0)
      ::unlink(other.c_str());
  }
  std::vector<std::string> entries;
  entries.reserve(lines.size());
  for (const std::string& line : lines) entries.push_back(unescaped(line));
  return entries;
}

void HistoryFile::append(std::string_view entry) {
  if (!path_.empty() && !sets_password(entry)) (void)write(path_, O_APPEND, escaped(entry));
}

}  // namespace namdb::namsql
