// The REST client against a made-up API server on a real socket.
#include "kube/rest_client.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <map>
#include <mutex>

#include "base/loop.h"
#include "json/parse.h"
#include "net/server.h"

namespace hekla::kube {
namespace {

using namespace std::chrono_literals;
using net::Request;
using net::Response;
using WriterPtr = std::shared_ptr<net::ResponseWriter>;

Response answer(std::string body, int status = 200) {
  return {.status = status, .headers = {}, .body = std::move(body)};
}
std::string pod(const std::string& name, int version) {
  return R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":")" + name +
         R"(","namespace":"n","uid":"u-)" + name + R"(","resourceVersion":")" +
         std::to_string(version) + R"("}})";
}
std::string event(const std::string& type, const std::string& object) {
  return R"({"type":")" + type + R"(","object":)" + object + "}\n";
}

class RestClientTest : public testing::Test {
 protected:
  RestClientTest() {
    net::ServerOptions options;
    options.tls = false;
    server = net::Server::start(options, [this](Request request, WriterPtr writer) {
               handler(std::move(request), std::move(writer));
             }).value();
    access.server = "http://127.0.0.1:" + std::to_string(server->port());
    client = make_rest_client(access, loop, Identity{"tester"}).value();
  }
  // Before what the handler and the callbacks use is gone, the members of derived classes included.
  void TearDown() override {
    on_loop([this] {
      watch.reset();
      client.reset();
    });
    server->stop(0ms);
  }
  // Runs `work` on the loop and waits for it.
  void on_loop(std::function<void()> work) {
    std::promise<void> done;
    loop.post([&] {
      work();
      done.set_value();
    });
    done.get_future().get();
  }
  std::vector<WriteResult> run_batch(std::vector<Write> writes) {
    std::promise<std::vector<WriteResult>> done;
    loop.post([&] {
      client->batch(std::move(writes), [&](std::vector<WriteResult> results) {
        EXPECT_TRUE(loop.on_loop_thread());
        done.set_value(std::move(results));
      });
    });
    return done.get_future().get();
  }
  Result<List> run_list(const ListOptions& options = {}) {
    std::promise<Result<List>> done;
    loop.post([&] {
      client->list(resources::pods, options,
                   [&](Result<List> list) { done.set_value(std::move(list)); });
    });
    return done.get_future().get();
  }

  Loop loop{"test"};
  std::function<void(Request, WriterPtr)> handler;
  std::unique_ptr<net::Server> server;
  ClusterAccess access;
  std::unique_ptr<Client> client;
  std::unique_ptr<Watch> watch;
};

TEST_F(RestClientTest, GetDeliversTheObjectOnTheLoop) {
  handler = [](Request request, WriterPtr writer) {
    EXPECT_EQ(request.path, "/api/v1/namespaces/n/pods/a");
    EXPECT_EQ(request.headers.get("User-Agent"), "tester");
    writer->respond(answer(pod("a", 7)));
  };
  std::promise<Result<ObjectPtr>> done;
  loop.post([&] {
    client->get(resources::pods, {"n", "a"}, [&](Result<ObjectPtr> object) {
      EXPECT_TRUE(loop.on_loop_thread());
      done.set_value(std::move(object));
    });
  });
  ObjectPtr object = done.get_future().get().value();
  EXPECT_EQ(object->name, "a");
  EXPECT_EQ(object->ns, "n");
  EXPECT_EQ(object->uid, "u-a");
  EXPECT_EQ(object->resource_version, 7u);
  EXPECT_EQ(*object->json, pod("a", 7));
}

TEST_F(RestClientTest, GetOfNothingIsNotFound) {
  handler = [](Request, WriterPtr writer) {
    writer->respond(answer(
        R"({"kind":"Status","reason":"NotFound","message":"pods \"a\" not found","code":404})",
        404));
  };
  std::promise<Result<ObjectPtr>> done;
  loop.post([&] {
    client->get(resources::pods, {"n", "a"},
                [&](Result<ObjectPtr> object) { done.set_value(std::move(object)); });
  });
  Error error = done.get_future().get().error();
  EXPECT_EQ(error.code, Code::not_found);
  EXPECT_EQ(error.message, "pods \"a\" not found");
}

TEST_F(RestClientTest, ListReadsEveryPage) {
  std::vector<std::string> continues;
  handler = [&](Request request, WriterPtr writer) {
    EXPECT_EQ(request.query.get("limit"), "500");
    EXPECT_EQ(request.query.get("labelSelector"), "a=b");
    std::string token(request.query.get("continue"));
    continues.push_back(token);
    std::string next = token.empty() ? "p2" : token == "p2" ? "p3" : "";
    writer->respond(answer(R"({"kind":"PodList","metadata":{"resourceVersion":"50","continue":")" +
                           next + R"("},"items":[)" + pod("x" + token, 3) + "]}"));
  };
  List list = run_list({"", "a=b", ""}).value();
  EXPECT_EQ(list.resource_version, 50u);
  ASSERT_EQ(list.items.size(), 3u);
  EXPECT_EQ(list.items[2]->name, "xp3");
  EXPECT_EQ(continues, (std::vector<std::string>{"", "p2", "p3"}));
}

TEST_F(RestClientTest, AnExpiredPageStartsAgainInOnePiece) {
  handler = [&](Request request, WriterPtr writer) {
    if (request.query.has("continue"))
      return writer->respond(answer(R"({"kind":"Status","reason":"Expired","code":410})", 410));
    bool whole = !request.query.has("limit");
    writer->respond(answer(R"({"metadata":{"resourceVersion":"60","continue":")" +
                           std::string(whole ? "" : "t") + R"("},"items":[)" + pod("a", 1) +
                           (whole ? "," + pod("b", 2) : "") + "]}"));
  };
  List list = run_list().value();
  EXPECT_EQ(list.items.size(), 2u);
  EXPECT_EQ(list.resource_version, 60u);
}

TEST_F(RestClientTest, ListErrorsArrive) {
  handler = [](Request, WriterPtr writer) { writer->respond(answer("out of order", 503)); };
  EXPECT_EQ(run_list().error().code, Code::unavailable);
}

class RestWatchTest : public RestClientTest {
 protected:
  RestWatchTest() {
    handler = [this](Request request, WriterPtr writer) {
      EXPECT_EQ(request.query.get("watch"), "true");
      EXPECT_EQ(request.query.get("allowWatchBookmarks"), "true");
      EXPECT_EQ(request.query.get("resourceVersion"), "42");
      if (refusal) return writer->respond(*refusal);
      writer->begin(200, {});
      stream.set_value(writer);
    };
  }
  void open() {
    on_loop([this] {
      watch = client->watch(resources::pods, WatchOptions{"", "", "", 42},
                            {[this](std::vector<WatchEvent> some) {
                               EXPECT_FALSE(some.empty());
                               EXPECT_TRUE(loop.on_loop_thread());
                               for (WatchEvent& one : some) events.push_back(std::move(one));
                               if (events.size() >= wanted) enough.set_value();
                             },
                             [this](Error why) { error.set_value(std::move(why)); }});
    });
  }
  std::optional<Response> refusal;
  std::promise<WriterPtr> stream;
  std::vector<WatchEvent> events;
  std::size_t wanted = 1'000'000;
  std::promise<void> enough;
  std::promise<Error> error;
};

TEST_F(RestWatchTest, EventsArriveInOrderHoweverTheyAreCut) {
  wanted = 3;
  open();
  WriterPtr writer = stream.get_future().get();
  std::string text = event("ADDED", pod("a", 43)) + event("DELETED", pod("a", 44)) +
                     event("BOOKMARK", R"({"kind":"Pod","metadata":{"resourceVersion":"50"}})");
  for (std::size_t at = 0; at < text.size(); at += 10) writer->write(text.substr(at, 10));
  enough.get_future().get();
  EXPECT_EQ(events[0].type, WatchEvent::Type::added);
  EXPECT_EQ(events[0].object->name, "a");
  EXPECT_EQ(events[1].type, WatchEvent::Type::deleted);
  EXPECT_EQ(events[1].resource_version, 44u);
  EXPECT_EQ(events[2].type, WatchEvent::Type::bookmark);
  EXPECT_EQ(events[2].resource_version, 50u);
}

TEST_F(RestWatchTest, ErrorEventsEndTheWatchAfterWhatCameBefore) {
  open();
  WriterPtr writer = stream.get_future().get();
  writer->write(
      event("ADDED", pod("a", 43)) +
      event("ERROR", R"({"kind":"Status","reason":"Expired","message":"too old","code":410})") +
      event("ADDED", pod("late", 45)));
  EXPECT_EQ(error.get_future().get().code, Code::expired);
  EXPECT_EQ(events.size(), 1u);
}

TEST_F(RestWatchTest, RefusalsKeepTheirReason) {
  refusal = answer(R"({"kind":"Status","reason":"Expired","message":"too old","code":410})", 410);
  open();
  EXPECT_EQ(error.get_future().get().code, Code::expired);
}

TEST_F(RestWatchTest, BothACleanEndAndADisconnectAreUnavailable) {
  open();
  stream.get_future().get()->end();
  EXPECT_EQ(error.get_future().get().code, Code::unavailable);
  stream = {};
  error = {};
  open();
  stream.get_future().get()->abort();
  EXPECT_EQ(error.get_future().get().code, Code::unavailable);
}

TEST_F(RestWatchTest, DestroyingItEndsItOnBothSides) {
  open();
  WriterPtr writer = stream.get_future().get();
  std::promise<void> closed;
  writer->on_closed([&] { closed.set_value(); });
  on_loop([this] { watch.reset(); });
  closed.get_future().get();
  on_loop([] {});
  EXPECT_TRUE(events.empty());
}

Write patch_of(const std::string& name, int number) {
  return {.verb = Write::Verb::patch,
          .resource = resources::pods,
          .key = {"n", name},
          .body = json::Object{{"number", number}}};
}

TEST_F(RestClientTest, BatchResultsKeepTheOrderAndFailAlone) {
  handler = [](Request request, WriterPtr writer) {
    std::string name = request.path.substr(request.path.rfind('/') + 1);
    if (name == "p3")
      return writer->respond(answer(R"({"kind":"Status","reason":"Conflict","code":409})", 409));
    writer->respond(answer(pod(name, 9)));
  };
  std::vector<Write> writes;
  for (int i = 0; i < 200; ++i) writes.push_back(patch_of("p" + std::to_string(i), i));
  std::vector<WriteResult> results = run_batch(std::move(writes));
  ASSERT_EQ(results.size(), 200u);
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (i == 3)
      EXPECT_EQ(results[i].error().code, Code::conflict);
    else
      EXPECT_EQ((*results[i])->name, "p" + std::to_string(i));
  }
}

TEST_F(RestClientTest, BatchWindowIsWideButWritesToOneObjectWait) {
  std::mutex mutex;
  std::map<std::string, int> open, seen;
  int together = 0, most = 0;
  bool overlapped = false, misordered = false;
  // Nobody is answered before the window has shown its width, however slowly its requests come.
  bool wide = false;
  std::vector<Task> held;
  Loop clerk("clerk");
  auto release = [&] {
    wide = true;
    for (Task& one : held) clerk.post_after(10ms, std::move(one));
    held.clear();
  };
  clerk.post_after(60s, [&] {  // a window too narrow is a failure and does not hang
    std::lock_guard lock(mutex);
    release();
  });
  handler = [&](Request request, WriterPtr writer) {
    std::lock_guard lock(mutex);
    std::string name = request.path.substr(request.path.rfind('/') + 1);
    overlapped = overlapped || ++open[name] > 1;
    json::Value body = json::parse(request.body).value();
    misordered = misordered || json::int_at(body, {"number"}) != seen[name]++;
    most = std::max(most, ++together);
    held.push_back([&, name, writer] {
      {
        std::lock_guard inner(mutex);
        --open[name];
        --together;
      }
      writer->respond(answer(pod(name, 1)));
    });
    if (wide || most > 16) release();
  };
  std::vector<Write> writes;
  for (int round = 0; round < 3; ++round)
    for (int i = 0; i < 100; ++i) writes.push_back(patch_of("p" + std::to_string(i), round));
  std::vector<WriteResult> results = run_batch(std::move(writes));
  EXPECT_EQ(results.size(), 300u);
  std::lock_guard lock(mutex);
  EXPECT_FALSE(overlapped);
  EXPECT_FALSE(misordered);
  EXPECT_GT(most, 16);
  EXPECT_LE(most, 64);
}

TEST_F(RestClientTest, AWriteTheServerIsTooBusyForIsSentAgain) {
  std::atomic<int> asked = 0;
  handler = [&](Request, WriterPtr writer) {
    if (++asked < 3)
      return writer->respond(
          answer(R"({"kind":"Status","reason":"TooManyRequests","code":429})", 429));
    writer->respond(answer(pod("a", 1)));
  };
  EXPECT_TRUE(run_batch({patch_of("a", 1)}).front());
  EXPECT_EQ(asked, 3);
}

// A binding of pod n/a to n1 whose POST is answered with `status`; then the pod is on `node`.
class BindingTest : public RestClientTest {
 protected:
  WriteResult bind(int status, const std::string& node, const std::string& uid = "u-a") {
    handler = [this, status, node](Request request, WriterPtr writer) {
      requests.push_back(request.method + " " + request.path);
      if (request.method == "POST")
        return writer->respond(answer(R"({"kind":"Status","message":"no"})", status));
      writer->respond(answer(R"({"kind":"Pod","metadata":{"name":"a","namespace":"n","uid":"u-a"},)"
                             R"("spec":{"nodeName":")" +
                             node + R"("}})"));
    };
    Write write{.verb = Write::Verb::bind, .resource = resources::pods, .key = {"n", "a"}};
    write.body = json::Object{{"metadata", json::Object{{"name", "a"}, {"uid", uid}}},
                              {"target", json::Object{{"kind", "Node"}, {"name", "n1"}}}};
    return run_batch({std::move(write)}).front();
  }
  std::vector<std::string> requests;
};

TEST_F(BindingTest, OneThatTimedOutButWasMadeHasSucceeded) {
  EXPECT_TRUE(bind(504, "n1"));
  EXPECT_EQ(requests, (std::vector<std::string>{"POST /api/v1/namespaces/n/pods/a/binding",
                                                "GET /api/v1/namespaces/n/pods/a"}));
}

TEST_F(BindingTest, OneThatTimedOutAndWasNotMadeHasFailed) {
  EXPECT_EQ(bind(504, "").error().code, Code::timeout);
  EXPECT_EQ(requests.size(), 2u) << "whoever decides sends it again";
}

TEST_F(BindingTest, APodOnAnotherNodeIsAConflict) {
  EXPECT_EQ(bind(409, "n2").error().code, Code::conflict);
}

TEST_F(BindingTest, ANamesakeIsNotThePod) {
  EXPECT_EQ(bind(504, "n1", "u-before").error().code, Code::timeout);
}

TEST_F(BindingTest, APlainRefusalIsNotLookedUp) {
  EXPECT_EQ(bind(403, "n1").error().code, Code::forbidden);
  EXPECT_EQ(requests.size(), 1u);
}

TEST_F(RestClientTest, TheListAfterAWatchNeedBeNoNewerThanIt) {
  std::vector<std::string> asked;
  handler = [&](Request request, WriterPtr writer) {
    if (request.query.get("watch") == "true")
      return writer->respond(answer(event("ADDED", pod("a", 43))));
    asked.push_back(std::string(request.query.get("resourceVersion")) + " " +
                    std::string(request.query.get("resourceVersionMatch")));
    writer->respond(answer(R"({"kind":"PodList","metadata":{"resourceVersion":"50"},"items":[]})"));
  };
  std::promise<void> ended;
  on_loop([&] {
    watch = client->watch(
        resources::pods, {"", "", "", 42},
        {[](const std::vector<WatchEvent>&) {}, [&](const Error&) { ended.set_value(); }});
  });
  ended.get_future().get();
  EXPECT_TRUE(run_list());
  EXPECT_TRUE(run_list());
  EXPECT_EQ(asked, (std::vector<std::string>{"43 NotOlderThan", " "}));
}

TEST_F(RestClientTest, ClientsOfOneFlowMayEndWithWritesWaiting) {
  std::mutex mutex;
  std::vector<WriterPtr> held;
  std::promise<void> full;
  handler = [&](Request, WriterPtr writer) {
    std::lock_guard lock(mutex);
    held.push_back(std::move(writer));
    if (held.size() == 32) full.set_value();
  };
  std::shared_ptr<Flow> flow = make_flow(loop.clock(), nullptr);
  std::unique_ptr<Client> first = make_rest_client(access, loop, {"first"}, flow).value();
  std::unique_ptr<Client> second = make_rest_client(access, loop, {"second"}, flow).value();
  std::promise<void> done;
  on_loop([&] {
    std::vector<Write> writes;
    for (int i = 0; i < 500; ++i) writes.push_back(patch_of("p" + std::to_string(i), i));
    first->batch(std::move(writes), [](const std::vector<WriteResult>&) { ADD_FAILURE(); });
  });
  full.get_future().get();
  on_loop([&] {
    second->batch({patch_of("q", 1)}, [&](const std::vector<WriteResult>& results) {
      EXPECT_TRUE(results.front());
      done.set_value();
    });
    std::lock_guard lock(mutex);
    handler = [](Request, WriterPtr writer) { writer->respond(answer(pod("q", 1))); };
    first.reset();
  });
  done.get_future().get();
  on_loop([&] { second.reset(); });
}

TEST_F(RestClientTest, AnEmptyBatchIsDoneAtOnce) { EXPECT_TRUE(run_batch({}).empty()); }

TEST_F(RestClientTest, WriteIsABatchOfOne) {
  handler = [](Request request, WriterPtr writer) {
    EXPECT_EQ(request.method, "DELETE");
    writer->respond(answer(R"({"kind":"Status","status":"Success","details":{"uid":"u"}})"));
  };
  std::promise<WriteResult> done;
  loop.post([&] {
    client->write({.verb = Write::Verb::remove, .resource = resources::pods, .key = {"n", "a"}},
                  [&](WriteResult result) { done.set_value(std::move(result)); });
  });
  EXPECT_EQ(done.get_future().get().value()->uid, "u");
}

TEST_F(RestClientTest, DestroyingTheClientDropsItsCallbacks) {
  std::promise<WriterPtr> asked;
  handler = [&](Request, WriterPtr writer) { asked.set_value(writer); };
  bool called = false;
  loop.post([&] { client->list(resources::pods, {}, [&](Result<List>) { called = true; }); });
  WriterPtr kept = asked.get_future().get();
  on_loop([this] { client.reset(); });
  on_loop([] {});
  EXPECT_FALSE(called);
}

TEST_F(RestClientTest, NoServerIsUnavailable) {
  server->stop(0ms);
  EXPECT_EQ(run_list().error().code, Code::unavailable);
}

}  // namespace
}  // namespace hekla::kube
