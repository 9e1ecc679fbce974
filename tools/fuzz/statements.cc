// The target `statements`: SQL that clients of a server send. The input is a text of pieces with `;;`
// between them, each a simple query of a superuser, unless it begins with
//   @   the extended protocol: Parse, Bind, Describe, and Execute of two rows at a time, with binary
//       results
//   #   a simple query of a user with few rights, on a connection of its own
//   $   data for a COPY that the piece before has begun
#include <optional>
#include <string>
#include <string_view>

#include "tools/fuzz/server_run.h"
#include "tools/fuzz/targets.h"
#include "tools/fuzz/untouched_scene.h"

namespace namdb::fuzz {
namespace {

constexpr std::size_t kMaxPieces = 24;
constexpr std::string_view kSeparator = ";;";

using namespace pgwire::testing;

// COPY would wait for data that never comes: it gets their end.
std::string copy_done() {
  return message('c', "");
}

std::string extended(std::string_view sql) {
  const std::string bound = message('B', zero_terminated("") + zero_terminated("") + big_endian(0, 2) +
                                             big_endian(0, 2) + big_endian(1, 2) + big_endian(1, 2));
  return parse("", sql) + bound + describe('P', "") + execute("", 2) + execute("", 2) + execute("", 0) +
         sync();
}

}  // namespace

void run_statements(Bytes input) {
  std::string_view rest = as_text(input);
  rest = rest.substr(0, rest.find('\0'));
  ServerRun run(untouched_scene());
  ServerRun::Client owner(run, "tester");
  std::optional<ServerRun::Client> visitor;
  bool copying = false;
  for (std::size_t pieces = 0; pieces < kMaxPieces && !rest.empty(); ++pieces) {
    std::string_view piece = rest.substr(0, rest.find(kSeparator));
    rest.remove_prefix(std::min(rest.size(), piece.size() + kSeparator.size()));
    while (!piece.empty() && (piece.front() == '\n' || piece.front() == ' ')) piece.remove_prefix(1);
    if (piece.empty()) continue;
    const char kind = piece.front();
    if (kind == '@' || kind == '#' || kind == '$') piece.remove_prefix(1);
    ServerRun::Client* client = &owner;
    if (kind == '#') {
      if (!visitor) visitor.emplace(run, "visitor");
      client = &*visitor;
    }
    if (kind == '$') {
      client->send(message('d', std::string(piece)) + copy_done(), true);
    } else {
      if (copying) client->send(copy_done(), true);
      client->send(kind == '@' ? extended(piece) : query(piece), true);
    }
    copying = false;
    for (const Received& received : client->receive()) copying = received.type == 'G';
    if (!client->open()) break;
  }
}

}  // namespace namdb::fuzz
