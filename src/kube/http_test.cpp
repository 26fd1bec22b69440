// Outgoing calls against a real socket.
#include "kube/http.h"

#include <gtest/gtest.h>

#include <future>
#include <mutex>
#include <vector>

#include "base/loop.h"
#include "net/server.h"

namespace hekla::kube {
namespace {

using HttpWriter = std::shared_ptr<net::ResponseWriter>;

class HttpTest : public testing::Test {
 protected:
  HttpTest() {
    net::ServerOptions options;
    options.tls = false;
    server = net::Server::start(options, [this](net::Request request, HttpWriter writer) {
               if (request.path == "/slow") {
                 const std::lock_guard lock(mutex);
                 return held.push_back(std::move(writer));
               }
               int status = request.path == "/missing" ? 404 : 200;
               writer->respond({.status = status,
                                .headers = {},
                                .body = request.method + " " +
                                        std::string(request.headers.get("Content-Type")) + " " +
                                        request.body});
             }).value();
    base = "http://127.0.0.1:" + std::to_string(server->port());
    http = make_http().value();
  }
  ~HttpTest() override {
    http.reset();
    server->stop(
        std::chrono::milliseconds(0));  // joins its threads: nobody adds to what is held any more
    held.clear();
  }
  HttpCall to(const std::string& path) {
    HttpCall call;
    call.url = base + path;
    return call;
  }

  std::mutex mutex;
  std::vector<HttpWriter> held;  // answers that never come
  Loop loop{"test"};
  std::unique_ptr<net::Server> server;
  std::string base;
  std::unique_ptr<Http> http;
};

TEST_F(HttpTest, WaitsForAnAnswer) {
  HttpCall call = to("/x");
  call.method = "POST";
  call.body = "{}";
  Result<HttpAnswer> answer = http->fetch(call);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->body, "POST application/json {}");
  EXPECT_EQ(http->fetch(to("/missing"))->status, 404);
}

TEST_F(HttpTest, AnswersOnTheCallersLoop) {
  std::promise<std::string> done;
  http->send(to("/x"), loop, [&](const Result<HttpAnswer>& answer) {
    EXPECT_TRUE(loop.on_loop_thread());
    done.set_value(answer ? answer->body : answer.error().message);
  });
  EXPECT_EQ(done.get_future().get(), "GET  ");
}

TEST_F(HttpTest, NoAnswerIsAnError) {
  HttpCall slow = to("/slow");
  slow.timeout = std::chrono::milliseconds(50);
  Result<HttpAnswer> answer = http->fetch(slow);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::timeout);
  HttpCall nobody;
  nobody.url = "http://127.0.0.1:1/";
  answer = http->fetch(nobody);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::unavailable);
}

}  // namespace
}  // namespace hekla::kube
