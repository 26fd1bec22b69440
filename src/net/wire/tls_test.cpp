// TLS between our own two ends, and who is believed.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <future>

#include "net/client.h"
#include "net/raw_peer_test.h"
#include "net/server.h"
#include "net/test_pki.h"
#include "net/wire/tls.h"

namespace hekla::net {
namespace {

using namespace std::chrono_literals;
using WriterPtr = std::shared_ptr<ResponseWriter>;

std::string who(const Request& request) {
  if (!request.peer) return "anonymous";
  std::string text = request.peer->common_name;
  for (const std::string& organization : request.peer->organizations) text += "," + organization;
  return text;
}

class Tls : public testing::Test {
 protected:
  const TestPki& pki = TestPki::get();
  std::unique_ptr<Server> server = start();

  std::unique_ptr<Server> start() {
    ServerOptions options;
    options.certificate = pki.server;
    options.client_ca_pem = pki.ca.certificate_pem;
    return Server::start(options,
                         [](Request request, WriterPtr writer) {
                           std::string body = who(request) + " " + request.path + " " +
                                              std::to_string(request.body.size());
                           writer->respond({.status = 200, .headers = {}, .body = std::move(body)});
                         })
        .value();
  }
  Result<Response> fetch(ClientOptions options, std::string host = "127.0.0.1") {
    auto client = Client::make(std::move(options)).value();
    return client->fetch({.url = "https://" + host + ":" + std::to_string(server->port()) + "/x"});
  }
};

TEST_F(Tls, ClientsWithoutACertificateAreAnonymous) {
  EXPECT_EQ(fetch({.ca_pem = pki.ca.certificate_pem})->body, "anonymous /x 0");
}

TEST_F(Tls, AServersCertificateMayBeTrustedByItself) {
  EXPECT_EQ(fetch({.ca_pem = pki.server.certificate_pem})->body, "anonymous /x 0");
}

TEST_F(Tls, CertificatesNameTheirBearer) {
  EXPECT_EQ(fetch({.ca_pem = pki.ca.certificate_pem, .certificate = pki.admin})->body,
            "kubernetes-admin,system:masters,dev /x 0");
}

TEST_F(Tls, CertificatesOfAStrangerFailTheHandshake) {
  Result<Response> response =
      fetch({.ca_pem = pki.ca.certificate_pem, .certificate = pki.stranger});
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, Code::unavailable);
}

TEST_F(Tls, ServerCertificatesDoNotServeAsClientCertificates) {
  EXPECT_FALSE(fetch({.ca_pem = pki.ca.certificate_pem, .certificate = pki.server}));
}

TEST_F(Tls, ClientsRefuseAServerOfAnotherCa) {
  Result<Response> response = fetch({.ca_pem = pki.other_ca.certificate_pem});
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, Code::unavailable);
  EXPECT_NE(response.error().message.find("certificate verification failed"), std::string::npos)
      << response.error().message;
}

TEST_F(Tls, ClientsCheckTheNameTheyAskedFor) {
  EXPECT_TRUE(fetch({.ca_pem = pki.ca.certificate_pem}, "localhost"));
  CertificateRequest elsewhere{
      .common_name = "127.0.0.1", .dns_names = {"example.com"}, .for_server = true};
  ServerOptions options;
  options.certificate = make_certificate(pki.ca, elsewhere, real_clock()).value();
  server = Server::start(options, [](Request, WriterPtr writer) { writer->respond({}); }).value();
  EXPECT_FALSE(fetch({.ca_pem = pki.ca.certificate_pem}));
  EXPECT_FALSE(fetch({.ca_pem = pki.ca.certificate_pem}, "localhost"));
  EXPECT_TRUE(fetch({.ca_pem = pki.ca.certificate_pem, .insecure_skip_verify = true}));
}

TEST_F(Tls, ARenewedCertificateIsUsedFromThenOn) {
  struct Source final : CredentialSource {
    Credential current() override {
      std::lock_guard lock(mutex);
      return {"", certificate};
    }
    void refused() override {}
    std::mutex mutex;
    std::optional<KeyPair> certificate;
  };
  auto source = std::make_shared<Source>();
  CertificateRequest jane{.common_name = "jane", .for_client = true};
  source->certificate = make_certificate(pki.ca, jane, real_clock()).value();
  auto client = Client::make({.ca_pem = pki.ca.certificate_pem, .credentials = source}).value();
  const std::string url = "https://127.0.0.1:" + std::to_string(server->port()) + "/";
  EXPECT_TRUE(client->fetch({.url = url})->body.starts_with("jane"));
  {
    std::lock_guard lock(source->mutex);
    source->certificate = pki.admin;
  }
  client->fetch({.url = url}).value();  // may still go over the connection that is there
  EXPECT_TRUE(client->fetch({.url = url})->body.starts_with("kubernetes-admin"));
}

TEST_F(Tls, LargeBodiesBothWays) {
  auto client = Client::make({.ca_pem = pki.ca.certificate_pem}).value();
  std::string base = "https://127.0.0.1:" + std::to_string(server->port());
  ClientRequest request{.method = "PUT", .url = base + "/big", .body = std::string(3 << 20, 'b')};
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(client->fetch(request)->body, "anonymous /big " + std::to_string(3 << 20));
  request.body += 'b';
  EXPECT_EQ(client->fetch(request)->status, 413);
}

TEST_F(Tls, AStreamOfManyChunksArrivesWhole) {
  std::promise<WriterPtr> begun;
  ServerOptions options;
  options.certificate = pki.server;
  auto streaming = Server::start(options, [&](Request, WriterPtr writer) {
                     writer->begin(200, {});
                     begun.set_value(writer);
                   }).value();
  auto client = Client::make({.ca_pem = pki.ca.certificate_pem}).value();
  std::string received, expected;
  std::promise<Result<void>> end;
  auto handle =
      client->stream({.url = "https://127.0.0.1:" + std::to_string(streaming->port()) + "/"},
                     {.on_data = [&](std::string_view data) { received += data; },
                      .on_end = [&](Result<void> outcome) { end.set_value(std::move(outcome)); }});
  WriterPtr writer = begun.get_future().get();
  for (int i = 0; i < 10'000; ++i) {
    std::string line = "{\"number\":" + std::to_string(i) + "}\n";
    expected += line;
    writer->write(line);
  }
  writer->end();
  EXPECT_TRUE(end.get_future().get());
  EXPECT_TRUE(received == expected);
}

TEST_F(Tls, PlainTextOnATlsPortIsCutOff) {
  RawPeer peer(server->port());
  peer.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(peer.receive_all().find("HTTP/1.1 200"), std::string::npos);
}

TEST_F(Tls, BadKeyMaterialIsAnErrorAtStart) {
  ServerOptions options;
  options.certificate = {pki.server.certificate_pem, pki.admin.key_pem};
  Result<std::unique_ptr<Server>> mixed = Server::start(options, [](Request, WriterPtr) {});
  ASSERT_FALSE(mixed);
  EXPECT_TRUE(mixed.error().message.starts_with("using the private key with the certificate"));
  EXPECT_FALSE(Client::make({.ca_pem = "nonsense"}));
}

// kubectl is a new process each time: resuming saves it a handshake, and must keep the identity.
TEST_F(Tls, ResumedSessionsKeepTheClientsIdentity) {
  SslContext context = make_client_context({pki.ca.certificate_pem, pki.admin, false}).value();
  SSL_SESSION* session = nullptr;
  for (bool resumed : {false, true}) {
    Ssl ssl = make_client_session(*context, "127.0.0.1").value();
    if (session) SSL_set_session(ssl.get(), session);
    Socket socket(::socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(server->port());
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(::connect(socket.fd(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    SSL_set_fd(ssl.get(), socket.fd());
    ASSERT_EQ(SSL_connect(ssl.get()), 1);
    EXPECT_STREQ(SSL_get_cipher_name(ssl.get()), "TLS_AES_128_GCM_SHA256");
    const unsigned char* protocol = nullptr;
    unsigned int length = 0;
    SSL_get0_alpn_selected(ssl.get(), &protocol, &length);
    EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(protocol), length), "http/1.1");
    std::string_view request = "GET /r HTTP/1.1\r\nHost: h\r\n\r\n";
    ASSERT_EQ(SSL_write(ssl.get(), request.data(), static_cast<int>(request.size())),
              static_cast<int>(request.size()));
    std::array<char, 4096> buffer;
    int got = SSL_read(ssl.get(), buffer.data(), buffer.size());
    ASSERT_GT(got, 0);
    std::string_view answer(buffer.data(), static_cast<std::size_t>(got));
    EXPECT_TRUE(answer.ends_with("kubernetes-admin,system:masters,dev /r 0")) << answer;
    EXPECT_EQ(SSL_session_reused(ssl.get()) == 1, resumed);
    SSL_SESSION_free(session);
    session = SSL_get1_session(ssl.get());
    SSL_shutdown(ssl.get());
  }
  SSL_SESSION_free(session);
}

}  // namespace
}  // namespace hekla::net
