// The server over plain sockets, spoken to byte by byte.
#include "net/server.h"

#include <gtest/gtest.h>

#include <future>

#include "base/loop.h"
#include "net/own_thread.h"
#include "net/raw_peer_test.h"

namespace hekla::net {
namespace {

using namespace std::chrono_literals;
using WriterPtr = std::shared_ptr<ResponseWriter>;

Response text(std::string body, int status = 200) {
  Response response{.status = status, .headers = {}, .body = std::move(body)};
  response.headers.add("Content-Type", "text/plain");
  return response;
}

// Answers with what it was asked.
void echo(Request request, WriterPtr writer) {
  writer->respond(text(request.method + " " + request.path + " [" + request.body + "]"));
}

std::unique_ptr<Server> serve(Handler handler, ServerOptions options = {}) {
  options.tls = false;
  return Server::start(std::move(options), std::move(handler)).value();
}

const std::string kGet = "GET /a HTTP/1.1\r\nHost: h\r\n\r\n";

TEST(Server, KeepsTheConnectionForTheNextRequest) {
  auto server = serve(echo);
  RawPeer peer(server->port());
  peer.send(kGet);
  const std::string& first = peer.receive_until("GET /a []");
  EXPECT_TRUE(first.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nDate: ")) << first;
  EXPECT_NE(first.find("\r\nContent-Length: 9\r\n"), std::string::npos);
  EXPECT_EQ(first.find("Connection:"), std::string::npos);
  peer.received.clear();
  peer.send("POST /b HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nhi");
  EXPECT_TRUE(peer.receive_until("]").ends_with("\r\n\r\nPOST /b [hi]"));
}

TEST(Server, AHandlerMayGoOnLaterOnItsOwnThread) {
  std::shared_ptr<OwnThread> thread;
  auto server = serve([&](const Request&, const WriterPtr& writer) {
    thread = OwnThread::current();
    Task rest = [writer, here = std::this_thread::get_id()] {
      writer->respond(text(std::this_thread::get_id() == here ? "here" : "elsewhere"));
    };
    EXPECT_TRUE(thread->post(rest));
  });
  RawPeer peer(server->port());
  peer.send(kGet);
  EXPECT_TRUE(peer.receive_until("here").ends_with("\r\n\r\nhere"));
  EXPECT_EQ(OwnThread::current(), nullptr);
  server->stop();
  Task late = [] { ADD_FAILURE() << "there is no thread any more"; };
  EXPECT_FALSE(thread->post(late));
}

TEST(Server, ARequestThatNeverEndsIsCutOff) {
  ServerOptions options;
  options.request_timeout = 300ms;
  auto server = serve(echo, std::move(options));
  const MonoTime begun = real_clock().mono();
  RawPeer peer(server->port());
  peer.send("POST /b HTTP/1.1\r\nHost: h\r\nContent-Length: 10000\r\n\r\n");
  // A byte now and then, for a minute, does not prolong it.
  Loop trickle("trickle");
  for (int i = 1; i <= 1200; ++i) trickle.post_after(i * 50ms, [&peer] { peer.send("x"); });
  EXPECT_EQ(peer.receive_all(), "");
  const Nanos took = real_clock().mono() - begun;
  EXPECT_GE(took, 200ms);
  EXPECT_LT(took, 30s);
  peer.half_close();
}

TEST(Server, UnfinishedRequestsShareABudget) {
  ServerOptions options;
  options.max_unfinished_bytes = 300 * 1024;
  auto server = serve(echo, std::move(options));
  const std::string head = "POST /b HTTP/1.1\r\nHost: h\r\nContent-Length: 2000000\r\n\r\n";
  auto first = std::make_unique<RawPeer>(server->port());
  first->send(head + std::string(200 * 1024, 'x'));
  RawPeer second(server->port());
  second.send(head + std::string(200 * 1024, 'x'));
  // Either of them: it depends on whose bytes were read last.
  second.half_close();
  first->half_close();
  const std::string refused = second.receive_all() + first->receive_all();
  EXPECT_TRUE(refused.starts_with("HTTP/1.1 429 ")) << refused;
  EXPECT_NE(refused.find("\r\nRetry-After: 1\r\n"), std::string::npos);
  EXPECT_NE(refused.find("\"reason\":\"TooManyRequests\""), std::string::npos) << refused;
}

TEST(Server, AnswersThatNobodyReadsShareABudget) {
  ServerOptions options;
  options.max_unread_bytes = 40 << 20;
  const std::string body(16 << 20, 'x');
  const Handler large = [&](const Request&, const WriterPtr& writer) {
    writer->respond(text(body));
  };
  auto server = serve(large, std::move(options));
  std::vector<std::unique_ptr<RawPeer>> peers;
  for (int i = 0; i < 6; ++i)
    peers.emplace_back(std::make_unique<RawPeer>(server->port()))->send(kGet);
  // A client that reads is served, however many do not.
  RawPeer reader(server->port());
  reader.send(kGet);
  EXPECT_GT(reader.receive_until(body).size(), body.size());
  std::this_thread::sleep_for(3s);
  std::size_t complete = 0;
  for (const auto& peer : peers) {
    peer->half_close();
    complete += peer->receive_all().size() > body.size();
  }
  EXPECT_LE(complete, 2u);
}

TEST(Server, SmallRequestsAreReadWhateverOthersHold) {
  ServerOptions options;
  options.max_unfinished_bytes = 100 * 1024;
  auto server = serve(echo, std::move(options));
  const std::string head = "POST /b HTTP/1.1\r\nHost: h\r\nContent-Length: 2000000\r\n\r\n";
  std::vector<std::unique_ptr<RawPeer>> holders;  // each within what is always read
  for (int i = 0; i < 8; ++i) {
    holders.push_back(std::make_unique<RawPeer>(server->port()));
    holders.back()->send(head + std::string(14 * 1024, 'x'));
  }
  RawPeer peer(server->port());
  peer.send("POST /b HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nhi");
  EXPECT_TRUE(peer.receive_until("]").ends_with("POST /b [hi]"));
  RawPeer large(server->port());
  large.send(head + std::string(1024 * 1024, 'x'));
  EXPECT_TRUE(large.receive_until("429").starts_with("HTTP/1.1 429 "));
  // Memory that they held is free again when they have gone.
  holders.clear();
  bool answered = false;
  for (MonoTime end = real_clock().mono() + kPatience; !answered && real_clock().mono() < end;) {
    RawPeer later(server->port());
    later.send("POST /b HTTP/1.1\r\nHost: h\r\nContent-Length: 50000\r\n\r\n" +
               std::string(25'000, 'x'));
    later.send(std::string(25'000, 'x'));
    answered = later.receive_until("]").starts_with("HTTP/1.1 200 ");
  }
  EXPECT_TRUE(answered);
}

TEST(Server, AnswersPipelinedRequestsInOrderEvenWhenTheFirstIsSlow) {
  Loop slow("slow");
  auto server = serve([&](Request request, WriterPtr writer) {
    if (request.path != "/1") return echo(std::move(request), std::move(writer));
    slow.post_after(20ms, [writer] { writer->respond(text("slow")); });
  });
  RawPeer peer(server->port());
  std::string many;
  for (int i = 1; i <= 100; ++i)
    many += "GET /" + std::to_string(i) + " HTTP/1.1\r\nHost: h\r\n\r\n";
  peer.send(many);
  const std::string& answers = peer.receive_until("GET /100 []");
  std::size_t at = answers.find("slow");
  ASSERT_NE(at, std::string::npos);
  for (int i = 2; i <= 100; ++i) {
    std::size_t next = answers.find("GET /" + std::to_string(i) + " []");
    ASSERT_NE(next, std::string::npos) << i;
    EXPECT_LT(at, next) << i;
    at = next;
  }
}

TEST(Server, ReadsChunkedBodies) {
  auto server = serve(echo);
  RawPeer peer(server->port());
  peer.send("POST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
  peer.send("4\r\ndefg\r\n0\r\n\r\n");
  EXPECT_TRUE(peer.receive_until("]").ends_with("POST /c [abcdefg]"));
}

TEST(Server, HeadHasLengthButNoBody) {
  auto server = serve(echo);
  RawPeer peer(server->port());
  peer.send("HEAD /a HTTP/1.1\r\nHost: h\r\n\r\n" + kGet);
  const std::string& answers = peer.receive_until("GET /a []");
  EXPECT_NE(answers.find("Content-Length: 10\r\n\r\nHTTP/1.1 200 OK"), std::string::npos)
      << answers;
}

TEST(Server, NoContentHasNoBody) {
  auto server = serve([](Request, WriterPtr writer) { writer->respond(text("ignored", 204)); });
  RawPeer peer(server->port());
  peer.send("GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  const std::string& answer = peer.receive_all();
  EXPECT_EQ(answer.find("ignored"), std::string::npos);
  EXPECT_EQ(answer.find("Content-Length"), std::string::npos);
  EXPECT_NE(answer.find("Connection: close"), std::string::npos);
}

TEST(Server, Http10ClosesUnlessAskedNotTo) {
  auto server = serve(echo);
  RawPeer closing(server->port());
  closing.send("GET /a HTTP/1.0\r\n\r\n");
  EXPECT_TRUE(closing.receive_all().ends_with("GET /a []"));
  RawPeer keeping(server->port());
  keeping.send("GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_NE(keeping.receive_until("[]").find("Connection: keep-alive"), std::string::npos);
  keeping.send("GET /b HTTP/1.0\r\n\r\n");
  EXPECT_TRUE(keeping.receive_all().ends_with("GET /b []"));
}

TEST(Server, Http10StreamsLastUntilClose) {
  auto server = serve([](Request, WriterPtr writer) {
    writer->begin(200, {});
    writer->write("one ");
    writer->write("two");
    writer->end();
  });
  RawPeer peer(server->port());
  peer.send("GET /a HTTP/1.0\r\n\r\n");
  const std::string& answer = peer.receive_all();
  EXPECT_TRUE(answer.ends_with("\r\n\r\none two")) << answer;
  EXPECT_EQ(answer.find("chunked"), std::string::npos);
}

TEST(Server, SaysContinueWhenAsked) {
  auto server = serve(echo);
  RawPeer peer(server->port());
  peer.send("PUT /a HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(peer.receive_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  peer.send("ok");
  EXPECT_TRUE(peer.receive_until("]").ends_with("PUT /a [ok]"));
}

TEST(Server, TooLargeBodiesGetTheirAnswerAlthoughNobodyReadsThem) {
  auto server = serve(echo);
  RawPeer peer(server->port());
  std::size_t size = 4 * 1024 * 1024;
  peer.send("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: " + std::to_string(size) + "\r\n\r\n");
  peer.send(std::string(size, 'x'));
  const std::string& answer = peer.receive_all();
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 413 Request Entity Too Large\r\n")) << answer;
  EXPECT_NE(answer.find("Connection: close\r\n"), std::string::npos);
  EXPECT_TRUE(
      answer.ends_with(R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",)"
                       R"("message":"Request entity too large: limit is 3145728",)"
                       R"("reason":"RequestEntityTooLarge","code":413})"));
}

TEST(Server, MalformedRequestsAreToldAndCutOff) {
  auto server = serve(echo);
  struct Case {
    std::string text;
    const char* status;
  };
  for (const Case& bad :
       {Case{"NONSENSE\r\n\r\n", "HTTP/1.1 400 "},
        Case{"GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n"
             "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n",
             "HTTP/1.1 400 "},
        Case{"GET / HTTP/1.1\r\nHost: h\r\nX: " + std::string(70'000, 'x') + "\r\n\r\n",
             "HTTP/1.1 431 "},
        Case{"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "HTTP/1.1 505 "}}) {
    RawPeer peer(server->port());
    peer.send(kGet);
    peer.receive_until("GET /a []");
    peer.received.clear();
    peer.send(bad.text);
    const std::string& answer = peer.receive_all();
    EXPECT_TRUE(answer.starts_with(bad.status)) << answer;
    EXPECT_NE(answer.find("\"kind\":\"Status\""), std::string::npos);
    EXPECT_EQ(answer.find("smuggled"), std::string::npos);
  }
}

TEST(Server, HalfClosedClientsStillGetTheirAnswer) {
  Loop slow("slow");
  auto server = serve([&](Request, WriterPtr writer) {
    slow.post_after(10ms, [writer] { writer->respond(text("late")); });
  });
  RawPeer peer(server->port());
  peer.send(kGet);
  peer.half_close();
  EXPECT_TRUE(peer.receive_all().ends_with("late"));
}

TEST(Server, HandlersThatFailOrForgetAnswer500) {
  auto server = serve([](Request request, WriterPtr) {
    if (request.path == "/throw") throw std::runtime_error("broken");
  });
  for (std::string path : {"/throw", "/forget"}) {
    RawPeer peer(server->port());
    peer.send("GET " + path + " HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    EXPECT_TRUE(peer.receive_all().starts_with("HTTP/1.1 500 ")) << path;
  }
}

TEST(Server, ConnectionsAreLimited) {
  ServerOptions options;
  options.max_connections = 2;
  options.threads = 1;  // with two, the second may be idle before the first: both are after the
                        // client has its answer
  std::mutex mutex;
  std::vector<WriterPtr> held;
  auto server = serve(
      [&](Request request, WriterPtr writer) {
        if (request.path != "/hold") return echo(std::move(request), std::move(writer));
        writer->begin(200, {});
        writer->write("held");
        std::lock_guard lock(mutex);
        held.push_back(std::move(writer));
      },
      options);
  RawPeer one(server->port()), two(server->port());
  for (RawPeer* peer : {&one, &two}) {
    peer->send(kGet);
    peer->receive_until("GET /a []");
  }
  // The longest idle makes room; requests that are being answered stay, and then there is none.
  RawPeer three(server->port());
  three.send(kGet);
  three.receive_until("GET /a []");
  one.received.clear();
  EXPECT_EQ(one.receive_all(), "");
  for (RawPeer* peer : {&two, &three}) {
    peer->send("GET /hold HTTP/1.1\r\nHost: h\r\n\r\n");
    peer->receive_until("held");
  }
  RawPeer four(server->port());
  four.send(kGet);
  EXPECT_EQ(four.receive_all(), "");
}

TEST(Server, IdleConnectionsAreClosed) {
  ServerOptions options;
  options.idle_timeout = 1s;
  auto server = serve(echo, options);
  RawPeer silent(server->port()), served(server->port());
  served.send(kGet);
  EXPECT_TRUE(served.receive_all().ends_with("GET /a []"));
  EXPECT_EQ(silent.receive_all(), "");
}

TEST(Server, RequestKnowsWhereItCameFrom) {
  std::promise<Request> seen;
  auto server = serve([&](Request request, WriterPtr writer) {
    seen.set_value(std::move(request));
    writer->respond({});
  });
  RawPeer peer(server->port());
  peer.send(kGet);
  Request request = seen.get_future().get();
  EXPECT_EQ(request.remote_address, "127.0.0.1");
  EXPECT_FALSE(request.peer);
}

TEST(Server, LargeAnswersAreGzippedForThoseWhoAsk) {
  std::string body(200 * 1024, 'z');
  auto server = serve([&](Request, WriterPtr writer) { writer->respond(text(body)); });
  RawPeer plain(server->port()), packed(server->port());
  plain.send("GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(plain.receive_all().ends_with(body));
  packed.send("GET /a HTTP/1.1\r\nHost: h\r\nAccept-Encoding: gzip\r\nConnection: close\r\n\r\n");
  const std::string& answer = packed.receive_all();
  EXPECT_NE(answer.find("Content-Encoding: gzip\r\nVary: Accept-Encoding\r\n"), std::string::npos);
  EXPECT_LT(answer.size(), 4096u);
}

TEST(Server, BodiesAreMadeWhileTheyAreSent) {
  auto server = serve([](Request, WriterPtr writer) {
    Response response = text("begin ");
    response.tail.bytes = 1000 * 1000 + 4;
    response.tail.next = [left = 1000](std::string& out) mutable {
      if (--left >= 0) out.append(1000, 'x');
      if (left == 0) out += " end";
    };
    writer->respond(std::move(response));
  });
  RawPeer peer(server->port());
  for (int turn = 0; turn < 2; ++turn) {  // the connection lives on
    peer.received.clear();
    peer.send(kGet);
    const std::string& answer = peer.receive_until(" end");
    EXPECT_NE(answer.find("\r\nContent-Length: 1000010\r\n"), std::string::npos);
    EXPECT_TRUE(answer.ends_with("\r\n\r\nbegin " + std::string(1000 * 1000, 'x') + " end"));
  }
  peer.received.clear();
  peer.send("GET /a HTTP/1.1\r\nHost: h\r\nAccept-Encoding: gzip\r\n\r\n");
  EXPECT_NE(peer.receive_until("\r\n\r\n").find("Content-Encoding: gzip"), std::string::npos);
}

TEST(Server, AddressInUseIsAnErrorThatNamesIt) {
  auto server = serve(echo);
  ServerOptions options;
  options.tls = false;
  options.port = server->port();
  Result<std::unique_ptr<Server>> second = Server::start(options, echo);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().message, "listening on 127.0.0.1:" + std::to_string(server->port()) +
                                        ": Address already in use");
}

TEST(Server, StopLetsRequestsUnderWayFinish) {
  Loop slow("slow");
  std::promise<void> asked;
  auto server = serve([&](Request, WriterPtr writer) {
    asked.set_value();
    slow.post_after(30ms, [writer] { writer->respond(text("finished")); });
  });
  RawPeer busy(server->port()), idle(server->port());
  busy.send(kGet);
  asked.get_future().wait();
  server->stop(kPatience);
  EXPECT_TRUE(busy.receive_all().ends_with("finished"));
  EXPECT_EQ(idle.receive_all(), "");
  EXPECT_FALSE(RawPeer(server->port()).connected());
}

TEST(Server, StopDoesNotWaitForeverForAHandler) {
  WriterPtr kept;
  std::promise<void> asked;
  auto server = serve([&](Request, WriterPtr writer) {
    kept = std::move(writer);
    asked.set_value();
  });
  RawPeer peer(server->port());
  peer.send(kGet);
  asked.get_future().wait();
  server->stop(20ms);
  EXPECT_TRUE(kept->is_closed());
  kept->respond(text("into the void"));  // must be harmless
  server.reset();
  kept->respond(text("into the void"));
  EXPECT_EQ(peer.receive_all(), "");
}

}  // namespace
}  // namespace hekla::net
