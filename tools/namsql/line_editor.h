// Lines from a person at a terminal: libedit, with a history, and the TAB key.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "tools/namsql/completion.h"
#include "tools/namsql/history_file.h"
#include "tools/namsql/line_source.h"

namespace namdb::namsql {

class LineEditor final : public LineSource {
 public:
  // For a line and the byte of the cursor in it.
  using Complete = std::function<Completion(std::string_view line, std::size_t cursor)>;
  // Sets the process's character set: UTF-8 in any case, which is what the server speaks.
  LineEditor(HistoryFile history, Complete complete);
  ~LineEditor() override;
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  Got next(const std::string& prompt, Reading reading, std::string& line) override;
  bool is_interactive() const override { return true; }
  void remember(const std::string& entry) override;

 private:
  struct Editor;
  std::unique_ptr<Editor> editor_;
};

}  // namespace namdb::namsql
