// Connections with TLS: the handshake, sessions on top of it, and clients that break it.
#include <array>
#include <catch2/catch.hpp>

#include "common/tls/testing/certificates.h"
#include "compute/pgwire/testing/password_client.h"
#include "compute/pgwire/testing/tls_client.h"

namespace namdb::pgwire {

using namespace testing;  // NOLINT: the messages are the vocabulary of this file
using tls::testing::CertificateFolder;

namespace {

const std::vector<std::string> kEncryptedOnly = {"hostssl all all all trust"};

void use_tls(World& world, const tls::Files& files, const std::vector<std::string>& texts = kEncryptedOnly) {
  auto context = tls::Context::load(files);
  REQUIRE(context.ok());
  auto rules = authentication::AccessRules::parse(texts);
  REQUIRE(rules.ok());
  world.process.set_access(std::make_shared<Access>(Access{*rules, *context}));
}

// With a certificate of its own.
struct TlsWorld : World {
  explicit TlsWorld(const std::vector<std::string>& rules = kEncryptedOnly) {
    use_tls(*this, folder.issue("db"), rules);
  }
  CertificateFolder folder;
};

const std::string kStartup = startup({{"user", "u"}, {"database", "namdb"}});
const std::string kSslRequest = big_endian(8, 4) + big_endian(80'877'103, 4);

}  // namespace

TEST_CASE("a session over TLS", "[tls]") {
  TlsWorld world;
  TlsClient client(world);
  REQUIRE(client.request());
  REQUIRE(client.handshake());
  CHECK(std::string_view(::SSL_get_version(client.session())) == "TLSv1.3");
  CHECK(kinds(client.ask(kStartup)).ends_with("KZ"));
  CHECK(client.ask(query("SELECT 1"))[1].values()[0] == "1");
  // Several messages in one record, and one message in many records.
  CHECK(kinds(client.ask(query("SELECT 1") + query("SELECT 2"))) == "TDCZTDCZ");
  const std::string long_text(100'000, 'x');
  const auto messages = client.ask(query("SELECT '" + long_text + "'"));
  CHECK(messages.at(1).values()[0] == long_text);
  client.below().send(client.encrypt(terminate()));
  client.receive();
  CHECK(client.ended());
  CHECK(client.below().pipe().server_closed);
  CHECK(world.server->connections() == 0);
}

TEST_CASE("the memory of TLS counts as the clients', and without it the client is refused", "[tls]") {
  World world({.client_memory_bytes = 100'000});
  CertificateFolder folder;
  use_tls(world, folder.issue("db"));
  {
    TlsClient client(world);
    REQUIRE(client.request());
    REQUIRE(client.handshake());
    CHECK(world.process.client_memory().used_bytes() > 30'000);
    TestClient second(world);
    second.pipe().peer = "192.0.2.7:4001";
    second.pipe().local = false;
    second.connect();
    CHECK(sqlstate(second.ask(kSslRequest)) == "53200");
    CHECK(second.pipe().server_closed);
    client.below().vanish();
  }
  CHECK(world.process.client_memory().used_bytes() == 0);
}

TEST_CASE("TLS arrives in pieces of any size", "[tls]") {
  TlsWorld world;
  TlsClient client(world);
  client.below().pipe().read_limit = 7;
  REQUIRE(client.request());
  REQUIRE(client.handshake());
  CHECK(kinds(client.ask(kStartup)).ends_with("KZ"));
  CHECK(client.ask(query("SELECT 1"))[1].values()[0] == "1");
}

TEST_CASE("answers leave in one write, as without TLS", "[tls]") {
  TlsWorld world;
  TlsClient client(world);
  REQUIRE((client.request() && client.handshake()));
  client.ask(kStartup);
  const std::size_t writes = client.below().pipe().writes;
  CHECK(kinds(client.ask(query("SELECT 1") + query("SELECT 2"))) == "TDCZTDCZ");
  CHECK(client.below().pipe().writes == writes + 1);
}

TEST_CASE("TLS 1.2 is spoken, older versions are not", "[tls]") {
  TlsWorld world;
  TlsClient client(world);
  ::SSL_set_max_proto_version(client.session(), TLS1_2_VERSION);
  REQUIRE((client.request() && client.handshake()));
  CHECK(kinds(client.ask(kStartup)).ends_with("KZ"));
  TlsClient old(world);
  ::SSL_set_security_level(old.session(), 0);
  ::SSL_set_max_proto_version(old.session(), TLS1_1_VERSION);
  REQUIRE(old.request());
  CHECK_FALSE(old.handshake());
  CHECK(old.below().pipe().server_closed);
}

TEST_CASE("bytes behind the request for TLS are refused", "[tls]") {
  TlsWorld world;
  // An attacker between client and server puts plain messages before those of the client.
  TestClient client(world);
  client.pipe().peer = "192.0.2.7:4000";
  client.connect();
  const auto messages = client.ask(kSslRequest + kStartup);
  CHECK(sqlstate(messages) == "08P01");
  CHECK(client.pipe().server_closed);
  // A moment later they are not TLS.
  TestClient later(world);
  later.pipe().peer = "192.0.2.7:4001";
  later.connect();
  later.send(kSslRequest);
  later.pipe().to_client.clear();
  later.send(kStartup);
  CHECK(later.pipe().server_closed);
  CHECK(later.pipe().to_client.find("28000") == std::string::npos);
  CHECK(world.log.size() == 1);
}

TEST_CASE("only what the rules let in without TLS gets in without it", "[tls]") {
  TlsWorld world({"hostssl all all all trust", "local all all trust"});
  TestClient plain(world);
  plain.pipe().peer = "192.0.2.7:4000";
  plain.connect();
  const auto messages = plain.ask(kStartup);
  CHECK(sqlstate(messages) == "28000");
  CHECK(find_error(messages)->field('M').ends_with("no encryption"));
  // Not on a unix socket, and not GSSAPI.
  TestClient local(world);
  local.connect();
  local.send(kSslRequest);
  CHECK(local.pipe().to_client == "N");
  TestClient kerberos(world);
  kerberos.pipe().peer = "192.0.2.7:4001";
  kerberos.connect();
  kerberos.send(big_endian(8, 4) + big_endian(80'877'104, 4));
  CHECK(kerberos.pipe().to_client == "N");
  // TLS within TLS.
  TlsClient twice(world);
  REQUIRE((twice.request() && twice.handshake()));
  CHECK(sqlstate(twice.ask(kSslRequest)) == "08P01");
}

TEST_CASE("a cancel request comes by TLS too", "[tls]") {
  TlsWorld world;
  TlsClient client(world);
  REQUIRE((client.request() && client.handshake()));
  std::string key;
  for (const Received& received : client.ask(kStartup)) {
    if (received.type == 'K') key = received.payload;
  }
  TlsClient other(world);
  REQUIRE((other.request() && other.handshake()));
  other.below().send(other.encrypt(big_endian(16, 4) + big_endian(80'877'102, 4) + key));
  CHECK(other.below().pipe().server_closed);
  CHECK(kinds(client.ask(query("SELECT 1"))) == "TDCZ");
}

TEST_CASE("a handshake that is cut anywhere ends, and leaves nothing behind", "[tls]") {
  TlsWorld world;
  std::size_t flight_bytes = 1;
  for (std::size_t cut = 0; cut < flight_bytes; cut += 1 + cut / 8) {
    TlsClient client(world);
    REQUIRE(client.request());
    const std::string flight = client.next_flight();
    flight_bytes = flight.size();
    client.below().send(flight.substr(0, cut));
    CHECK_FALSE(client.below().pipe().server_closed);
    client.below().vanish();
    CHECK(client.below().pipe().server_closed);
    CHECK(world.server->connections() == 0);
  }
  // Between the flights.
  TlsClient client(world);
  REQUIRE(client.request());
  client.below().send(client.next_flight());
  client.below().vanish();
  CHECK(world.server->connections() == 0);
  CHECK(world.log.empty());
}

TEST_CASE("garbage instead of TLS ends the connection", "[tls]") {
  TlsWorld world;
  for (const std::string& garbage :
       {std::string("GET / HTTP/1.1\r\n\r\n"), std::string(1000, '\0'), std::string(1000, '\xff'),
        std::string("\x16\x03\x01\xff\xff", 5) + std::string(70'000, 'x'), kSslRequest}) {
    TlsClient client(world);
    REQUIRE(client.request());
    client.below().send(garbage);
    CHECK(client.below().pipe().server_closed);
  }
  // Each byte of a good message, changed.
  TlsClient good(world);
  REQUIRE(good.request());
  const std::string flight = good.next_flight();
  for (std::size_t at = 0; at < flight.size(); at += 3) {
    TlsClient client(world);
    REQUIRE(client.request());
    std::string changed = flight;
    changed[at] = static_cast<char>(changed[at] ^ 0x55);
    client.below().send(changed);
    client.below().vanish();
    CHECK(world.server->connections() == 1);
  }
}

TEST_CASE("a record that was changed on its way ends the session", "[tls]") {
  TlsWorld world;
  TlsClient client(world);
  REQUIRE((client.request() && client.handshake()));
  client.ask(kStartup);
  client.ask(query("CREATE TABLE t (a int PRIMARY KEY)") + query("BEGIN") +
             query("INSERT INTO t VALUES (1)"));
  std::string bytes = client.encrypt(query("COMMIT"));
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  client.below().send(bytes);
  CHECK(client.below().pipe().server_closed);
  CHECK(world.server->connections() == 0);
  CHECK(world.engine.open_transactions() == 0);
}

TEST_CASE("a client that ends TLS alone has ended its session", "[tls]") {
  TlsWorld world;
  TlsClient client(world);
  REQUIRE((client.request() && client.handshake()));
  client.ask(kStartup);
  client.close_tls();
  CHECK(client.below().pipe().server_closed);
  CHECK(world.server->connections() == 0);
}

TEST_CASE("new certificates are for new connections", "[tls]") {
  CertificateFolder folder;
  World world;
  const auto shown = [](TlsClient& client) {
    std::array<char, 64> name{};
    ::X509_NAME_oneline(::X509_get_subject_name(::SSL_get0_peer_certificate(client.session())), name.data(),
                        static_cast<int>(name.size()));
    return std::string(name.data());
  };
  use_tls(world, folder.issue("first"));
  TlsClient client(world);
  REQUIRE((client.request() && client.handshake()));
  client.ask(kStartup);
  TlsClient amid(world);
  REQUIRE(amid.request());
  use_tls(world, folder.issue("second"));
  CHECK(client.ask(query("SELECT 1"))[1].values()[0] == "1");
  REQUIRE(amid.handshake());
  CHECK(shown(amid) == "/CN=first");
  TlsClient later(world);
  REQUIRE((later.request() && later.handshake()));
  CHECK(shown(later) == "/CN=second");
}

TEST_CASE("a password is bound to the certificate", "[tls]") {
  CertificateFolder folder;
  World world;
  storage::Role app;
  app.login = true;
  app.password = authentication::scram_verifier("secret");
  world.set_role("app", app);
  use_tls(world, folder.issue("db"), {"hostssl all all all scram-sha-256"});
  const std::string hash = world.process.access()->tls->certificate_hash();
  const auto messages_with = [&](const std::string& bound_to) {
    TlsClient client(world);
    REQUIRE((client.request() && client.handshake()));
    return log_in([&](const std::string& bytes) { return client.ask(bytes); }, "app", "secret", bound_to);
  };
  CHECK(kinds(messages_with(hash)).ends_with("KZ"));
  CHECK(kinds(messages_with({})).ends_with("KZ"));  // a client that cannot
  CHECK(sqlstate(messages_with(std::string(32, 'x'))) == "08P01");
  TlsClient client(world);
  REQUIRE((client.request() && client.handshake()));
  const auto offer = client.ask(startup({{"user", "app"}, {"database", "namdb"}}));
  CHECK(offer.at(0).payload == big_endian(10, 4) + zero_terminated("SCRAM-SHA-256-PLUS") +
                                   zero_terminated("SCRAM-SHA-256") + std::string(1, '\0'));
}

TEST_CASE("certificates of clients", "[tls]") {
  CertificateFolder folder;
  CertificateFolder others;
  World world;
  tls::Files files = folder.issue("db");
  files.client_ca = folder.authority();
  use_tls(world, files,
          {"hostssl all u all cert", "hostssl all v all trust clientcert=verify-ca",
           "hostssl all w all trust clientcert=verify-full"});
  const auto answer = [&](const std::string& user, const tls::Files& shown) -> std::string {
    TlsClient client(world, shown);
    REQUIRE(client.request());
    client.handshake();
    if (client.below().pipe().server_closed) return "no TLS";
    const auto messages = client.ask(startup({{"user", user}, {"database", "namdb"}}));
    const Received* error = find_error(messages);
    return error == nullptr ? "in" : error->field('C') + " " + error->field('M');
  };
  const tls::Files u = folder.issue("u");
  CHECK(answer("u", u) == "in");
  CHECK(answer("v", u) == "in");
  CHECK(answer("w", u) == "28000 certificate authentication failed for user \"w\"");
  CHECK(answer("u", folder.issue("x")) == "28000 certificate authentication failed for user \"u\"");
  CHECK(answer("u", {}) == "28000 connection requires a valid client certificate");
  CHECK(answer("v", {}) == "28000 connection requires a valid client certificate");
  CHECK(answer("u", others.issue("u")) == "no TLS");
  CHECK(answer("u", folder.issue("u", -7200, -60)) == "no TLS");
}

TEST_CASE("a client that asks for new keys all the time must read the answers", "[tls]") {
  TlsWorld world;
  TlsClient client(world);
  REQUIRE((client.request() && client.handshake()));
  const bool reads = GENERATE(false, true);
  INFO("reads: " << reads);
  client.below().pipe().client_reads = reads;
  for (int i = 0; i < 5000 && !client.below().pipe().server_closed; ++i) {
    REQUIRE(::SSL_key_update(client.session(), SSL_KEY_UPDATE_REQUESTED) == 1);
    client.below().send(client.next_flight());
  }
  CHECK(client.below().pipe().server_closed != reads);
  if (reads) {
    CHECK(kinds(client.ask(kStartup)).ends_with("KZ"));
  } else {
    CHECK(client.below().pipe().to_client.size() < 128 * 1024);
    CHECK(world.server->connections() == 0);
  }
}

TEST_CASE("the server stops amid handshakes without a delay", "[tls]") {
  TlsWorld world;
  TlsClient begun(world);
  REQUIRE(begun.request());
  TlsClient idle(world);
  REQUIRE((idle.request() && idle.handshake()));
  idle.ask(kStartup);
  const std::uint64_t begin_ns = world.executor.now_ns();
  world.stop();
  CHECK(world.executor.now_ns() == begin_ns);
  CHECK(sqlstate(idle.receive()) == "57P01");
}

}  // namespace namdb::pgwire
