#include "tools/namsql/session.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <utility>

#include "tools/namsql/catalog_view.h"
#include "tools/namsql/text.h"

namespace namdb::namsql {
namespace {

constexpr std::size_t kMaxDepth = 32;

std::string place_of(const LineSource& source, std::size_t line) {
  const std::string name = source.name();
  return name.empty() ? "" : concat("namsql:", name, ":", line, ": ");
}

std::unique_ptr<RowFormat> make_format(Format format) {
  if (format == Format::csv) return make_csv_format();
  if (format == Format::json) return make_json_format();
  return nullptr;
}

char state_sign(StatementSplitter::State state) {
  switch (state) {
    case StatementSplitter::State::nothing:
      return '=';
    case StatementSplitter::State::statement:
      return '-';
    case StatementSplitter::State::parenthesis:
      return '(';
    case StatementSplitter::State::string:
      return '\'';
    case StatementSplitter::State::quoted_name:
      return '"';
    case StatementSplitter::State::dollar_quote:
      return '$';
    case StatementSplitter::State::comment:
      return '*';
  }
  return '=';
}

}  // namespace

Session::Session(std::unique_ptr<Connection> connection, SessionOptions options)
    : options_(options),
      connection_(std::move(connection)),
      output_(options.paging),
      rows_(make_format(options.format)) {}

std::string Session::prompt(const StatementSplitter& splitter) const {
  const char sign = state_sign(splitter.state());
  if (!connection_->lives()) return concat("(not connected)", std::string_view(&sign, 1), "> ");
  const char* database = PQdb(connection_->get());
  const std::string_view block = connection_->block_failed() ? "!" : connection_->in_block() ? "*" : "";
  return concat(database != nullptr ? database : "", std::string_view(&sign, 1), block, "> ");
}

Session::End Session::run(LineSource& source) {
  StatementSplitter splitter;
  LineSource* const outer_source = std::exchange(source_, &source);
  StatementSplitter* const outer_splitter = std::exchange(splitter_, &splitter);
  std::string typed;
  End end = End::done;
  while (end == End::done) {
    std::string line;
    const LineSource::Got got = source.next(prompt(splitter), LineSource::Reading::statements, line);
    if (got == LineSource::Got::interrupted) {
      splitter.drop_pending();
      typed.clear();
      continue;
    }
    if (got == LineSource::Got::end) {
      // A script's last statement may lack its semicolon.
      if (!source.is_interactive() && !splitter.pending().empty())
        end = run_piece(splitter.take_pending(), splitter, source);
      break;
    }
    typed += typed.empty() ? line : "\n" + line;
    splitter.add(line + "\n");
    end = run_pieces(splitter, source);
    if (splitter.state() == StatementSplitter::State::nothing) {
      if (!trimmed(typed).empty()) source.remember(std::string(trimmed(typed)));
      typed.clear();
    }
  }
  source_ = outer_source;
  splitter_ = outer_splitter;
  output_.flush();
  return end;
}

Session::End Session::run_pieces(StatementSplitter& splitter, LineSource& source) {
  while (const auto piece = splitter.next()) {
    const End end = run_piece(*piece, splitter, source);
    if (end != End::done) return end;
  }
  return End::done;
}

Session::End Session::run_piece(const StatementSplitter::Piece& piece, StatementSplitter& splitter,
                                LineSource& source) {
  const std::string place = place_of(source, piece.line);
  End end = piece.kind == StatementSplitter::Kind::statement
                ? run_statement(piece.text, place)
                : run_command(parse_command(piece.text), splitter, place);
  return after_error(end, source);
}

Session::End Session::after_error(End end, LineSource& source) {
  if (source.is_interactive()) return end == End::quit ? end : End::done;
  if (end == End::failed) return options_.stop_on_error ? End::stopped : End::done;
  return end;
}

Session::End Session::run_file(const std::string& path) {
  if (depth_ >= kMaxDepth) {
    fail(concat(path, ": files run each other too deeply"));
    return End::failed;
  }
  std::ifstream file(path);
  if (!file.is_open() || file.peek() == std::ifstream::traits_type::eof()) {
    if (file.is_open() && !file.bad()) return End::done;  // it is empty
    fail(concat(path, ": cannot be read"));
    return End::failed;
  }
  ++depth_;
  StreamSource source(file, path);
  const End end = run(source);
  --depth_;
  return end == End::quit ? End::done : end;
}

Session::End Session::run_statement(const std::string& statement, const std::string& place) {
  last_statement_ = statement;
  const bool interactive = source_ != nullptr && source_->is_interactive();
  if (!connection_->lives() && !(interactive && connection_->reconnect())) {
    fail("There is no connection to the server", place);
    return End::lost;
  }
  if (interactive) connection_->forget_interrupt();
  begin_counting();
  const Clock::time_point begin = Clock::now();
  answered_ = begin;
  names_are_old_ = true;
  End end = End::done;
  if (connection_->send(statement,
                        for_programs() ? Connection::Rows::one_by_one : Connection::Rows::together)) {
    end = show_answers(statement, place);
  } else {
    fail(connection_->error_message(), place);
    end = End::failed;
  }
  if (!connection_->lives()) return lost_connection();
  if (options_.timing) show_time(begin);
  end_counting();
  // Ctrl-C ends a script as well as its statement.
  if (connection_->was_interrupted() && !interactive) return End::stopped;
  return end;
}

Session::End Session::show_answers(const std::string& statement, const std::string& place) {
  End end = End::done;
  while (const ResultHandle answer = connection_->next()) {
    answered_ = Clock::now();
    if (show_answer(answer.get(), statement, place) != End::done) end = End::failed;
    if (!connection_->lives()) break;
  }
  end_rows();
  return end;
}

Session::End Session::show_answer(const PGresult* answer, const std::string& statement,
                                  const std::string& place) {
  switch (PQresultStatus(answer)) {
    case PGRES_EMPTY_QUERY:
      return End::done;
    case PGRES_COMMAND_OK:
      show_tag(answer);
      return End::done;
    case PGRES_SINGLE_TUPLE:
    case PGRES_TUPLES_OK:
      show_rows(answer);
      return End::done;
    case PGRES_COPY_OUT:
      return copy_out(place);
    case PGRES_COPY_IN:
      return copy_in();
    default:
      end_rows();
      complain(place + error_text(server_error(answer), statement));
      return End::failed;
  }
}

void Session::show_rows(const PGresult* answer) {
  if (for_programs()) {
    // One by one, and an answer without rows behind the last.
    if (!rows_begun_) output_.write(rows_->begin(columns_of(answer)));
    rows_begun_ = true;
    std::vector<CellView> cells(static_cast<std::size_t>(PQnfields(answer)));
    for (int row = 0; row < PQntuples(answer); ++row) {
      for (int column = 0; column < PQnfields(answer); ++column) {
        CellView& cell = cells[static_cast<std::size_t>(column)];
        cell.reset();
        if (PQgetisnull(answer, row, column) == 0)
          cell.emplace(PQgetvalue(answer, row, column),
                       static_cast<std::size_t>(PQgetlength(answer, row, column)));
      }
      output_.write(rows_->row(cells));
    }
    if (PQresultStatus(answer) == PGRES_TUPLES_OK) end_rows();
    return;
  }
  show_table(table_of(answer));
  const std::string_view tag = PQcmdStatus(const_cast<PGresult*>(answer));
  if (tag.starts_with("INSERT") || tag.starts_with("UPDATE") || tag.starts_with("DELETE")) show_tag(answer);
}

void Session::end_rows() {
  if (std::exchange(rows_begun_, false)) output_.write(rows_->end());
  if (!output_.is_file()) output_.flush();
}

void Session::show_table(const ResultTable& table) {
  if (!for_programs()) {
    output_.result(options_.expanded ? expanded_table(table) : aligned_table(table));
    if (!output_.is_file()) output_.flush();
    return;
  }
  output_.write(rows_->begin(table.columns));
  for (const auto& row : table.rows) output_.write(rows_->row(std::vector<CellView>(row.begin(), row.end())));
  output_.write(rows_->end());
}

void Session::show_tag(const PGresult* answer) {
  const std::string_view tag = PQcmdStatus(const_cast<PGresult*>(answer));
  if (options_.quiet || for_programs() || tag.empty()) return;
  output_.write(concat(tag, "\n"));
  if (!output_.is_file()) output_.flush();
}

void Session::tell(std::string_view text) {
  if (for_programs()) {
    complain(text);
  } else {
    output_.write(text);
    if (!output_.is_file()) output_.flush();
  }
}

void Session::fail(std::string_view text, const std::string& place) {
  complain(concat(place.empty() ? "namsql: " : place, text, "\n"));
}

void Session::show_time(Clock::time_point begin) {
  char line[64];
  std::snprintf(line, sizeof line, "Time: %.3f ms\n",
                std::chrono::duration<double, std::milli>(answered_ - begin).count());
  tell(line);
}

Session::End Session::lost_connection() {
  counts_before_.reset();
  names_are_old_ = true;
  complain(
      "The connection to the server is lost. It is not known whether the statement has taken effect;\n"
      "a transaction block that was open before it is undone.\n");
  if (source_ == nullptr || !source_->is_interactive()) return End::lost;
  if (connection_->reconnect()) {
    complain("There is a new connection.\n");
  } else {
    complain(concat("A new connection could not be made: ", connection_->error_message(),
                    "\nThe next statement tries it again.\n"));
  }
  return End::failed;
}

std::optional<OperationCounts> Session::read_counts() {
  const auto rows = connection_->ask("SHOW namdb.statistics");
  if (!rows) return std::nullopt;
  return operation_counts(rows->rows);
}

void Session::begin_counting() {
  // In a block nothing is asked, and its costs are counted when it ends.
  if (!stats_ || connection_->in_block()) return;
  counts_before_ = read_counts();
  if (!counts_before_) {
    fail(concat("\\stats is off, since the server's counters cannot be read: ", connection_->last_error()));
    stats_ = false;
  }
}

void Session::end_counting() {
  if (!stats_ || !counts_before_ || connection_->in_block()) return;
  const auto after = read_counts();
  const auto before = std::exchange(counts_before_, std::nullopt);
  if (!after) return;
  const OperationCounts counted = counted_between(*before, *after);
  tell(counted.empty() ? "No operations were counted.\n" : aligned_table(operations_table(counted)));
}

Completion Session::complete_line(std::string_view line, std::size_t cursor) {
  if (names_are_old_ && connection_->lives() && PQtransactionStatus(connection_->get()) == PQTRANS_IDLE) {
    names_ = read_names(*connection_);
    names_are_old_ = false;
  }
  std::string text = splitter_ != nullptr ? splitter_->pending() : "";
  if (!text.empty()) text += '\n';
  const std::size_t begin = text.size();
  text += line;
  Completion completion = complete(text, begin + cursor, begin, names_);
  completion.begin = std::max(completion.begin, begin) - begin;
  return completion;
}

}  // namespace namdb::namsql
