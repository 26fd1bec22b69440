// Routes of the apps against a Kubernetes API that answers from a table.
#include "dashboard/apps/app.h"

#include <gtest/gtest.h>

#include <map>

#include "dashboard/apps/capture.h"
#include "json/parse.h"

namespace hekla::dashboard {
namespace {

struct Answer {
  int status = 0;
  std::string text;
};

// The API server: "GET /api/v1/..." to its answer. What is not there is 404.
struct Api {
  std::map<std::string, Answer> answers;
  std::vector<std::string> bodies;  // of what was asked
  std::vector<std::string> asked;   // with " as USER" where it was not the platform itself

  ApiDoor door() {
    return [this](const net::Request& request, const std::shared_ptr<net::ResponseWriter>& writer) {
      const std::string line = request.method + " " + request.target;
      const std::string_view user = request.headers.get("Impersonate-User");
      bodies.push_back(request.body);
      asked.push_back(user.empty() ? line : line + " as " + std::string(user));
      auto found = answers.find(line);
      const Answer answer =
          found != answers.end()
              ? found->second
              : Answer{404, R"({"kind":"Status","message":"not found","code":404})"};
      net::Response response;
      response.status = answer.status;
      response.body = answer.text;
      writer->respond(std::move(response));
    };
  }
  void allow_everything() {
    answers["POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews"] = {
        201, R"({"status":{"allowed":true}})"};
  }
  bool was_asked(std::string_view line) const {
    return std::ranges::any_of(asked,
                               [&](const std::string& one) { return one.starts_with(line); });
  }
};

struct Reply {
  int status = 0;
  std::string text;
  std::string log() const {
    Result<json::Value> body = json::parse(text);
    return body ? json::text_at(*body, {"log"}) : text;
  }
};

Reply send(Api& api, std::span<const AppRoute> routes, std::string_view prefix, std::string method,
           std::string path, std::string body = "", std::string type = "application/json") {
  Reply out;
  kube::WebExchange exchange;
  exchange.request.method = std::move(method);
  exchange.request.path = path.substr(0, path.find('?'));
  exchange.request.target = path;
  if (const std::size_t at = path.find('?'); at != std::string::npos)
    exchange.request.query = net::Query::parse(path.substr(at + 1));
  if (!body.empty()) exchange.request.headers.add("Content-Type", type);
  exchange.request.body = std::move(body);
  exchange.user.name = "user@example.com";
  exchange.writer = std::make_shared<Capture>([&](int status, std::string text) {
    out.status = status;
    out.text = std::move(text);
  });
  auto call = std::make_shared<AppCall>(std::move(exchange), api.door(), real_clock());
  if (!run_route(routes, prefix, call)) out.status = -1;
  return out;
}
Reply jupyter(Api& api, std::string method, const std::string& path, std::string body = "") {
  return send(api, jupyter_routes(), "/jupyter", std::move(method), "/jupyter" + path,
              std::move(body));
}
Reply kfam(Api& api, std::string method, const std::string& path, std::string body = "") {
  return send(api, kfam_routes(), "/kfam", std::move(method), "/kfam" + path, std::move(body));
}

constexpr const char* kList = "GET /apis/kubeflow.org/v1/namespaces/a/notebooks";
constexpr const char* kOne = "GET /apis/kubeflow.org/v1/namespaces/a/notebooks/nb";

TEST(JupyterApp, ListsAsTheVisitorInUpstreamsEnvelope) {
  Api api;
  api.answers[kList] = {200, R"({"items":[{"metadata":{"name":"nb","namespace":"a"},
    "status":{"readyReplicas":1,"containerState":{"running":{}},"conditions":[]}}]})"};
  const Reply reply = jupyter(api, "GET", "/api/namespaces/a/notebooks");
  EXPECT_EQ(reply.status, 200);
  Result<json::Value> body = json::parse(reply.text);
  ASSERT_TRUE(body);
  EXPECT_EQ(json::int_at(*body, {"status"}), 200);
  EXPECT_TRUE(json::bool_at(*body, {"success"}));
  EXPECT_EQ(json::text_at(*body, {"user"}), "user@example.com");
  const json::Array* rows = json::array_at(*body, {"notebooks"});
  ASSERT_TRUE(rows && rows->size() == 1);
  EXPECT_EQ(json::text_at(rows->front(), {"status", "phase"}), "ready");
  EXPECT_EQ(api.asked.front(), std::string(kList) + " as user@example.com");
}

TEST(JupyterApp, RefusesInUpstreamsWords) {
  Api api;
  api.answers[kList] = {403, R"({"message":"notebooks.kubeflow.org is forbidden: User \"u\" x"})"};
  Reply reply = jupyter(api, "GET", "/api/namespaces/a/notebooks");
  EXPECT_EQ(reply.status, 403);
  EXPECT_EQ(reply.log(),
            "User 'user@example.com' is not authorized to list kubeflow.org/v1/notebooks in "
            "namespace 'a'");
  reply = jupyter(api, "GET", "/api/namespaces/a/notebooks/nb");
  EXPECT_EQ(reply.status, 404);
  EXPECT_EQ(reply.log(), "The requested resource could not be found in the API Server");
  api.answers["GET /api/v1/namespaces/a/pods?labelSelector=notebook-name%3Dnb"] = {
      200, R"({"items":[]})"};
  reply = jupyter(api, "GET", "/api/namespaces/a/notebooks/nb/pod");
  EXPECT_EQ(reply.status, 404);
  EXPECT_EQ(reply.log(), "No pod detected.");
}

TEST(JupyterApp, WantsJson) {
  Api api;
  Reply reply =
      send(api, jupyter_routes(), "/jupyter", "POST", "/jupyter/api/namespaces/a/notebooks",
           "name=x", "application/x-www-form-urlencoded");
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(reply.log(), "Request is not in JSON format.");
  EXPECT_EQ(jupyter(api, "POST", "/api/namespaces/a/notebooks", "[").status, 400);
  EXPECT_TRUE(api.asked.empty());
}

TEST(JupyterApp, StopsOnce) {
  Api api;
  api.answers[kOne] = {200, R"({"metadata":{"name":"nb"}})"};
  api.answers["PATCH /apis/kubeflow.org/v1/namespaces/a/notebooks/nb"] = {200, "{}"};
  EXPECT_EQ(jupyter(api, "PATCH", "/api/namespaces/a/notebooks/nb", R"({"stopped":true})").status,
            200);
  EXPECT_TRUE(api.was_asked("PATCH "));
  api.answers[kOne] = {200, R"({"metadata":{"annotations":{"kubeflow-resource-stopped":"t"}}})"};
  const Reply again =
      jupyter(api, "PATCH", "/api/namespaces/a/notebooks/nb", R"({"stopped":true})");
  EXPECT_EQ(again.status, 409);
  EXPECT_EQ(again.log(), "Notebook a/nb is already stopped.");
  EXPECT_EQ(jupyter(api, "PATCH", "/api/namespaces/a/notebooks/nb", "{}").status, 400);
}

TEST(VolumesApp, KeepsAVolumeThatPodsUse) {
  Api api;
  const auto pods = [](std::string_view part_of) {
    return R"({"items":[{"metadata":{"name":"p","labels":{"app.kubernetes.io/part-of":")" +
           std::string(part_of) +
           R"("}},"spec":{"volumes":[{"persistentVolumeClaim":{"claimName":"v"}}]}}]})";
  };
  api.answers["GET /api/v1/namespaces/a/pods"] = {200, pods("x")};
  api.answers["DELETE /api/v1/namespaces/a/persistentvolumeclaims/v?propagationPolicy=Background"] =
      {200, "{}"};
  const auto remove = [&] {
    return send(api, volumes_routes(), "/volumes", "DELETE", "/volumes/api/namespaces/a/pvcs/v");
  };
  EXPECT_EQ(remove().status, 409);
  EXPECT_FALSE(api.was_asked("DELETE"));
  api.answers["GET /api/v1/namespaces/a/pods"] = {200, pods("pvc-viewer")};
  EXPECT_EQ(remove().status, 200);
}

TEST(VolumesApp, NamesTheMissingParameter) {
  Api api;
  const Reply reply = send(api, volumes_routes(), "/volumes", "POST",
                           "/volumes/api/namespaces/a/pvcs", R"({"name":"v","mode":"x"})");
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(reply.log(), "Parameter 'class' is missing from the request's body.");
}

TEST(TensorboardsApp, ConfigurationsAreAList) {
  Api api;
  EXPECT_EQ(send(api, tensorboards_routes(), "/tensorboards", "POST",
                 "/tensorboards/api/namespaces/a/tensorboards",
                 R"({"name":"t","logspath":"pvc://v/logs","configurations":"x"})")
                .status,
            400);
}

constexpr const char* kBinding =
    R"({"user":{"kind":"User","name":"b@example.com"},"referredNamespace":"mine",)"
    R"("RoleRef":{"kind":"ClusterRole","name":"edit"}})";
constexpr const char* kBind =
    "POST /apis/rbac.authorization.k8s.io/v1/namespaces/mine/rolebindings";

TEST(Kfam, OnlyAnOwnerBinds) {
  Api api;
  api.answers[kBind] = {201, "{}"};
  EXPECT_EQ(kfam(api, "POST", "/v1/bindings", kBinding).status, 403);
  EXPECT_FALSE(api.was_asked(kBind));
  api.answers["GET /apis/kubeflow.org/v1/profiles/mine"] = {
      200, R"({"spec":{"owner":{"kind":"User","name":"user@example.com"}}})"};
  api.answers["GET /api/v1/namespaces/mine"] = {
      200, R"({"metadata":{"annotations":{"owner":"user@example.com"}}})"};
  EXPECT_EQ(kfam(api, "POST", "/v1/bindings", kBinding).status, 200);
  EXPECT_TRUE(api.was_asked(kBind));
}

TEST(Kfam, OnlyTheThreeRolesAreBound) {
  Api api;
  api.allow_everything();
  api.answers[kBind] = {201, "{}"};
  for (const char* role : {"cluster-admin", "kubeflow-owner", "system:masters", "", "owner"}) {
    const Reply refused = kfam(api, "POST", "/v1/bindings",
                               std::string(R"({"user":{"kind":"User","name":"b@example.com"},)"
                                           R"("referredNamespace":"mine","RoleRef":)"
                                           R"({"kind":"ClusterRole","name":")") +
                                   role + R"("}})");
    EXPECT_EQ(refused.status, 403) << role;
  }
  EXPECT_FALSE(api.was_asked(kBind));
}

TEST(Kfam, NamesThatLookTheSameAreBoundApart) {
  const std::string name = "user-b-example-com-clusterrole-edit";
  const auto bind = [&](const std::string& there) {
    Api api;
    api.allow_everything();
    api.answers[kBind] = {409, R"({"message":"already exists"})"};
    api.answers["GET /apis/rbac.authorization.k8s.io/v1/namespaces/mine/rolebindings/" + name] = {
        200, R"({"metadata":{"annotations":{"user":")" + there + R"(","role":"edit"}}})"};
    EXPECT_EQ(kfam(api, "POST", "/v1/bindings", kBinding).status, 403);
    std::vector<std::string> names;
    for (std::size_t i = 0; i < api.asked.size(); ++i)
      if (api.asked[i].starts_with(kBind))
        names.push_back(json::text_at(json::parse(api.bodies[i]).value(), {"metadata", "name"}));
    return names;
  };
  EXPECT_EQ(bind("b@example.com"), std::vector<std::string>{name});  // is bound already
  const std::vector<std::string> apart = bind("b.example@com");
  ASSERT_EQ(apart.size(), 2u);
  EXPECT_TRUE(apart[1].starts_with(name + "-")) << apart[1];
  EXPECT_EQ(apart[1].size(), name.size() + 9);
}

// Anybody can have a profile named like a namespace that was there before.
TEST(Kfam, AProfileDoesNotOpenSomebodyElsesNamespace) {
  Api api;
  api.answers[kBind] = {201, "{}"};
  api.answers["GET /apis/kubeflow.org/v1/profiles/mine"] = {
      200, R"({"spec":{"owner":{"kind":"User","name":"user@example.com"}}})"};
  for (const char* ns : {R"({"metadata":{}})", R"({"metadata":{"annotations":{"owner":"x"}}})"}) {
    api.answers["GET /api/v1/namespaces/mine"] = {200, ns};
    EXPECT_EQ(kfam(api, "POST", "/v1/bindings", kBinding).status, 403);
  }
  EXPECT_FALSE(api.was_asked(kBind));
  api.answers["POST /apis/kubeflow.org/v1/profiles"] = {201, "{}"};
  EXPECT_EQ(kfam(api, "POST", "/v1/profiles", R"({"metadata":{"name":"mine"}})").status, 403);
  EXPECT_FALSE(api.was_asked("POST /apis/kubeflow.org/v1/profiles"));
}

TEST(Kfam, ProfilesForOthersAreMadeByAdministrators) {
  Api api;
  api.answers["POST /apis/kubeflow.org/v1/profiles"] = {201, "{}"};
  const char* body = R"({"metadata":{"name":"n"},"spec":{"owner":{"name":"c@example.com"}}})";
  EXPECT_EQ(kfam(api, "POST", "/v1/profiles", body).status, 403);
  api.allow_everything();
  EXPECT_EQ(kfam(api, "POST", "/v1/profiles", body).status, 200);
  EXPECT_EQ(kfam(api, "DELETE", "/v1/profiles/other").status, 403);  // there is none
}

TEST(Kfam, AStrangerSeesNothing) {
  Api api;
  api.answers["GET /apis/rbac.authorization.k8s.io/v1/namespaces/a/rolebindings"] = {
      200, R"({"items":[{"metadata":{"name":"x","namespace":"a",)"
           R"("annotations":{"user":"b@example.com","role":"admin"}}}]})"};
  EXPECT_EQ(kfam(api, "GET", "/v1/bindings?namespace=a").text, R"({"bindings":[]})");
  EXPECT_EQ(kfam(api, "GET", "/v1/role/clusteradmin?user=b@example.com").text, "false");
  EXPECT_EQ(kfam(api, "GET", "/").text, "Hello World!");
}

TEST(Central, AnswersAsUpstream) {
  Api api;
  api.answers["GET /apis/rbac.authorization.k8s.io/v1/rolebindings"] = {
      200, R"({"items":[{"metadata":{"name":"namespaceAdmin","namespace":"mine",)"
           R"("annotations":{"user":"user@example.com","role":"admin"}}}]})"};
  const auto get = [&](const std::string& path) {
    return send(api, central_routes(), "/api", "GET", "/api" + path);
  };
  EXPECT_EQ(get("/workgroup/exists").text,
            R"({"hasAuth":true,"user":"user","hasWorkgroup":true,"registrationFlowAllowed":true})");
  Result<json::Value> info = json::parse(get("/workgroup/env-info").text);
  ASSERT_TRUE(info);
  EXPECT_EQ(json::serialize(*json::find(*info, "namespaces")),
            R"([{"user":"user@example.com","namespace":"mine","role":"owner"}])");
  EXPECT_EQ(get("/metrics").status, 405);
  EXPECT_EQ(send(api, central_routes(), "/api", "POST", "/api/workgroup/add-contributor/mine",
                 R"({"contributor":"nobody"})")
                .status,
            400);
}

}  // namespace
}  // namespace hekla::dashboard
