#include "apiserver/server/aggregator.h"

#include "apiserver/server/server_fixture_test.h"

namespace hekla::apiserver {
namespace {

// Another API server, as its callers see it.
struct FakeRemote {
  bool down = false;
  std::string list = R"({"kind":"APIResourceList","groupVersion":"other.io/v1","resources":[
      {"name":"things","singularName":"thing","namespaced":true,"kind":"Thing","verbs":["get","list"],
       "shortNames":["th"]},
      {"name":"things/status","singularName":"","namespaced":true,"kind":"Thing","verbs":["get"]}]})";
  std::vector<net::ClientRequest> asked;
  std::vector<net::ClientOptions> made;
};

class FakeClient final : public net::Client {
 public:
  explicit FakeClient(FakeRemote& remote) : remote_(remote) {}
  void send(net::ClientRequest request, std::function<void(Result<net::Response>)> done) override {
    done(answer(request));
  }
  std::unique_ptr<net::StreamHandle> stream(net::ClientRequest request,
                                            net::StreamCallbacks callbacks) override {
    struct Handle final : net::StreamHandle {
      void hold(bool) override {}
      void write(std::string) override {}
      std::size_t pending_bytes() const override { return 0; }
    };
    if (Result<net::Response> response = answer(request)) {
      callbacks.on_head(response->status, response->headers);
      callbacks.on_data(response->body);
      callbacks.on_end({});
    } else {
      callbacks.on_end(std::unexpected(response.error()));
    }
    return std::make_unique<Handle>();
  }
  Result<net::Response> fetch(net::ClientRequest request) override { return answer(request); }

 private:
  Result<net::Response> answer(const net::ClientRequest& request) {
    remote_.asked.push_back(request);
    if (remote_.down) return fail(Code::unavailable, "connection refused");
    net::Response response;
    response.headers.set("Content-Type", "application/json");
    const std::string path = request.url.substr(request.url.find('/', 8));
    if (path == "/apis/other.io/v1") {
      response.body = remote_.list;
    } else if (path == "/openapi/v3") {
      response.body =
          R"({"paths":{"apis/other.io/v1":{"serverRelativeURL":"/openapi/v3/apis/other.io/v1?hash=AB%3D"}}})";
    } else {
      response.status = 418;
      response.headers.set("Location", "/elsewhere");
      response.body = R"({"path":")" + path + R"("})";
    }
    response.headers.set("Content-Length", std::to_string(response.body.size()));
    return response;
  }
  FakeRemote& remote_;
};

constexpr const char* kServices = "/apis/apiregistration.k8s.io/v1/apiservices";
constexpr const char* kAggregated =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

class AggregatorTest : public ServerFixture {
 protected:
  AggregatorTest() {
    restart([&](Options& options) {
      options.front_proxy = {"the front proxy's authority", {"certificate", "key"}};
      options.client_ca_pem = "the users' authority";
      options.remote_clients =
          [this](net::ClientOptions how) -> Result<std::unique_ptr<net::Client>> {
        remote.made.push_back(std::move(how));
        return std::make_unique<FakeClient>(remote);
      };
    });
    bootstrap();
  }
  void register_service(const std::string& more = "") {
    const Reply made = call("POST", kServices,
                            R"({"metadata":{"name":"v1.other.io"},"spec":{"group":"other.io",
        "version":"v1","groupPriorityMinimum":2000,"versionPriority":10,
        "service":{"namespace":"default","name":"s"})" +
                                more + "}}");
    ASSERT_EQ(made.status, 201) << made.text;
    settle();
  }
  void make_backend() {
    call("POST", "/api/v1/namespaces/default/services",
         R"({"metadata":{"name":"s"},"spec":{"ports":[{"name":"tls","port":443}]}})");
    call("POST", "/api/v1/namespaces/default/endpoints", R"({"metadata":{"name":"s"},"subsets":[{
        "addresses":[{"ip":"10.1.2.3"}],"ports":[{"name":"tls","port":8443}]}]})");
    settle();
  }
  void settle() { simulation.run_for(std::chrono::milliseconds(100)); }
  // "status reason: message" of the condition.
  std::string available() {
    const Reply service = call("GET", std::string(kServices) + "/v1.other.io");
    const json::Array* conditions = json::array_at(service.body, {"status", "conditions"});
    if (!conditions || conditions->empty()) return "";
    const json::Value& first = conditions->front();
    return json::text_at(first, {"status"}) + " " + json::text_at(first, {"reason"}) + ": " +
           json::text_at(first, {"message"});
  }
  // The version other.io/v1 of the aggregated document.
  json::Value discovered() {
    const Reply reply = call("GET", "/apis", "", {{"Accept", kAggregated}});
    for (const json::Value& group : *json::array_at(reply.body, {"items"}))
      if (json::string_at(group, {"metadata", "name"}) == "other.io")
        return json::array_at(group, {"versions"})->front();
    return nullptr;
  }

  FakeRemote remote;
};

TEST_F(AggregatorTest, TheConditionSaysWhatIsMissing) {
  register_service();
  EXPECT_EQ(available(), R"(False ServiceNotFound: service/s in "default" is not present)");
  call("POST", "/api/v1/namespaces/default/services",
       R"({"metadata":{"name":"s"},"spec":{"ports":[{"port":80}]}})");
  settle();
  EXPECT_EQ(available(),
            R"(False ServicePortError: service/s in "default" is not listening on port 443)");
  call("DELETE", "/api/v1/namespaces/default/services/s");
  call("POST", "/api/v1/namespaces/default/services",
       R"({"metadata":{"name":"s"},"spec":{"ports":[{"name":"tls","port":443}]}})");
  settle();
  EXPECT_EQ(available(),
            R"(False EndpointsNotFound: cannot find endpointslices for service/s in "default")");
  call("POST", "/api/v1/namespaces/default/endpoints", R"({"metadata":{"name":"s"}})");
  settle();
  EXPECT_EQ(
      available(),
      "False MissingEndpoints: endpointslices for service/s in \"default\" have no addresses with "
      "port name \"tls\"");
  EXPECT_EQ(json::string_at(discovered(), {"freshness"}), "Stale");
  const Reply refused = call("GET", "/apis/other.io/v1/things");
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.text, "service unavailable\n");
  EXPECT_TRUE(remote.asked.empty());
  remote.down = true;
  patch("/api/v1/namespaces/default/endpoints/s",
        R"({"subsets":[{"addresses":[{"ip":"10.1.2.3"}],"ports":[{"name":"tls","port":8443}]}]})");
  settle();
  EXPECT_EQ(available(),
            "False FailedDiscoveryCheck: failing or missing response from "
            "https://10.1.2.3:8443/apis/other.io/v1: connection refused");
  remote.down = false;
  simulation.run_for(std::chrono::seconds(5));
  EXPECT_EQ(available(), "True Passed: all checks passed");
}

TEST_F(AggregatorTest, ItsKindsAreDiscovered) {
  make_backend();
  register_service();
  EXPECT_EQ(available(), "True Passed: all checks passed");
  const json::Value version = discovered();
  EXPECT_EQ(json::string_at(version, {"freshness"}), "Current");
  const json::Array* resources = json::array_at(version, {"resources"});
  ASSERT_TRUE(resources && resources->size() == 1);
  EXPECT_EQ(
      json::serialize(resources->front()),
      R"({"resource":"things","responseKind":{"group":"other.io","version":"v1","kind":"Thing"},)"
      R"("scope":"Namespaced","singularResource":"thing","verbs":["get","list"],"shortNames":["th"],)"
      R"("subresources":[{"subresource":"status","responseKind":{"group":"other.io","version":"v1",)"
      R"("kind":"Thing"},"verbs":["get"]}]})");
  EXPECT_EQ(call("GET", "/apis/other.io").at({"preferredVersion", "groupVersion"}), "other.io/v1");
  EXPECT_NE(call("GET", "/apis").text.find(R"("name":"other.io")"), std::string::npos);
  EXPECT_EQ(call("GET", "/apis/other.io/v1").at({"kind"}), "APIResourceList");
  EXPECT_EQ(call("GET", "/openapi/v3").at({"paths", "apis/other.io/v1", "serverRelativeURL"}),
            "/openapi/v3/apis/other.io/v1?hash=AB%3D");
  EXPECT_EQ(call("GET", "/openapi/v3/apis/other.io/v1?hash=AB%3D").at({"path"}),
            "/openapi/v3/apis/other.io/v1?hash=AB%3D");
  call("DELETE", std::string(kServices) + "/v1.other.io");
  settle();
  EXPECT_TRUE(discovered().is_null());
  EXPECT_EQ(call("GET", "/apis/other.io/v1/things").status, 404);
}

TEST_F(AggregatorTest, RequestsGoOnInTheNameOfWhoeverAsks) {
  make_backend();
  register_service(R"(,"caBundle":"dGhlIGF1dGhvcml0eQ==")");
  ASSERT_EQ(remote.made.size(), 1u);
  EXPECT_EQ(remote.made[0].ca_pem, "the authority");
  EXPECT_EQ(remote.made[0].tls_server_name, "s.default.svc");
  EXPECT_FALSE(remote.made[0].insecure_skip_verify);
  EXPECT_EQ(remote.made[0].certificate->certificate_pem, "certificate");
  EXPECT_TRUE(remote.made[0].open_socket) << "through the pods' network";
  const Reply reply =
      call("POST", "/apis/other.io/v1/namespaces/a%20b/things?dryRun=All", R"({"x":1})",
           {{"Authorization", "Bearer secret"},
            {"x-remote-user", "somebody else"},
            {"X-Remote-Extra-Scopes", "all"},
            {"Content-Type", "application/json"}});
  EXPECT_EQ(reply.status, 418);
  EXPECT_EQ(reply.at({"path"}), "/apis/other.io/v1/namespaces/a%20b/things?dryRun=All");
  EXPECT_EQ(reply.headers.get("Location"), "/elsewhere");
  const net::ClientRequest& sent = remote.asked.back();
  EXPECT_EQ(sent.method, "POST");
  EXPECT_EQ(sent.body, R"({"x":1})");
  EXPECT_EQ(sent.headers.get_all("X-Remote-User"),
            std::vector<std::string_view>{"kubernetes-admin"});
  EXPECT_EQ(sent.headers.get_all("X-Remote-Group"),
            (std::vector<std::string_view>{"system:masters", "system:authenticated"}));
  EXPECT_FALSE(sent.headers.has("X-Remote-Extra-Scopes"));
  EXPECT_FALSE(sent.headers.has("Authorization"));
  const std::size_t before = remote.asked.size();
  EXPECT_EQ(call("GET", "/apis/other.io/v1/things", "", {{"Authorization", ""}}).status, 403);
  EXPECT_EQ(remote.asked.size(), before) << "what RBAC denies goes no further";
}

TEST_F(AggregatorTest, WhatIsServedHereStaysHere) {
  make_backend();
  const Reply local =
      patch(std::string(kServices) + "/v1.apps",
            R"({"spec":{"service":{"namespace":"default","name":"s","port":443}}})");
  ASSERT_EQ(local.status, 200) << local.text;
  settle();
  EXPECT_TRUE(remote.asked.empty());
  EXPECT_EQ(call("GET", "/apis/apps/v1/deployments").status, 200);
}

TEST_F(AggregatorTest, OneMissedAnswerIsForgivenAndOthersConditionsStay) {
  make_backend();
  register_service();
  patch(std::string(kServices) + "/v1.other.io/status",
        R"({"status":{"conditions":[{"type":"Available","status":"False","reason":"Forged"},
            {"type":"Other","status":"True","reason":"Mine"}]}})");
  settle();
  EXPECT_EQ(available(), "True Passed: all checks passed");
  EXPECT_NE(call("GET", std::string(kServices) + "/v1.other.io").text.find("Mine"),
            std::string::npos);
  const std::size_t before = remote.asked.size();
  remote.down = true;
  for (int i = 0; i < 400 && remote.asked.size() == before; ++i) settle();
  remote.down = false;
  settle();
  EXPECT_EQ(available(), "True Passed: all checks passed");
  remote.down = true;
  simulation.run_for(std::chrono::seconds(40));
  EXPECT_TRUE(available().starts_with("False FailedDiscoveryCheck")) << available();
  EXPECT_EQ(json::array_at(discovered(), {"resources"})->size(), 1u) << "what it last said";
}

TEST_F(AggregatorTest, AnExternalNameIsReachedFromTheHost) {
  call(
      "POST", "/api/v1/namespaces/default/services",
      R"({"metadata":{"name":"s"},"spec":{"type":"ExternalName","externalName":"api.example.org"}})");
  register_service(R"(,"insecureSkipTLSVerify":true)");
  ASSERT_EQ(remote.made.size(), 1u);
  EXPECT_FALSE(remote.made[0].open_socket);
  EXPECT_TRUE(remote.made[0].insecure_skip_verify);
  EXPECT_TRUE(remote.asked.front().url.starts_with("https://api.example.org:443/"));
}

TEST_F(AggregatorTest, OthersLearnWhomToBelieve) {
  const Reply map =
      call("GET", "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication");
  EXPECT_EQ(map.at({"data", "requestheader-client-ca-file"}), "the front proxy's authority");
  EXPECT_EQ(map.at({"data", "client-ca-file"}), "the users' authority");
  EXPECT_EQ(map.at({"data", "requestheader-allowed-names"}), R"(["front-proxy-client"])");
}

TEST_F(AggregatorTest, AnApiServiceIsChecked) {
  const auto refusal = [&](const std::string& spec) {
    return call("POST", kServices, R"({"metadata":{"name":"v1.other.io"},"spec":)" + spec + "}")
        .message();
  };
  EXPECT_EQ(
      refusal(
          R"({"group":"x.io","version":"v1","groupPriorityMinimum":20001,"versionPriority":1001})"),
      "APIService.apiregistration.k8s.io \"v1.other.io\" is invalid: [metadata.name: Invalid "
      "value: "
      "\"v1.other.io\": must be `spec.version+\".\"+spec.group`: \"v1.x.io\", "
      "spec.groupPriorityMinimum: Invalid "
      "value: 20001: must be positive and less than 20000, spec.versionPriority: Invalid value: "
      "1001: must be "
      "positive and less than 1000]");
  EXPECT_EQ(
      refusal(R"({"group":"other.io","version":"v1","groupPriorityMinimum":1,"versionPriority":1,
                        "caBundle":"eA==","insecureSkipTLSVerify":true,"service":{"name":"s","port":0}})"),
      "APIService.apiregistration.k8s.io \"v1.other.io\" is invalid: [spec.service.namespace: "
      "Required value, "
      "spec.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, "
      "inclusive, "
      "spec.insecureSkipTLSVerify: Invalid value: true: may not be true if caBundle is present]");
}

}  // namespace
}  // namespace hekla::apiserver
