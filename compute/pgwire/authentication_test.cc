// Rules, roles and passwords of clients, and the answers to those that do not get in.
#include <catch2/catch.hpp>

#include "compute/pgwire/testing/password_client.h"
#include "compute/pgwire/testing/test_client.h"

namespace namdb::pgwire {

using namespace testing;  // NOLINT: the messages are the vocabulary of this file

namespace {

storage::Role role_with(const std::string& password) {
  storage::Role role;
  role.login = true;
  if (!password.empty()) role.password = authentication::scram_verifier(password);
  return role;
}

void set_rules(World& world, const std::vector<std::string>& texts) {
  auto rules = authentication::AccessRules::parse(texts);
  REQUIRE(rules.ok());
  world.process.set_access(std::make_shared<Access>(Access{*rules, nullptr}));
}

// A client at an address, which waits until the server has decided.
struct Visitor {
  explicit Visitor(World& of, const std::string& address = "192.0.2.7:4000") : world(of), client(of) {
    client.pipe().peer = address;
    client.pipe().local = false;
    client.connect();
  }
  std::vector<Received> ask(const std::string& bytes) {
    client.send(bytes);
    world.executor.run_until([&] { return !client.pipe().to_client.empty() || client.pipe().server_closed; });
    world.executor.run_ready();
    return client.receive();
  }
  std::vector<Received> log_in(std::string_view user, const std::string& password) {
    return testing::log_in([this](const std::string& bytes) { return ask(bytes); }, user, password);
  }
  std::vector<Received> start(std::string_view user) {
    return ask(startup({{"user", user}, {"database", "namdb"}}));
  }

  World& world;
  TestClient client;
};

bool got_in(const std::vector<Received>& messages) {
  return !messages.empty() && messages.back().type == 'Z';
}

std::string refusal(const std::vector<Received>& messages) {
  const Received* error = find_error(messages);
  return error == nullptr ? "" : error->field('C') + " " + error->field('M');
}

}  // namespace

TEST_CASE("a remote client gets in with its role's password", "[authentication]") {
  World world;
  world.set_role("app", role_with("secret"));
  Visitor visitor(world);
  const auto messages = visitor.log_in("app", "secret");
  REQUIRE(messages.size() > 2);
  CHECK(is_authentication(messages[0], 12));
  CHECK(is_authentication(messages[1], 0));
  CHECK(got_in(messages));
  CHECK(visitor.client.ask(query("SELECT current_user"))[1].values()[0] == "app");
  CHECK(world.log.empty());
}

TEST_CASE("a wrong password, an unknown user and others without a password hear the same, after a while",
          "[authentication]") {
  World world;
  world.wall_us = 1000;
  world.set_role("app", role_with("secret"));
  world.set_role("bare", role_with(""));
  storage::Role late = role_with("secret");
  late.valid_until_us = 999;
  world.set_role("late", late);
  storage::Role odd = role_with("");
  odd.password = "md5-something";
  world.set_role("odd", odd);
  for (const auto& [user, password] : std::vector<std::pair<std::string, std::string>>{{"app", "wrong"},
                                                                                       {"app", ""},
                                                                                       {"nobody", "secret"},
                                                                                       {"bare", ""},
                                                                                       {"late", "secret"},
                                                                                       {"odd", "x"}}) {
    Visitor visitor(world);
    const std::uint64_t begin_ns = world.executor.now_ns();
    CHECK(refusal(visitor.log_in(user, password)) ==
          "28P01 password authentication failed for user \"" + user + "\"");
    CHECK(world.executor.now_ns() - begin_ns >= kSecond_ns);
    CHECK(visitor.client.pipe().server_closed);
  }
  late.valid_until_us = 1000;
  world.set_role("late", late);
  Visitor in_time(world);
  CHECK(got_in(in_time.log_in("late", "secret")));
  CHECK(world.process.connections() == 1);
}

TEST_CASE("a user who does not exist is asked the same every time", "[authentication]") {
  World world;
  world.set_role("app", role_with("secret"));
  const auto salt_of = [&](std::string_view user) {
    Visitor visitor(world);
    visitor.start(user);
    const auto messages = visitor.ask(sasl_initial("SCRAM-SHA-256", "n,,n=,r=abc"));
    REQUIRE(messages.size() == 1);
    const std::string text = messages[0].payload.substr(4);
    return text.substr(text.find(",s="));
  };
  CHECK(salt_of("nobody") == salt_of("nobody"));
  CHECK(salt_of("nobody") != salt_of("nobody2"));
  CHECK(salt_of("nobody").size() == salt_of("app").size());
  CHECK(salt_of("app") == salt_of("app"));
}

TEST_CASE("others go on while somebody waits for the answer to a wrong password", "[authentication]") {
  World world;
  world.set_role("app", role_with("secret"));
  Visitor guesser(world);
  guesser.start("app");
  const auto challenge = guesser.ask(sasl_initial("SCRAM-SHA-256", "n,,n=,r=abc"));
  const std::string text = challenge.at(0).payload.substr(4);
  const std::string nonce = text.substr(0, text.find(",s="));
  guesser.client.send(message('p', "c=biws," + nonce + ",p=" + std::string(43, 'A') + "="));
  CHECK(guesser.client.receive().empty());
  Visitor other(world, "192.0.2.8:1");
  CHECK(got_in(other.log_in("app", "secret")));
  CHECK(guesser.client.receive().empty());
  world.executor.run_until([&] { return guesser.client.pipe().server_closed; });
  CHECK(refusal(guesser.client.receive()).starts_with("28P01"));
}

TEST_CASE("refusals are logged with user, address and reason, one a second for each address",
          "[authentication]") {
  World world;
  world.set_role("app", role_with("secret"));
  Visitor first(world);
  first.log_in("app", "wrong");
  Visitor second(world);
  second.log_in("no\nbody", "wrong");
  REQUIRE(world.log.size() == 2);
  CHECK(world.log[0] ==
        "192.0.2.7:4000 is refused: password authentication failed for user \"app\": the password is wrong");
  CHECK(world.log[1].ends_with("password authentication failed for user \"no?body\": there is no such role"));
  set_rules(world, {});
  for (int i = 0; i < 100; ++i) Visitor(world, "192.0.2.9:1").start("app");
  CHECK(world.log.size() == 3);
}

TEST_CASE("while there is no role every name is taken on this machine, and none from elsewhere",
          "[authentication]") {
  World world;
  CHECK(got_in(Visitor(world, "unix").start("anybody")));
  CHECK(got_in(Visitor(world, "127.0.0.1:5").start("anybody")));
  CHECK(got_in(Visitor(world, "[::1]:5").start("anybody")));
  CHECK(refusal(Visitor(world).start("anybody")).starts_with("28000 there are no roles yet"));
  World trusting({.trust_remote = true});
  CHECK(got_in(Visitor(trusting).start("anybody")));
}

TEST_CASE("with roles a trusted name must be one that may log in", "[authentication]") {
  World world;
  world.set_role("app", role_with(""));
  world.set_role("group", storage::Role());
  CHECK(got_in(Visitor(world, "unix").start("app")));
  CHECK(refusal(Visitor(world, "unix").start("nobody")) == "28000 role \"nobody\" does not exist");
  CHECK(refusal(Visitor(world, "unix").start("group")) == "28000 role \"group\" is not permitted to log in");
}

TEST_CASE("a role has as many connections as its limit", "[authentication]") {
  World world;
  storage::Role limited = role_with("");
  limited.connection_limit = 2;
  world.set_role("app", limited);
  limited.connection_limit = 0;
  world.set_role("none", limited);
  world.set_role("other", role_with(""));
  Visitor first(world, "unix");
  Visitor second(world, "unix");
  CHECK(got_in(first.start("app")));
  CHECK(got_in(second.start("app")));
  CHECK(refusal(Visitor(world, "unix").start("app")) == "53300 too many connections for role \"app\"");
  CHECK(refusal(Visitor(world, "unix").start("none")) == "53300 too many connections for role \"none\"");
  CHECK(got_in(Visitor(world, "unix").start("other")));
  first.client.send(terminate());
  CHECK(got_in(Visitor(world, "unix").start("app")));
  // It does not hold superusers.
  limited.superuser = true;
  world.set_role("chief", limited);
  CHECK(got_in(Visitor(world, "unix").start("chief")));
}

TEST_CASE("kept connections are for roles that are superusers", "[authentication]") {
  World world({.max_connections = 2, .reserved_connections = 1, .superusers = {"namctl"}});
  world.set_role("namctl", role_with(""));
  storage::Role chief = role_with("");
  chief.superuser = true;
  world.set_role("chief", chief);
  Visitor first(world, "unix");
  CHECK(got_in(first.start("namctl")));
  CHECK(refusal(Visitor(world, "unix").start("namctl")).starts_with("53300"));
  Visitor second(world, "unix");
  CHECK(got_in(second.start("chief")));
  CHECK(second.client.ask(query("SHOW is_superuser"))[1].values()[0] == "on");
}

TEST_CASE("the first rule that fits decides, and no rule refuses", "[authentication]") {
  World world;
  world.set_role("app", role_with("secret"));
  set_rules(world, {"host all all 192.0.2.8 reject", "host namdb app 192.0.2.0/24 scram-sha-256"});
  CHECK(refusal(Visitor(world, "192.0.2.8:1").start("app")) ==
        "28000 an access rule rejects host \"192.0.2.8\", user \"app\", database \"namdb\", no encryption");
  CHECK(got_in(Visitor(world, "192.0.2.9:1").log_in("app", "secret")));
  CHECK(refusal(Visitor(world, "[2001:db8::1]:1").start("app")) ==
        "28000 no access rule for host \"2001:db8::1\", user \"app\", database \"namdb\", no encryption");
  CHECK(refusal(Visitor(world, "unix").start("app")) ==
        "28000 no access rule for host \"[local]\", user \"app\", database \"namdb\", no encryption");
  // A password of this machine's clients too, when a rule says so.
  set_rules(world, {"local all all scram-sha-256"});
  CHECK(refusal(Visitor(world, "unix").log_in("app", "wrong")).starts_with("28P01"));
  CHECK(got_in(Visitor(world, "unix").log_in("app", "secret")));
}

TEST_CASE("new rules are for new connections", "[authentication]") {
  World world;
  Visitor early(world, "unix");
  set_rules(world, {});
  CHECK(got_in(early.start("app")));
  CHECK(refusal(Visitor(world, "unix").start("app")).starts_with("28000 no access rule"));
}

TEST_CASE("malformed exchanges end the connection", "[authentication]") {
  World world;
  world.set_role("app", role_with("secret"));
  const auto after = [&](const std::vector<std::string>& sent) {
    Visitor visitor(world);
    visitor.start("app");
    std::vector<Received> messages;
    for (const std::string& bytes : sent) messages = visitor.ask(bytes);
    CHECK(visitor.client.pipe().server_closed);
    CHECK(world.process.connections() == 0);
    return sqlstate(messages);
  };
  const std::string first = sasl_initial("SCRAM-SHA-256", "n,,n=,r=abc");
  CHECK(after({query("SELECT 1")}) == "08P01");
  CHECK(after({message('p', "")}) == "08P01");
  CHECK(after({message('p', "SCRAM-SHA-256")}) == "08P01");
  CHECK(after({message('p', zero_terminated("SCRAM-SHA-256"))}) == "08P01");
  CHECK(after({message('p', zero_terminated("SCRAM-SHA-256") + big_endian(100, 4) + "n,,")}) == "08P01");
  CHECK(after({message('p', zero_terminated("SCRAM-SHA-256") + big_endian(3, 4) + "n,,n=,r=abc")}) ==
        "08P01");
  CHECK(after({sasl_initial("SCRAM-SHA-1", "n,,n=,r=abc")}) == "08P01");
  CHECK(after({sasl_initial("SCRAM-SHA-256-PLUS", "p=tls-server-end-point,,n=,r=abc")}) == "08P01");
  CHECK(after({sasl_initial("SCRAM-SHA-256", "")}) == "08P01");
  CHECK(after({sasl_initial("SCRAM-SHA-256", "n,,n=,r=" + std::string(2000, 'a'))}) == "08P01");
  CHECK(after({first, message('p', "")}) == "08P01");
  CHECK(after({first, message('p', "c=biws,r=abc,p=" + std::string(43, 'A') + "=")}) == "08P01");
  CHECK(after({first, first}) == "08P01");
  CHECK(after({std::string("p\xff\xff\xff\xff", 5)}) == "08P01");
  // Without data at first, it is asked for.
  Visitor asked(world);
  asked.start("app");
  const auto empty = asked.ask(message('p', zero_terminated("SCRAM-SHA-256") + big_endian(0xffffffff, 4)));
  REQUIRE(empty.size() == 1);
  CHECK(empty[0].payload == big_endian(11, 4));
  CHECK(is_authentication(asked.ask(message('p', "n,,n=,r=abc")).at(0), 11));
}

TEST_CASE("a client that leaves amid the exchange leaves nothing behind, and is not logged",
          "[authentication]") {
  World world;
  world.set_role("app", role_with("secret"));
  for (const bool cut : {false, true}) {
    Visitor visitor(world);
    visitor.start("app");
    if (cut) visitor.client.send(sasl_initial("SCRAM-SHA-256", "n,,n=,r=abc").substr(0, 20));
    visitor.client.vanish();
    CHECK(visitor.client.pipe().server_closed);
  }
  CHECK(world.server->connections() == 0);
  CHECK(world.log.empty());
}

TEST_CASE("a client that does not answer is cut off in time", "[authentication]") {
  World world({.startup_timeout_ns = 5 * kSecond_ns});
  world.set_role("app", role_with("secret"));
  Visitor visitor(world);
  visitor.start("app");
  CHECK_FALSE(visitor.client.pipe().server_closed);
  world.executor.run_until([&] { return visitor.client.pipe().server_closed; });
  CHECK(world.executor.now_ns() >= 5 * kSecond_ns);
}

TEST_CASE("strangers who say nothing take the places of their like only", "[authentication]") {
  World world({.max_connections = 64});
  Visitor user(world, "unix");
  CHECK(got_in(user.start("app")));
  std::vector<std::unique_ptr<Visitor>> silent;
  for (int i = 0; i < 64; ++i) silent.push_back(std::make_unique<Visitor>(world));
  CHECK_FALSE(silent.front()->client.pipe().server_closed);
  silent.push_back(std::make_unique<Visitor>(world));
  world.executor.run_ready();
  CHECK(silent[0]->client.pipe().server_closed);
  CHECK_FALSE(silent[1]->client.pipe().server_closed);
  CHECK(kinds(user.client.ask(query("SELECT 1"))) == "TDCZ");
  CHECK(got_in(Visitor(world, "unix").start("app")));
}

TEST_CASE("the server stops while clients are asked for passwords", "[authentication]") {
  World world;
  world.set_role("app", role_with("secret"));
  Visitor visitor(world);
  visitor.start("app");
  const std::uint64_t begin_ns = world.executor.now_ns();
  world.stop();
  CHECK(world.executor.now_ns() == begin_ns);
  CHECK(refusal(visitor.client.receive()).starts_with("57P01"));
}

}  // namespace namdb::pgwire
