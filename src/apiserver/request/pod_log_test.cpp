#include "apiserver/server/server_fixture_test.h"
#include "net/websocket.h"

namespace hekla::apiserver {
namespace {

class FakeStreams final : public kube::PodStreams {
 public:
  void logs(const kube::PodRef& pod, const kube::LogOptions& options,
            std::shared_ptr<kube::ByteSink> sink, Done<void> started) override {
    asked = options;
    asked_uid = pod.uid;
    if (options.previous)
      return started(fail(Code::bad_request, "previous terminated container \"" +
                                                 options.container + "\" in pod \"" + pod.name +
                                                 "\" not found"));
    started({});
    sink->write("hello\n");
    if (!options.follow) sink->end();
    last = std::move(sink);
  }
  void exec(const kube::PodRef&, const kube::ExecOptions&, ProcessReady ready) override {
    ready(fail(Code::internal, "this fake serves logs alone"));
  }
  void attach(const kube::PodRef&, const kube::ExecOptions&, ProcessReady ready) override {
    ready(fail(Code::internal, "this fake serves logs alone"));
  }
  void forward(const kube::PodRef&, std::uint16_t, std::shared_ptr<kube::ForwardClient>,
               ForwardReady ready) override {
    ready(fail(Code::internal, "this fake serves logs alone"));
  }
  kube::LogOptions asked;
  std::string asked_uid;
  std::shared_ptr<kube::ByteSink> last;
};

class PodLogTest : public ServerFixture {
 protected:
  PodLogTest() { server->set_pod_streams(&streams); }
  void bound(const std::string& name) {
    call("POST", std::string(kPods) + "/" + name + "/binding", R"({"target":{"name":"n1"}})");
  }
  FakeStreams streams;
};

TEST_F(PodLogTest, BytesFlowUntilTheEnd) {
  Reply made = call("POST", kPods, pod("p"));
  Reply early = call("GET", std::string(kPods) + "/p/log");
  EXPECT_EQ(early.status, 400);
  bound("p");
  auto log = send("GET", std::string(kPods) + "/p/log?follow=true&tailLines=5&timestamps=1");
  EXPECT_EQ(log->answer.status, 200);
  EXPECT_EQ(log->answer.headers.get("Content-Type"), "text/plain");
  EXPECT_EQ(log->answer.body, "hello\n");
  EXPECT_EQ(streams.asked.container, "c");
  EXPECT_EQ(streams.asked.tail_lines, 5);
  EXPECT_TRUE(streams.asked.timestamps);
  EXPECT_EQ(streams.asked_uid, made.at({"metadata", "uid"}));
  EXPECT_FALSE(log->ended);
  streams.last->write("more\n");
  streams.last->end();
  EXPECT_EQ(log->answer.body, "hello\nmore\n");
  EXPECT_TRUE(log->ended);
}

TEST_F(PodLogTest, OneOfTheTwoStreams) {
  call("POST", kPods, pod("p"));
  bound("p");
  auto status = [&](const std::string& query) {
    return call("GET", std::string(kPods) + "/p/log?" + query).status;
  };
  EXPECT_EQ(status("stream=Stderr"), 200);
  EXPECT_EQ(streams.asked.stream, "stderr");
  EXPECT_EQ(status("stream=All&tailLines=1"), 200);
  EXPECT_EQ(streams.asked.stream, "");
  EXPECT_EQ(status("stream=stdout"), 422);
  EXPECT_EQ(status("stream=Stdout&tailLines=1"), 422);
}

TEST_F(PodLogTest, MessagesOverWebSocket) {
  call("POST", kPods, pod("p"));
  bound("p");
  auto asked = [&](const std::string& protocol, const std::string& query) {
    return send("GET", std::string(kPods) + "/p/log" + query, "",
                {{"Connection", "Upgrade"},
                 {"Upgrade", "websocket"},
                 {"Sec-WebSocket-Version", "13"},
                 {"Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="},
                 {"Sec-WebSocket-Protocol", protocol}});
  };
  auto binary = asked("binary.k8s.io", "");
  EXPECT_EQ(binary->answer.status, 101);
  EXPECT_EQ(binary->answer.headers.get("Sec-WebSocket-Protocol"), "binary.k8s.io");
  EXPECT_EQ(binary->answer.body, net::websocket_frame(net::WebSocketOpcode::binary, "hello\n") +
                                     net::websocket_close(1000, ""));
  EXPECT_TRUE(binary->ended);
  auto text = asked("base64.binary.k8s.io", "?follow=true");
  EXPECT_EQ(text->answer.body, net::websocket_frame(net::WebSocketOpcode::text, "aGVsbG8K"));
  EXPECT_FALSE(text->ended);
  text->input(std::string("\x88\x80\0\0\0\0", 6));  // the client closes
  EXPECT_TRUE(text->ended);
  EXPECT_EQ(asked("v5.channel.k8s.io", "")->answer.status, 400);
}

TEST_F(PodLogTest, TheContainerMustBeClear) {
  call("POST", kPods, R"({"metadata":{"name":"two"},"spec":{"containers":[{"name":"a","image":"i"},
      {"name":"b","image":"i"}]}})");
  bound("two");
  Reply which = call("GET", std::string(kPods) + "/two/log");
  EXPECT_EQ(which.status, 400);
  EXPECT_EQ(which.message(),
            "a container name must be specified for pod two, choose one of: [a b]");
  Reply wrong = call("GET", std::string(kPods) + "/two/log?container=z");
  EXPECT_EQ(wrong.message(), "container z is not valid for pod two");
  EXPECT_EQ(call("GET", std::string(kPods) + "/two/log?container=b").text, "hello\n");
  Reply previous = call("GET", std::string(kPods) + "/two/log?container=b&previous=true");
  EXPECT_EQ(previous.status, 400);
  EXPECT_EQ(previous.reason(), "BadRequest");
}

}  // namespace
}  // namespace hekla::apiserver
