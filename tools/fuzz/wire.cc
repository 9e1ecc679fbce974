// The target `wire`: the bytes that a client sends. The first byte of the input says on which connection:
//   bits 0 and 1   0 a new one by the unix socket; 1 a new one from another machine, which is asked for a
//       password; 2 one of a superuser, 3 one of a user with few rights, that are ready for a query
//   bit 2          limits are as low as they can be
//   bit 3          of 1: the user has sent a first message of SCRAM
// The second byte is how many bytes one read brings at most, 0 all of them. The others are the client's.
#include <string>
#include <string_view>

#include "compute/authentication/testing/scram_client.h"
#include "compute/pgwire/testing/password_client.h"
#include "tools/fuzz/server_run.h"
#include "tools/fuzz/targets.h"
#include "tools/fuzz/untouched_scene.h"

namespace namdb::fuzz {
namespace {

enum class Beginning : std::uint8_t { local = 0, remote = 1, superuser = 2, visitor = 3 };
constexpr std::uint8_t kBeginning = 3;
constexpr std::uint8_t kLowLimits = 4;
constexpr std::uint8_t kFirstSent = 8;

pgwire::Options options_of(std::uint8_t mode) {
  pgwire::Options options;
  if ((mode & kLowLimits) != 0) {
    options.max_message_bytes = 1024;
    options.client_memory_bytes = 64 << 10;
  }
  return options;
}

std::string scram_beginning() {
  namespace testing = pgwire::testing;
  authentication::testing::ScramClient scram("secret", "");
  return testing::startup({{"user", "visitor"}, {"database", "namdb"}}) +
         testing::sasl_initial(scram.mechanism(), scram.first());
}

}  // namespace

void run_wire(Bytes input) {
  if (input.size() < 2) return;
  const std::uint8_t mode = input[0];
  const std::size_t read_limit = input[1] == 0 ? ~std::size_t{0} : input[1];
  const std::string_view bytes = as_text(input.subspan(2));
  ServerRun run(untouched_scene(), options_of(mode));
  const auto beginning = static_cast<Beginning>(mode & kBeginning);
  if (beginning == Beginning::superuser || beginning == Beginning::visitor) {
    ServerRun::Client client(run, beginning == Beginning::superuser ? "tester" : "visitor");
    client.send(bytes, false);
    client.receive();
    return;
  }
  using Origin = ServerRun::Client::Origin;
  ServerRun::Client client(run, beginning == Beginning::local ? Origin::local : Origin::remote, read_limit);
  if (beginning == Beginning::remote && (mode & kFirstSent) != 0) client.send(scram_beginning(), false);
  client.send(bytes, false);
  client.forget_answers();
}

}  // namespace namdb::fuzz
