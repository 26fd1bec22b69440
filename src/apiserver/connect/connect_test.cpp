#include "apiserver/connect/connect.h"

#include "apiserver/gates/webhooks.h"
#include "apiserver/server/server_fixture_test.h"
#include "base/bytes.h"
#include "net/spdy.h"
#include "net/websocket.h"

namespace hekla::apiserver {
namespace {

class FakeProcess final : public kube::PodProcess {
 public:
  void begin(std::shared_ptr<kube::ProcessClient> begun) override { client = std::move(begun); }
  void write_input(std::string bytes) override { input += bytes; }
  void end_input() override { input += "<end>"; }
  void resize(int width, int height) override {
    input += "<" + std::to_string(width) + "x" + std::to_string(height) + ">";
  }
  void leave() override { left = true; }
  std::shared_ptr<kube::ProcessClient> client;
  std::string input;
  bool left = false;
};

class FakeConnection final : public kube::ForwardedConnection {
 public:
  void write(std::string bytes) override { input += bytes; }
  void end() override { input += "<end>"; }
  void leave() override { input += "<left>"; }
  std::string input;
};

class FakePodStreams final : public kube::PodStreams {
 public:
  ~FakePodStreams() override { process->client = nullptr; }  // who holds the process as well
  void logs(const kube::PodRef&, const kube::LogOptions&, std::shared_ptr<kube::ByteSink>,
            Done<void> started) override {
    started(fail(Code::internal, "not asked here"));
  }
  void exec(const kube::PodRef&, const kube::ExecOptions& options, ProcessReady ready) override {
    asked = options;
    if (options.command.front() == "missing")
      return ready(
          fail(Code::internal, "unable to upgrade connection: container not found (\"c\")"));
    ready(std::shared_ptr<kube::PodProcess>(process));
  }
  void attach(const kube::PodRef&, const kube::ExecOptions& options, ProcessReady ready) override {
    asked = options;
    ready(std::shared_ptr<kube::PodProcess>(process));
  }
  void forward(const kube::PodRef&, std::uint16_t port, std::shared_ptr<kube::ForwardClient> client,
               ForwardReady ready) override {
    if (port == 9) return ready(fail(Code::unavailable, "connection refused"));
    if (port == 10) return late.push_back(std::move(ready));
    out = std::move(client);
    ++forwards;
    ready(std::shared_ptr<kube::ForwardedConnection>(connection));
  }
  kube::ExecOptions asked;
  std::shared_ptr<FakeProcess> process = std::make_shared<FakeProcess>();
  std::shared_ptr<FakeConnection> connection = std::make_shared<FakeConnection>();
  std::shared_ptr<kube::ForwardClient> out;
  int forwards = 0;
  std::vector<ForwardReady> late;  // answers of port 10, which the test gives
};

using HeaderList = std::vector<std::pair<std::string, std::string>>;

class ConnectTest : public ServerFixture {
 protected:
  ConnectTest() {
    server->set_pod_streams(&streams);
    call("POST", kPods, pod("p"));
    call("POST", std::string(kPods) + "/p/binding", R"({"target":{"name":"n1"}})");
    call("PATCH", std::string(kPods) + "/p/status", R"({"status":{"phase":"Running"}})",
         {{"Content-Type", "application/merge-patch+json"}});
  }
  static HeaderList websocket(const std::string& protocol) {
    return {{"Connection", "Upgrade"},
            {"Upgrade", "websocket"},
            {"Sec-WebSocket-Version", "13"},
            {"Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="},
            {"Sec-WebSocket-Protocol", protocol}};
  }
  static HeaderList spdy(std::vector<std::string> versions) {
    HeaderList headers{{"Connection", "Upgrade"}, {"Upgrade", "SPDY/3.1"}};
    for (std::string& version : versions)
      headers.emplace_back("X-Stream-Protocol-Version", std::move(version));
    return headers;
  }
  static std::string message(std::string_view payload) {
    std::string frame = net::websocket_frame(net::WebSocketOpcode::binary, payload);
    frame[1] = static_cast<char>(frame[1] | 0x80);
    frame.insert(frame.size() - payload.size(),
                 std::string(4, '\0'));  // a mask that changes nothing
    return frame;
  }
  static std::string sent(std::string_view payload) {
    return net::websocket_frame(net::WebSocketOpcode::binary, payload);
  }
  static net::Headers stream(const std::string& type) {
    net::Headers headers;
    headers.add("streamtype", type);
    return headers;
  }
  FakePodStreams streams;
  const std::string exec = std::string(kPods) + "/p/exec?command=sh&stdin=true&stdout=true";
};

TEST_F(ConnectTest, ExecOverWebSocketEndsWithItsStatus) {
  auto answer = send("GET", exec + "&stderr=true", "", websocket("v5.channel.k8s.io"));
  ASSERT_EQ(answer->answer.status, 101) << answer->answer.body;
  EXPECT_EQ(answer->answer.headers.get("Sec-WebSocket-Protocol"), "v5.channel.k8s.io");
  EXPECT_EQ(streams.asked.command, std::vector<std::string>{"sh"});
  EXPECT_EQ(streams.asked.container, "c");
  answer->input(message(std::string("\0hello", 6)) + message("\x04{\"Width\":80,\"Height\":24}") +
                message(std::string("\xff\0", 2)));
  EXPECT_EQ(streams.process->input, "hello<80x24><end>");
  streams.process->client->write(kube::ProcessClient::Output::out, "out");
  streams.process->client->write(kube::ProcessClient::Output::err, "err");
  streams.process->client->hold_input(true);
  EXPECT_TRUE(answer->paused);
  streams.process->client->finish(3);
  EXPECT_EQ(
      answer->answer.body,
      sent("\1out") + sent("\2err") +
          sent("\3{\"metadata\":{},\"status\":\"Failure\",\"message\":\"command terminated with "
               "non-zero exit code: exit status 3\",\"reason\":\"NonZeroExitCode\",\"details\":"
               "{\"causes\":[{\"reason\":\"ExitCode\",\"message\":\"3\"}]}}") +
          net::websocket_close(1000, ""));
  EXPECT_TRUE(answer->ended);
  answer->closed();
  EXPECT_TRUE(streams.process->left);
}

TEST_F(ConnectTest, PingsAreAnsweredAndBase64IsSpoken) {
  auto answer = send("GET", exec, "", websocket("v4.base64.channel.k8s.io"));
  ASSERT_EQ(answer->answer.status, 101);
  std::string ping = message("x");
  ping[0] = static_cast<char>(0x89);
  answer->input(ping + message("0aGk="));
  EXPECT_EQ(streams.process->input, "hi");
  streams.process->client->write(kube::ProcessClient::Output::out, "hi");
  EXPECT_EQ(answer->answer.body, net::websocket_frame(net::WebSocketOpcode::pong, "x") +
                                     net::websocket_frame(net::WebSocketOpcode::text, "1aGk="));
}

TEST_F(ConnectTest, ExecOverSpdyBeginsWhenItsStreamsAreThere) {
  auto answer = send("POST", exec + "&tty=true&stderr=true", "",
                     spdy({"v9.channel.k8s.io", "v4.channel.k8s.io", "v3.channel.k8s.io"}));
  ASSERT_EQ(answer->answer.status, 101);
  EXPECT_EQ(answer->answer.headers.get("X-Stream-Protocol-Version"), "v4.channel.k8s.io");
  EXPECT_FALSE(streams.asked.err);  // a terminal has one output
  net::SpdyWriter client;
  answer->input(client.syn_stream(1, stream("error"), true));
  answer->input(client.syn_stream(3, stream("stdin"), false));
  EXPECT_EQ(streams.process->client, nullptr);
  answer->input(client.syn_stream(5, stream("stdout"), false));
  answer->input(client.syn_stream(7, stream("resize"), false));
  ASSERT_NE(streams.process->client, nullptr);
  answer->input(net::SpdyWriter::data(7, "{\"Width\":10,\"Height\":5}\n", false) +
                net::SpdyWriter::data(3, "in", true));
  EXPECT_EQ(streams.process->input, "<10x5>in<end>");
  answer->answer.body.clear();
  streams.process->client->write(kube::ProcessClient::Output::out, "out");
  streams.process->client->finish(0);
  EXPECT_EQ(answer->answer.body,
            net::SpdyWriter::data(5, "out", false) + net::SpdyWriter::data(5, "", true) +
                net::SpdyWriter::data(1, R"({"metadata":{},"status":"Success"})", true));
}

TEST_F(ConnectTest, WhatCannotBeIsRefusedBeforeTheUpgrade) {
  EXPECT_EQ(call("GET", exec).message(), "Upgrade request required");
  EXPECT_EQ(
      call("GET", std::string(kPods) + "/p/exec?stdout=true", "", websocket("v5.channel.k8s.io"))
          .message(),
      "you must specify at least 1 command for the container");
  EXPECT_EQ(
      call("GET", std::string(kPods) + "/p/exec?command=sh", "", websocket("v5.channel.k8s.io"))
          .message(),
      "you must specify at least 1 of stdin, stdout, stderr");
  Reply missing = call("GET", std::string(kPods) + "/p/exec?command=missing&stdout=true", "",
                       websocket("v5.channel.k8s.io"));
  EXPECT_EQ(missing.status, 500);
  EXPECT_NE(missing.message().find("container not found (\"c\")"), std::string::npos);
  Reply unknown = call("POST", exec, "", spdy({"v9.channel.k8s.io"}));
  EXPECT_EQ(unknown.status, 403);
  EXPECT_EQ(unknown.headers.get("X-Accepted-Stream-Protocol-Versions"), "v5.channel.k8s.io");
  EXPECT_EQ(call("GET", exec, "", websocket("v7.channel.k8s.io")).status, 400);
}

TEST_F(ConnectTest, PoliciesAndWebhooksHaveTheirSay) {
  const std::string group = "/apis/admissionregistration.k8s.io/v1/";
  const std::string rules =
      R"([{"apiGroups":[""],"apiVersions":["v1"],"operations":["CONNECT"],"resources":["pods/exec"]}])";
  ASSERT_EQ(
      call(
          "POST", group + "validatingadmissionpolicies",
          R"({"metadata":{"name":"p"},"spec":{"matchConstraints":{"resourceRules":)" + rules +
              R"x(},"validations":[{"expression":"!('secret' in object.command)","message":"not that"}]}})x")
          .status,
      201);
  ASSERT_EQ(
      call("POST", group + "validatingadmissionpolicybindings",
           R"({"metadata":{"name":"b"},"spec":{"policyName":"p","validationActions":["Deny"]}})")
          .status,
      201);
  Reply denied = call("GET", std::string(kPods) + "/p/exec?command=cat&command=secret&stdout=true",
                      "", websocket("v5.channel.k8s.io"));
  EXPECT_EQ(denied.status, 422);
  EXPECT_EQ(denied.message(),
            "pods \"p\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied "
            "request: not that");

  // A webhook may change what is run.
  struct Transport final : WebhookTransport {
    void send(WebhookCall call, std::function<void(Result<net::Response>)> done) override {
      const json::Value request = *json::find(*json::parse(call.body), "request");
      seen = json::text_at(request, {"operation"}) + " " + json::text_at(request, {"kind", "kind"});
      json::Value answer =
          *json::parse(R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{
        "allowed":true,"patchType":"JSONPatch"}})");
      json::Object& response = answer.get_object()["response"].get_object();
      response["uid"] = call.uid;
      response["patch"] = base64_encode(R"([{"op":"add","path":"/command/0","value":"nice"}])");
      done(net::Response{200, {}, json::serialize(answer)});
    }
    std::string seen;
  } transport;
  server->set_webhook_transport(&transport);
  ASSERT_EQ(
      call("POST", group + "mutatingwebhookconfigurations",
           R"({"metadata":{"name":"m"},"webhooks":[{"name":"m.example.com","sideEffects":"None",
                   "admissionReviewVersions":["v1"],"clientConfig":{"url":"https://127.0.0.1:9/"},"rules":)" +
               rules + "}]}")
          .status,
      201);
  auto answer = send("GET", exec, "", websocket("v5.channel.k8s.io"));
  ASSERT_EQ(answer->answer.status, 101) << answer->answer.body;
  EXPECT_EQ(transport.seen, "CONNECT PodExecOptions");
  EXPECT_EQ(streams.asked.command, (std::vector<std::string>{"nice", "sh"}));
  EXPECT_TRUE(streams.asked.in);
}

TEST_F(ConnectTest, ForwardsOverSpdyAndThroughTheTunnel) {
  for (bool tunneled : {false, true}) {
    auto answer =
        send(tunneled ? "GET" : "POST", std::string(kPods) + "/p/portforward", "",
             tunneled ? websocket("SPDY/3.1+portforward.k8s.io") : spdy({"portforward.k8s.io"}));
    ASSERT_EQ(answer->answer.status, 101) << answer->answer.body;
    auto input = [&](const std::string& bytes) {
      answer->input(tunneled ? message(bytes.substr(0, 3)) + message(bytes.substr(3)) : bytes);
    };
    auto output = [&](const std::string& bytes) { return tunneled ? sent(bytes) : bytes; };
    net::SpdyWriter client;
    auto pair = [&](std::uint32_t first, const std::string& port) {
      net::Headers error = stream("error"), data = stream("data");
      for (net::Headers* headers : {&error, &data}) {
        headers->add("port", port);
        headers->add("requestid", std::to_string(first));
      }
      input(client.syn_stream(first, error, true));
      input(client.syn_stream(first + 2, data, false));
    };
    streams.connection->input.clear();
    pair(1, "80");
    input(net::SpdyWriter::data(3, "GET", false) + net::SpdyWriter::data(3, "", true));
    EXPECT_EQ(streams.connection->input, "GET<end>");
    answer->answer.body.clear();
    streams.out->write("OK");
    EXPECT_EQ(answer->answer.body, output(net::SpdyWriter::data(3, "OK", false)));
    answer->answer.body.clear();
    pair(5, "9");
    EXPECT_NE(
        answer->answer.body.find("error forwarding port 9 to pod p, uid : connection refused"),
        std::string::npos);
    answer->closed();
    EXPECT_EQ(streams.connection->input, "GET<end><left>");
    // A stream that has ended on both sides is let go at once.
    streams.connection->input.clear();
    pair(9, "80");
    streams.out->end();
    EXPECT_EQ(streams.connection->input, "");
    input(net::SpdyWriter::data(11, "", true));
    EXPECT_EQ(streams.connection->input, "<end><left>");
  }
}

TEST_F(ConnectTest, ASpdyStreamIdOpensOneConnectionOnly) {
  auto answer =
      send("POST", std::string(kPods) + "/p/portforward", "", spdy({"portforward.k8s.io"}));
  ASSERT_EQ(answer->answer.status, 101) << answer->answer.body;
  net::SpdyWriter client;
  for (int request = 0; request < 3; ++request) {
    for (auto [id, type] : {std::pair(1u, "error"), std::pair(3u, "data")}) {
      net::Headers headers = stream(type);
      headers.add("port", "80");
      headers.add("requestid", std::to_string(request));
      answer->input(client.syn_stream(id, headers, false));
    }
  }
  EXPECT_EQ(streams.forwards, 1);
  EXPECT_TRUE(
      answer->answer.body.ends_with(net::SpdyWriter::reset(1, 1) + net::SpdyWriter::reset(3, 1)));
  answer->closed();
  EXPECT_EQ(streams.connection->input, "<left>");
}

TEST_F(ConnectTest, ForwardsChannelsForPython) {
  auto answer = send("GET", std::string(kPods) + "/p/portforward?ports=80,9", "",
                     websocket("v4.channel.k8s.io"));
  ASSERT_EQ(answer->answer.status, 101) << answer->answer.body;
  EXPECT_TRUE(answer->answer.body.starts_with(
      sent(std::string("\0\x50\0", 3)) + sent(std::string("\1\x50\0", 3)) +
      sent(std::string("\2\x09\0", 3)) + sent(std::string("\3\x09\0", 3))));
  EXPECT_NE(answer->answer.body.find("connection refused"), std::string::npos);
  answer->input(message(std::string("\0hi", 3)));
  EXPECT_EQ(streams.connection->input, "hi");
  streams.out->end();
  EXPECT_TRUE(answer->ended);
}

TEST_F(ConnectTest, InputForAPortThatHasNotAnsweredIsLimited) {
  for (bool refused : {false, true}) {
    streams.connection->input.clear();
    auto answer = send("GET", std::string(kPods) + "/p/portforward?ports=10,80", "",
                       websocket("v4.channel.k8s.io"));
    ASSERT_EQ(answer->answer.status, 101) << answer->answer.body;
    const std::string piece = std::string(1, '\0') + std::string(100'000, 'x');
    for (int i = 0; i < 2; ++i) answer->input(message(piece));
    EXPECT_FALSE(answer->paused);
    answer->input(message(piece));
    EXPECT_TRUE(answer->paused);
    // Another port that has caught up does not let the input go on.
    streams.out->hold_input(true);
    streams.out->hold_input(false);
    EXPECT_TRUE(answer->paused);
    auto ready = std::move(streams.late.back());
    if (refused)
      ready(fail(Code::unavailable, "connection refused"));
    else
      ready(std::shared_ptr<kube::ForwardedConnection>(streams.connection));
    EXPECT_FALSE(answer->paused);
    EXPECT_EQ(streams.connection->input.size(), refused ? 0u : 300'000u);
    for (int i = 0; i < 10; ++i) answer->input(message(piece));
    EXPECT_FALSE(answer->paused) << "nothing of a refused port is kept";
    EXPECT_EQ(streams.connection->input.size(), refused ? 0u : 1'300'000u);
    answer->closed();
  }
}

}  // namespace
}  // namespace hekla::apiserver
