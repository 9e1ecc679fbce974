// sqltest: runs corpus files, isolation specs or PostgreSQL's regression scripts against servers, or
// generated statements against namdb and PostgreSQL. Each corpus file wants tables that do not exist yet:
// those that it creates are dropped before it and after it.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "common/base/crash_handler.h"
#include "common/base/standard_output.h"
#include "tools/sqltest/corpus.h"
#include "tools/sqltest/generate/generate_command.h"
#include "tools/sqltest/isolation_command.h"
#include "tools/sqltest/libpq_client.h"
#include "tools/sqltest/regress/regress_command.h"

namespace {

using namdb::sqltest::Case;
using namdb::sqltest::Client;

// Names behind CREATE TABLE [IF NOT EXISTS].
std::set<std::string> created_tables(const std::vector<Case>& cases) {
  std::set<std::string> tables;
  for (const Case& test : cases) {
    std::istringstream words(test.sql);
    std::string word;
    std::string before;
    while (words >> word) {
      if (word == "IF" || word == "NOT" || word == "EXISTS") continue;
      if (before == "TABLE" && test.sql.find("CREATE TABLE") != std::string::npos)
        tables.insert(word.substr(0, word.find_first_of("(;")));
      before = word;
    }
  }
  return tables;
}

int run_corpus_files(const std::string& connection, const std::vector<std::string>& files) {
  std::size_t failed = 0;
  std::size_t total = 0;
  for (const std::string& file : files) {
    std::ifstream input(file);
    std::stringstream text;
    text << input.rdbuf();
    const auto cases = namdb::sqltest::parse_corpus(text.str());
    if (!cases.ok()) {
      std::fprintf(stderr, "%s: %s\n", file.c_str(), cases.status().message().c_str());
      return 2;
    }
    std::string why;
    const std::unique_ptr<Client> cleaner = namdb::sqltest::connect_libpq(connection, why);
    if (cleaner == nullptr) {
      std::fprintf(stderr, "cannot connect: %s", why.c_str());
      return 3;
    }
    const std::set<std::string> tables = created_tables(*cases);
    const auto drop_all = [&] {
      for (const std::string& table : tables) cleaner->run("DROP TABLE IF EXISTS " + table);
    };
    drop_all();
    const auto open = [&] { return namdb::sqltest::connect_libpq(connection, why); };
    for (const std::string& failure : run_corpus(*cases, open)) {
      ++failed;
      std::printf("%s %s\n\n", file.c_str(), failure.c_str());
    }
    drop_all();
    total += cases->size();
  }
  std::printf("%zu of %zu statements were answered as expected\n", total - failed, total);
  return failed == 0 ? 0 : 1;
}

int usage(const std::string& why) {
  std::fprintf(stderr, "%s\nRun with --help for more information.\n", why.c_str());
  return 2;
}

int run(int argc, char** argv) {
  CLI::App app(
      "Runs SQL test files against a server, isolation specs against one or more, PostgreSQL's regression "
      "scripts, or generated statements against namdb and PostgreSQL",
      "sqltest");
  namdb::sqltest::GenerateCommand generated;
  namdb::sqltest::IsolationCommand isolation;
  namdb::sqltest::RegressCommand regress;
  std::string regress_folder;
  bool specs = false;
  double patience_s = 60;
  app.add_option("--connection", isolation.connections,
                 "Where to connect, as libpq takes it; several: specs spread their sessions")
      ->allow_extra_args(false)
      ->default_str("host=127.0.0.1 port=5433 dbname=namdb user=tester");
  CLI::Option* mode = app.add_flag("--isolation", specs, "The files are isolation specs");
  CLI::Option* const regress_mode =
      app.add_option(
             "--postgresql-regress", regress_folder,
             "PostgreSQL's folder src/test/regress: runs its scripts, and the files are their names; none: "
             "those of its schedule")
          ->check(CLI::ExistingDirectory)
          ->excludes(mode);
  std::string reference_server;
  CLI::Option* const reference =
      app.add_option("--reference", reference_server,
                     "With --postgresql-regress and --generate: where PostgreSQL 15 is, as words that libpq "
                     "takes, of a superuser. Regression scripts run in databases that they make there");
  app.add_option("--passes", regress.passes, "A list of statements that must be answered alike")
      ->needs(regress_mode);
  app.add_option("--refusals", regress.refusals, "Writes what was refused into this file")
      ->needs(regress_mode);
  app.add_flag("--json", isolation.json, "A summary as JSON")->needs(mode);
  CLI::Option* const accept =
      app.add_flag("--accept", isolation.accept,
                   "Write what was answered into the specs, or the list of passes, as expected");
  using namdb::sqltest::Comparison;
  const std::map<std::string, Comparison> comparisons = {{"expected", Comparison::expected},
                                                         {"serializable", Comparison::serializable},
                                                         {"strict", Comparison::strict}};
  app.add_option(
         "--compare", isolation.comparison,
         "With what: the answers in the specs; or, of transactions without a conflict, those of some "
         "serial order, as the server gives them (serializable); of an order that is also that of time "
         "(strict)")
      ->transform(CLI::CheckedTransformer(comparisons))
      ->default_str("expected")
      ->needs(mode)
      ->excludes(accept);
  app.add_option("--patience", patience_s, "Seconds after which a step without an answer has failed")
      ->capture_default_str()
      ->check(CLI::Range(0.001, 3600.0));
  CLI::Option* const generate =
      app.add_option("--generate", generated.count,
                     "So many generated statements, asked of both servers; their answers are compared")
          ->excludes(mode)
          ->excludes(regress_mode)
          ->needs(reference);
  app.add_option("--seed", generated.seed, "Decides the statements")->capture_default_str()->needs(generate);
  app.add_option("--report", generated.report, "A file for what was refused and what was different")
      ->needs(generate);
  app.add_option("--only", generated.only,
                 "Shows both answers to the statements of that number, and no later ones")
      ->needs(generate);
  app.add_option("files", isolation.files, "Corpus files, specs, or names of regression scripts")
      ->excludes(generate);
  app.footer(
      "Exit codes: 0 all as expected, 1 something was answered otherwise, 2 wrong usage or a malformed file, "
      "3 no connection.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (isolation.connections.empty())
    isolation.connections = {"host=127.0.0.1 port=5433 dbname=namdb user=tester"};
  if (generated.count > 0) {
    generated.connection = isolation.connections.front();
    generated.reference = reference_server;
    return run_generated(generated);
  }
  isolation.patience = std::chrono::milliseconds(static_cast<std::int64_t>(patience_s * 1000));
  if (!regress_folder.empty()) {
    regress.servers.connection = isolation.connections.front();
    regress.servers.reference = reference_server;
    regress.servers.folder = std::filesystem::canonical(regress_folder);
    regress.servers.patience = isolation.patience;
    regress.names = isolation.files;
    regress.accept = isolation.accept;
    if (regress.servers.reference.empty() || (regress.accept && regress.passes.empty()))
      return usage(regress.servers.reference.empty() ? "--postgresql-regress needs --reference"
                                                     : "--accept needs --passes");
    return run_regress(regress);
  }
  if (isolation.files.empty()) return usage("which files?");
  for (const std::string& file : isolation.files) {
    if (!std::filesystem::exists(file) || std::filesystem::is_directory(file))
      return usage("there is no file " + file);
  }
  if (isolation.accept && !specs) return usage("--accept needs --isolation or --postgresql-regress");
  if (specs) return run_isolation(isolation);
  return run_corpus_files(isolation.connections.front(), isolation.files);
}

}  // namespace

int main(int argc, char** argv) {
  namdb::install_crash_handler(argv[0]);
  namdb::ignore_broken_pipes();
  return namdb::finish_standard_output("sqltest", run(argc, argv));
}
