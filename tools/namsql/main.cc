// namsql: namdb's SQL client, for people at a terminal and for scripts. Exit codes: 0; 1 for wrong usage and
// errors of its own (a file that cannot be read); 2 when there is no connection to the server, or it is lost;
// 3 when a statement failed and the script ended with it, or at Ctrl-C in a script.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/crash_handler.h"
#include "common/base/standard_output.h"
#include "tools/namsql/history_file.h"
#include "tools/namsql/interrupts.h"
#include "tools/namsql/line_editor.h"
#include "tools/namsql/session.h"
#include "tools/namsql/text.h"

namespace namdb::namsql {
namespace {

constexpr const char kFooter[] = R"(
Without -c and -f, statements come from the terminal, or from standard input if that is no terminal.
Each statement is sent by itself: without BEGIN it is a transaction of its own. With --csv and --json
standard output holds nothing but rows.

Environment: PGHOST, PGPORT, PGUSER, PGDATABASE and libpq's others, where no option says otherwise;
PAGER. History: ~/.local/state/namdb/namsql_history.

Exit codes: 0 ok; 1 wrong usage, or an error of namsql's own (a file that cannot be read); 2 no
connection to the server, or it was lost; 3 a statement failed and ended the script (--stop-on-error),
or Ctrl-C did.

At the prompt, \? lists the commands and \h the SQL statements.)";

struct Action {
  bool is_file = false;
  std::string text;
};

struct Flags {
  Address address;
  std::string positional;
  std::vector<std::string> commands;
  std::vector<std::string> files;
  bool csv = false;
  bool json = false;
  bool stop_on_error = false;
  bool no_pager = false;
  SessionOptions session;
  std::vector<Action> actions;
};

void add_flags(CLI::App& app, Flags& flags) {
  // -h is the host, as psql has it.
  app.set_help_flag("--help", "Print this help");
  app.set_version_flag("--version", "namsql " NAMDB_VERSION);
  app.add_option("DATABASE", flags.positional,
                 "Database, connection string (\"host=... port=...\") or URI. Otherwise namdb");
  app.add_option("-h,--host", flags.address.host, "Host, or folder of a unix socket. Otherwise 127.0.0.1")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.add_option("-p,--port", flags.address.port, "Port. Otherwise 5433")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.add_option("-U,--username", flags.address.user, "User. Otherwise the system's user name")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.add_option("-d,--dbname", flags.address.database, "As DATABASE")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.add_option("-c,--command", flags.commands, "Run these statements or this backslash command, and end")
      ->allow_extra_args(false);
  app.add_option(
         "-f,--file", flags.files,
         "Run the statements of a file, and end; -: of standard input. -c and -f may be given several "
         "times, and run in their order")
      ->allow_extra_args(false);
  CLI::Option* csv =
      app.add_flag("--csv", flags.csv, "Rows as CSV, below a line with the names of the columns");
  app.add_flag("--json", flags.json, "The rows of each result as an array of objects")->excludes(csv);
  app.add_flag("-x,--expanded", flags.session.expanded, "Show each row as a block");
  app.add_flag("-q,--quiet", flags.session.quiet, "Nothing but rows and errors");
  app.add_flag("--stop-on-error,!--no-stop-on-error", flags.stop_on_error,
               "End at the first statement that fails, with exit code 3. Default with -c and -f, and not for "
               "standard input");
  app.add_flag("--timing", flags.session.timing, "Show the time of each statement");
  app.add_flag("--no-pager", flags.no_pager, "Never send long results through a pager");
  app.footer(kFooter);
}

// -c and -f in the order of the command line.
std::vector<Action> actions_of(const CLI::App& app, const Flags& flags) {
  std::vector<Action> actions;
  std::size_t command = 0;
  std::size_t file = 0;
  for (const CLI::Option* option : app.parse_order()) {
    if (option->check_name("--command")) actions.push_back({false, flags.commands[command++]});
    if (option->check_name("--file")) actions.push_back({true, flags.files[file++]});
  }
  return actions;
}

int exit_code_of(Session::End end) {
  switch (end) {
    case Session::End::done:
    case Session::End::quit:
      return kExitOk;
    case Session::End::failed:
      return kExitOther;
    case Session::End::lost:
      return kExitConnection;
    case Session::End::stopped:
      return kExitStatement;
  }
  return kExitOther;
}

Session::End run_actions(Session& session, const std::vector<Action>& actions) {
  for (const Action& action : actions) {
    Session::End end = Session::End::done;
    if (!action.is_file) {
      CommandSource source(action.text);
      end = session.run(source);
    } else if (action.text == "-") {
      StreamSource source(std::cin, "<stdin>");
      end = session.run(source);
    } else {
      end = session.run_file(action.text);
    }
    if (end != Session::End::done) return end;
  }
  return Session::End::done;
}

int run(int argc, char** argv) {
  CLI::App app("SQL client of namdb", "namsql");
  Flags flags;
  add_flags(app, flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitOk : kExitOther;
  }
  if (!flags.positional.empty()) {
    if (!flags.address.database.empty()) {
      std::fprintf(stderr, "namsql: DATABASE and -d are the same: give one of them\n");
      return kExitOther;
    }
    flags.address.database = flags.positional;
  }
  const std::vector<Action> actions = actions_of(app, flags);
  const bool interactive = actions.empty() && ::isatty(STDIN_FILENO) == 1;
  SessionOptions options = flags.session;
  options.format = flags.csv ? Format::csv : flags.json ? Format::json : Format::table;
  options.paging = interactive && !flags.no_pager ? Output::Paging::long_results : Output::Paging::never;
  options.stop_on_error =
      !interactive && (app.count("--stop-on-error") != 0 ? flags.stop_on_error : !actions.empty());

  auto connection = Connection::open(flags.address);
  if (!connection.ok()) {
    std::fprintf(stderr, "namsql: no connection: %s\n", connection.status().message().c_str());
    return kExitConnection;
  }
  const char* version = PQparameterStatus((*connection)->get(), "server_version");
  const std::string server = version != nullptr ? version : "unknown";
  Session session(std::move(*connection), options);
  Interrupts::install();
  if (!actions.empty()) return exit_code_of(run_actions(session, actions));
  if (!interactive) {
    StreamSource source(std::cin, "<stdin>");
    return exit_code_of(session.run(source));
  }
  if (!options.quiet)
    std::printf("namsql %s, server %s. \\? lists the commands, \\h the SQL statements.\n\n", NAMDB_VERSION,
                server.c_str());
  LineEditor editor(
      HistoryFile(default_history_path()),
      [&session](std::string_view line, std::size_t cursor) { return session.complete_line(line, cursor); });
  return exit_code_of(session.run(editor));
}

}  // namespace
}  // namespace namdb::namsql

int main(int argc, char** argv) {
  namdb::install_crash_handler(argv[0]);
  namdb::ignore_broken_pipes();
  return namdb::finish_standard_output("namsql", namdb::namsql::run(argc, argv));
}
