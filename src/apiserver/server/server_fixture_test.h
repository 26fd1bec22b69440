// A whole API server in one thread, on a simulated disk and clock, spoken to as HTTP values.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "apiserver/api_server.h"
#include "apiserver/kinds/attach_header.h"
#include "apiserver/object/storage.h"
#include "base/crypto.h"
#include "json/parse.h"
#include "support/sim_disk.h"
#include "support/sim_executor.h"

namespace hekla::apiserver {

// Collects an answer, at once or as a stream.
class FakeWriter final : public net::ResponseWriter {
 public:
  void respond(net::Response response) override {
    answered = true;
    tail_bytes = response.tail.bytes;
    net::complete_body(response);
    answer = std::move(response);
  }
  void begin(int status, net::Headers headers) override {
    answered = true;
    answer.status = status;
    answer.headers = std::move(headers);
  }
  using ResponseWriter::write;
  void write(net::SharedBytes chunk) override { answer.body += *chunk; }
  void end() override { ended = true; }
  void abort() override { ended = true; }
  std::size_t pending_bytes() const override { return pending; }
  void on_drained(std::function<void()> callback) override { drained = std::move(callback); }
  void on_closed(std::function<void()> callback) override { closed = std::move(callback); }
  bool is_closed() const override { return ended; }
  void upgrade(net::Headers headers, std::function<void(std::string_view)> on_data) override {
    answered = true;
    answer.status = 101;
    answer.headers = std::move(headers);
    input = std::move(on_data);
  }
  void pause_input(bool pause) override { paused = pause; }

  // Lets go of those who wait for something: they hold the writer, too.
  void hang_up() { input = {}, drained = {}, closed = {}; }

  // The lines of a watch so far, parsed.
  std::vector<json::Value> events() const {
    std::vector<json::Value> found;
    std::string_view rest = answer.body;
    while (!rest.empty()) {
      std::size_t line = rest.find('\n');
      Result<json::Value> event = json::parse(rest.substr(0, line));
      EXPECT_TRUE(event.has_value()) << rest.substr(0, line);
      if (event) found.push_back(std::move(*event));
      rest.remove_prefix(line == std::string_view::npos ? rest.size() : line + 1);
    }
    return found;
  }

  net::Response answer;
  bool answered = false, ended = false, paused = false;
  std::function<void(std::string_view)> input;  // after an upgrade
  std::size_t pending = 0;
  std::size_t tail_bytes = 0;  // of the body, made while it was sent
  std::function<void()> drained, closed;
};

// The writers of a server's requests; those that are left at its end lose their connection.
class FakeConnections {
 public:
  FakeConnections() = default;
  FakeConnections(const FakeConnections&) = delete;
  FakeConnections& operator=(const FakeConnections&) = delete;
  ~FakeConnections() { hang_up(); }

  std::shared_ptr<FakeWriter> open() {
    if (writers_.size() ==
        writers_.capacity())  // make room: there may be millions one after the other
      std::erase_if(writers_, [](const std::weak_ptr<FakeWriter>& one) { return one.expired(); });
    auto writer = std::make_shared<FakeWriter>();
    writers_.push_back(writer);
    return writer;
  }
  void hang_up() {
    for (const std::weak_ptr<FakeWriter>& one : std::exchange(writers_, {}))
      if (std::shared_ptr<FakeWriter> writer = one.lock()) writer->hang_up();
  }

 private:
  std::vector<std::weak_ptr<FakeWriter>> writers_;
};

struct Reply {
  int status = 0;
  net::Headers headers;
  json::Value body;
  std::string text;
  std::string message() const { return std::string(json::string_at(body, {"message"})); }
  std::string reason() const { return std::string(json::string_at(body, {"reason"})); }
  std::string at(std::initializer_list<std::string_view> path) const {
    return std::string(json::string_at(body, path));
  }
};

class ServerFixture : public ::testing::Test {
 protected:
  explicit ServerFixture(std::vector<kube::AdmissionStep> steps = {})
      : committer(simulation.add("committer")),
        background(simulation.add("background")),
        loop(simulation.add("apiserver")),
        caller(simulation.add("caller")) {
    open(std::move(steps));
    bootstrap();
  }

  void open(std::vector<kube::AdmissionStep> steps = {}) {
    Result<std::unique_ptr<store::Store>> opened =
        store::Store::open(store_options, disk, committer, background, attach_header);
    ASSERT_TRUE(opened.has_value());
    store = std::move(*opened);
    restart([&](Options& options) { options.admission = std::move(steps); });
  }
  // A server with other options over the same store.
  void restart(const std::function<void(Options&)>& change) {
    server.reset();
    Options options;
    options.store = store.get();
    options.loop = &loop;
    options.clock = &simulation.clock();
    options.rng = &simulation.rng();
    options.node_reports = node_reports;
    if (!service_range.empty()) options.service_cidr = service_range;
    options.advertise_address = advertise_address;
    options.auth.admin_token = "secret";
    options.auth.signing_key_pem = signing_key;
    options.auth.root_ca_pem = "the root";
    change(options);
    Result<std::unique_ptr<ApiServer>> made = ApiServer::create(std::move(options));
    ASSERT_TRUE(made.has_value()) << made.error().message;
    server = std::move(*made);
  }
  void bootstrap() {
    bool done = false;
    server->bootstrap([&](Result<void> result) {
      EXPECT_TRUE(result.has_value()) << (result ? "" : result.error().message);
      done = true;
    });
    simulation.run_until_idle();
    ASSERT_TRUE(done);
  }

  std::shared_ptr<FakeWriter> send(std::string method, std::string target, std::string body = {},
                                   std::vector<std::pair<std::string, std::string>> headers = {}) {
    std::shared_ptr<FakeWriter> writer =
        begin(std::move(method), std::move(target), std::move(body), std::move(headers));
    simulation.run_until_idle();
    return writer;
  }
  // The request does not run yet: several that begin see the same state.
  std::shared_ptr<FakeWriter> begin(std::string method, std::string target, std::string body = {},
                                    std::vector<std::pair<std::string, std::string>> headers = {}) {
    net::Request request;
    request.method = std::move(method);
    std::size_t mark = target.find('?');
    request.path = net::url_decode(target.substr(0, mark));
    if (mark != std::string::npos) request.query = net::Query::parse(target.substr(mark + 1));
    request.body = std::move(body);
    bool authorized = false;
    for (auto& [name, value] : headers) {
      authorized |= name == "Authorization";
      if (!value.empty()) request.headers.add(name, value);
    }
    if (!authorized) request.headers.add("Authorization", "Bearer secret");
    request.headers.add("User-Agent", "test-agent/1.0");
    std::shared_ptr<FakeWriter> writer = connections.open();
    server->handler()(std::move(request), writer);
    return writer;
  }

  Reply call(std::string method, std::string target, std::string body = {},
             std::vector<std::pair<std::string, std::string>> headers = {}) {
    std::shared_ptr<FakeWriter> writer =
        send(std::move(method), std::move(target), std::move(body), std::move(headers));
    EXPECT_TRUE(writer->answered);
    Reply reply{writer->answer.status, writer->answer.headers, nullptr, writer->answer.body};
    if (Result<json::Value> parsed = json::parse(writer->answer.body))
      reply.body = std::move(*parsed);
    return reply;
  }
  Reply patch(const std::string& target, const std::string& body,
              const std::string& kind = "merge-patch") {
    return call("PATCH", target, body, {{"Content-Type", "application/" + kind + "+json"}});
  }

  static std::string config_map(const std::string& name, const std::string& more = "") {
    return R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":")" + name + "\"" + more +
           R"(},"data":{"a":"1"}})";
  }
  static std::string pod(const std::string& name, const std::string& spec = "") {
    return R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + name +
           R"("},"spec":{"containers":[{"name":"c","image":"busybox"}])" + spec + "}}";
  }

  static constexpr const char* kMaps = "/api/v1/namespaces/default/configmaps";
  static constexpr const char* kPods = "/api/v1/namespaces/default/pods";

  std::string signing_key = make_signing_key().value_or("");
  bool node_reports = false;  // of the next open()
  std::string service_range;  // of the next open(); empty: the default
  store::Options store_options{.write_ahead_bytes = 0};
  std::string advertise_address = "127.0.0.1";
  sim::Simulation simulation{1};
  sim::SimExecutor &committer, &background, &loop, &caller;
  sim::SimDisk disk{1};
  std::unique_ptr<store::Store> store;
  std::unique_ptr<ApiServer> server;
  FakeConnections connections;
};

}  // namespace hekla::apiserver
