#include "tools/sqltest/regress/regress_file.h"

#include <fstream>
#include <regex>
#include <sstream>

#include "tools/sqltest/regress/regress_script.h"

namespace namdb::sqltest {
namespace {

constexpr const char* kWholeDatabase = "sqltest_whole";
constexpr const char* kBesideDatabase = "sqltest_beside";
// Zone and formats are those of both; namdb writes times in ISO 8601 only.
constexpr const char* kOptions =
    " options='-c timezone=PST8PDT -c datestyle=ISO,MDY -c intervalstyle=postgres'";

// A construct that is not supported, by name, or a limit that is documented: of a number's or a column's
// length, of regular expressions, and of the forms of dates and times.
bool is_refusal(const RegressAnswer& answer) {
  const std::string state = answer.sqlstate();
  if (state == "0A000" || state == "54000" || state == "54001") return true;
  const std::string message = state.empty() ? "" : answer.outcomes.back().message;
  return message.ends_with("can have at most 38 digits") || message.ends_with("at most 256 bytes") ||
         message.ends_with("is outside the range of double precision") || state == "2201B" ||
         state == "22007";
}

// A name that is not there: a function, an operator, a type.
bool names_nothing(const RegressAnswer& answer) {
  const std::string state = answer.sqlstate();
  return state == "42883" || state == "42704" || state == "42809";
}

bool is_explain(const std::string& sql) {
  return small_letters(sql.substr(0, 7)) == "explain";
}

// A statement that makes what namdb refuses, in a form that it may take: so that statements behind it have a
// table. Temporary tables are made to stay, and columns of type name become text. Empty: there is none.
std::string stand_in(const std::string& sql) {
  static const std::regex begins(R"(^create\s+(temp|temporary|unlogged|table)\s)", std::regex::icase);
  static const std::regex temporary(R"(^create\s+(temp|temporary|unlogged)\s+(table|view|sequence)\s)",
                                    std::regex::icase);
  static const std::regex on_commit(R"(\son\s+commit\s+preserve\s+rows)", std::regex::icase);
  static const std::regex names(R"((\w+[ \t]+)name([ \t]*(,|\)|\n)))", std::regex::icase);
  if (sql.size() > 4000 || !std::regex_search(sql, begins)) return "";
  std::string text = std::regex_replace(sql, temporary, "CREATE $2 ");
  text = std::regex_replace(text, on_commit, "");
  text = std::regex_replace(text, names, "$1text$2");
  return text == sql ? "" : text;
}

std::vector<std::string> first_values(RegressClient& client, const std::string& sql) {
  std::vector<std::string> values;
  const RegressAnswer answer = client.run(sql);
  for (const Outcome& outcome : answer.outcomes) {
    for (const auto& row : outcome.rows) values.push_back(row[0].value_or(""));
  }
  return values;
}

void drop_roles(RegressClient& client) {
  for (const std::string& role :
       first_values(client, "SELECT rolname FROM pg_roles WHERE rolname LIKE 'regress%'")) {
    for (const char* const command : {"REASSIGN OWNED BY ", "DROP OWNED BY ", "DROP ROLE "})
      client.run(command + ("\"" + role + "\"") + (command[2] == 'A' ? " TO CURRENT_USER" : ""));
  }
}

void empty_namdb(RegressClient& client) {
  client.run("ROLLBACK");
  client.run("RESET ROLE");
  const std::string in_public = " AND relnamespace = 'public'::regnamespace";
  for (const std::string& view :
       first_values(client, "SELECT relname FROM pg_class WHERE relkind = 'v'" + in_public))
    client.run("DROP VIEW IF EXISTS \"" + view + "\" CASCADE");
  for (const std::string& table :
       first_values(client, "SELECT relname FROM pg_class WHERE relkind = 'r'" + in_public))
    client.run("DROP TABLE IF EXISTS \"" + table + "\" CASCADE");
  for (const std::string& sequence : first_values(client, "SELECT name FROM namdb_sequences"))
    client.run("DROP SEQUENCE IF EXISTS \"" + sequence + "\"");
  for (const std::string& routine : first_values(
           client,
           "SELECT quote_ident(proname) || '(' || pg_get_function_identity_arguments(p.oid) || ')' FROM "
           "pg_proc p "
           "JOIN pg_language l ON l.oid = p.prolang WHERE lanname IN ('sql', 'plpgsql') AND pronamespace = "
           "'public'::regnamespace"))
    client.run("DROP ROUTINE IF EXISTS " + routine);
  drop_roles(client);
}

// True: the script has no use for this statement of test_setup.sql, since it does not name its table.
bool is_idle(const std::string& setup, const std::string& script) {
  static const std::regex about(
      R"(^(?:create table|insert into|copy|vacuum analyze|vacuum)\s+(\w+?)[0-9]?\b)", std::regex::icase);
  std::smatch parts;
  return std::regex_search(setup, parts, about) &&
         script.find(small_letters(parts[1].str())) == std::string::npos;
}

class FileRun {
 public:
  FileRun(const RegressServers& servers, const std::string& name)
      : servers_(servers),
        script_file_(servers.folder / "sql" / (name + ".sql")),
        with_setup_(name != "test_setup") {}

  RegressFileResult run() {
    std::ifstream input(script_file_);
    std::stringstream text;
    text << input.rdbuf();
    script_text_ = small_letters(text.str());
    if (!prepare()) return std::move(result_);
    const std::filesystem::path setup_file = servers_.folder / "sql" / "test_setup.sql";
    RegressScript setup;
    RegressScript script;
    {
      const auto client = open(servers_.reference + " dbname=" + kWholeDatabase);
      if (client == nullptr) return std::move(result_);
      RegressSession session(*client, servers_.folder);
      if (with_setup_) setup = run_whole_script(session, setup_file);
      script = run_whole_script(session, script_file_);
    }
    result_.commands = script.skipped_commands;
    result_.failure = script.failure;
    clean_reference(kWholeDatabase);
    const auto ours = open(servers_.connection);
    const auto theirs = open(servers_.reference + " dbname=" + kBesideDatabase);
    if (ours == nullptr || theirs == nullptr) return std::move(result_);
    RegressSession our_session(*ours, servers_.folder);
    RegressSession their_session(*theirs, servers_.folder);
    for (RegressStep& step : setup.steps) {
      if (!is_idle(step.piece.sql, script_text_)) take(step, our_session, their_session);
    }
    result_.judgements.clear();
    for (RegressStep& step : script.steps) {
      take(step, our_session, their_session);
      if (ours->lost() || theirs->lost()) {
        result_.failure = "line " + std::to_string(step.piece.line) + ": " +
                          (ours->lost() ? "namdb's" : "PostgreSQL's") + " connection is lost";
        break;
      }
    }
    if (const auto cleaner = open(servers_.connection); cleaner != nullptr) empty_namdb(*cleaner);
    return std::move(result_);
  }

 private:
  std::unique_ptr<RegressClient> open(const std::string& connection) {
    std::string why;
    auto client = connect_regress_client(connection + kOptions, servers_.patience, why);
    if (client == nullptr) result_.failure = "cannot connect: " + why;
    return client;
  }

  void clean_reference(const std::string& database) {
    const auto client = open(servers_.reference + " dbname=postgres");
    if (client == nullptr) return;
    client->run("DROP DATABASE IF EXISTS " + database + " WITH (FORCE)");
    drop_roles(*client);
  }

  bool prepare() {
    clean_reference(kBesideDatabase);
    clean_reference(kWholeDatabase);
    const auto client = open(servers_.reference + " dbname=postgres");
    const auto ours = open(servers_.connection);
    if (client == nullptr || ours == nullptr) return false;
    for (const std::string database : {kBesideDatabase, kWholeDatabase}) {
      const RegressAnswer answer =
          client->run("CREATE DATABASE " + database + " TEMPLATE template0 LOCALE 'C' ENCODING 'UTF8'");
      if (!answer.sqlstate().empty()) result_.failure = answer.outcomes.back().message;
    }
    empty_namdb(*ours);
    return result_.failure.empty();
  }

  void take(RegressStep& step, RegressSession& ours, RegressSession& theirs) {
    if (step.piece.sql.empty()) {
      ours.set(step.piece);
      theirs.set(step.piece);
      return;
    }
    RegressJudgement judgement;
    judgement.number = result_.judgements.size() + 1;
    judgement.line = step.piece.line;
    judgement.sql = ours.text_of(step.piece);
    judge(step, ours, theirs, judgement);
    result_.judgements.push_back(std::move(judgement));
  }

  void judge(RegressStep& step, RegressSession& ours, RegressSession& theirs, RegressJudgement& judgement) {
    const auto data = [&] { return step.copy_data; };
    if (is_explain(judgement.sql)) {
      judgement.verdict = RegressVerdict::skipped;
      return;
    }
    const std::string other = stand_in(judgement.sql);
    if (!other.empty() && ours.client().in_block()) {
      judgement.verdict = RegressVerdict::refused;
      judgement.why = "(its stand-in was run)";
      if (ours.run(step.piece, other, data).sqlstate().empty()) theirs.run(step.piece, other, data);
      fail_block(ours, theirs);
      return;
    }
    judgement.ours = ours.run(step.piece, judgement.sql, data);
    const bool as_whole = answers_differ(judgement.sql, judgement.ours, step.whole).empty();
    if (!as_whole && is_refusal(judgement.ours)) {
      judgement.verdict = RegressVerdict::refused;
      judgement.why = judgement.ours.outcomes.back().message;
      judgement.theirs = step.whole;
      if (!other.empty() && ours.run(step.piece, other, data).sqlstate().empty())
        theirs.run(step.piece, other, data);
      fail_block(ours, theirs);
      return;
    }
    const bool absent = !as_whole && names_nothing(judgement.ours);
    // A statement without an effect here must have none there.
    const bool alone = absent && !theirs.client().in_block() && !theirs.client().block_failed();
    if (alone) theirs.client().run("BEGIN");
    judgement.theirs = theirs.run(step.piece, theirs.text_of(step.piece), data);
    if (alone) theirs.client().run("ROLLBACK");
    judgement.why = answers_differ(judgement.sql, judgement.ours, judgement.theirs);
    const std::string their_state = judgement.theirs.sqlstate();
    if (!their_state.empty() && step.whole.sqlstate() != their_state &&
        judgement.ours.sqlstate() == their_state) {
      judgement.verdict = RegressVerdict::follows;
    } else if (absent && their_state != judgement.ours.sqlstate()) {
      judgement.verdict = RegressVerdict::absent;
      judgement.why = judgement.ours.outcomes.back().message;
    } else if (!judgement.why.empty()) {
      judgement.verdict = RegressVerdict::different;
    }
    fail_block(ours, theirs);
  }

  // A block that has failed on one side only, since namdb refused a statement of it, fails on the other, too.
  static void fail_block(RegressSession& ours, RegressSession& theirs) {
    if (ours.client().block_failed() && theirs.client().in_block()) theirs.client().run("SELECT 1 / 0");
    if (theirs.client().block_failed() && ours.client().in_block()) ours.client().run("SELECT 1 / 0");
  }

  const RegressServers& servers_;
  std::filesystem::path script_file_;
  std::string script_text_;
  bool with_setup_;
  RegressFileResult result_;
};

}  // namespace

RegressFileResult run_regress_file(const RegressServers& servers, const std::string& name) {
  return FileRun(servers, name).run();
}

}  // namespace namdb::sqltest
