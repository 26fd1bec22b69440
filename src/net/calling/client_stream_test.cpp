// A client's streams: bodies that it sends as they come, answers as they arrive, tunnels with two
// halves.
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "base/loop.h"
#include "net/client.h"
#include "net/listener.h"
#include "net/raw_peer_test.h"

namespace hekla::net {
namespace {

using namespace std::chrono_literals;

// A server that the test plays itself, and one stream to it.
class ClientStreams : public testing::Test {
 protected:
  ClientRequest request(std::string method = "PUT") {
    ClientRequest out;
    out.method = std::move(method);
    out.url = "http://127.0.0.1:" + std::to_string(local_port(listener)) + "/x";
    out.timeout = {};
    return out;
  }
  void open(ClientRequest given) {
    StreamCallbacks callbacks;
    callbacks.on_interim = [this](int status, const Headers& headers) {
      note("interim " + std::to_string(status) + " " + std::string(headers.get("Link")));
    };
    callbacks.on_head = [this](int status, const Headers&) { note(std::to_string(status)); };
    callbacks.on_data = [this](std::string_view data) { note(std::string(data)); };
    callbacks.on_trailers = [this](const Headers& trailers) {
      note("trailer " + std::string(trailers.get("X-Sum")));
    };
    if (half_closing) callbacks.on_server_end = [this] { note("server's end"); };
    callbacks.on_drained = [this] { ++drained; };
    callbacks.on_end = [this](Result<void> outcome) {
      note(outcome ? "end" : "failed");
      end.set_value(std::move(outcome));
    };
    handle = client->stream(std::move(given), std::move(callbacks));
  }
  RawPeer accept() { return RawPeer(accept_soon(listener)); }
  void note(const std::string& what) {
    std::lock_guard lock(mutex);
    seen += what + "\n";
  }
  std::string so_far() {
    std::lock_guard lock(mutex);
    return seen;
  }
  Result<void> outcome() { return end.get_future().get(); }

  Socket listener = listen_on("127.0.0.1", 0).value();
  std::unique_ptr<Client> client = Client::make({}).value();
  std::mutex mutex;
  std::string seen;
  bool half_closing = false;
  std::atomic<int> drained = 0;
  std::promise<Result<void>> end;
  std::unique_ptr<StreamHandle> handle;
};

constexpr std::string_view kOk = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

TEST_F(ClientStreams, SendAChunkedBodyWithTrailers) {
  ClientRequest put = request();
  put.streamed_body.emplace();
  open(put);
  handle->write("before anybody has answered");
  RawPeer server = accept();
  EXPECT_NE(server.receive_until("answered\r\n").find("Transfer-Encoding: chunked\r\n"),
            std::string::npos);
  handle->write("more");
  server.receive_until("4\r\nmore\r\n");
  Headers trailers;
  trailers.add("X-Sum", "5");
  handle->end_with(trailers);
  EXPECT_TRUE(server.receive_until("5\r\n\r\n").ends_with("0\r\nX-Sum: 5\r\n\r\n"));
  server.send(kOk);
  EXPECT_TRUE(outcome());
  EXPECT_EQ(so_far(), "200\nok\nend\n");
  EXPECT_GE(drained, 1);
}

TEST_F(ClientStreams, SendASizedBodyAndUseTheConnectionAgain) {
  ClientRequest put = request();
  put.streamed_body.emplace(7);
  open(put);
  RawPeer server = accept();
  handle->write("seven");
  handle->write("th");
  handle->end();
  EXPECT_TRUE(server.receive_until("seventh").ends_with("\r\n\r\nseventh"));
  EXPECT_NE(server.received.find("\r\nContent-Length: 7\r\n"), std::string::npos);
  server.send(kOk);
  EXPECT_TRUE(outcome());
  std::future<Result<Response>> next =
      std::async(std::launch::async, [&] { return client->fetch(request("GET")); });
  server.received.clear();
  server.receive_until("\r\n\r\n");
  server.send(kOk);
  EXPECT_EQ(next.get()->body, "ok");
}

TEST_F(ClientStreams, FailWhenASizedBodyIsOtherwise) {
  for (bool longer : {false, true}) {
    ClientRequest put = request();
    put.streamed_body.emplace(3);
    end = {};
    open(put);
    RawPeer server = accept();
    handle->write(longer ? "four" : "2b");
    handle->end();
    Result<void> failed = outcome();
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, Code::bad_request);
    EXPECT_FALSE(server.receive_all().ends_with("four"));
  }
}

TEST_F(ClientStreams, WaitForAServerThatDoesNotRead) {
  ClientRequest put = request();
  put.streamed_body.emplace();
  open(put);
  RawPeer server = accept();
  server.receive_until("\r\n\r\n");
  const std::string piece(1 << 20, 'b');
  for (int i = 0; i < 32; ++i) handle->write(piece);
  std::this_thread::sleep_for(100ms);
  EXPECT_GT(handle->pending_bytes(), std::size_t{8} << 20);
  const int before = drained;
  handle->end();
  server.receive_until("\r\n0\r\n\r\n");
  EXPECT_EQ(handle->pending_bytes(), 0u);
  EXPECT_TRUE(soon([&] { return drained > before; }));
  server.send(kOk);
  EXPECT_TRUE(outcome());
}

TEST_F(ClientStreams, HearAnAnswerThatComesBeforeTheBodysEnd) {
  ClientRequest put = request();
  put.streamed_body.emplace();
  open(put);
  handle->write("part");
  RawPeer server = accept();
  server.receive_until("part");
  server.send("HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n");
  EXPECT_TRUE(outcome());
  EXPECT_EQ(so_far(), "413\nend\n");
  handle->write("ignored");
  EXPECT_EQ(handle->pending_bytes(), 0u);
  server.receive_all();  // the connection is not used again
}

TEST_F(ClientStreams, HearInterimAnswersAndTrailers) {
  open(request("GET"));
  RawPeer server = accept();
  server.send(
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n"
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n3\r\ncde\r\n0\r\nX-Sum: "
      "5\r\n\r\n");
  EXPECT_TRUE(outcome());
  EXPECT_EQ(so_far(), "interim 100 \ninterim 103 <a>\n200\nabcde\ntrailer 5\nend\n");
}

TEST_F(ClientStreams, HearBodiesOfEveryFraming) {
  for (const std::string fields : {"Content-Length: 5\r\n", "Transfer-Encoding: chunked\r\n", ""}) {
    end = {};
    seen.clear();
    open(request("GET"));
    RawPeer server = accept();
    server.send("HTTP/1.1 200 OK\r\nConnection: close\r\n" + fields + "\r\n" +
                (fields.starts_with("T") ? "5\r\nhello\r\n0\r\n\r\n" : "hello"));
    server.half_close();
    EXPECT_TRUE(outcome()) << fields;
    EXPECT_EQ(so_far(), "200\nhello\nend\n") << fields;
  }
}

TEST_F(ClientStreams, FailWhenTheServerLeavesInTheMiddle) {
  for (const std::string fields : {"Content-Length: 9\r\n", "Transfer-Encoding: chunked\r\n"}) {
    end = {};
    open(request("GET"));
    {
      RawPeer server = accept();
      server.receive_until("\r\n\r\n");
      server.send("HTTP/1.1 200 OK\r\n" + fields + "\r\n5\r\nhel");
    }
    Result<void> failed = outcome();
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, Code::unavailable);
  }
}

TEST_F(ClientStreams, HaveTheirTimes) {
  ClientRequest late = request("GET");
  late.head_timeout = 200ms;
  open(late);
  RawPeer silent = accept();
  EXPECT_EQ(outcome().error().code, Code::timeout);
  ClientRequest stalled = request("GET");
  stalled.head_timeout = kPatience;
  stalled.stall_timeout = 200ms;
  end = {};
  open(stalled);
  RawPeer server = accept();
  server.receive_until("\r\n\r\n");
  std::this_thread::sleep_for(400ms);  // no stall: nothing of the answer has come
  server.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhel");
  Result<void> failed = outcome();
  EXPECT_EQ(failed.error().code, Code::timeout);
  EXPECT_NE(failed.error().message.find("nothing moved"), std::string::npos);
}

TEST_F(ClientStreams, AHeldAnswerIsNobodysStall) {
  ClientRequest get = request("GET");
  get.stall_timeout = 200ms;
  open(get);
  RawPeer server = accept();
  server.receive_until("\r\n\r\n");
  server.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no");
  ASSERT_TRUE(soon([&] { return so_far() == "200\no\n"; }));
  handle->hold(true);
  server.send("k");
  std::this_thread::sleep_for(700ms);
  EXPECT_EQ(so_far(), "200\no\n");
  handle->hold(false);
  EXPECT_TRUE(outcome());
}

TEST_F(ClientStreams, WaitForAServerThatIsStarting) {
  const std::uint16_t port = local_port(listener);
  ClientRequest get = request("GET");
  listener = Socket();  // nobody listens now
  end = {};
  open(get);
  EXPECT_EQ(outcome().error().code, Code::unavailable);
  get.refused_retry = kPatience;
  end = {};
  seen.clear();
  open(get);
  std::this_thread::sleep_for(200ms);
  listener = listen_on("127.0.0.1", port).value();
  RawPeer server = accept();
  server.receive_until("\r\n\r\n");
  server.send(kOk);
  EXPECT_TRUE(outcome());
  EXPECT_EQ(so_far(), "200\nok\nend\n");
}

class ClientTunnels : public ClientStreams {
 protected:
  RawPeer open_tunnel() {
    half_closing = true;
    ClientRequest get = request("GET");
    get.headers.add("Connection", "Upgrade");
    get.headers.add("Upgrade", "any");
    open(get);
    RawPeer server = accept();
    server.receive_until("\r\n\r\n");
    server.received.clear();
    server.send("HTTP/1.1 101 Switching Protocols\r\nUpgrade: any\r\n\r\nhello");
    EXPECT_TRUE(soon([&] { return so_far() == "101\nhello\n"; }));
    return server;
  }
};

TEST_F(ClientTunnels, GoOnAfterTheServersEnd) {
  RawPeer server = open_tunnel();
  server.half_close();
  ASSERT_TRUE(soon([&] { return so_far().ends_with("server's end\n"); }));
  handle->write("still");
  EXPECT_EQ(server.receive_until("still"), "still");
  handle->end();
  EXPECT_EQ(server.receive_all(), "still");
  EXPECT_TRUE(outcome());
}

TEST_F(ClientTunnels, GoOnAfterTheirOwnEnd) {
  RawPeer server = open_tunnel();
  handle->write("all");
  handle->end();
  EXPECT_EQ(server.receive_all(), "all");
  server.send("more");
  ASSERT_TRUE(soon([&] { return so_far() == "101\nhello\nmore\n"; }));
  server.half_close();
  EXPECT_TRUE(outcome());
}

}  // namespace
}  // namespace hekla::net
