#include "net/local_clients.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "net/raw_peer_test.h"
#include "net/server.h"

namespace hekla::net {
namespace {

using namespace std::chrono_literals;
using WriterPtr = std::shared_ptr<ResponseWriter>;

std::unique_ptr<Server> serve(Handler handler, int threads = 2) {
  ServerOptions options;
  options.tls = false;
  options.threads = threads;
  return Server::start(std::move(options), std::move(handler)).value();
}

TEST(LocalClients, AnswerOnTheThreadThatAsks) {
  auto other = serve([](const Request&, const WriterPtr& writer) {
    writer->respond({.status = 200, .headers = {}, .body = "far"});
  });
  const std::unique_ptr<LocalClients> clients = LocalClients::make({}).value();
  auto server = serve([&](const Request&, const WriterPtr& writer) {
    const auto thread = std::this_thread::get_id();
    clients->here().send(
        {.url = "http://127.0.0.1:" + std::to_string(other->port())},
        [writer, thread](Result<Response> got) {
          const bool here = std::this_thread::get_id() == thread;
          writer->respond(
              {.status = 200, .headers = {}, .body = got->body + (here ? " here" : " elsewhere")});
        });
  });
  for (int i = 0; i < 4; ++i) {
    RawPeer peer(server->port());
    peer.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_TRUE(peer.receive_until("here").ends_with("far here")) << peer.received;
  }
  server->stop();
}

TEST(LocalClients, EndWithTheirServerAndInEitherOrder) {
  auto silent = serve([](const Request&, const WriterPtr& writer) {
    writer->on_closed([writer] {});  // kept, never answered
  });
  for (bool server_first : {false, true}) {
    std::unique_ptr<LocalClients> clients = LocalClients::make({}).value();
    std::promise<void> asked, ended;
    auto server = serve([&](const Request&, const WriterPtr& writer) {
      clients->here().send({.url = "http://127.0.0.1:" + std::to_string(silent->port())},
                           [&, writer](const Result<Response>& got) {
                             EXPECT_FALSE(got);
                             ended.set_value();
                           });
      asked.set_value();
    });
    RawPeer peer(server->port());
    peer.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    asked.get_future().get();
    if (server_first) server->stop(0ms);
    if (!server_first) clients.reset();
    ended.get_future().get();
    server.reset();
    clients.reset();
  }
}

}  // namespace
}  // namespace hekla::net
