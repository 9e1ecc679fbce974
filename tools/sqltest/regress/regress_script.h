// The statements of a regression script as PostgreSQL runs them: the pieces of the script with its conditions
// decided and its data of COPY found, which only a server that runs it can tell.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tools/sqltest/regress/psql_script.h"
#include "tools/sqltest/regress/regress_client.h"

namespace namdb::sqltest {

struct RegressStep {
  PsqlPiece piece;  // a statement, perhaps with \gset; or \set and \unset, which change variables
  std::string copy_data;
  RegressAnswer whole;  // what PostgreSQL answered
};

struct RegressScript {
  std::vector<RegressStep> steps;
  std::size_t skipped_commands = 0;
  std::string failure;
};

// A session of a script: its variables, and its client.
class RegressSession {
 public:
  RegressSession(RegressClient& client, std::filesystem::path folder);

  RegressClient& client() { return client_; }
  bool is_statement(const PsqlPiece& piece) const { return !piece.sql.empty(); }
  std::string text_of(const PsqlPiece& piece) const { return expand_variables(piece.sql, variables_); }
  // Runs the statement that has this text.
  RegressAnswer run(const PsqlPiece& piece, const std::string& text,
                    const std::function<std::string()>& data);
  void set(const PsqlPiece& piece);
  bool holds(const std::string& condition) const;

 private:
  void take_values(const std::string& prefix, const RegressAnswer& answer);

  RegressClient& client_;
  std::filesystem::path folder_;
  PsqlVariables variables_;
};

// Runs `name`.sql of the folder.
RegressScript run_whole_script(RegressSession& session, const std::filesystem::path& file);

std::string small_letters(std::string_view text);

}  // namespace namdb::sqltest
