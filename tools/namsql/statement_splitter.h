// Cuts the text that a person or a script gives into statements, which end with `;`, and backslash commands,
// which end with their line. It knows strings, quoted names, dollar quotes, comments (also nested ones) and
// parentheses: a `;` or a backslash inside of them ends nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace namdb::namsql {

class StatementSplitter {
 public:
  enum class Kind : std::uint8_t {
    statement,  // with its `;`, without blanks around it
    command,    // with its backslash, without its line end; pending() is the statement that it stands behind
  };
  struct Piece {
    Kind kind;
    std::string text;
    std::size_t line;  // of its beginning, from 1
  };
  // The construct in which the text ends that was added.
  enum class State : std::uint8_t {
    nothing,  // between statements
    statement,
    parenthesis,
    string,
    quoted_name,
    dollar_quote,
    comment,
  };

  // Whole lines, each with its line end; the last one of all may lack it.
  void add(std::string_view text) { text_ += text; }
  std::optional<Piece> next();
  // After next() has given nothing.
  State state() const;
  // The statement that has begun; empty if there are only blanks and comments.
  std::string pending() const;
  // pending() at the end of the input, or for a command that runs it; it is no longer pending then.
  Piece take_pending();
  // Forgets the statement that has begun, and keeps the rest of the text.
  void drop_pending() { (void)take_pending(); }
  // So many lines of the source were not statements but rows of COPY.
  void skip_lines(std::size_t count) { line_ += count; }

 private:
  enum class Inside : std::uint8_t {
    code,
    string,         // '...'
    escape_string,  // E'...'
    quoted_name,
    dollar_quote,
    line_comment,
    block_comment,
  };
  char at(std::size_t position) const { return position < text_.size() ? text_[position] : '\0'; }
  // One step through code; true at the end of a piece.
  bool step_code();
  void step_inside();
  bool begins_dollar_quote();
  void skip(std::size_t count);
  void note_content();

  std::string text_;          // from the beginning of the statement
  std::size_t position_ = 0;  // read up to here
  std::size_t line_ = 1;      // of position_
  std::size_t content_ = 0;   // where the statement begins, with has_content_
  std::size_t content_line_ = 1;
  std::size_t parentheses_ = 0;
  std::size_t comment_depth_ = 0;
  std::string dollar_tag_;
  Inside inside_ = Inside::code;
  bool has_content_ = false;
  bool at_word_ = false;  // the character before position_ belongs to a word
};

}  // namespace namdb::namsql
