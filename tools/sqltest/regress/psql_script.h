// A psql script in pieces, cut where psql cuts it: at semicolons outside of quotes, comments, parentheses and
// the bodies of functions that are written between BEGIN ATOMIC and END, and at backslash commands. Reads
// texts that psql takes; an unfinished quote reaches to the end.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace namdb::sqltest {

using PsqlVariables = std::map<std::string, std::string, std::less<>>;

struct PsqlPiece {
  std::size_t line = 0;   // of the first line, from 1
  std::string sql;        // a statement without its semicolon, as it stands in the script; may be empty
  std::string command;    // the backslash command behind it, without the backslash; empty: none
  std::string arguments;  // of the command, as they stand there
};

class PsqlScript {
 public:
  explicit PsqlScript(std::string text) : text_(std::move(text)) {}

  // Nothing at the end. A command that does not send the statement before it comes as a piece of its own,
  // before that statement.
  std::optional<PsqlPiece> next();

  // The lines behind the statement that next() has given, up to \., which psql gives to COPY FROM STDIN. They
  // are not pieces then.
  std::string take_copy_data();

 private:
  PsqlPiece read_command();
  void reset_statement();
  std::size_t line();  // at which it reads, from 1

  std::string text_;
  std::size_t at_ = 0;
  std::size_t counted_ = 0;  // up to here,
  std::size_t lines_ = 1;    // with those that were taken as data of COPY
  std::string statement_;    // so far
  std::size_t statement_line_ = 0;
  int parentheses_ = 0;
  int bodies_ = 0;
  std::string first_words_;  // in capitals, each with a blank behind it
};

// The statement with :name, :'name', :"name" and :{?name} replaced. Unknown names stay as they are.
std::string expand_variables(std::string_view sql, const PsqlVariables& variables);

// The arguments of a backslash command, without their quotes.
std::vector<std::string> split_arguments(std::string_view text, const PsqlVariables& variables);

}  // namespace namdb::sqltest
