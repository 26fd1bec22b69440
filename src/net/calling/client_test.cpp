// The client against our own server, and against raw listeners that misbehave.
#include "net/client.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/un.h>

#include <atomic>
#include <future>

#include "base/disk.h"
#include "base/loop.h"
#include "base/temp_dir_test.h"
#include "net/raw_peer_test.h"
#include "net/server.h"
#include "net/test_pki.h"

namespace hekla::net {
namespace {

using namespace std::chrono_literals;
using WriterPtr = std::shared_ptr<ResponseWriter>;

std::unique_ptr<Server> serve(Handler handler, ServerOptions options = {}) {
  options.tls = false;
  return Server::start(std::move(options), std::move(handler)).value();
}
std::unique_ptr<Client> make_client(ClientOptions options = {}) {
  return Client::make(std::move(options)).value();
}
std::string url(const Server& server, std::string path = "/") {
  return "http://127.0.0.1:" + std::to_string(server.port()) + path;
}
ClientRequest get(std::string url) { return {.url = std::move(url)}; }

// A server whose every connection is one scripted exchange: read a request, answer these bytes,
// close. An empty answer closes without a word; one that ends in '~' keeps the connection for the
// next.
class Script {
 public:
  explicit Script(std::vector<std::string> answers)
      : listener_(listen_on("127.0.0.1", 0).value()), port_(local_port(listener_)) {
    Task play = [this, answers = std::move(answers)] { run(answers); };
    EXPECT_TRUE(thread_.try_post(play));
  }
  std::string url(std::string path = "/") const {
    return "http://127.0.0.1:" + std::to_string(port_) + path;
  }
  std::atomic<int> connections = 0;

 private:
  void run(const std::vector<std::string>& answers) {
    std::optional<RawPeer> peer;
    for (std::string answer : answers) {
      if (!peer) {
        peer.emplace(accept_soon(listener_));
        if (!peer->connected()) {
          ADD_FAILURE() << "nobody connects";
          return;
        }
        ++connections;
      }
      peer->received.clear();
      peer->receive_until("\r\n\r\n");
      bool keep = answer.ends_with('~');
      if (keep) answer.pop_back();
      peer->send(answer);
      if (!keep) peer.reset();
    }
  }
  Socket listener_;
  std::uint16_t port_;
  WorkerPool thread_{"script", 1};
};

TEST(Client, ConnectsToNoneOfOurOwnRanges) {
  std::atomic<int> requests = 0;
  auto server = serve([&](Request, WriterPtr writer) {
    ++requests;
    writer->respond({.status = 200, .headers = {}, .body = ""});
  });
  auto client = make_client({.own_ranges = OwnRanges::parse({"127.0.0.0/8"}).value()});
  const std::string port = ":" + std::to_string(server->port()) + "/";
  for (const std::string host : {"127.0.0.1", "[::ffff:127.0.0.1]"}) {
    Result<Response> refused = client->fetch(get("http://" + host + port));
    ASSERT_FALSE(refused) << host;
    EXPECT_TRUE(refused.error().message.contains("127.0.0.1 is an address of pods or services"))
        << refused.error().message;
  }
  EXPECT_EQ(requests, 0);
}

TEST(Client, SendsEverythingAndReadsTheAnswer) {
  auto server = serve([](Request request, WriterPtr writer) {
    Response response{.status = 201,
                      .headers = {},
                      .body = request.method + " " + request.path + "?" +
                              std::string(request.query.get("q")) + " " + request.body + " " +
                              std::string(request.headers.get("Host")) + " " +
                              std::string(request.headers.get("X-Test"))};
    response.headers.add("X-Reply", "yes");
    writer->respond(std::move(response));
  });
  auto client = make_client();
  ClientRequest request{.method = "POST", .url = url(*server, "/p?q=1"), .body = "body"};
  request.headers.add("X-Test", "t");
  Response response = client->fetch(request).value();
  EXPECT_EQ(response.status, 201);
  EXPECT_EQ(response.body, "POST /p?1 body 127.0.0.1:" + std::to_string(server->port()) + " t");
  EXPECT_EQ(response.headers.get("x-reply"), "yes");
}

TEST(Client, ReusesItsConnection) {
  ServerOptions options;
  options.max_connections = 1;
  auto server = serve([](Request, WriterPtr writer) { writer->respond({}); }, options);
  auto client = make_client();
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(client->fetch(get(url(*server)))) << i;
}

TEST(Client, TwoHundredRequestsAtOnceOverFewConnections) {
  ServerOptions options;
  options.max_connections = 8;
  auto server = serve(
      [](Request request, WriterPtr writer) {
        writer->respond({.status = 200, .headers = {}, .body = request.path});
      },
      options);
  auto client = make_client({.max_connections_per_origin = 8});
  std::vector<std::promise<Result<Response>>> answers(200);
  for (std::size_t i = 0; i < answers.size(); ++i)
    client->send(
        get(url(*server, "/" + std::to_string(i))),
        [&answers, i](Result<Response> response) { answers[i].set_value(std::move(response)); });
  for (std::size_t i = 0; i < answers.size(); ++i)
    EXPECT_EQ(answers[i].get_future().get().value().body, "/" + std::to_string(i));
}

TEST(Client, UnpacksGzip) {
  std::string body;
  for (int i = 0; i < 100'000; ++i) body += std::to_string(i);
  auto server = serve([&](Request request, WriterPtr writer) {
    EXPECT_EQ(request.headers.get("Accept-Encoding"), "gzip");
    writer->respond({.status = 200, .headers = {}, .body = body});
  });
  Response response = make_client()->fetch(get(url(*server))).value();
  EXPECT_EQ(response.headers.get("Content-Encoding"), "gzip");
  EXPECT_TRUE(response.body == body);
}

TEST(Client, ReadsBodiesOfEveryFraming) {
  Script script(
      {"HTTP/1.1 200 OK\r\n\r\nuntil the end",
       "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
       "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
       "HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno",
       "HTTP/1.0 204 No Content\r\n\r\n"});
  auto client = make_client();
  EXPECT_EQ(client->fetch(get(script.url()))->body, "until the end");
  EXPECT_EQ(client->fetch(get(script.url()))->body, "abcde");
  EXPECT_EQ(client->fetch(get(script.url()))->status, 404);
  EXPECT_EQ(client->fetch(get(script.url()))->status, 204);
}

TEST(Client, BrokenAnswersAreErrors) {
  for (const char* answer :
       {"", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", "garbage\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"}) {
    Script script({answer});
    Result<Response> response = make_client()->fetch(get(script.url()));
    ASSERT_FALSE(response) << answer;
    EXPECT_EQ(response.error().code, Code::unavailable) << answer;
    EXPECT_TRUE(response.error().message.starts_with("GET http://127.0.0.1:"))
        << response.error().message;
  }
}

const std::string kKept = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfirst~";
const std::string kSecond = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecond";

TEST(Client, RetriesOnceWhenAKeptConnectionTurnsOutDead) {
  Script script({kKept, "", kSecond});
  auto client = make_client();
  EXPECT_EQ(client->fetch(get(script.url()))->body, "first");
  EXPECT_EQ(client->fetch(get(script.url()))->body, "second");
  EXPECT_EQ(script.connections, 2);
}

TEST(Client, DoesNotRepeatAPost) {
  Script script({kKept, ""});
  auto client = make_client();
  EXPECT_EQ(client->fetch(get(script.url()))->body, "first");
  Result<Response> second = client->fetch({.method = "POST", .url = script.url()});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::unavailable);
}

TEST(Client, RefusedConnectionsNameTheUrl) {
  // Bound, so that nobody else takes the port, but nobody listens there.
  Socket bound(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::bind(bound.fd(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  const std::uint16_t port = local_port(bound);
  std::string where = "http://127.0.0.1:" + std::to_string(port) + "/x";
  Result<Response> response = make_client()->fetch(get(where));
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, Code::unavailable);
  EXPECT_EQ(response.error().message, "GET " + where + ": Connection refused");
}

TEST(Client, BadUrlsAreErrorsToo) {
  Result<Response> response = make_client()->fetch(get("not a url"));
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, Code::bad_request);
}

TEST(Client, TimesOut) {
  WriterPtr kept;
  auto server = serve([&](Request, WriterPtr writer) { kept = std::move(writer); });
  ClientRequest request = get(url(*server));
  request.timeout = 30ms;
  auto client = make_client();
  Result<Response> response = client->fetch(request);
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, Code::timeout);
  EXPECT_EQ(response.error().message, "GET " + url(*server) + ": no answer within 0.0 s");
  server->stop(0ms);
}

TEST(Client, RefusesBodiesAboveTheLimit) {
  auto server = serve([](Request request, WriterPtr writer) {
    if (request.path == "/whole")
      return writer->respond({.status = 200, .headers = {}, .body = std::string(1001, 'x')});
    writer->begin(200, {});
    writer->write(std::string(1001, 'x'));
    writer->end();
  });
  auto client = make_client();
  for (std::string path : {"/whole", "/chunked"}) {
    ClientRequest request = get(url(*server, path));
    request.max_body_bytes = 1000;
    EXPECT_FALSE(client->fetch(request)) << path;
    request.max_body_bytes = 1001;
    EXPECT_TRUE(client->fetch(request)) << path;
  }
}

TEST(Client, SendsItsToken) {
  auto server = serve([](Request request, WriterPtr writer) {
    writer->respond(
        {.status = 200, .headers = {}, .body = std::string(request.headers.get("Authorization"))});
  });
  EXPECT_EQ(make_client({.bearer_token = "abc"})->fetch(get(url(*server)))->body, "Bearer abc");
  TempDir directory;
  const std::string path = directory.path() + "/token";
  ASSERT_TRUE(write_file_atomically(path, "from-file\n", 0600));
  auto client = make_client({.bearer_token = "abc", .bearer_token_file = path});
  EXPECT_EQ(client->fetch(get(url(*server)))->body, "Bearer from-file");
  ClientRequest own = get(url(*server));
  own.headers.add("Authorization", "Basic x");
  EXPECT_EQ(client->fetch(own)->body, "Basic x");
}

TEST(Client, AsksForCredentialsThatChange) {
  struct Source final : CredentialSource {
    Credential current() override { return {"t" + std::to_string(refusals.load()), std::nullopt}; }
    void refused() override { ++refusals; }
    std::atomic<int> refusals = 0;
  };
  auto server = serve([](Request request, WriterPtr writer) {
    const std::string token(request.headers.get("Authorization"));
    writer->respond({.status = token == "Bearer t1" ? 200 : 401, .headers = {}, .body = token});
  });
  auto source = std::make_shared<Source>();
  auto client = make_client({.bearer_token = "abc", .credentials = source});
  EXPECT_EQ(client->fetch(get(url(*server)))->status, 401);
  EXPECT_EQ(client->fetch(get(url(*server)))->body, "Bearer t1");
  EXPECT_EQ(source->refusals, 1);
}

TEST(Client, SpeaksOverUnixSockets) {
  TempDir directory;
  const std::string path = directory.path() + "/socket";
  Socket listener(::socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(listener.fd(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(listener.fd(), 1), 0);
  WorkerPool thread("unix", 1);
  Task answer = [&] {
    RawPeer peer(accept_soon(listener));
    bool right =
        peer.receive_until("\r\n\r\n").starts_with("GET /ping?x=1 HTTP/1.1\r\nHost: localhost\r\n");
    peer.send(std::string("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n") + (right ? "ok" : "no"));
  };
  ASSERT_TRUE(thread.try_post(answer));
  EXPECT_EQ(make_client()->fetch(get("unix://" + path + ":/ping?x=1"))->body, "ok");
}

TEST(Client, DestroyingItFailsWhatIsUnderWay) {
  std::vector<WriterPtr> kept;
  std::promise<void> two;
  auto server = serve(
      [&](Request, WriterPtr writer) {
        kept.push_back(std::move(writer));
        if (kept.size() == 2) two.set_value();
      },
      {.threads = 1});
  auto client = make_client({.max_connections_per_origin = 1});
  std::promise<Result<Response>> running, queued;
  std::promise<Result<void>> streaming;
  auto handle =
      client->stream(get(url(*server)),
                     {.on_end = [&](Result<void> end) { streaming.set_value(std::move(end)); }});
  client->send(get(url(*server)),
               [&](Result<Response> response) { running.set_value(std::move(response)); });
  two.get_future().wait();
  client->send(get(url(*server)),
               [&](Result<Response> response) { queued.set_value(std::move(response)); });
  client.reset();
  EXPECT_EQ(running.get_future().get().error().code, Code::unavailable);
  EXPECT_EQ(queued.get_future().get().error().code, Code::unavailable);
  EXPECT_EQ(streaming.get_future().get().error().code, Code::unavailable);
  handle.reset();  // may outlive the client
  server->stop(0ms);
}

class ClientStream : public testing::Test {
 protected:
  std::promise<WriterPtr> begun;
  std::unique_ptr<Server> server = serve([this](Request request, WriterPtr writer) {
    Headers headers;
    headers.add("X-Encoding", std::string(request.headers.get("Accept-Encoding")));
    writer->begin(200, headers);
    begun.set_value(writer);
  });
  std::unique_ptr<Client> client = make_client();
};

TEST_F(ClientStream, DeliversHeadDataAndEnd) {
  std::promise<int> head;
  std::promise<std::string> line;
  std::promise<Result<void>> end;
  std::string data;
  auto handle =
      client->stream(get(url(*server)),
                     {.on_head =
                          [&](int status, const Headers& headers) {
                            EXPECT_EQ(headers.get("X-Encoding"), "");
                            head.set_value(status);
                          },
                      .on_data =
                          [&](std::string_view piece) {
                            data += piece;
                            if (data == "one\n") line.set_value(data);
                          },
                      .on_end = [&](Result<void> outcome) { end.set_value(std::move(outcome)); }});
  EXPECT_EQ(head.get_future().get(), 200);
  WriterPtr writer = begun.get_future().get();
  writer->write("one\n");
  EXPECT_EQ(line.get_future().get(), "one\n");
  writer->write("two\n");
  writer->end();
  EXPECT_TRUE(end.get_future().get());
  EXPECT_EQ(data, "one\ntwo\n");
}

TEST_F(ClientStream, ABrokenStreamEndsWithAnError) {
  std::promise<Result<void>> end;
  auto handle =
      client->stream(get(url(*server)),
                     {.on_end = [&](Result<void> outcome) { end.set_value(std::move(outcome)); }});
  begun.get_future().get()->abort();
  EXPECT_EQ(end.get_future().get().error().code, Code::unavailable);
}

TEST_F(ClientStream, DestroyingTheHandleIsFinalAndTheServerNotices) {
  std::promise<void> closed;
  std::atomic<bool> destroyed = false, late = false;
  std::atomic<int> pieces = 0;
  auto handle = client->stream(get(url(*server)), {.on_data =
                                                       [&](std::string_view) {
                                                         late = late || destroyed;
                                                         ++pieces;
                                                       },
                                                   .on_end = [&](Result<void>) { late = true; }});
  WriterPtr writer = begun.get_future().get();
  writer->on_closed([&] { closed.set_value(); });
  ASSERT_TRUE(soon([&] { return pieces >= 100 || (writer->write("x"), false); }));
  handle.reset();
  destroyed = true;
  ASSERT_TRUE(soon([&] { return writer->is_closed() || (writer->write("x"), false); }));
  closed.get_future().get();
  EXPECT_FALSE(late);
}

TEST_F(ClientStream, TheHandleMayBeDestroyedInACallback) {
  std::promise<void> cancelled;
  std::unique_ptr<StreamHandle> handle;
  std::promise<void> have_handle;
  std::shared_future<void> ready = have_handle.get_future().share();
  handle = client->stream(get(url(*server)), {.on_data =
                                                  [&](std::string_view) {
                                                    ready.wait();
                                                    handle.reset();
                                                    cancelled.set_value();
                                                  },
                                              .on_end = [](Result<void>) { ADD_FAILURE(); }});
  have_handle.set_value();
  WriterPtr writer = begun.get_future().get();
  writer->write("x");
  cancelled.get_future().get();
}

TEST_F(ClientStream, StreamsDoNotUseUpTheLimit) {
  auto small = make_client({.max_connections_per_origin = 1});
  auto quick = serve([](Request request, WriterPtr writer) {
    if (request.path == "/watch") {
      writer->begin(200, {});
      writer->on_closed([writer] {});  // kept until the peer leaves
      return;
    }
    writer->respond({});
  });
  std::vector<std::unique_ptr<StreamHandle>> handles;
  for (int i = 0; i < 5; ++i) handles.push_back(small->stream(get(url(*quick, "/watch")), {}));
  EXPECT_TRUE(small->fetch(get(url(*quick, "/get"))));
}

TEST(Client, LeavesHttpBehindWhenTheServerAgrees) {
  auto server = serve([](Request request, WriterPtr writer) {
    Headers headers;
    headers.set("Upgrade", std::string(request.headers.get("Upgrade")));
    writer->upgrade(std::move(headers), [writer](std::string_view data) {
      writer->write("<" + std::string(data) + ">");
      if (data.ends_with("bye")) writer->end();
    });
  });
  auto client = make_client();
  std::promise<int> status;
  std::promise<Result<void>> end;
  std::promise<void> drained;
  std::string received;
  ClientRequest request = get(url(*server));
  request.timeout = {};
  request.headers.add("Connection", "Upgrade");
  request.headers.add("Upgrade", "echo");
  std::atomic<bool> told = false;
  auto handle = client->stream(
      request, {.on_head = [&](int head, const Headers&) { status.set_value(head); },
                .on_data = [&](std::string_view data) { received += data; },
                .on_end = [&](Result<void> outcome) { end.set_value(std::move(outcome)); },
                .on_drained =
                    [&] {
                      if (!told.exchange(true)) drained.set_value();
                    }});
  EXPECT_EQ(status.get_future().get(), 101);
  handle->hold(true);
  handle->write("hello");
  drained.get_future().get();
  EXPECT_EQ(handle->pending_bytes(), 0u);
  handle->hold(false);
  handle->write("bye");
  EXPECT_TRUE(end.get_future().get());
  EXPECT_TRUE(received == "<hello><bye>" || received == "<hellobye>") << received;
}

TEST(Client, HeldAnswersWait) {
  auto server = serve([](Request, WriterPtr writer) {
    writer->begin(200, {});
    writer->write("first");
    writer->write(std::string(1 << 20, 'x'));
    writer->end();
  });
  auto client = make_client();
  std::atomic<std::size_t> received = 0;
  std::promise<void> held, end;
  std::promise<net::StreamHandle*> begun;
  std::shared_future<net::StreamHandle*> handle_known = begun.get_future().share();
  std::unique_ptr<StreamHandle> handle = client->stream(
      get(url(*server)), {.on_head =
                              [&](int, const Headers&) {
                                handle_known.get()->hold(true);
                                held.set_value();
                              },
                          .on_data = [&](std::string_view data) { received += data.size(); },
                          .on_end = [&](const Result<void>&) { end.set_value(); },
                          .on_drained = {}});
  begun.set_value(handle.get());
  held.get_future().get();  // on a busy machine the head may come late
  std::this_thread::sleep_for(200ms);
  EXPECT_LT(received, std::size_t{1} << 20);
  handle->hold(false);
  end.get_future().get();
  EXPECT_EQ(received, (std::size_t{1} << 20) + 5);
}

TEST(Client, SocketsMayComeFromElsewhereAndTooLate) {
  auto server = serve([](Request, WriterPtr writer) {
    writer->respond({.status = 200, .headers = {}, .body = "ok"});
  });
  ClientOptions options;
  std::vector<std::function<void(Result<int>)>> asked;
  std::mutex mutex;
  bool now = true;
  options.open_socket = [&](std::function<void(Result<int>)> done) {
    std::lock_guard lock(mutex);
    if (now) return done(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    asked.push_back(std::move(done));
  };
  auto client = make_client(options);
  EXPECT_EQ(client->fetch(get(url(*server)))->body, "ok");
  options.open_socket = [](std::function<void(Result<int>)> done) {
    done(fail(Code::unavailable, "no way there"));
  };
  Result<Response> refused = make_client(options)->fetch(get(url(*server)));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("no way there"), std::string::npos);
  {
    std::lock_guard lock(mutex);
    now = false;
  }
  auto other = make_client({.open_socket = [&](std::function<void(Result<int>)> done) {
    std::lock_guard lock(mutex);
    asked.push_back(std::move(done));
  }});
  std::promise<void> failed;
  other->send(get(url(*server)), [&](const Result<Response>& outcome) {
    EXPECT_FALSE(outcome);
    failed.set_value();
  });
  ASSERT_TRUE(soon([&] {
    std::lock_guard lock(mutex);
    return !asked.empty();
  }));
  other.reset();
  failed.get_future().get();
  const int late = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  asked.front()(late);
  EXPECT_EQ(::fcntl(late, F_GETFD), -1);  // taken and closed
}

}  // namespace
}  // namespace hekla::net
