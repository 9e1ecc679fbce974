// Backslash commands.
#include <charconv>
#include <ctime>
#include <map>
#include <string>
#include <utility>

#include "common/base/standard_output.h"
#include "tools/namsql/catalog_view.h"
#include "tools/namsql/interrupts.h"
#include "tools/namsql/session.h"
#include "tools/namsql/statement_help.h"
#include "tools/namsql/text.h"

namespace namdb::namsql {
namespace {

constexpr double kWatchSeconds = 2;
constexpr double kMaxWatchSeconds = 86'400;

std::string time_of_day() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  char words[32];
  std::strftime(words, sizeof words, "%Y-%m-%d %H:%M:%S", &local);
  return words;
}

std::string connection_text(const Connection& connection) {
  if (!connection.lives()) return "There is no connection to the server.\n";
  const Address address = connection.address();
  const char* version = PQparameterStatus(connection.get(), "server_version");
  return concat("You are connected to database \"", address.database, "\" as user \"", address.user, "\" on ",
                address.host.starts_with('/') ? "the socket in " : "host ", "\"", address.host,
                "\" at port \"", address.port,
                "\".\nServer version: ", version != nullptr ? version : "unknown", ".\n");
}

}  // namespace

Session::End Session::run_command(const BackslashCommand& command, StatementSplitter& splitter,
                                  const std::string& place) {
  const std::string& name = command.name;
  const auto path = [&] { return command.arguments.empty() ? std::string() : command.arguments[0]; };
  const auto statement = [&] {
    return splitter.pending().empty() ? last_statement_ : splitter.take_pending().text;
  };
  if (name == "\\q") return End::quit;
  if (name == "\\?") {
    output_.result(command_help());
  } else if (name == "\\h") {
    const std::string help = statement_help(command.rest);
    if (help.empty()) {
      fail(concat("There is no help for \"", command.rest, "\"; \\h shows the statements"), place);
      return End::failed;
    }
    output_.result(help);
  } else if (name == "\\conninfo") {
    tell(connection_text(*connection_));
  } else if (name == "\\c") {
    return connect_anew(command, place);
  } else if (name == "\\copy") {
    return copy(command.rest, place);
  } else if (name == "\\i") {
    if (path().empty()) {
      fail("\\i needs a file", place);
      return End::failed;
    }
    return run_file(path());
  } else if (name == "\\o") {
    return redirect(command, place);
  } else if (name == "\\p") {
    const std::string text = splitter.pending().empty() ? last_statement_ : splitter.pending();
    tell(concat(text, text.empty() ? "" : "\n"));
  } else if (name == "\\r") {
    splitter.drop_pending();
  } else if (name == "\\g" || name == "\\gx") {
    const std::string text = statement();
    if (text.empty()) return End::done;
    const bool before = std::exchange(options_.expanded, options_.expanded || name == "\\gx");
    const End end = run_statement(text, place);
    options_.expanded = before;
    return end;
  } else if (name == "\\watch") {
    return watch(statement(), command, place);
  } else if (name == "\\x") {
    return switch_on_off(command, options_.expanded, "Rows as blocks", place);
  } else if (name == "\\timing") {
    return switch_on_off(command, options_.timing, "Times of statements", place);
  } else if (name == "\\stats") {
    const End end = switch_on_off(command, stats_, "Operations of statements", place);
    if (!stats_) counts_before_.reset();
    return end;
  } else if (name == "\\procs") {
    return show_procedures(place);
  } else {
    return show_catalog(command, place);
  }
  return End::done;
}

Session::End Session::switch_on_off(const BackslashCommand& command, bool& setting, std::string_view text,
                                    const std::string& place) {
  const std::string value =
      command.arguments.empty() ? (setting ? "off" : "on") : lower(command.arguments[0]);
  if (value != "on" && value != "off") {
    fail(concat(command.name, " takes on or off"), place);
    return End::failed;
  }
  setting = value == "on";
  if (!options_.quiet) tell(concat(text, ": ", value, ".\n"));
  return End::done;
}

Session::End Session::redirect(const BackslashCommand& command, const std::string& place) {
  const Status status =
      command.arguments.empty() ? output_.to_standard_output() : output_.to_file(command.arguments[0]);
  if (status.ok()) return End::done;
  fail(status.message(), place);
  return End::failed;
}

Session::End Session::connect_anew(const BackslashCommand& command, const std::string& place) {
  Address address = connection_->address();
  if (!command.rest.empty() && command.rest != "-") {
    // A connection string is all that is said; of it no words are taken apart.
    if (command.rest.find('=') != std::string::npos || command.rest.find("://") != std::string::npos) {
      address = {command.rest, "", "", ""};
    } else {
      address.database = command.arguments[0];
    }
  }
  auto opened = Connection::open(address);
  if (!opened.ok()) {
    fail(opened.status().message(), place);
    if (connection_->lives()) complain("The connection before is kept.\n");
    return End::failed;
  }
  connection_ = std::move(*opened);
  counts_before_.reset();
  names_are_old_ = true;
  if (!options_.quiet) tell(connection_text(*connection_));
  return End::done;
}

Session::End Session::watch(const std::string& statement, const BackslashCommand& command,
                            const std::string& place) {
  double seconds = kWatchSeconds;
  if (!command.arguments.empty()) {
    const std::string& text = command.arguments[0];
    const auto read = std::from_chars(text.data(), text.data() + text.size(), seconds);
    if (read.ec != std::errc() || read.ptr != text.data() + text.size() || !(seconds > 0) ||
        seconds > kMaxWatchSeconds) {
      fail("\\watch takes a number of seconds above 0 and up to 86400", place);
      return End::failed;
    }
  }
  if (statement.empty()) {
    fail("\\watch needs a statement before it", place);
    return End::failed;
  }
  const Output::Paging paging = output_.set_paging(Output::Paging::never);
  End end = End::done;
  for (;;) {
    tell(concat(time_of_day(), " (every ", command.arguments.empty() ? "2" : command.arguments[0], " s)\n"));
    end = run_statement(statement, place);
    if (end != End::done || !standard_output_arrives()) break;
    if (Interrupts::wait(-1, Interrupts::Ready::read, static_cast<int>(seconds * 1000)) ==
        Interrupts::Wake::interrupted)
      break;
  }
  output_.set_paging(paging);
  return end;
}

Session::End Session::show_procedures(const std::string& place) {
  const auto counts = read_counts();
  if (!counts) return catalog_failed(place);
  ResultTable table;
  table.title = "Procedures";
  table.columns = {
      {"Name"}, {"Written in"}, {"Transactions", ValueKind::number}, {"Commits", ValueKind::number}};
  const auto in_sql = connection_->ask("SELECT procedure_name FROM namdb_procedures");
  if (!in_sql) return catalog_failed(place);
  std::map<std::string, std::string> written_in;
  for (const std::string& name : procedure_names(*counts)) written_in[name] = "C++";
  for (const auto& row : in_sql->rows) written_in[row[0].value_or("")] = "SQL";
  for (const auto& [name, language] : written_in) {
    const auto metrics = counts->find(name);
    const auto value = [&](const char* metric) -> std::string {
      if (metrics == counts->end()) return "0";
      const auto found = metrics->second.find(metric);
      return concat(found == metrics->second.end() ? 0 : found->second);
    };
    table.rows.push_back({name, language, value("transactions"), value("commits")});
  }
  show_table(table);
  return End::done;
}

Session::End Session::catalog_failed(const std::string& place) {
  if (!connection_->lives()) return lost_connection();
  complain(concat(place, connection_->last_error(), "\n"));
  return End::failed;
}

Session::End Session::show_catalog(const BackslashCommand& command, const std::string& place) {
  const std::optional<std::string> pattern =
      command.arguments.empty() ? std::nullopt : std::optional(command.arguments[0]);
  if (command.name == "\\d" && pattern) {
    const auto tables = describe(*connection_, *pattern);
    if (!tables) return catalog_failed(place);
    if (tables->empty()) {
      fail(concat("Did not find any relation named \"", *pattern, "\"."), place);
      return End::failed;
    }
    for (const ResultTable& table : *tables) show_table(table);
    return End::done;
  }
  const auto list = catalog_list(command.name, pattern);
  if (!list) {
    fail(concat("There is no command ", command.name, "; \\? shows them"), place);
    return End::failed;
  }
  auto table = connection_->ask(list->statement);
  if (!table) return catalog_failed(place);
  table->title = list->title;
  table->counts_rows = list->counts_rows;
  if (table->rows.empty() && !for_programs()) {
    tell("Did not find any relations.\n");
  } else {
    show_table(*table);
  }
  return End::done;
}

}  // namespace namdb::namsql
