// Backslash commands: their list, and taking a line of one apart.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace namdb::namsql {

struct CommandHelp {
  std::string_view name;       // with its backslash
  std::string_view arguments;  // as \? shows them
  std::string_view text;
};
std::span<const CommandHelp> command_list();

// The text of `\?`.
std::string command_help();

struct BackslashCommand {
  std::string name;  // with its backslash
  std::string rest;  // all behind the name, without blanks around it
  // Words of the rest. One in '...' may have blanks in it, and '' for a quote; one with "..." keeps the
  // quotes, which are a name's.
  std::vector<std::string> arguments;
};
// The line begins with a backslash. `\dt+` and `\?` are names, too.
BackslashCommand parse_command(std::string_view line);

// `\copy`: the statement for the server, and the client's file.
struct CopyRequest {
  enum class Direction : std::uint8_t { from_file, to_file };
  Direction direction = Direction::from_file;
  std::string statement;            // COPY ... FROM STDIN or TO STDOUT, with the options
  std::optional<std::string> file;  // absent (stdin, stdout): where COPY of a statement reads and writes
};
// The request in `rest`. `mistake` says what is wrong if there is no request.
std::optional<CopyRequest> parse_copy(std::string_view rest, std::string& mistake);

// A pattern of `\d` as a regular expression: * is any text, ? any character; letters outside of "..." are
// small.
std::string pattern_expression(std::string_view pattern);

}  // namespace namdb::namsql
