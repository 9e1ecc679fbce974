// A session of namsql: one connection, the settings of backslash commands, and running what a source of lines
// gives.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "tools/namsql/backslash_command.h"
#include "tools/namsql/completion.h"
#include "tools/namsql/connection.h"
#include "tools/namsql/line_source.h"
#include "tools/namsql/operation_counts.h"
#include "tools/namsql/output.h"
#include "tools/namsql/row_format.h"
#include "tools/namsql/statement_splitter.h"

namespace namdb::namsql {

enum class Format : std::uint8_t { table, csv, json };

// PostgreSQL's psql has the same.
inline constexpr int kExitOk = 0;
inline constexpr int kExitOther = 1;
inline constexpr int kExitConnection = 2;
inline constexpr int kExitStatement = 3;

struct SessionOptions {
  Format format = Format::table;
  Output::Paging paging = Output::Paging::never;
  bool stop_on_error = false;
  bool timing = false;
  bool quiet = false;
  bool expanded = false;
};

class Session {
 public:
  // How a statement, a command or a source of lines ended.
  enum class End : std::uint8_t {
    done,
    failed,   // with an error that has been shown
    lost,     // the connection is lost
    stopped,  // nothing more may run: an error with stop_on_error, or Ctrl-C in a script
    quit,     // `\q`
  };

  Session(std::unique_ptr<Connection> connection, SessionOptions options);

  // Runs all that the source gives: done, lost, stopped or quit.
  End run(LineSource& source);
  // The file's statements; failed if it cannot be read.
  End run_file(const std::string& path);

  // For the TAB key: `line` is the one that is being edited, and the positions are bytes in it. Names are
  // read anew if statements have run since, unless a block is open: an error would end it.
  Completion complete_line(std::string_view line, std::size_t cursor);

 private:
  using Clock = std::chrono::steady_clock;

  // session.cc
  End run_statement(const std::string& statement, const std::string& place);
  End run_pieces(StatementSplitter& splitter, LineSource& source);
  End run_piece(const StatementSplitter::Piece& piece, StatementSplitter& splitter, LineSource& source);
  End after_error(End end, LineSource& source);
  End show_answers(const std::string& statement, const std::string& place);
  End show_answer(const PGresult* answer, const std::string& statement, const std::string& place);
  End lost_connection();
  void show_rows(const PGresult* answer);
  void end_rows();
  void show_tag(const PGresult* answer);
  // A line for people: beside rows for programs it goes to standard error.
  void tell(std::string_view text);
  void fail(std::string_view text, const std::string& place = {});
  void show_time(Clock::time_point begin);
  void show_table(const ResultTable& table);
  bool for_programs() const { return rows_ != nullptr; }
  std::string prompt(const StatementSplitter& splitter) const;
  std::optional<OperationCounts> read_counts();
  void begin_counting();
  void end_counting();

  // session_copy.cc
  End copy_out(const std::string& place);
  End copy_in();
  End copy(std::string_view rest, const std::string& place);
  // False when the connection is lost, or an interrupt came. `mistake` is that of the file.
  bool send_rows(std::optional<std::string>& mistake);
  bool send_lines(std::optional<std::string>& mistake);
  void show_progress();

  // session_commands.cc
  End run_command(const BackslashCommand& command, StatementSplitter& splitter, const std::string& place);
  End show_catalog(const BackslashCommand& command, const std::string& place);
  End show_procedures(const std::string& place);
  End catalog_failed(const std::string& place);
  End connect_anew(const BackslashCommand& command, const std::string& place);
  End watch(const std::string& statement, const BackslashCommand& command, const std::string& place);
  End switch_on_off(const BackslashCommand& command, bool& setting, std::string_view text,
                    const std::string& place);
  End redirect(const BackslashCommand& command, const std::string& place);

  SessionOptions options_;
  std::unique_ptr<Connection> connection_;
  Output output_;
  std::string last_statement_;
  std::size_t depth_ = 0;  // of files that run files

  // The source that runs: COPY FROM STDIN takes rows from it.
  LineSource* source_ = nullptr;
  StatementSplitter* splitter_ = nullptr;

  std::unique_ptr<RowFormat> rows_;  // for programs
  bool rows_begun_ = false;
  std::FILE* copy_file_ =
      nullptr;  // of \copy; otherwise data of COPY go to the output and come from the source
  std::uint64_t copied_bytes_ = 0;
  Clock::time_point progress_shown_;
  Clock::time_point answered_;  // when the last answer came

  bool stats_ = false;
  std::optional<OperationCounts> counts_before_;  // of the statement, or of the block, that runs

  Names names_;
  bool names_are_old_ = true;
};

}  // namespace namdb::namsql
