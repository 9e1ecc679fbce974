// The statements that a person has given, in a file: a line for each, in which \n is a line end and \\ a
// backslash. Several programs may append at a time. Only its owner may read it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace namdb::namsql {

// $XDG_STATE_HOME/namdb/namsql_history, or the same in ~/.local/state; empty where there is no home.
std::string default_history_path();

class HistoryFile {
 public:
  // Folders that are missing are made. Where the file cannot be used there is no history, and no error.
  explicit HistoryFile(std::string path, std::size_t limit = 2000) : path_(std::move(path)), limit_(limit) {}

  // The newest entries, the oldest first. A file with twice as many as the limit is cut.
  std::vector<std::string> load();
  // Statements with passwords are left out.
  void append(std::string_view entry);

 private:
  bool write(const std::string& path, int flags, std::string_view text) const;
  std::string path_;
  std::size_t limit_;
};

}  // namespace namdb::namsql
