#include <gtest/gtest.h>

#include "admission/webhook_certificate.h"
#include "admission/webhook_server.h"
#include "base/bytes.h"
#include "base/certificate.h"
#include "json/parse.h"
#include "json/patch.h"
#include "support/fake_client.h"
#include "support/sim_executor.h"

namespace hekla::admission {
namespace {

using namespace std::chrono_literals;
namespace resources = kube::resources;

json::Value yaml(const std::string& text) { return json::parse_yaml(text)->front().value; }

// Keeps the answer of one request.
class Answer final : public net::ResponseWriter {
 public:
  void respond(net::Response response) override { got = std::move(response); }
  void begin(int, net::Headers) override {}
  using ResponseWriter::write;
  void write(net::SharedBytes) override {}
  void end() override {}
  void abort() override {}
  std::size_t pending_bytes() const override { return 0; }
  void on_drained(std::function<void()>) override {}
  void on_closed(std::function<void()>) override {}
  bool is_closed() const override { return false; }
  void upgrade(net::Headers, std::function<void(std::string_view)>) override {}
  void pause_input(bool) override {}
  std::optional<net::Response> got;
};

class WebhookTest : public ::testing::Test {
 protected:
  WebhookTest() : client_(api_, simulation_.add("webhook")) {
    add(resources::queues, "{metadata: {name: default}, status: {state: Open}}");
    auto all = all_steps();
    steps_.assign(all.begin(), all.end());
  }
  void add(const kube::Resource& resource, const std::string& text) {
    ASSERT_TRUE(api_.create(resource, yaml(text)));
  }
  net::Response post(WebhookServer& server, const std::string& path, std::string body,
                     const std::string& method = "POST") {
    auto answer = std::make_shared<Answer>();
    net::Request request;
    request.method = method;
    request.path = path;
    request.body = std::move(body);
    server.handler()(std::move(request), answer);
    EXPECT_TRUE(simulation_.run_until_idle(10'000));
    EXPECT_TRUE(answer->got);
    return answer->got.value_or(net::Response{});
  }
  static std::string review(const std::string& object, const std::string& operation = "CREATE") {
    return json::serialize(json::Object{
        {"apiVersion", "admission.k8s.io/v1"},
        {"kind", "AdmissionReview"},
        {"request", json::Object{{"uid", "u-1"},
                                 {"operation", operation},
                                 {"kind", json::Object{{"kind", "Job"}}},
                                 {"resource", json::Object{{"group", "batch.volcano.sh"},
                                                           {"version", "v1alpha1"},
                                                           {"resource", "jobs"}}},
                                 {"namespace", "default"},
                                 {"name", "j"},
                                 {"object", yaml(object)}}}});
  }
  static json::Value response_of(const net::Response& answer) {
    EXPECT_EQ(answer.status, 200) << answer.body;
    Result<json::Value> parsed = json::parse(answer.body);
    return *json::find(*parsed, "response");
  }

  sim::Simulation simulation_{1};
  test::FakeApi api_{simulation_.clock()};
  test::FakeClient client_;
  std::vector<const Step*> steps_;
};

const std::string kJob =
    "{metadata: {name: j}, spec: {queue: %, tasks: [{name: t, replicas: 1, template: {spec: "
    "{containers: [{name: c, image: i}]}}}]}}";

std::string job_in(const std::string& queue) {
  std::string text = kJob;
  return text.replace(text.find('%'), 1, queue);
}

TEST_F(WebhookTest, MutationsAreJsonPatches) {
  WebhookServer server(client_, {}, steps_);
  server.start();
  ASSERT_TRUE(simulation_.run_until_idle(10'000));
  json::Value response = response_of(post(server, "/jobs/mutate", review(job_in("default"))));
  EXPECT_EQ(json::string_at(response, {"uid"}), "u-1");
  EXPECT_TRUE(json::bool_at(response, {"allowed"}));
  EXPECT_EQ(json::string_at(response, {"patchType"}), "JSONPatch");
  std::optional<std::string> patch = base64_decode(json::string_at(response, {"patch"}));
  ASSERT_TRUE(patch);
  json::Value job = yaml(job_in("default"));
  ASSERT_TRUE(json::apply_json_patch(job, *json::parse(*patch)));
  EXPECT_EQ(json::string_at(job, {"spec", "schedulerName"}), "volcano");
  EXPECT_EQ(json::int_at(job, {"spec", "minAvailable"}), 1);
}

TEST_F(WebhookTest, DenialsAndWarningsAreAnswers) {
  WebhookServer server(client_, {}, steps_);
  server.start();
  ASSERT_TRUE(simulation_.run_until_idle(10'000));
  json::Value response =
      response_of(post(server, "/jobs/validate", review("{metadata: {name: j}}")));
  EXPECT_FALSE(json::bool_at(response, {"allowed"}));
  EXPECT_EQ(json::string_at(response, {"status", "message"}), "No task specified in job spec");
  EXPECT_EQ(json::int_at(response, {"status", "code"}), 400);
  response = response_of(post(server, "/jobs/validate",
                              review("{metadata: {name: j}, spec: {queue: default, volumes: "
                                     "[{mountPath: /a, volumeClaimName: c, "
                                     "volumeClaim: {}}], tasks: [{name: t, replicas: 1, template: "
                                     "{spec: {containers: [{name: c, "
                                     "image: i}]}}}]}}")));
  EXPECT_TRUE(json::bool_at(response, {"allowed"}));
  EXPECT_EQ(json::array_at(response, {"warnings"})->size(), 1u);
}

TEST_F(WebhookTest, AQueueTheCacheHasNotSeenIsAskedForOnce) {
  WebhookServer server(client_, {}, steps_);
  server.start();
  ASSERT_TRUE(simulation_.run_until_idle(10'000));
  EXPECT_EQ(json::string_at(response_of(post(server, "/jobs/validate", review(job_in("late")))),
                            {"status", "message"}),
            "unable to find job queue: queue.scheduling.volcano.sh \"late\" not found;");
  add(resources::queues, "{metadata: {name: late}}");  // its watch event is still under way
  EXPECT_TRUE(json::bool_at(response_of(post(server, "/jobs/validate", review(job_in("late")))),
                            {"allowed"}));
}

TEST_F(WebhookTest, WhatIsNoReviewIsRefused) {
  WebhookServer server(client_, {}, {step_at("/jobs/validate")});
  EXPECT_EQ(post(server, "/jobs/validate", review(job_in("default"))).status, 503);
  server.start();
  ASSERT_TRUE(simulation_.run_until_idle(10'000));
  EXPECT_EQ(post(server, "/jobs/mutate", review(job_in("default"))).status, 404);
  EXPECT_EQ(post(server, "/jobs/validate", "", "GET").status, 405);
  EXPECT_EQ(post(server, "/jobs/validate", "{").status, 400);
  EXPECT_EQ(post(server, "/jobs/validate", "{}").status, 400);
  EXPECT_EQ(post(server, "/jobs/validate", review(job_in("default"), "CONNECT")).status, 400);
}

TEST_F(WebhookTest, PatchesNameMembersOneByOne) {
  json::Value from = yaml("{a: 1, b: {c/d: 2, e~: 3}, f: [1]}"),
              to = yaml("{b: {c/d: 4}, f: [1, 2], g: {}}");
  json::Array patch = json_patch_between(from, to);
  EXPECT_EQ(
      json::serialize(patch),
      R"([{"op":"remove","path":"/a"},{"op":"remove","path":"/b/e~0"},)"
      R"({"op":"replace","path":"/b/c~1d","value":4},{"op":"replace","path":"/f","value":[1,2]},)"
      R"({"op":"add","path":"/g","value":{}}])");
  ASSERT_TRUE(json::apply_json_patch(from, patch));
  EXPECT_TRUE(json::equal(from, to));
}

// Nobody watches runtimes and priority classes here: a review waits until they are read, one after
// the other.
TEST_F(WebhookTest, WhatIsNotWatchedIsAskedFor) {
  add(resources::cluster_training_runtimes,
      "{metadata: {name: r}, spec: {podGroupPolicy: {volcano: {}}, template: {spec: "
      "{replicatedJobs: "
      "[{name: node, template: {spec: {template: {spec: {priorityClassName: high}}}}}]}}}}");
  WebhookServer server(client_, {}, steps_);
  server.start();
  ASSERT_TRUE(simulation_.run_until_idle(10'000));
  const std::string path = "/validate-trainer-kubeflow-org-v1alpha1-trainjob";
  const json::Value asked = json::Object{
      {"kind", "AdmissionReview"},
      {"request",
       json::Object{{"operation", "CREATE"},
                    {"resource", json::Object{{"group", "trainer.kubeflow.org"},
                                              {"version", "v1alpha1"},
                                              {"resource", "trainjobs"}}},
                    {"kind", json::Object{{"kind", "TrainJob"}}},
                    {"namespace", "default"},
                    {"object", yaml("{spec: {runtimeRef: {name: r, apiGroup: trainer.kubeflow.org, "
                                    "kind: ClusterTrainingRuntime}}}")}}}};
  json::Value response = response_of(post(server, path, json::serialize(asked)));
  EXPECT_FALSE(json::bool_at(response, {"allowed"}));
  EXPECT_EQ(json::int_at(response, {"status", "code"}), 403);
  EXPECT_TRUE(json::string_at(response, {"status", "message"})
                  .starts_with("spec.templateSpec.priorityClassName: Invalid value: \"high\""));
  add(resources::priority_classes, "{metadata: {name: high}}");
  response = response_of(post(server, path, json::serialize(asked)));
  EXPECT_TRUE(json::bool_at(response, {"allowed"}));
}

TEST_F(WebhookTest, ConvertsWhatItKnows) {
  WebhookServer server(client_, {}, steps_);
  auto review = [](const std::string& objects, const std::string& version) {
    return R"({"kind":"ConversionReview","request":{"uid":"u-2","desiredAPIVersion":")" + version +
           R"(","objects":)" + json::serialize(yaml(objects)) + "}}";
  };
  json::Value response = response_of(
      post(server, "/convert",
           review("[{apiVersion: kubeflow.org/v1beta1, kind: TFJob, spec: {cleanPodPolicy: All}}, "
                  "{apiVersion: kubeflow.org/v1, kind: TFJob}]",
                  "kubeflow.org/v1")));
  EXPECT_EQ(json::string_at(response, {"uid"}), "u-2");
  EXPECT_EQ(json::string_at(response, {"result", "status"}), "Success");
  const json::Array* converted = json::array_at(response, {"convertedObjects"});
  ASSERT_TRUE(converted && converted->size() == 2);
  EXPECT_EQ(json::string_at(converted->at(0), {"apiVersion"}), "kubeflow.org/v1");
  EXPECT_EQ(json::string_at(converted->at(0), {"spec", "runPolicy", "cleanPodPolicy"}), "All");
  response = response_of(
      post(server, "/convert",
           review("[{apiVersion: kubeflow.org/v1, kind: MPIJob}]", "kubeflow.org/v2beta1")));
  EXPECT_EQ(json::string_at(response, {"result", "status"}), "Success");

  for (const char* object : {"[{apiVersion: kubeflow.org/v1, kind: TFJob}]",
                             "[{apiVersion: kubeflow.org/v1, kind: Notebook}]"}) {
    response = response_of(post(server, "/convert", review(object, "kubeflow.org/v9")));
    EXPECT_EQ(json::string_at(response, {"result", "status"}), "Failed");
    EXPECT_TRUE(json::string_at(response, {"result", "message"})
                    .starts_with("nothing here converts kubeflow.org/v1 "));
    EXPECT_FALSE(json::find(response, "convertedObjects"));
  }
  EXPECT_EQ(post(server, "/convert", "{}").status, 400);
  EXPECT_EQ(post(server, "/convert", "{").status, 400);
}

class CertificateTest : public WebhookTest {
 protected:
  WebhookCertificateOptions options() {
    WebhookCertificateOptions chosen;
    chosen.registration.url = "https://127.0.0.1:9443";
    chosen.steps = steps_;
    chosen.look_every = std::chrono::hours(24);
    return chosen;
  }
  WebhookCertificate::Serve serve() {
    return [this](const KeyPair& pair) -> Result<void> {
      served_.push_back(pair.certificate_pem);
      return {};
    };
  }
  std::string bundle() {
    const kube::Resource validating{"admissionregistration.k8s.io", "v1",
                                    "validatingwebhookconfigurations",
                                    "ValidatingWebhookConfiguration", false};
    const json::Value* found =
        api_.find(validating, {"", "volcano-admission-service-jobs-validate"});
    if (!found) return "";
    const json::Value& webhook = (*json::array_at(*found, {"webhooks"}))[0];
    EXPECT_EQ(json::string_at(webhook, {"clientConfig", "url"}),
              "https://127.0.0.1:9443/jobs/validate");
    return *base64_decode(json::string_at(webhook, {"clientConfig", "caBundle"}));
  }
  void pass(Nanos time) { ASSERT_TRUE(simulation_.run_for(time, 1'000'000)); }
  std::vector<std::string> served_;
};

TEST_F(CertificateTest, IsMadeKeptRegisteredAndRenewed) {
  WebhookCertificate certificate(client_, options(), serve());
  certificate.start();
  pass(1s);
  ASSERT_EQ(served_.size(), 1u);
  const json::Value* secret =
      api_.find(resources::secrets, {"volcano-system", "volcano-admission-secret"});
  ASSERT_TRUE(secret);
  EXPECT_EQ(*base64_decode(json::string_at(*secret, {"data", "tls.crt"})), served_[0]);
  std::string ca = bundle();
  EXPECT_EQ(*base64_decode(json::string_at(*secret, {"data", "ca.crt"})), ca);
  pass(std::chrono::hours(24 * 200));
  EXPECT_EQ(served_.size(), 1u);
  pass(std::chrono::hours(24 * 60));
  ASSERT_EQ(served_.size(), 2u);  // a third of its year is left
  EXPECT_GT(*certificate_end(served_[1]), *certificate_end(served_[0]));
  EXPECT_EQ(bundle(), ca);
}

TEST_F(CertificateTest, RegistrationsBelongToTheirOwnerAndComeBack) {
  const kube::Resource mutating{"admissionregistration.k8s.io", "v1",
                                "mutatingwebhookconfigurations", "MutatingWebhookConfiguration",
                                false};
  const kube::Key key{"", "volcano-admission-service-jobs-mutate"};
  add({"rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", false},
      "{metadata: {name: hekla-admission}}");
  WebhookCertificateOptions chosen = options();
  chosen.owner = "hekla-admission";
  WebhookCertificate certificate(client_, chosen, serve());
  certificate.start();
  pass(1s);
  const json::Value* found = api_.find(mutating, key);
  ASSERT_TRUE(found);
  const json::Array* owners = json::array_at(*found, {"metadata", "ownerReferences"});
  ASSERT_TRUE(owners && owners->size() == 1);
  EXPECT_EQ(json::string_at(owners->front(), {"name"}), "hekla-admission");
  EXPECT_NE(json::string_at(owners->front(), {"uid"}), "");
  ASSERT_TRUE(api_.remove(mutating, key));
  pass(61s);
  EXPECT_TRUE(api_.find(mutating, key));
}

TEST_F(CertificateTest, CrdsOfSeveralVersionsAskForConversion) {
  add(resources::custom_resource_definitions,
      "{metadata: {name: tfjobs.kubeflow.org}, spec: {versions: [{name: v1}, {name: v1beta1}]}}");
  add(resources::custom_resource_definitions,
      "{metadata: {name: mpijobs.kubeflow.org}, spec: {versions: [{name: v2beta1}]}}");
  WebhookCertificate certificate(client_, options(), serve());
  certificate.start();
  pass(1s);
  auto crd = [&](const char* name) {
    return *api_.find(resources::custom_resource_definitions, {"", name});
  };
  const json::Value conversion =
      *json::find_path(crd("tfjobs.kubeflow.org"), {"spec", "conversion"});
  EXPECT_EQ(json::string_at(conversion, {"strategy"}), "Webhook");
  EXPECT_EQ(json::string_at(conversion, {"webhook", "clientConfig", "url"}),
            "https://127.0.0.1:9443/convert");
  EXPECT_EQ(*base64_decode(json::string_at(conversion, {"webhook", "clientConfig", "caBundle"})),
            bundle());
  EXPECT_FALSE(json::find_path(crd("mpijobs.kubeflow.org"), {"spec", "conversion"}));
}

TEST_F(CertificateTest, CrdsStayAsTheyAreWithoutStepsForThem) {
  add(resources::custom_resource_definitions,
      "{metadata: {name: tfjobs.kubeflow.org}, spec: {versions: [{name: v1}, {name: v1beta1}]}}");
  WebhookCertificateOptions chosen = options();
  chosen.steps = {step_at("/jobs/validate")};
  WebhookCertificate certificate(client_, chosen, serve());
  certificate.start();
  pass(1s);
  EXPECT_FALSE(json::find_path(
      *api_.find(resources::custom_resource_definitions, {"", "tfjobs.kubeflow.org"}),
      {"spec", "conversion"}));
}

TEST_F(CertificateTest, StepsAboutSeveralVersionsAreAskedAboutAll) {
  auto versions = [](std::string_view path) {
    const Step* step = step_at(path);
    const json::Value body = webhook_configurations({step}, {}).at(0).body;
    const json::Value& webhook = json::array_at(body, {"webhooks"})->at(0);
    return json::serialize(*json::find(json::array_at(webhook, {"rules"})->at(0), "apiVersions"));
  };
  EXPECT_EQ(versions("/validate-kubeflow-org-v1-tfjob"), R"(["*"])");
  EXPECT_EQ(versions("/validate-kubeflow-org-v1-jaxjob"), R"(["v1"])");
}

TEST_F(CertificateTest, ReplicasServeTheSameOne) {
  WebhookCertificate one(client_, options(), serve()), other(client_, options(), serve());
  one.start();
  other.start();
  pass(1s);
  ASSERT_EQ(served_.size(), 2u);
  EXPECT_EQ(served_[0], served_[1]);
}

TEST_F(CertificateTest, ANewAuthorityIsTrustedBesideTheOldOne) {
  CertificateData first = *current_certificate({}, options(), simulation_.clock());
  pass(std::chrono::hours(24 * 365 * 9));
  CertificateData second = *current_certificate(first, options(), simulation_.clock());
  EXPECT_NE(second.ca_key_pem, first.ca_key_pem);
  EXPECT_TRUE(second.ca_pem.ends_with(first.ca_pem));
  CertificateData third = *current_certificate(second, options(), simulation_.clock());
  EXPECT_EQ(third.server.certificate_pem, second.server.certificate_pem);
}

TEST_F(CertificateTest, OneThatIsGivenIsServedAndNotKept) {
  WebhookCertificateOptions chosen = options();
  chosen.given = *current_certificate({}, options(), simulation_.clock());
  chosen.given->ca_key_pem.clear();
  WebhookCertificate certificate(client_, chosen, serve());
  certificate.start();
  pass(1s);
  EXPECT_EQ(served_, std::vector<std::string>{chosen.given->server.certificate_pem});
  EXPECT_EQ(bundle(), chosen.given->ca_pem);
  EXPECT_FALSE(api_.find(resources::secrets, {"volcano-system", "volcano-admission-secret"}));
}

}  // namespace
}  // namespace hekla::admission
