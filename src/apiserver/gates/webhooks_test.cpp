#include "apiserver/gates/webhooks.h"

#include <deque>
#include <future>

#include "apiserver/server/server_fixture_test.h"
#include "base/bytes.h"

namespace hekla::apiserver {
namespace {

// Answers from a function; calls can be held back.
class ScriptedTransport final : public WebhookTransport {
 public:
  void send(WebhookCall call, std::function<void(Result<net::Response>)> done) override {
    calls.push_back(call);
    if (hold) {
      held.emplace_back(std::move(call), std::move(done));
      return;
    }
    done(answer_to(call));
  }
  Result<net::Response> answer_to(const WebhookCall& call) {
    json::Value review = json::parse(call.body).value();
    json::Value request = *json::find(review, "request");
    Result<json::Value> response = script(request);
    if (!response) return std::unexpected(response.error());
    response->get_object()["uid"] = *json::find(request, "uid");
    json::Value answer = json::Object{{"apiVersion", "admission.k8s.io/v1"},
                                      {"kind", "AdmissionReview"},
                                      {"response", *response}};
    return net::Response{200, {}, json::serialize(answer)};
  }

  std::function<Result<json::Value>(const json::Value& request)> script = [](const json::Value&) {
    return json::Value(json::Object{{"allowed", true}});
  };
  std::vector<WebhookCall> calls;
  bool hold = false;
  std::deque<std::pair<WebhookCall, std::function<void(Result<net::Response>)>>> held;
};

json::Value patch_answer(const std::string& patch) {
  return json::Object{
      {"allowed", true}, {"patchType", "JSONPatch"}, {"patch", base64_encode(patch)}};
}

class WebhookTest : public ServerFixture {
 protected:
  WebhookTest() { server->set_webhook_transport(&transport); }

  Reply configure(const std::string& kind, const std::string& webhooks) {
    const std::string plural =
        kind == "Mutating" ? "mutatingwebhookconfigurations" : "validatingwebhookconfigurations";
    return call("POST", "/apis/admissionregistration.k8s.io/v1/" + plural,
                R"({"apiVersion":"admissionregistration.k8s.io/v1","kind":")" + kind +
                    R"(WebhookConfiguration","metadata":{"name":"c"},"webhooks":[)" + webhooks +
                    "]}");
  }
  static std::string webhook(const std::string& name, const std::string& more = "",
                             const std::string& resource = "configmaps") {
    return R"({"name":")" + name +
           R"(","sideEffects":"None","admissionReviewVersions":["v1"],"clientConfig":{"url":)"
           R"("https://127.0.0.1:9//hook"},"rules":[{"apiGroups":[""],"apiVersions":["v1"],"resources":[")" +
           resource + R"("],"operations":["CREATE","UPDATE"]}])" + more + "}";
  }

  ScriptedTransport transport;
};

TEST_F(WebhookTest, a_patch_changes_what_is_stored) {
  ASSERT_EQ(configure("Mutating", webhook("m.example.com")).status, 201);
  transport.script = [](const json::Value& request) -> Result<json::Value> {
    EXPECT_EQ(json::string_at(request, {"operation"}), "CREATE");
    EXPECT_EQ(json::string_at(request, {"object", "metadata", "name"}), "x");
    EXPECT_EQ(json::string_at(request, {"kind", "kind"}), "ConfigMap");
    json::Value answer = patch_answer(R"([{"op":"add","path":"/data/b","value":"2"}])");
    answer.get_object()["warnings"] = json::Array{"take care"};
    return answer;
  };
  Reply made = call("POST", kMaps, config_map("x"));
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_EQ(made.at({"data", "b"}), "2");
  EXPECT_NE(std::string(made.headers.get("Warning")).find("take care"), std::string::npos);
  EXPECT_EQ(transport.calls.size(), 1u);
  EXPECT_EQ(transport.calls[0].url, "https://127.0.0.1:9/hook?timeout=10s");
}

TEST_F(WebhookTest, a_denial_in_upstreams_words) {
  ASSERT_EQ(configure("Validating", webhook("v.example.com")).status, 201);
  transport.script = [](const json::Value&) -> Result<json::Value> {
    return json::parse(
        R"({"allowed":false,"status":{"message":"no","code":403,"reason":"Forbidden"}})");
  };
  Reply made = call("POST", kMaps, config_map("x"));
  EXPECT_EQ(made.status, 403);
  EXPECT_EQ(made.message(), "admission webhook \"v.example.com\" denied the request: no");
  transport.script = [](const json::Value&) {
    return json::Value(json::Object{{"allowed", false}});
  };
  made = call("POST", kMaps, config_map("x"));
  EXPECT_EQ(made.status, 400);
  EXPECT_EQ(made.message(),
            "admission webhook \"v.example.com\" denied the request without explanation");
  EXPECT_EQ(call("GET", std::string(kMaps) + "/x").status, 404);
}

TEST_F(WebhookTest, a_connection_can_be_denied) {
  ASSERT_EQ(
      configure("Validating",
                R"({"name":"v.example.com","sideEffects":"None","admissionReviewVersions":["v1"],)"
                R"("clientConfig":{"url":"https://127.0.0.1:9/hook"},"rules":[{"apiGroups":[""],)"
                R"("apiVersions":["v1"],"resources":["pods/exec"],"operations":["CONNECT"]}]})")
          .status,
      201);
  ASSERT_EQ(call("POST", kPods, pod("p")).status, 201);
  transport.script = [](const json::Value& request) -> Result<json::Value> {
    EXPECT_EQ(json::string_at(request, {"operation"}), "CONNECT");
    EXPECT_EQ(json::string_at(request, {"name"}), "p");
    EXPECT_EQ(json::string_at(request, {"kind", "kind"}), "PodExecOptions");
    EXPECT_EQ(json::string_at(request, {"resource", "resource"}), "pods");
    EXPECT_EQ(json::string_at(request, {"subResource"}), "exec");
    EXPECT_EQ(
        json::serialize(*json::find(request, "object")),
        R"({"kind":"PodExecOptions","apiVersion":"v1","stdout":true,"container":"c","command":["rm","-r"]})");
    return json::parse(
        R"({"allowed":false,"status":{"message":"no","code":403,"reason":"Forbidden"}})");
  };
  Reply denied =
      call("POST", std::string(kPods) + "/p/exec?container=c&stdout=true&command=rm&command=-r");
  EXPECT_EQ(denied.status, 403) << denied.text;
  EXPECT_EQ(denied.message(), "admission webhook \"v.example.com\" denied the request: no");
  EXPECT_EQ(transport.calls.size(), 1u);
  call("POST", std::string(kPods) + "/p/attach?container=c&stdout=true");
  EXPECT_EQ(transport.calls.size(), 1u) << "its rules name exec alone";
}

TEST_F(WebhookTest, a_scale_is_reviewed_and_changed_as_a_scale) {
  const std::string path = "/apis/apps/v1/namespaces/default/deployments";
  ASSERT_EQ(
      call("POST", path,
           R"({"metadata":{"name":"d"},"spec":{"replicas":1,"selector":{"matchLabels":{"a":"b"}},
    "template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})")
          .status,
      201);
  std::string rule = webhook("m.example.com", "", "deployments/scale");
  rule.replace(rule.find(R"("apiGroups":[""])"), 16, R"("apiGroups":["apps"])");
  ASSERT_EQ(configure("Mutating", rule).status, 201);
  transport.script = [&](const json::Value& request) -> Result<json::Value> {
    EXPECT_EQ(json::string_at(request, {"kind", "kind"}), "Scale");
    EXPECT_EQ(json::int_at(request, {"oldObject", "spec", "replicas"}), 1);
    EXPECT_EQ(json::int_at(request, {"object", "spec", "replicas"}), 9);
    return patch_answer(R"([{"op":"replace","path":"/spec/replicas","value":4}])");
  };
  Reply scaled = call("PATCH", path + "/d/scale", R"({"spec":{"replicas":9}})",
                      {{"Content-Type", "application/merge-patch+json"}});
  ASSERT_EQ(scaled.status, 200) << scaled.text;
  EXPECT_EQ(json::int_at(call("GET", path + "/d").body, {"spec", "replicas"}), 4);
  EXPECT_EQ(transport.calls.size(), 1u);
}

TEST_F(WebhookTest, bindings_and_evictions_are_reviewed_as_what_they_are) {
  ASSERT_EQ(call("POST", kPods, pod("p")).status, 201);
  ASSERT_EQ(configure("Mutating", webhook("m.example.com", "", "pods/*")).status, 201);
  std::vector<std::string> seen;
  transport.script = [&](const json::Value& request) -> Result<json::Value> {
    seen.push_back(json::text_at(request, {"resource", "resource"}) + "/" +
                   json::text_at(request, {"subResource"}) + " " +
                   json::text_at(request, {"kind", "kind"}) + " " +
                   json::text_at(request, {"requestKind", "group"}));
    if (json::string_at(request, {"subResource"}) == "eviction")
      return json::parse(R"({"allowed":false})");
    return patch_answer(R"([{"op":"replace","path":"/target/name","value":"other"}])");
  };
  Reply bound = call("POST", std::string(kPods) + "/p/binding", R"({"target":{"name":"n"}})");
  EXPECT_EQ(bound.status, 201) << bound.text;
  EXPECT_EQ(call("GET", std::string(kPods) + "/p").at({"spec", "nodeName"}), "other");
  Reply evicted = call("POST", std::string(kPods) + "/p/eviction",
                       R"({"apiVersion":"policy/v1","kind":"Eviction"})");
  EXPECT_EQ(evicted.message(),
            "admission webhook \"m.example.com\" denied the request without explanation");
  EXPECT_EQ(seen,
            (std::vector<std::string>{"pods/binding Binding ", "pods/eviction Eviction policy"}));
}

TEST_F(WebhookTest, mutating_ones_hear_of_removals) {
  std::string rule = webhook("m.example.com");
  rule.replace(rule.find(R"("CREATE","UPDATE")"), 17, R"("DELETE")");
  ASSERT_EQ(configure("Mutating", rule).status, 201);
  ASSERT_EQ(call("POST", kMaps, config_map("x")).status, 201);
  transport.script = [](const json::Value& request) -> Result<json::Value> {
    EXPECT_EQ(json::string_at(request, {"operation"}), "DELETE");
    EXPECT_TRUE(json::find(request, "object")->is_null());
    EXPECT_EQ(json::string_at(request, {"oldObject", "metadata", "name"}), "x");
    return patch_answer(R"([{"op":"add","path":"/data/b","value":"2"}])");
  };
  EXPECT_EQ(call("DELETE", std::string(kMaps) + "/x").message(),
            "Internal error occurred: admission webhook \"m.example.com\" attempted to modify the "
            "object, which is not "
            "supported for this operation");
  transport.script = [](const json::Value&) {
    return json::Value(json::Object{{"allowed", false}});
  };
  EXPECT_EQ(call("DELETE", std::string(kMaps) + "/x").status, 400);
  transport.script = [](const json::Value&) {
    return json::Value(json::Object{{"allowed", true}});
  };
  EXPECT_EQ(call("DELETE", std::string(kMaps) + "/x").status, 200);
}

TEST_F(WebhookTest, an_unreachable_webhook_fails_or_is_ignored) {
  ASSERT_EQ(configure("Validating", webhook("v.example.com")).status, 201);
  transport.script = [](const json::Value&) -> Result<json::Value> {
    return fail(Code::unavailable, "refused");
  };
  Reply made = call("POST", kMaps, config_map("x"));
  EXPECT_EQ(made.status, 500);
  EXPECT_EQ(
      made.message(),
      "Internal error occurred: failed calling webhook \"v.example.com\": failed to call webhook: "
      "Post \"https://127.0.0.1:9/hook?timeout=10s\": refused");
  const char* path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/c";
  ASSERT_EQ(call("DELETE", path).status, 200);
  ASSERT_EQ(
      configure("Validating", webhook("v.example.com", R"(,"failurePolicy":"Ignore")")).status,
      201);
  EXPECT_EQ(call("POST", kMaps, config_map("x")).status, 201);
}

TEST_F(WebhookTest, nobody_waits_for_a_slow_webhook) {
  ASSERT_EQ(
      configure("Validating", webhook("v.example.com") + "," + webhook("w.example.com")).status,
      201);
  transport.hold = true;
  std::shared_ptr<FakeWriter> slow = send("POST", kMaps,
                                          R"({"apiVersion":"v1","kind":"ConfigMap",)"
                                          R"("metadata":{"generateName":"g-"}})");
  EXPECT_FALSE(slow->answered);
  ASSERT_EQ(transport.held.size(), 2u);  // both at once
  EXPECT_EQ(call("POST", kPods, pod("p")).status, 201);
  while (!transport.held.empty()) {
    auto [asked, done] = std::move(transport.held.front());
    transport.held.pop_front();
    done(transport.answer_to(asked));
    simulation.run_until_idle();
  }
  ASSERT_TRUE(slow->answered);
  EXPECT_EQ(slow->answer.status, 201);
  // The name and uid that were judged are those that were stored.
  json::Value judged = json::parse(transport.calls[0].body).value();
  json::Value stored = json::parse(slow->answer.body).value();
  EXPECT_EQ(json::string_at(judged, {"request", "object", "metadata", "name"}),
            json::string_at(stored, {"metadata", "name"}));
  EXPECT_EQ(json::string_at(judged, {"request", "object", "metadata", "uid"}),
            json::string_at(stored, {"metadata", "uid"}));
  EXPECT_EQ(transport.calls.size(), 2u);
}

// Values that the server draws and signs by itself are the same when the answers are in and the
// write is prepared again.
TEST_F(WebhookTest, each_webhook_is_asked_once_whatever_the_server_makes_up) {
  ASSERT_EQ(configure("Mutating", webhook("m.example.com", "", "*")).status, 201);
  ASSERT_EQ(configure("Validating", webhook("v.example.com", "", "*")).status, 201);
  call("POST", "/api/v1/namespaces/default/serviceaccounts", R"({"metadata":{"name":"builder"}})");
  const std::string port = R"("ports":[{"port":80}])";
  for (
      const auto& [plural, body] : std::vector<std::pair<std::string, std::string>>{
          {"pods", pod("p")},
          {"services", R"({"metadata":{"name":"a"},"spec":{)" + port + "}}"},
          {"services", R"({"metadata":{"name":"n"},"spec":{"type":"NodePort",)" + port + "}}"},
          {"secrets",
           R"({"metadata":{"name":"t","annotations":{"kubernetes.io/service-account.name":"builder"}},)"
           R"("type":"kubernetes.io/service-account-token"})"}}) {
    transport.calls.clear();
    Reply made = call("POST", "/api/v1/namespaces/default/" + plural, body);
    EXPECT_EQ(made.status, 201) << made.text;
    EXPECT_EQ(transport.calls.size(), 2u) << plural;
    json::Value judged = json::parse(transport.calls.back().body).value();
    for (std::string_view member : {"spec", "data"}) {
      const json::Value* seen = json::find_path(judged, {"request", "object", member});
      const json::Value* stored = json::find(made.body, member);
      EXPECT_EQ(seen ? json::serialize(*seen) : "", stored ? json::serialize(*stored) : "");
    }
  }
}

TEST_F(WebhookTest, the_review_says_everything_of_the_user) {
  ASSERT_EQ(configure("Validating", webhook("v.example.com")).status, 201);
  call("POST", kMaps, config_map("x"),
       {{"Impersonate-User", "jane"},
        {"Impersonate-Group", "system:masters"},
        {"IMPERSONATE-Extra-Scopes", "a"}});
  ASSERT_EQ(transport.calls.size(), 1u);
  json::Value review = json::parse(transport.calls[0].body).value();
  EXPECT_EQ(
      json::serialize(*json::find_path(review, {"request", "userInfo"})),
      R"({"username":"jane","groups":["system:masters","system:authenticated"],"extra":{"scopes":["a"]}})");
}

TEST_F(WebhookTest, selectors_and_conditions_choose) {
  ASSERT_EQ(configure("Validating", webhook("v.example.com",
                                            R"j(,"objectSelector":{"matchLabels":{"check":"yes"}},
                        "matchConditions":[{"name":"c","expression":"!object.metadata.name.startsWith('free-')"}])j"))
                .status,
            201);
  transport.script = [](const json::Value&) {
    return json::Value(json::Object{{"allowed", false}});
  };
  EXPECT_EQ(call("POST", kMaps, config_map("a")).status, 201);
  EXPECT_EQ(call("POST", kMaps, config_map("free-b", R"(,"labels":{"check":"yes"})")).status, 201);
  EXPECT_TRUE(transport.calls.empty());
  EXPECT_EQ(call("POST", kMaps, config_map("b", R"(,"labels":{"check":"yes"})")).status, 400);
  EXPECT_EQ(call("DELETE", std::string(kMaps) + "/a").status, 200);
}

TEST_F(WebhookTest, conditions_may_ask_the_authorizer) {
  ASSERT_EQ(configure("Validating", webhook("v.example.com", R"j(,"matchConditions":[{"name":"c",
      "expression":"!authorizer.group('').resource('configmaps').namespace('default').check('free').allowed()"}])j"))
                .status,
            201);
  transport.script = [](const json::Value&) {
    return json::Value(json::Object{{"allowed", false}});
  };
  EXPECT_EQ(call("POST", kMaps, config_map("a")).status, 201) << "an administrator may do anything";
  EXPECT_TRUE(transport.calls.empty());
  const std::string roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/role";
  ASSERT_EQ(call("POST", roles + "s", R"({"metadata":{"name":"maker"},"rules":[
      {"apiGroups":[""],"resources":["configmaps"],"verbs":["create"]}]})")
                .status,
            201);
  ASSERT_EQ(call("POST", roles + "bindings", R"({"metadata":{"name":"jane"},
      "subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"jane"}],
      "roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"maker"}})")
                .status,
            201);
  EXPECT_EQ(call("POST", kMaps, config_map("b"), {{"Impersonate-User", "jane"}}).status, 400);
  EXPECT_EQ(transport.calls.size(), 1u);
}

TEST_F(WebhookTest, conditions_that_fail_go_by_the_policy) {
  auto conditions = [](const std::string& policy) {
    return webhook("v.example.com", R"j(,"failurePolicy":")j" + policy + R"j(","matchConditions":[
        {"name":"a","expression":"object.data.none == 'x'"},{"name":"b","expression":"object.x == 1"}])j");
  };
  ASSERT_EQ(configure("Validating", conditions("Fail")).status, 201);
  Reply failed = call("POST", kMaps, config_map("x"));
  EXPECT_EQ(failed.status, 403);
  EXPECT_EQ(failed.message(),
            "configmaps \"x\" is forbidden: [expression 'object.data.none == 'x'' resulted in "
            "error: no such key: "
            "none, expression 'object.x == 1' resulted in error: no such key: x]");
  EXPECT_EQ(
      call("DELETE", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/c")
          .status,
      200);
  ASSERT_EQ(configure("Validating", conditions("Ignore")).status, 201);
  EXPECT_EQ(call("POST", kMaps, config_map("x")).status, 201);
  EXPECT_TRUE(transport.calls.empty());
}

TEST_F(WebhookTest, dry_runs_and_reinvocation) {
  ASSERT_EQ(configure("Mutating", webhook("a.example.com", R"(,"reinvocationPolicy":"IfNeeded")") +
                                      "," + webhook("b.example.com"))
                .status,
            201);
  int round = 0;
  transport.script = [&](const json::Value&) {
    const std::string n = std::to_string(++round);
    return patch_answer(R"([{"op":"add","path":"/data/r)" + n + R"(","value":")" + n + R"("}])");
  };
  Reply made = call("POST", kMaps, config_map("x"));
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_EQ(round, 3);  // a, b, and a again because b changed the object
  EXPECT_EQ(made.at({"data", "r3"}), "3");
  EXPECT_EQ(call("POST", std::string(kMaps) + "?dryRun=All", config_map("y")).status, 201);
}

TEST_F(WebhookTest, hooks_of_one_name_in_two_configurations_are_each_asked) {
  ASSERT_EQ(configure("Mutating", webhook("same.example.com")).status, 201);
  ASSERT_EQ(configure("Validating", webhook("same.example.com")).status, 201);
  ASSERT_EQ(call("POST", kMaps, config_map("x")).status, 201);
  EXPECT_EQ(transport.calls.size(), 2u);
}

TEST_F(WebhookTest, a_patch_must_leave_the_object_that_was_asked_for) {
  ASSERT_EQ(configure("Mutating", webhook("m.example.com")).status, 201);
  for (const char* patch : {R"([{"op":"replace","path":"","value":5}])",
                            R"([{"op":"replace","path":"/metadata/name","value":"other"}])"}) {
    transport.script = [patch](const json::Value&) -> Result<json::Value> {
      return patch_answer(patch);
    };
    EXPECT_GE(call("POST", kMaps, config_map("x")).status, 400) << patch;
  }
  EXPECT_EQ(call("GET", std::string(kMaps) + "/other").status, 404);
}

TEST_F(WebhookTest, a_service_is_called_on_the_port_that_was_named) {
  const char* service = R"({"metadata":{"name":"hook"},"spec":{"ports":[
    {"name":"metrics","port":8080},{"name":"https","port":443,"targetPort":9443}]}})";
  const char* endpoints =
      R"({"metadata":{"name":"hook"},"subsets":[{"addresses":[{"ip":"10.1.2.3"}],
    "ports":[{"name":"metrics","port":8080},{"name":"https","port":9443}]}]})";
  ASSERT_EQ(call("POST", "/api/v1/namespaces/default/services", service).status, 201);
  ASSERT_EQ(call("POST", "/api/v1/namespaces/default/endpoints", endpoints).status, 201);
  std::string hook = webhook("v.example.com");
  const std::string url = R"("url":"https://127.0.0.1:9//hook")";
  hook.replace(hook.find(url), url.size(), R"("service":{"namespace":"default","name":"hook"})");
  ASSERT_EQ(configure("Validating", hook).status, 201);
  ASSERT_EQ(call("POST", kMaps, config_map("x")).status, 201);
  ASSERT_EQ(transport.calls.size(), 1u);
  EXPECT_TRUE(transport.calls[0].url.starts_with("https://10.1.2.3:9443/"))
      << transport.calls[0].url;
}

// A cluster IP is no address outside the pods' network: a call there would leave the machine.
TEST_F(WebhookTest, AServiceWithoutReadyEndpointsIsNotCalled) {
  const char* service = R"({"metadata":{"name":"hook"},"spec":{"ports":[{"port":443}]}})";
  Reply made = call("POST", "/api/v1/namespaces/default/services", service);
  ASSERT_TRUE(made.at({"spec", "clusterIP"}).starts_with("10.")) << made.text;
  std::string hook = webhook("v.example.com");
  const std::string url = R"("url":"https://127.0.0.1:9//hook")";
  hook.replace(hook.find(url), url.size(), R"("service":{"namespace":"default","name":"hook"})");
  ASSERT_EQ(configure("Validating", hook).status, 201);
  const std::string endpoints = "/api/v1/namespaces/default/endpoints";
  for (const char* subsets :
       {"", R"([])", R"([{"notReadyAddresses":[{"ip":"10.1.2.3"}],"ports":[{"port":9443}]}])"}) {
    if (*subsets) {
      call("DELETE", endpoints + "/hook");
      const std::string body =
          R"({"metadata":{"name":"hook"},"subsets":)" + std::string(subsets) + "}";
      ASSERT_EQ(call("POST", endpoints, body).status, 201);
    }
    const Reply refused = call("POST", kMaps, config_map("x"));
    EXPECT_EQ(refused.status, 500) << refused.text;
    EXPECT_EQ(refused.message(),
              "Internal error occurred: failed calling webhook \"v.example.com\": failed to call "
              "webhook: Post \"https://hook.default.svc:443/?timeout=10s\": no endpoints available "
              "for service \"hook\"");
  }
  EXPECT_TRUE(transport.calls.empty());
}

TEST_F(WebhookTest, SeesWhatTheClientAskedOfTheOperation) {
  std::vector<std::string> options;
  transport.script = [&](const json::Value& request) {
    options.push_back(json::serialize(*json::find(request, "options")));
    return json::Value(json::Object{{"allowed", true}});
  };
  std::string hook = webhook("w.x.io");
  hook.replace(hook.find(R"("CREATE","UPDATE")"), 17, R"("*")");
  ASSERT_EQ(configure("Validating", hook).status, 201);
  const std::string one = std::string(kMaps) + "/m";
  call("POST", std::string(kMaps) + "?fieldManager=me&fieldValidation=Strict", config_map("m"));
  call("POST", std::string(kMaps) + "?dryRun=All", config_map("n"));
  patch(one + "?fieldManager=me", R"({"data":{"b":"2"}})");
  const std::string uid = call("GET", one).at({"metadata", "uid"});
  call("DELETE", one,
       R"({"gracePeriodSeconds":5,"propagationPolicy":"Foreground","preconditions":{"uid":")" +
           uid + R"("}})");
  ASSERT_EQ(options.size(), 4u);
  EXPECT_EQ(
      options[0],
      R"({"kind":"CreateOptions","apiVersion":"meta.k8s.io/v1","fieldManager":"me","fieldValidation":"Strict"})");
  EXPECT_EQ(options[1],
            R"({"kind":"CreateOptions","apiVersion":"meta.k8s.io/v1","dryRun":["All"]})");
  EXPECT_EQ(options[2],
            R"({"kind":"UpdateOptions","apiVersion":"meta.k8s.io/v1","fieldManager":"me"})");
  EXPECT_EQ(options[3],
            R"({"kind":"DeleteOptions","apiVersion":"meta.k8s.io/v1","gracePeriodSeconds":5,)"
            R"("preconditions":{"uid":")" +
                uid + R"("},"propagationPolicy":"Foreground"})");
}

TEST(WebhookTransport, NoUrlLeadsToAPod) {
  auto transport = make_webhook_transport({}, net::OwnRanges::parse({"192.0.2.0/24"}).value());
  WebhookCall call;
  call.url = "https://192.0.2.1/review";
  std::promise<Result<net::Response>> answer;
  transport->send(std::move(call),
                  [&](Result<net::Response> response) { answer.set_value(std::move(response)); });
  Result<net::Response> refused = answer.get_future().get();
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().message.contains("192.0.2.1 is an address of pods or services"))
      << refused.error().message;
}

}  // namespace
}  // namespace hekla::apiserver
