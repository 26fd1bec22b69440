// A proxy between a client that speaks byte by byte and a server that the test plays itself, or a
// real one.
#include "net/forward.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "base/loop.h"
#include "net/local_clients.h"
#include "net/raw_peer_test.h"
#include "net/server.h"

namespace hekla::net {
namespace {

using namespace std::chrono_literals;
using WriterPtr = std::shared_ptr<ResponseWriter>;

class Forwarded : public testing::Test {
 protected:
  Forwarded() {
    ServerOptions options;
    options.tls = false;
    options.router = [](const Request&) {
      return RouteRules{.stream_body = true, .max_body_bytes = std::size_t{1} << 40};
    };
    proxy = Server::start(std::move(options), [this](const Request& request, WriterPtr writer) {
              Forwarding how;
              how.upstream.method = {};
              how.upstream.url = "http://127.0.0.1:" + std::to_string(port) + request.target;
              how.upstream.headers = end_to_end_headers(request.headers);
              how.upstream.timeout = {};
              how.upstream.head_timeout = head_timeout;
              how.on_head = [](int, Headers& headers) { headers.set("Via", "proxy"); };
              how.on_passing = [this](std::string_view bytes, bool) { passed += bytes.size(); };
              how.on_over = [this] { ++over; };
              forward(request, std::move(writer), clients->here(), std::move(how));
            }).value();
    peer.emplace(proxy->port());
  }
  ~Forwarded() override { proxy->stop(0ms); }

  // The request as the other server gets it, up to `mark`.
  RawPeer accept(std::string_view mark = "\r\n\r\n") {
    RawPeer upstream(accept_soon(listener));
    upstream.receive_until(mark);
    return upstream;
  }
  std::string head(const std::string& method, const std::string& fields = "") {
    return method + " /a%2Fb?c=%20 HTTP/1.1\r\nHost: name\r\n" + fields + "\r\n";
  }

  Socket listener = listen_on("127.0.0.1", 0).value();
  std::uint16_t port = local_port(listener);
  std::chrono::milliseconds head_timeout{0};
  std::atomic<std::size_t> passed = 0;
  std::atomic<int> over = 0;
  std::unique_ptr<LocalClients> clients = LocalClients::make({}).value();
  std::unique_ptr<Server> proxy;
  std::optional<RawPeer> peer;
};

TEST_F(Forwarded, RequestsKeepTheirBytesAndLoseWhatBelongsToTheConnection) {
  peer->send(head("GET",
                  "Connection: X-Private, close\r\nX-Private: 1\r\nKeep-Alive: 5\r\nTE: gzip\r\n"
                  "Cookie: a=b;  c=\r\nCookie: d\r\n"));
  RawPeer upstream = accept();
  EXPECT_TRUE(upstream.received.starts_with("GET /a%2Fb?c=%20 HTTP/1.1\r\nHost: name\r\n"))
      << upstream.received;
  EXPECT_NE(upstream.received.find("Cookie: a=b;  c=\r\nCookie: d\r\n"), std::string::npos);
  for (const char* gone : {"X-Private", "Keep-Alive", "TE:", "Connection"})
    EXPECT_EQ(upstream.received.find(gone), std::string::npos) << gone;
  upstream.send(
      "HTTP/1.1 201 Fine\r\nContent-Length: 2\r\nConnection: X-Mine\r\nX-Mine: 1\r\nX-Kept: "
      "2\r\n\r\nok");
  const std::string answer = peer->receive_all();
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 201 ")) << answer;
  EXPECT_NE(answer.find("X-Kept: 2\r\nVia: proxy\r\n"), std::string::npos) << answer;
  EXPECT_EQ(answer.find("X-Mine"), std::string::npos);
  EXPECT_TRUE(answer.ends_with("\r\n\r\nok"));
  EXPECT_EQ(passed, 2u);
  EXPECT_TRUE(soon([&] { return over == 1; }));
}

TEST_F(Forwarded, AnswersOfEveryFramingAndTheConnectionsAreUsedAgain) {
  peer->send(head("GET"));
  RawPeer upstream = accept();
  upstream.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nsized");
  EXPECT_TRUE(peer->receive_until("sized").ends_with("\r\n\r\nsized"));
  EXPECT_NE(peer->received.find("\r\nContent-Length: 5\r\n"), std::string::npos);
  peer->received.clear();
  upstream.received.clear();
  peer->send(head("GET"));
  upstream.receive_until("\r\n\r\n");
  upstream.send(
      "HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n"
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nchu\r\n3\r\nnks\r\n0\r\nX-Sum: "
      "6\r\n\r\n");
  peer->receive_until("X-Sum: 6\r\n\r\n");
  EXPECT_TRUE(peer->received.starts_with("HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n"));
  EXPECT_TRUE(peer->received.ends_with("6\r\nchunks\r\n0\r\nX-Sum: 6\r\n\r\n")) << peer->received;
  peer->received.clear();
  upstream.received.clear();
  peer->send(head("HEAD"));
  EXPECT_TRUE(upstream.receive_until("\r\n\r\n").starts_with("HEAD "));
  upstream.send("HTTP/1.1 200 OK\r\nContent-Length: 1234\r\n\r\n");
  EXPECT_NE(peer->receive_until("\r\n\r\n").find("\r\nContent-Length: 1234\r\n"),
            std::string::npos);
  for (const char* status : {"204", "304"}) {
    peer->received.clear();
    upstream.received.clear();
    peer->send(head("GET"));
    upstream.receive_until("\r\n\r\n");
    upstream.send("HTTP/1.1 " + std::string(status) + " X\r\n\r\n");
    EXPECT_TRUE(peer->receive_until("\r\n\r\n").starts_with("HTTP/1.1 " + std::string(status)));
  }
  peer->received.clear();
  upstream.received.clear();
  peer->send(head("GET"));
  upstream.receive_until("\r\n\r\n");
  upstream.send("HTTP/1.1 200 OK\r\n\r\nuntil the end");
  upstream.half_close();
  EXPECT_TRUE(peer->receive_until("0\r\n\r\n").ends_with("\r\nd\r\nuntil the end\r\n0\r\n\r\n"))
      << peer->received;
}

TEST_F(Forwarded, BodiesOfEveryFraming) {
  peer->send(head("PUT", "Content-Length: 4\r\nExpect: 100-continue\r\n"));
  EXPECT_EQ(peer->receive_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  peer->send("body");
  RawPeer upstream = accept("body");
  EXPECT_NE(upstream.received.find("\r\nContent-Length: 4\r\n"), std::string::npos);
  EXPECT_EQ(upstream.received.find("Expect"), std::string::npos);
  upstream.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  peer->receive_until("Content-Length: 0\r\n");
  peer->received.clear();
  peer->send(head("PUT", "Transfer-Encoding: chunked\r\n") + "2\r\nab\r\n0\r\nX-Sum: 2\r\n\r\n");
  upstream.received.clear();
  EXPECT_TRUE(upstream.receive_until("2\r\n\r\n").ends_with("2\r\nab\r\n0\r\nX-Sum: 2\r\n\r\n") ||
              upstream.receive_until("X-Sum: 2\r\n\r\n").ends_with("X-Sum: 2\r\n\r\n"))
      << upstream.received;
  EXPECT_NE(upstream.received.find("Transfer-Encoding: chunked"), std::string::npos);
  upstream.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone");
  EXPECT_TRUE(peer->receive_until("done").ends_with("done"));
}

TEST_F(Forwarded, PipelinedRequestsAreAnsweredInOrder) {
  peer->send(head("PUT", "Content-Length: 3\r\n") + "one" + head("GET"));
  RawPeer upstream = accept("one");
  upstream.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfirst");
  upstream.received.clear();
  EXPECT_TRUE(upstream.receive_until("\r\n\r\n").starts_with("GET "));
  upstream.send("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecond");
  EXPECT_TRUE(peer->receive_until("second").ends_with("second"));
  EXPECT_LT(peer->received.find("first"), peer->received.find("second"));
}

TEST_F(Forwarded, AServerThatDoesNotAnswerIsABadGateway) {
  listener = Socket();
  peer->send(head("GET"));
  EXPECT_TRUE(peer->receive_until("}").starts_with("HTTP/1.1 502 ")) << peer->received;
  listener = listen_on("127.0.0.1", port).value();
  head_timeout = 200ms;
  peer->received.clear();
  peer->send(head("GET"));
  RawPeer silent = accept();
  EXPECT_TRUE(peer->receive_until("}").starts_with("HTTP/1.1 504 ")) << peer->received;
}

TEST_F(Forwarded, AnAnswerThatIsCutOffIsCutOff) {
  for (const std::string fields : {"Content-Length: 9\r\n", "Transfer-Encoding: chunked\r\n"}) {
    RawPeer asking(proxy->port());
    asking.send(head("GET"));
    {
      RawPeer upstream = accept();
      upstream.send("HTTP/1.1 200 OK\r\n" + fields + "\r\n4\r\npart");
      asking.receive_until("part");
    }
    const std::string answer = asking.receive_all();
    EXPECT_FALSE(answer.ends_with("0\r\n\r\n")) << answer;
    EXPECT_TRUE(answer.find("4\r\npart") != std::string::npos) << answer;
  }
}

TEST_F(Forwarded, AClientThatLeavesTakesTheOtherConnectionWithIt) {
  peer->send(head("GET"));
  RawPeer upstream = accept();
  upstream.send("HTTP/1.1 200 OK\r\n\r\nfirst");
  peer->receive_until("first");
  peer.reset();
  EXPECT_NE(upstream.receive_all(), "");  // its end
  RawPeer uploading(proxy->port());
  uploading.send(head("PUT", "Content-Length: 10\r\n") + "half");
  RawPeer second = accept("half");
  uploading.half_close();
  EXPECT_TRUE(second.receive_all().ends_with("half"));
  EXPECT_TRUE(soon([&] { return over == 2; }));
}

TEST_F(Forwarded, AnAnswerMayComeBeforeTheBodysEnd) {
  peer->send(head("PUT", "Content-Length: 100000000\r\n") + "some");
  RawPeer upstream = accept("some");
  upstream.send("HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno");
  EXPECT_TRUE(peer->receive_all().ends_with("\r\n\r\nno")) << peer->received;
  EXPECT_NE(peer->received.find("Connection: close"), std::string::npos);
}

TEST_F(Forwarded, UpgradesBecomeTunnelsWithTwoHalves) {
  peer->send(head("GET",
                  "Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n"
                  "Sec-WebSocket-Protocol: v1\r\n"));
  RawPeer upstream = accept();
  EXPECT_NE(upstream.received.find("Connection: Upgrade\r\nUpgrade: websocket\r\n"),
            std::string::npos)
      << upstream.received;
  upstream.send(
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      "Sec-WebSocket-Protocol: v1\r\n\r\nhello");
  peer->receive_until("hello");
  EXPECT_TRUE(peer->received.starts_with("HTTP/1.1 101 ")) << peer->received;
  for (const char* kept : {"\r\nUpgrade: websocket\r\n", "\r\nConnection: Upgrade\r\n",
                           "\r\nSec-WebSocket-Protocol: v1\r\n"})
    EXPECT_NE(peer->received.find(kept), std::string::npos) << peer->received;
  upstream.received.clear();
  peer->send("question");
  EXPECT_EQ(upstream.receive_until("question"), "question");
  peer->half_close();
  EXPECT_EQ(upstream.receive_all(), "question");
  upstream.send("answer");
  upstream.half_close();
  EXPECT_TRUE(peer->receive_all().ends_with("helloanswer"));
  EXPECT_TRUE(soon([&] { return over == 1; }));
}

TEST_F(Forwarded, AnUpgradeThatNobodyAskedForIsNotBelieved) {
  peer->send(head("GET"));
  RawPeer upstream = accept();
  upstream.send("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\nGET / HTTP/1.1\r\n");
  EXPECT_EQ(peer->receive_all(), "");
}

// Through a real server that sends back what it gets, with readers that are slower than writers.
TEST_F(Forwarded, ALargeBodyGoesThereAndBackInLittleMemory) {
  ServerOptions options;
  options.tls = false;
  options.router = [](const Request&) {
    return RouteRules{.stream_body = true, .max_body_bytes = std::size_t{1} << 40};
  };
  std::atomic<std::size_t> most = 0;
  auto echo = Server::start(options, [&](const Request& request, const WriterPtr& writer) {
                writer->begin_sized(200, {}, request.body_bytes.value());
                writer->on_drained([writer] { writer->pause_input(false); });
                writer->read_body({.on_data =
                                       [&, writer](std::string_view data) {
                                         writer->write(std::string(data));
                                         most = std::max(most.load(), writer->pending_bytes());
                                         if (writer->pending_bytes() < 65536) return;
                                         writer->pause_input(true);
                                         if (writer->pending_bytes() == 0)
                                           writer->pause_input(false);
                                       },
                                   .on_end = [writer](Result<void>) { writer->end(); }});
              }).value();
  port = echo->port();
  constexpr std::size_t kBytes = 64 << 20;
  WorkerPool sender("sender", 1);
  Task task = [&] {
    std::string piece(1 << 20, 'x');
    peer->send(head("PUT", "Content-Length: " + std::to_string(kBytes) + "\r\n"));
    for (std::size_t sent = 0; sent < kBytes; sent += piece.size()) peer->send(piece);
  };
  ASSERT_TRUE(sender.try_post(task));
  std::this_thread::sleep_for(300ms);  // nobody reads
  EXPECT_LT(passed, kBytes);
  std::size_t got = 0;
  peer->receive_until("\r\n\r\n");
  got = peer->received.size() - peer->received.find("\r\n\r\n") - 4;
  while (got < kBytes) {
    peer->received.clear();
    if (!peer->receive_some()) break;
    got += peer->received.size();
  }
  EXPECT_EQ(got, kBytes);
  EXPECT_LT(most, std::size_t{1} << 20);
  EXPECT_EQ(passed, 2 * kBytes);
  echo->stop(0ms);
}

}  // namespace
}  // namespace hekla::net
