// Where statements come from, line by line: a text, a file, or a person.
#pragma once

#include <cstdint>
#include <istream>
#include <sstream>
#include <string>
#include <utility>

namespace namdb::namsql {

class LineSource {
 public:
  virtual ~LineSource() = default;
  enum class Got : std::uint8_t { line, end, interrupted };
  // Rows of COPY may have tabs in them, which a person types.
  enum class Reading : std::uint8_t { statements, rows };
  // Without its line end. `prompt` is for a person.
  virtual Got next(const std::string& prompt, Reading reading, std::string& line) = 0;
  virtual bool is_interactive() const { return false; }
  // For messages about a statement: the file. Empty: they name no place.
  virtual std::string name() const { return {}; }
  // Whether rows of COPY FROM STDIN come from standard input, and not from behind the statement.
  virtual bool rows_from_standard_input() const { return false; }
  // A whole statement, or a command, that a person has given.
  virtual void remember(const std::string&) {}
};

// A file, or standard input.
class StreamSource final : public LineSource {
 public:
  StreamSource(std::istream& stream, std::string name) : stream_(stream), name_(std::move(name)) {}
  Got next(const std::string&, Reading, std::string& line) override {
    if (!std::getline(stream_, line)) return Got::end;
    // Files of other systems.
    if (!line.empty() && line.back() == '\r') line.pop_back();
    return Got::line;
  }
  std::string name() const override { return name_; }

 private:
  std::istream& stream_;
  std::string name_;
};

// A text of the command line.
class CommandSource final : public LineSource {
 public:
  explicit CommandSource(const std::string& text) : stream_(text), lines_(stream_, "") {}
  Got next(const std::string& prompt, Reading reading, std::string& line) override {
    return lines_.next(prompt, reading, line);
  }
  bool rows_from_standard_input() const override { return true; }

 private:
  std::istringstream stream_;
  StreamSource lines_;
};

}  // namespace namdb::namsql
