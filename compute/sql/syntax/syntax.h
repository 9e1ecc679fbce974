// PostgreSQL's grammar by libpg_query: text to syntax trees, and careful reading of the trees. A tree is read
// once, when a statement is prepared.
//
// A node is a JSON object with one member, whose name is the node's kind. A binder lists the members of a
// node that it understands (only()); any other member ends in feature_not_supported, so that no construct is
// ignored. Input of any content and size is safe: text beyond the bounds is refused before libpg_query sees
// it, since its recursion on deep trees is not bounded.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/base/error.h"
#include "compute/sql/syntax/syntax_error.h"

namespace namdb::sql {

using Json = nlohmann::json;

inline constexpr std::size_t kMaxStatement_bytes = 1 << 20;
// The member of a node: its kind ("SelectStmt") and its body.
struct Node {
  std::string_view kind;
  const Json* body = nullptr;
};

class SyntaxTree {
 public:
  SyntaxTree() = default;
  explicit SyntaxTree(Json tree);
  std::size_t statement_count() const;
  Node statement(std::size_t index) const;
  // Where the statement's part of the text begins, and its length, in bytes.
  std::size_t statement_begin(std::size_t index) const;
  std::size_t statement_bytes(std::size_t index, std::size_t text_bytes) const;

 private:
  std::shared_ptr<const Json> tree_;  // null: no statement
};

// Several statements separated by semicolons; possibly none.
std::variant<SyntaxTree, SyntaxError> parse_sql(const std::string& text);

Node node(const Json& json);
// The member; null when the body does not have it.
const Json* find(const Json& body, const char* member);
std::string_view text(const Json& body, const char* member);
std::int64_t integer(const Json& body, const char* member);
bool flag(const Json& body, const char* member);
// Elements of a list member; empty when it is not there.
const Json& list(const Json& body, const char* member);
// The names in a list of String nodes: {"pg_catalog", "int4"}.
std::vector<std::string_view> names(const Json& strings);

// Ok if all members of `body` are among `known`; otherwise "<construct> of <statement> is not supported".
Status only(const Json& body, std::string_view statement, std::initializer_list<std::string_view> known);
// feature_not_supported: "CREATE INDEX is not supported", from the node's kind.
Status unsupported(Node node);
Status unsupported(std::string_view construct);

}  // namespace namdb::sql
