// Request bodies that a handler reads as they come, the rules of routes, and sized answers, spoken
// to byte by byte.
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "base/loop.h"
#include "net/raw_peer_test.h"
#include "net/server.h"

namespace hekla::net {
namespace {

using namespace std::chrono_literals;
using WriterPtr = std::shared_ptr<ResponseWriter>;

Response text(std::string body, int status = 200) {
  return {.status = status, .headers = {}, .body = std::move(body)};
}

RouteRules streamed() { return {.stream_body = true, .max_body_bytes = std::size_t{1} << 40}; }

std::string head(const std::string& method, const std::string& path, const std::string& fields) {
  return method + " " + path + " HTTP/1.1\r\nHost: h\r\n" + fields + "\r\n";
}

// Every request below /s streams its body; what becomes of it is written down.
class BodyStreams : public testing::Test {
 protected:
  void serve(Handler handler, ServerOptions options = {}) {
    options.tls = false;
    if (!options.router)
      options.router = [this](const Request& request) {
        return request.path.starts_with("/s") ? rules : RouteRules{};
      };
    server = Server::start(std::move(options), std::move(handler)).value();
    peer.emplace(server->port());
  }
  // Answers with the body, its length as announced, its trailers and how it ended.
  static void echo(const Request& request, const WriterPtr& writer) {
    auto seen = std::make_shared<std::string>(
        request.body_streamed ? request.body_bytes ? std::to_string(*request.body_bytes) : "chunked"
                              : "whole " + request.body);
    *seen += " [";
    writer->read_body({.on_data = [seen](std::string_view data) { *seen += data; },
                       .on_trailers =
                           [seen](const Headers& trailers) {
                             for (const auto& [name, value] : trailers.all())
                               *seen += "|" + name + "=" + value;
                           },
                       .on_end =
                           [seen, writer](Result<void> end) {
                             writer->respond(text(*seen + "] " + (end ? "ok" : "cut off")));
                           }});
  }
  ~BodyStreams() override {
    if (server) server->stop(0ms);
  }

  RouteRules rules = streamed();
  std::unique_ptr<Server> server;
  std::optional<RawPeer> peer;
};

TEST_F(BodyStreams, ComeSizedChunkedOrNotAtAll) {
  serve(echo);
  peer->send(head("PUT", "/s", "Content-Length: 5\r\n") + "hel");
  peer->send("lo");
  EXPECT_TRUE(peer->receive_until("ok").ends_with("\r\n\r\n5 [hello] ok")) << peer->received;
  peer->received.clear();
  peer->send(head("PUT", "/s", "Transfer-Encoding: chunked\r\n") +
             "3\r\nabc\r\n2\r\nde\r\n0\r\nX-Sum: 7\r\n\r\n");
  EXPECT_TRUE(peer->receive_until("ok").ends_with("\r\n\r\nchunked [abcde|X-Sum=7] ok"))
      << peer->received;
  peer->received.clear();
  peer->send(head("GET", "/s", ""));
  EXPECT_TRUE(peer->receive_until("ok").ends_with("\r\n\r\nwhole  [] ok")) << peer->received;
  peer->received.clear();
  peer->send(head("PUT", "/other", "Content-Length: 2\r\n") + "hi");
  EXPECT_TRUE(peer->receive_until("ok").ends_with("\r\n\r\nwhole hi [] ok")) << peer->received;
}

TEST_F(BodyStreams, RequestsBehindThemAreAnsweredInOrder) {
  serve(echo);
  peer->send(head("PUT", "/s/1", "Content-Length: 3\r\n") + "one" +
             head("PUT", "/s/2", "Transfer-Encoding: chunked\r\n") + "3\r\ntwo\r\n0\r\n\r\n" +
             head("PUT", "/w", "Content-Length: 5\r\n") + "three" + head("GET", "/s/4", ""));
  peer->receive_until("whole  [] ok");
  const std::size_t first = peer->received.find("3 [one] ok"),
                    second = peer->received.find("chunked [two] ok"),
                    third = peer->received.find("whole three [] ok");
  EXPECT_LT(first, second);
  EXPECT_LT(second, third);
  EXPECT_NE(third, std::string::npos) << peer->received;
}

TEST_F(BodyStreams, AClientThatWaitsIsToldWhenSomebodyWantsItsBody) {
  std::promise<std::pair<Request, WriterPtr>> asked;
  serve([&](Request request, WriterPtr writer) {
    asked.set_value({std::move(request), std::move(writer)});
  });
  peer->send(head("PUT", "/s", "Content-Length: 4\r\nExpect: 100-continue\r\n"));
  auto [request, writer] = asked.get_future().get();
  EXPECT_EQ(peer->received, "");
  echo(request, writer);
  EXPECT_EQ(peer->receive_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  peer->send("body");
  EXPECT_TRUE(peer->receive_until("ok").ends_with("4 [body] ok")) << peer->received;
}

TEST_F(BodyStreams, AClientThatWaitsIsRefusedWithoutSending) {
  serve([](const Request&, const WriterPtr& writer) { writer->respond(text("no", 403)); });
  peer->send(head("PUT", "/s", "Content-Length: 4000000\r\nExpect: 100-continue\r\n"));
  const std::string answer = peer->receive_all();
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 403 ")) << answer;
  EXPECT_NE(answer.find("Connection: close"), std::string::npos);
  EXPECT_TRUE(answer.ends_with("no"));
}

// Writes down the pieces and leaves the answer to the test.
struct Taken : std::enable_shared_from_this<Taken> {
  std::atomic<std::size_t> bytes = 0;
  std::promise<Result<void>> ended;
  std::promise<WriterPtr> writer;
  std::atomic<bool> gone = false;

  Handler handler() {
    return [self = shared_from_this()](const Request&, const WriterPtr& given) {
      given->on_closed([self] { self->gone = true; });
      given->read_body(
          {.on_data = [self](std::string_view data) { self->bytes += data.size(); },
           .on_end = [self](Result<void> end) { self->ended.set_value(std::move(end)); }});
      self->writer.set_value(given);
    };
  }
};

TEST_F(BodyStreams, APausedReaderSlowsItsClientDown) {
  auto taken = std::make_shared<Taken>();
  serve(taken->handler());
  constexpr std::size_t kSent = 48 << 20;
  peer->send(head("PUT", "/s", "Content-Length: " + std::to_string(kSent) + "\r\n"));
  WriterPtr writer = taken->writer.get_future().get();
  writer->pause_input(true);
  WorkerPool sender("sender", 1);
  Task task = [&] { peer->send(std::string(kSent, 'b')); };
  ASSERT_TRUE(sender.try_post(task));
  for (std::size_t round = 0; round < 3; ++round) std::this_thread::sleep_for(50ms);
  EXPECT_LE(taken->bytes, std::size_t{256} << 10);
  writer->pause_input(false);
  EXPECT_TRUE(taken->ended.get_future().get());
  EXPECT_EQ(taken->bytes, kSent);
  writer->respond(text("done"));
  EXPECT_TRUE(peer->receive_until("done").ends_with("done"));
}

TEST_F(BodyStreams, NothingIsReadOfABodyThatNobodyHasAskedFor) {
  std::promise<WriterPtr> asked;
  serve([&](const Request&, WriterPtr writer) { asked.set_value(std::move(writer)); });
  constexpr std::size_t kSent = 48 << 20;
  WorkerPool sender("sender", 1);
  std::atomic<bool> sent = false;
  Task task = [&] {
    sent = peer->send(head("PUT", "/s", "Content-Length: " + std::to_string(kSent) + "\r\n") +
                      std::string(kSent, 'b'));
  };
  ASSERT_TRUE(sender.try_post(task));
  WriterPtr writer = asked.get_future().get();
  std::this_thread::sleep_for(200ms);
  EXPECT_FALSE(sent);
  writer->respond(text("no", 403));
  sender.stop();
  EXPECT_TRUE(peer->receive_all().starts_with("HTTP/1.1 403 ")) << peer->received;
}

TEST_F(BodyStreams, AClientThatLeavesEndsThemWithAnError) {
  for (bool chunked : {false, true}) {
    auto taken = std::make_shared<Taken>();
    serve(taken->handler());
    peer->send(
        head("PUT", "/s", chunked ? "Transfer-Encoding: chunked\r\n" : "Content-Length: 10\r\n") +
        (chunked ? "4\r\nhalf\r\n" : "half"));
    WriterPtr writer = taken->writer.get_future().get();
    EXPECT_TRUE(soon([&] { return taken->bytes == 4; }));
    peer.reset();
    Result<void> end = taken->ended.get_future().get();
    ASSERT_FALSE(end);
    EXPECT_EQ(end.error().code, Code::unavailable);
    EXPECT_TRUE(soon([&] { return taken->gone.load(); }));
    server->stop(0ms);
  }
}

TEST_F(BodyStreams, ABrokenBodyIsRefused) {
  auto taken = std::make_shared<Taken>();
  serve(taken->handler());
  peer->send(head("PUT", "/s", "Transfer-Encoding: chunked\r\n") + "2\r\nab\r\n");
  WriterPtr writer = taken->writer.get_future().get();
  peer->send("nonsense\r\n");
  EXPECT_EQ(taken->ended.get_future().get().error().code, Code::bad_request);
  EXPECT_TRUE(peer->receive_all().starts_with("HTTP/1.1 400 ")) << peer->received;
  EXPECT_TRUE(soon([&] { return writer->is_closed(); }));
}

TEST_F(BodyStreams, ABrokenBodyBreaksOffAnAnswerThatHasBegun) {
  auto taken = std::make_shared<Taken>();
  serve(taken->handler());
  peer->send(head("PUT", "/s", "Transfer-Encoding: chunked\r\n") + "2\r\nab\r\n");
  WriterPtr writer = taken->writer.get_future().get();
  writer->begin(200, {});
  writer->write("part");
  peer->receive_until("part");
  peer->send("nonsense\r\n");
  EXPECT_FALSE(taken->ended.get_future().get());
  EXPECT_FALSE(peer->receive_all().ends_with("0\r\n\r\n"));
}

TEST_F(BodyStreams, ARouteLimitsTheirSize) {
  rules.max_body_bytes = 10;
  auto taken = std::make_shared<Taken>();
  serve(taken->handler());
  RawPeer announced(server->port());
  announced.send(head("PUT", "/s", "Content-Length: 11\r\n"));
  EXPECT_TRUE(announced.receive_all().starts_with("HTTP/1.1 413 ")) << announced.received;
  peer->send(head("PUT", "/s", "Transfer-Encoding: chunked\r\n") + "a\r\n0123456789\r\n");
  WriterPtr writer = taken->writer.get_future().get();
  peer->send("1\r\nx\r\n0\r\n\r\n");
  EXPECT_EQ(taken->ended.get_future().get().error().code, Code::too_large);
  EXPECT_TRUE(peer->receive_all().starts_with("HTTP/1.1 413 ")) << peer->received;
}

TEST_F(BodyStreams, ASmallRestOfABodyIsDroppedAndTheConnectionKept) {
  serve([](const Request& request, const WriterPtr& writer) {
    writer->respond(text("not read: " + request.path));
  });
  peer->send(head("PUT", "/s/1", "Content-Length: 5\r\n") + "he");
  EXPECT_EQ(peer->receive_until("not read: /s/1").find("Connection: close"), std::string::npos);
  peer->send("llo" + head("GET", "/s/2", ""));
  EXPECT_TRUE(peer->receive_until("not read: /s/2").ends_with("not read: /s/2"));
  peer->received.clear();
  peer->send(head("PUT", "/s/3", "Content-Length: 5000000\r\n") + "he");
  EXPECT_NE(peer->receive_all().find("Connection: close"), std::string::npos);
  EXPECT_TRUE(peer->received.ends_with("not read: /s/3"));
}

TEST_F(BodyStreams, AnEndlessOneIsCutOffWithItsAnswer) {
  serve([](const Request&, const WriterPtr& writer) {
    writer->read_body({.on_data = [writer](std::string_view) { writer->respond(text("enough")); }});
  });
  peer->send(head("PUT", "/s", "Transfer-Encoding: chunked\r\n") + "2\r\nab\r\n");
  EXPECT_TRUE(peer->receive_all().ends_with("enough"));
  EXPECT_NE(peer->received.find("Connection: close"), std::string::npos);
}

TEST_F(BodyStreams, TimeOutsOfARoute) {
  struct Case {
    RouteRules rules;
    bool begin;
    std::string answer;
  };
  RouteRules body = streamed(), stall = streamed(), total = streamed();
  body.body_timeout = stall.stall_timeout = total.total_timeout = 300ms;
  for (const Case& each : {Case{body, false, "HTTP/1.1 408 "}, Case{stall, false, "HTTP/1.1 408 "},
                           Case{total, false, "HTTP/1.1 504 "}, Case{body, true, "HTTP/1.1 200 "},
                           Case{total, true, "HTTP/1.1 200 "}}) {
    auto taken = std::make_shared<Taken>();
    rules = each.rules;
    serve(taken->handler());
    peer->send(head("PUT", "/s", "Content-Length: 10\r\n") + "half");
    WriterPtr writer = taken->writer.get_future().get();
    if (each.begin) writer->begin(200, {});
    EXPECT_TRUE(peer->receive_all().starts_with(each.answer)) << peer->received;
    EXPECT_FALSE(peer->received.ends_with("0\r\n\r\n"));
    EXPECT_FALSE(taken->ended.get_future().get());
    EXPECT_TRUE(soon([&] { return taken->gone.load(); }));
    server->stop(0ms);
  }
}

TEST_F(BodyStreams, APauseIsNobodysStall) {
  rules.stall_timeout = 300ms;
  auto taken = std::make_shared<Taken>();
  serve(taken->handler());
  peer->send(head("PUT", "/s", "Content-Length: 8\r\n") + "half");
  WriterPtr writer = taken->writer.get_future().get();
  EXPECT_TRUE(soon([&] { return taken->bytes == 4; }));
  writer->pause_input(true);
  std::this_thread::sleep_for(900ms);
  writer->pause_input(false);
  peer->send("half");
  EXPECT_TRUE(taken->ended.get_future().get());
  writer->respond(text("done"));
  EXPECT_TRUE(peer->receive_until("done").ends_with("done"));
}

TEST_F(BodyStreams, AReaderThatTakesNothingIsAStall) {
  rules.stall_timeout = 400ms;
  std::promise<void> gone;
  serve([&](const Request&, const WriterPtr& writer) {
    writer->on_closed([&] { gone.set_value(); });
    writer->begin(200, {});
    for (int i = 0; i < 64; ++i) writer->write(std::string(1 << 20, 'x'));
    // Held by nobody but the test's patience.
    writer->on_drained([writer] {});
  });
  peer->send(head("GET", "/s", ""));
  EXPECT_EQ(gone.get_future().wait_for(kPatience), std::future_status::ready);
}

TEST_F(BodyStreams, AHeadMustComeInTime) {
  ServerOptions options;
  options.header_timeout = 300ms;
  serve(echo, std::move(options));
  peer->send("PUT /s HTTP/1.1\r\nHost");
  EXPECT_EQ(peer->receive_all(), "");
  // The body has its own time.
  RawPeer slow(server->port());
  slow.send(head("PUT", "/w", "Content-Length: 2\r\n") + "h");
  std::this_thread::sleep_for(800ms);
  slow.send("i");
  EXPECT_TRUE(slow.receive_until("ok").ends_with("ok"));
}

TEST_F(BodyStreams, ARouterThatThrowsIsAnError) {
  ServerOptions options;
  options.router = [](const Request&) -> RouteRules { throw std::runtime_error("no route"); };
  serve(echo, std::move(options));
  peer->send(head("GET", "/", ""));
  EXPECT_TRUE(peer->receive_all().starts_with("HTTP/1.1 500 ")) << peer->received;
}

TEST_F(BodyStreams, TheRouterKnowsWhoAsks) {
  ServerOptions options;
  options.router = [](const Request& request) {
    EXPECT_EQ(request.remote_address, "127.0.0.1");
    EXPECT_EQ(request.target, "/a%20b?c");
    EXPECT_EQ(request.headers.get("x"), "y");
    return RouteRules{};
  };
  serve(echo, std::move(options));
  peer->send(head("GET", "/a%20b?c", "X: y\r\n"));
  peer->receive_until("ok");
}

TEST_F(BodyStreams, SizedAnswersHaveTheirLength) {
  serve([](const Request& request, const WriterPtr& writer) {
    writer->begin_sized(200, {}, 10);
    writer->write("01234");
    if (request.path == "/short") return writer->end();
    writer->write(request.path == "/long" ? "567890" : "56789");
    writer->end();
  });
  peer->send(head("GET", "/exact", ""));
  EXPECT_TRUE(peer->receive_until("56789").ends_with("\r\n\r\n0123456789"));
  EXPECT_NE(peer->received.find("\r\nContent-Length: 10\r\n"), std::string::npos);
  EXPECT_EQ(peer->received.find("chunked"), std::string::npos);
  peer->received.clear();
  peer->send(head("HEAD", "/exact", "") + head("GET", "/exact", ""));
  EXPECT_TRUE(peer->receive_until("56789").ends_with("\r\n\r\n0123456789"));
  EXPECT_EQ(peer->received.find("01234"), peer->received.rfind("01234"));
  for (const char* path : {"/short", "/long"}) {
    RawPeer other(server->port());
    other.send(head("GET", path, ""));
    const std::string got = other.receive_all();
    EXPECT_LT(got.size() - std::min(got.size(), got.find("\r\n\r\n") + 4), 10u) << path;
  }
}

TEST_F(BodyStreams, TrailersAndInterimAnswers) {
  serve([](const Request&, const WriterPtr& writer) {
    Headers hint, trailers;
    hint.add("Link", "</style.css>");
    writer->inform(103, hint);
    writer->begin(200, {});
    writer->write("body");
    trailers.add("X-Sum", "9");
    trailers.add("Content-Length", "3");
    writer->end_with(trailers);
  });
  peer->send(head("GET", "/", ""));
  EXPECT_TRUE(
      peer->receive_until("\r\n0\r\n")
          .starts_with("HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\nHTTP/1.1 200 OK\r\n"))
      << peer->received;
  EXPECT_TRUE(peer->receive_until("9\r\n\r\n").ends_with("4\r\nbody\r\n0\r\nX-Sum: 9\r\n\r\n"));
  RawPeer old(server->port());
  old.send("GET / HTTP/1.0\r\n\r\n");
  EXPECT_TRUE(old.receive_all().starts_with("HTTP/1.1 200 OK\r\n")) << old.received;
  EXPECT_TRUE(old.received.ends_with("\r\n\r\nbody")) << old.received;
}

// After an upgrade each half ends by itself.
class Tunnels : public BodyStreams {
 protected:
  ~Tunnels() override { server->stop(0ms); }
  WriterPtr open() {
    serve([this](const Request&, const WriterPtr& writer) {
      writer->on_closed([this] { gone = true; });
      writer->tunnel({}, {.on_data = [this](std::string_view data) { input += data; },
                          .on_end =
                              [this](Result<void> end) {
                                clean = end.has_value();
                                ended = true;
                              }});
      opened.set_value(writer);
    });
    peer->send(head("GET", "/t", "Connection: Upgrade\r\nUpgrade: any\r\n") + "early");
    WriterPtr writer = opened.get_future().get();
    peer->receive_until("\r\n\r\n");
    EXPECT_TRUE(peer->received.starts_with("HTTP/1.1 101 "));
    peer->received.clear();
    return writer;
  }
  std::promise<WriterPtr> opened;
  std::string input;  // read once `ended` is set
  std::atomic<bool> ended = false, clean = false, gone = false;
};

TEST_F(Tunnels, GoOnAfterTheClientsEnd) {
  WriterPtr writer = open();
  peer->send(" and last");
  peer->half_close();
  ASSERT_TRUE(soon([&] { return ended.load(); }));
  EXPECT_TRUE(clean);
  EXPECT_EQ(input, "early and last");
  EXPECT_FALSE(gone);
  writer->write("answer");
  EXPECT_EQ(peer->receive_until("answer"), "answer");
  writer->end();
  EXPECT_EQ(peer->receive_all(), "answer");
  EXPECT_TRUE(soon([&] { return gone.load(); }));
}

TEST_F(Tunnels, GoOnAfterTheirOwnEnd) {
  WriterPtr writer = open();
  writer->write("all of it");
  writer->end();
  EXPECT_EQ(peer->receive_all(), "all of it");
  EXPECT_FALSE(gone);
  peer->send(" still heard");
  peer->half_close();
  ASSERT_TRUE(soon([&] { return ended.load(); }));
  EXPECT_EQ(input, "early still heard");
  EXPECT_TRUE(soon([&] { return gone.load(); }));
}

TEST_F(Tunnels, DeliverWhatCameBeforeTheEndToAPausedReader) {
  WriterPtr writer = open();
  writer->pause_input(true);
  peer->send("1234");
  peer->half_close();
  std::this_thread::sleep_for(100ms);
  EXPECT_FALSE(ended);
  writer->pause_input(false);
  ASSERT_TRUE(soon([&] { return ended.load(); }));
  EXPECT_EQ(input, "early1234");
}

TEST_F(Tunnels, EndWithAnErrorWhenTheyAreBrokenOff) {
  WriterPtr writer = open();
  writer->abort();
  ASSERT_TRUE(soon([&] { return ended.load(); }));
  EXPECT_FALSE(clean);
  EXPECT_TRUE(soon([&] { return gone.load(); }));
}

}  // namespace
}  // namespace hekla::net
