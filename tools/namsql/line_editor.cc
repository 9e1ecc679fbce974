#include "tools/namsql/line_editor.h"

#include <histedit.h>
#include <langinfo.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <clocale>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "tools/namsql/interrupts.h"
#include "tools/namsql/output.h"
#include "tools/namsql/text.h"
#include "tools/namsql/utf8.h"

namespace namdb::namsql {
namespace {

constexpr int kHistoryEntries = 2000;
constexpr std::size_t kMaxShownCandidates = 200;

std::size_t characters_of(std::string_view text) {
  std::size_t count = 0;
  while (!text.empty()) {
    text.remove_prefix(first_code_point(text).bytes);
    ++count;
  }
  return count;
}

// Files whose names begin with the word; folders have a slash at the end.
std::vector<std::string> files_of(const std::string& word) {
  const std::size_t slash = word.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : word.substr(0, slash + 1);
  const std::string beginning = word.substr(folder.size());
  std::vector<std::string> files;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder.empty() ? "." : folder, error), end;
       !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename();
    if (!name.starts_with(beginning) || (beginning.empty() && name.starts_with('.'))) continue;
    std::error_code ignored;
    files.push_back(concat(folder, name, entry->is_directory(ignored) ? "/" : ""));
  }
  std::sort(files.begin(), files.end());
  return files;
}

void show_candidates(const std::vector<std::string>& candidates) {
  const std::size_t shown = std::min(candidates.size(), kMaxShownCandidates);
  std::size_t width = 0;
  for (std::size_t i = 0; i < shown; ++i)
    width = std::max(width, display_width(printable(candidates[i])) + 2);
  const std::size_t columns = std::max<std::size_t>(1, screen_size().columns / width);
  const std::size_t lines = (shown + columns - 1) / columns;
  std::string text = "\n";
  for (std::size_t line = 0; line < lines; ++line) {
    for (std::size_t i = line; i < shown; i += lines) {
      const std::string word = printable(candidates[i]);
      text += word;
      if (i + lines < shown) text.append(width - display_width(word), ' ');
    }
    text += '\n';
  }
  if (shown < candidates.size()) text += concat("... and ", candidates.size() - shown, " more\n");
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

}  // namespace

struct LineEditor::Editor {
  Editor(HistoryFile file, Complete completer)
      : history_file(std::move(file)), complete(std::move(completer)) {}

  static Editor& of(EditLine* line) {
    void* data = nullptr;
    el_get(line, EL_CLIENTDATA, &data);
    return *static_cast<Editor*>(data);
  }

  static char* prompt_of(EditLine* line) { return of(line).prompt.data(); }

  // One character of the terminal. Ctrl-C ends the line.
  static int read_character(EditLine* line, wchar_t* out) {
    Editor& self = of(line);
    std::string bytes;
    for (;;) {
      if (Interrupts::wait(STDIN_FILENO, Interrupts::Ready::read, -1) == Interrupts::Wake::interrupted) {
        self.interrupted = true;
        errno = EINTR;
        return -1;
      }
      char byte = 0;
      const ssize_t count = ::read(STDIN_FILENO, &byte, 1);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return static_cast<int>(count);
      bytes += byte;
      const CodePoint point = first_code_point(bytes);
      const auto first = static_cast<unsigned char>(bytes[0]);
      const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC2 ? 2 : 1;
      if (!point.valid && bytes.size() < length) continue;
      *out = point.valid ? static_cast<wchar_t>(point.value) : L'?';
      return 1;
    }
  }

  static unsigned char complete_word(EditLine* line, int) {
    const LineInfo* info = el_line(line);
    const std::string text(info->buffer, static_cast<std::size_t>(info->lastchar - info->buffer));
    const auto cursor = static_cast<std::size_t>(info->cursor - info->buffer);
    Completion completion = of(line).complete(text, cursor);
    const std::string word = text.substr(completion.begin, cursor - completion.begin);
    if (completion.is_file) completion.candidates = files_of(word);
    if (completion.candidates.empty()) return CC_REFRESH_BEEP;
    std::string put = common_beginning(completion.candidates);
    const bool is_only = completion.candidates.size() == 1;
    if (is_only && put.back() != '/') put += ' ';
    if (!is_only && put.size() <= word.size()) {
      show_candidates(completion.candidates);
      return CC_REDISPLAY;
    }
    el_deletestr(line, static_cast<int>(characters_of(word)));
    el_insertstr(line, put.c_str());
    return CC_REFRESH;
  }

  HistoryFile history_file;
  Complete complete;
  std::string prompt;
  std::string last_entry;
  EditLine* line = nullptr;
  History* history = nullptr;
  bool interrupted = false;
};

LineEditor::LineEditor(HistoryFile history, Complete complete)
    : editor_(std::make_unique<Editor>(std::move(history), std::move(complete))) {
  if (std::setlocale(LC_CTYPE, "") == nullptr || std::string_view(::nl_langinfo(CODESET)) != "UTF-8")
    std::setlocale(LC_CTYPE, "C.UTF-8");
  HistEvent event{};
  editor_->history = history_init();
  ::history(editor_->history, &event, H_SETSIZE, kHistoryEntries);
  for (const std::string& entry : editor_->history_file.load())
    ::history(editor_->history, &event, H_ENTER, entry.c_str());

  EditLine* line = el_init("namsql", stdin, stdout, stderr);
  editor_->line = line;
  el_set(line, EL_CLIENTDATA, editor_.get());
  el_set(line, EL_PROMPT, &Editor::prompt_of);
  el_set(line, EL_EDITOR, "emacs");
  el_set(line, EL_HIST, ::history, editor_->history);
  el_set(line, EL_GETCFN, &Editor::read_character);
  el_set(line, EL_ADDFN, "namsql-complete", "Completes the word before the cursor", &Editor::complete_word);
  el_set(line, EL_BIND, "^R", "em-inc-search-prev", nullptr);
  // The user's own: ~/.editrc.
  el_source(line, nullptr);
}

LineEditor::~LineEditor() {
  el_end(editor_->line);
  history_end(editor_->history);
}

LineSource::Got LineEditor::next(const std::string& prompt, Reading reading, std::string& line) {
  editor_->prompt = prompt;
  editor_->interrupted = false;
  el_set(editor_->line, EL_BIND, "^I", reading == Reading::rows ? "ed-insert" : "namsql-complete", nullptr);
  el_resize(editor_->line);
  // Before the prompt is seen: libedit does it behind that, and a Ctrl-D in between is lost.
  el_set(editor_->line, EL_PREP_TERM, 1);
  int count = 0;
  const char* text = el_gets(editor_->line, &count);
  if (text == nullptr || count <= 0) {
    if (editor_->interrupted) {
      el_reset(editor_->line);
      std::fputs("^C\n", stdout);
      return Got::interrupted;
    }
    std::fputs("\n", stdout);
    return Got::end;
  }
  line.assign(text, static_cast<std::size_t>(count));
  if (!line.empty() && line.back() == '\n') line.pop_back();
  return Got::line;
}

void LineEditor::remember(const std::string& entry) {
  if (entry == editor_->last_entry) return;
  editor_->last_entry = entry;
  HistEvent event{};
  ::history(editor_->history, &event, H_ENTER, entry.c_str());
  editor_->history_file.append(entry);
}

}  // namespace namdb::namsql
