#include "apiserver/request/connection_executors.h"

#include <gtest/gtest.h>

#include "base/loop.h"
#include "kube/http.h"
#include "net/server.h"

namespace hekla::apiserver {
namespace {

TEST(ConnectionExecutors, TheRestOfARequestRunsWhereItsHandlerRan) {
  Loop loop("loop");
  ConnectionExecutors executors(loop);
  Executor* executor = nullptr;
  auto handler = [&](const net::Request& request,
                     const std::shared_ptr<net::ResponseWriter>& writer) {
    executor = &executors.here();
    EXPECT_EQ(executor, &executors.here());
    Task rest = [writer, here = std::this_thread::get_id()] {
      writer->respond({.status = std::this_thread::get_id() == here ? 200 : 500});
    };
    if (request.path == "/later")
      executor->post_after(std::chrono::milliseconds(1), std::move(rest));
    else
      executor->post(std::move(rest));
  };
  net::ServerOptions options;
  options.tls = false;
  options.threads = 1;
  auto server = net::Server::start(options, handler).value();
  auto http = kube::make_http().value();
  for (const char* path : {"/now", "/later"}) {
    kube::HttpCall call;
    call.url = "http://127.0.0.1:" + std::to_string(server->port()) + path;
    Result<kube::HttpAnswer> answer = http->fetch(call);
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->status, 200) << path;
  }
  EXPECT_EQ(&executors.here(), &loop) << "this thread is none of the server's";
  EXPECT_NE(executor, &loop);
  server->stop();
  Task late = [] { ADD_FAILURE() << "there is no thread any more"; };
  EXPECT_FALSE(executor->try_post(late));
  executor->post(std::move(late));
}

}  // namespace
}  // namespace hekla::apiserver
