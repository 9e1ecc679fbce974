#include "tools/namsql/output.h"

#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "tools/namsql/interrupts.h"
#include "tools/namsql/text.h"
#include "tools/namsql/utf8.h"

namespace namdb::namsql {

ScreenSize screen_size() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {};
  return {size.ws_col, size.ws_row};
}

bool exceeds(std::string_view text, ScreenSize screen) {
  std::size_t lines = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    // Counting columns is needed only where there are more bytes than columns.
    if (end > screen.columns && display_width(text.substr(0, end)) > screen.columns) return true;
    // The prompt needs a line, too.
    if (++lines >= screen.lines) return true;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return false;
}

void Output::result(std::string_view text) {
  if (paging_ == Paging::long_results && !is_file() && ::isatty(STDOUT_FILENO) == 1 &&
      exceeds(text, screen_size()) && page(text)) {
    return;
  }
  write(text);
}

void Output::write(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), file_);
}

bool Output::page(std::string_view text) {
  const char* named = std::getenv("PAGER");
  const std::string command = named != nullptr && *named != '\0' ? named : "less -S";
  std::fflush(stdout);
  // A pager takes Ctrl-C by itself, and may end before it has read all.
  struct sigaction ignore{};
  struct sigaction before{};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGINT, &ignore, &before);
  std::FILE* pager = ::popen(command.c_str(), "w");
  if (pager != nullptr) {
    std::fwrite(text.data(), 1, text.size(), pager);
    // 127: the shell has found no such program.
    const int status = ::pclose(pager);
    if (status != -1 && WIFEXITED(status) && WEXITSTATUS(status) == 127) pager = nullptr;
  }
  ::sigaction(SIGINT, &before, nullptr);
  return pager != nullptr;
}

Status Output::to_file(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "we");
  if (file == nullptr) return Status(ErrorCode::internal, concat(path, ": ", std::strerror(errno)));
  Status status = to_standard_output();
  file_ = file;
  return status;
}

Status Output::to_standard_output() {
  if (!is_file()) return Status();
  const bool failed = std::ferror(file_) != 0;
  const bool closed = std::fclose(file_) == 0;
  file_ = stdout;
  if (failed || !closed) return Status(ErrorCode::internal, "the file of \\o could not be written");
  return Status();
}

void complain(std::string_view text) {
  std::fflush(stdout);
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace namdb::namsql
