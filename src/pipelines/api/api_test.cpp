// The API over HTTP on loopback, records in memory.
#include "pipelines/api/api.h"

#include <gtest/gtest.h>

#include <future>

#include "base/loop.h"
#include "json/parse.h"
#include "net/client.h"
#include "net/gzip.h"
#include "net/server.h"
#include "pipelines/store/run_records.h"
#include "pipelines/store/schema.h"

namespace hekla::pipelines::api {
namespace {

constexpr const char* kSpec = R"(
components:
  comp-say:
    executorLabel: exec-say
    inputDefinitions: {parameters: {n: {parameterType: NUMBER_INTEGER}}}
deploymentSpec: {executors: {exec-say: {container: {image: busybox, command: [echo]}}}}
pipelineInfo: {name: hello}
root:
  dag:
    tasks:
      say: {componentRef: {name: comp-say}, inputs: {parameters: {n: {componentInputParameter: n}}}}
  inputDefinitions: {parameters: {n: {parameterType: NUMBER_INTEGER, defaultValue: 3.0}}}
schemaVersion: 2.1.0
)";

class ApiTest : public testing::Test {
 protected:
  ApiTest() {
    records_ = records::Records::open(":memory:", store::migrations(), records_loop_).value();
    api_ = std::make_unique<Api>(
        ApiOptions{records_.get(), &loop_, &real_rng(),
                   [this](const std::vector<std::string>& ids) { touched_ += ids.size(); }});
    net::ServerOptions options;
    options.tls = false;
    options.threads = 1;
    options.router = Api::rules;
    server_ = net::Server::start(options, [this](net::Request request, auto writer) {
                api_->handle(std::move(request), std::move(writer));
              }).value();
    client_ = net::Client::make({}).value();
  }
  ~ApiTest() override {
    client_.reset();
    server_.reset();
    loop_.stop();
    records_loop_.stop();
  }

  struct Reply {
    int status = 0;
    json::Value body;
    std::string text(std::initializer_list<std::string_view> path) const {
      return json::text_at(body, path);
    }
  };
  Reply send(const std::string& method, const std::string& path, const std::string& body = "",
             const std::string& type = "application/json") {
    net::ClientRequest request;
    request.method = method;
    const std::string version = path.starts_with("/apis/") ? "" : "/apis/v2beta1";
    request.url = "http://127.0.0.1:" + std::to_string(server_->port()) + version + path;
    request.body = body;
    request.headers.add("Content-Type", type);
    Result<net::Response> got = client_->fetch(std::move(request));
    if (!got) return {0, json::Value(got.error().message)};
    return {got->status, json::parse(got->body).value()};
  }
  Reply upload(const std::string& path, const std::string& file, const std::string& content) {
    return send("POST", path,
                "--b\r\nContent-Disposition: form-data; name=\"uploadfile\"; filename=\"" + file +
                    "\"\r\nContent-Type: application/octet-stream\r\n\r\n" + content +
                    "\r\n--b--\r\n",
                "multipart/form-data; boundary=b");
  }

  Loop records_loop_{"records"}, loop_{"pipelines"};
  std::unique_ptr<records::Records> records_;
  std::unique_ptr<Api> api_;
  std::unique_ptr<net::Server> server_;
  std::unique_ptr<net::Client> client_;
  std::atomic<std::size_t> touched_ = 0;
};

TEST_F(ApiTest, ExperimentsAreMadeFoundArchivedAndDeleted) {
  EXPECT_EQ(json::serialize(send("GET", "/experiments").body), "{}");
  const Reply made = send("POST", "/experiments", R"({"display_name": "ex", "namespace": ""})");
  ASSERT_EQ(made.status, 200);
  const std::string id = made.text({"experiment_id"});
  EXPECT_EQ(made.text({"storage_state"}), "AVAILABLE");
  EXPECT_EQ(made.text({"last_run_created_at"}), "1970-01-01T00:00:00Z");
  // As the SDK asks: spaces as +, the operation as a number, the value's name in camelCase.
  const Reply found =
      send("GET",
           "/experiments?filter=%7B%22predicates%22%3A+%5B%7B%22operation%22%3A+1%2C"
           "+%22key%22%3A+%22display_name%22%2C+%22stringValue%22%3A+%22ex%22%7D%5D"
           "%7D&namespace=");
  EXPECT_EQ(json::int_at(found.body, {"total_size"}), 1);
  const Reply twice = send("POST", "/experiments", R"({"display_name": "ex"})");
  EXPECT_EQ(twice.status, 409);
  EXPECT_EQ(json::int_at(twice.body, {"code"}), 6);
  EXPECT_EQ(send("POST", "/experiments/" + id + ":archive").status, 200);
  EXPECT_EQ(send("GET", "/experiments/" + id).text({"storage_state"}), "ARCHIVED");
  EXPECT_EQ(send("DELETE", "/experiments/" + id).status, 200);
  const Reply gone = send("GET", "/experiments/" + id);
  EXPECT_EQ(gone.status, 404);
  EXPECT_EQ(gone.text({"message"}), "Experiment " + id + " not found");
}

TEST_F(ApiTest, RefusesUnknownMembersAndBadQueries) {
  EXPECT_EQ(send("POST", "/experiments", R"({"display_name": "a", "colour": 1})").status, 400);
  EXPECT_EQ(send("POST", "/experiments", "{}").status, 400);
  EXPECT_EQ(send("POST", "/experiments", "nonsense").status, 400);
  EXPECT_EQ(send("GET", "/experiments?page_size=-1").status, 400);
  EXPECT_EQ(send("GET", "/experiments?sort_by=colour").status, 400);
  EXPECT_EQ(send("GET", "/experiments?page_token=x").status, 400);
  EXPECT_EQ(send("GET", "/experiments?filter=x").status, 400);
  EXPECT_EQ(send("GET", "/nothing").status, 404);
}

TEST_F(ApiTest, ListsGoOnWhereThePageEnded) {
  for (int i = 0; i < 5; ++i)
    send("POST", "/experiments", R"({"display_name": "e)" + std::to_string(i) + "\"}");
  std::string token, seen;
  int pages = 0;
  do {
    const Reply page =
        send("GET", "/experiments?page_size=2&sort_by=name+desc&page_token=" + token);
    ASSERT_EQ(page.status, 200);
    EXPECT_EQ(json::int_at(page.body, {"total_size"}), 5);
    for (const json::Value& one : *json::array_at(page.body, {"experiments"}))
      seen += json::text_at(one, {"display_name"});
    token = net::url_encode(page.text({"next_page_token"}));
    ++pages;
  } while (!token.empty() && pages < 9);
  EXPECT_EQ(seen, "e4e3e2e1e0");
  EXPECT_EQ(pages, 3);
}

TEST_F(ApiTest, PipelinesHaveVersionsAndDeleteOnlyWithoutThem) {
  const Reply made = upload("/pipelines/upload?name=p1&description=d", "p.yaml", kSpec);
  ASSERT_EQ(made.status, 200) << json::serialize(made.body);
  const std::string id = made.text({"pipeline_id"});
  EXPECT_EQ(upload("/pipelines/upload?name=p1", "p.yaml", kSpec).status, 409);
  EXPECT_EQ(upload("/pipelines/upload_version?name=v2&pipelineid=" + id, "p.yaml", kSpec).status,
            200);
  const Reply versions = send("GET", "/pipelines/" + id + "/versions");
  ASSERT_EQ(json::int_at(versions.body, {"total_size"}), 2);
  const json::Array& all = *json::array_at(versions.body, {"pipeline_versions"});
  EXPECT_EQ(json::string_at(all[0], {"pipeline_spec", "pipelineInfo", "name"}), "hello");
  EXPECT_EQ(send("GET", "/pipelines/names/p1").text({"pipeline_id"}), id);
  EXPECT_EQ(send("DELETE", "/pipelines/" + id).status, 400);
  for (const json::Value& one : all)
    EXPECT_EQ(send("DELETE",
                   "/pipelines/" + id + "/versions/" + json::text_at(one, {"pipeline_version_id"}))
                  .status,
              200);
  EXPECT_EQ(send("DELETE", "/pipelines/" + id).status, 200);
}

TEST_F(ApiTest, TakesArchivesAndRefusesWhatIsNone) {
  std::string tar(512, '\0');
  const std::string spec = kSpec;
  std::memcpy(tar.data(), "dir/x.yaml", 10);
  std::snprintf(tar.data() + 124, 12, "%011o", static_cast<unsigned>(spec.size()));
  tar[156] = '0';
  tar += spec;
  tar.resize((tar.size() + 511) / 512 * 512 + 1024);
  EXPECT_EQ(upload("/pipelines/upload?name=t", "p.tar.gz", net::gzip_compress(tar)).status, 200);
  const Reply bad = upload("/pipelines/upload?name=u", "p.png", "picture");
  EXPECT_EQ(bad.status, 400);
  EXPECT_NE(bad.text({"error_message"}), "");
  EXPECT_EQ(upload("/pipelines/upload?name=v", "p.zip", "PK\3\4nothing").status, 400);
  EXPECT_EQ(upload("/pipelines/upload?name=w", "p.yaml", "a: 1").status, 400);
  EXPECT_EQ(upload("/pipelines/upload?name=x", "p.yaml", "").status, 400);
}

TEST_F(ApiTest, RunsAreCheckedMadeListedAndTerminated) {
  upload("/pipelines/upload?name=p1", "p.yaml", kSpec);
  const std::string pipeline = send("GET", "/pipelines/names/p1").text({"pipeline_id"});
  const std::string reference =
      R"("pipeline_version_reference": {"pipeline_id": ")" + pipeline + "\"}";
  EXPECT_EQ(send("POST", "/runs",
                 R"({"display_name": "r", "runtime_config": {"parameters": {"m": 1}}, )" +
                     reference + "}")
                .status,
            400);
  const Reply made = send(
      "POST", "/runs",
      R"({"display_name": "r", "runtime_config": {"parameters": {"n": 4}}, )" + reference + "}");
  ASSERT_EQ(made.status, 200) << json::serialize(made.body);
  EXPECT_EQ(made.text({"state"}), "PENDING");
  EXPECT_EQ(made.text({"finished_at"}), "1970-01-01T00:00:00Z");
  const std::string id = made.text({"run_id"});
  EXPECT_EQ(send("GET", "/experiments/" + made.text({"experiment_id"})).text({"display_name"}),
            "Default");
  EXPECT_EQ(json::int_at(send("GET", "/runs?sort_by=created_at+desc").body, {"total_size"}), 1);
  EXPECT_EQ(send("POST", "/runs/" + id + ":retry").status, 400);
  EXPECT_EQ(send("POST", "/runs/" + id + ":terminate").status, 200);
  EXPECT_EQ(send("GET", "/runs/" + id).text({"state"}), "CANCELING");
  EXPECT_EQ(send("POST", "/runs/" + id + ":terminate").status, 400);
  EXPECT_EQ(send("POST", "/runs/" + id + ":archive").status, 200);
  EXPECT_EQ(send("GET", "/runs/" + id).text({"storage_state"}), "ARCHIVED");
  EXPECT_EQ(send("DELETE", "/runs/" + id).status, 200);
  EXPECT_EQ(send("GET", "/runs/" + id).status, 404);
  EXPECT_EQ(touched_, 3u);
}

constexpr const char* kWorkflow = R"(
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata:
  generateName: old-
  annotations: {pipelines.kubeflow.org/pipeline_spec: '{"name": "old one"}'}
spec:
  entrypoint: main
  arguments: {parameters: [{name: n, value: '3'}]}
  templates:
  - name: main
    inputs: {parameters: [{name: n}]}
    container: {image: busybox, command: [echo, '{{inputs.parameters.n}}']}
)";

TEST_F(ApiTest, TheOlderVersionHasPipelinesWithDefaultVersions) {
  const std::string old = "/apis/v1beta1";
  EXPECT_FALSE(json::bool_at(send("GET", old + "/healthz").body, {"multi_user"}, true));
  const Reply made = upload(old + "/pipelines/upload?name=nm", "w.yaml", kWorkflow);
  ASSERT_EQ(made.status, 200) << json::serialize(made.body);
  const std::string id = made.text({"id"});
  EXPECT_EQ(json::text_at(json::array_at(made.body, {"parameters"})->front(), {"value"}), "3");
  const Reply second =
      upload(old + "/pipelines/upload_version?name=v2&pipelineid=" + id, "w.yaml", kWorkflow);
  ASSERT_EQ(second.status, 200) << json::serialize(second.body);
  EXPECT_EQ(send("GET", old + "/pipelines/" + id).text({"default_version", "name"}), "v2");
  EXPECT_EQ(send("POST", old + "/pipelines/" + id + "/default_version/" +
                             made.text({"default_version", "id"}))
                .status,
            200);
  EXPECT_EQ(send("GET", old + "/pipelines/" + id).text({"default_version", "name"}), "nm");
  const Reply versions =
      send("GET", old + "/pipeline_versions?resource_key.type=PIPELINE&resource_key.id=" + id);
  EXPECT_EQ(json::array_at(versions.body, {"versions"})->size(), 2u);
  const Reply text = send("GET", old + "/pipelines/" + id + "/templates");
  EXPECT_NE(text.text({"template"}).find("generateName: old-"), std::string::npos);
  EXPECT_EQ(json::array_at(send("GET", old + "/pipelines").body, {"pipelines"})->size(), 1u);
  EXPECT_EQ(send("DELETE", old + "/pipelines/" + id).status, 200);
  EXPECT_EQ(send("GET", old + "/pipelines/" + id).status, 404);
  EXPECT_EQ(
      upload(old + "/pipelines/upload?name=bad", "w.yaml",
             "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nspec: {entrypoint: x, templates: "
             "[{name: x, suspend: {}}]}")
          .text({"error_message"}),
      "Invalid input error: invalid Workflow: spec.templates[0].suspend: not supported");
}

TEST_F(ApiTest, TheOlderVersionHasTheSameRuns) {
  const std::string old = "/apis/v1beta1";
  const std::string experiment =
      send("POST", old + "/experiments", R"({"name": "ex", "resource_references": []})")
          .text({"id"});
  const std::string references =
      R"("resource_references": [{"key": {"type": "EXPERIMENT", "id": ")" + experiment +
      R"("}, "relationship": "OWNER"}])";
  const std::string manifest = json::serialize(
      json::parse_yaml(kWorkflow, nullptr, json::YamlBooleans::words).value().at(0).value);
  const std::string quoted = json::serialize(json::Value(manifest));
  const Reply made =
      send("POST", old + "/runs",
           R"({"name": "r", "pipeline_spec": {"workflow_manifest": )" + quoted +
               R"(, "parameters": [{"name": "n", "value": "5"}]}, )" + references + "}");
  ASSERT_EQ(made.status, 200) << json::serialize(made.body);
  EXPECT_EQ(made.text({"run", "status"}), "Pending");
  EXPECT_EQ(json::text_at(json::array_at(made.body, {"run", "resource_references"})->front(),
                          {"key", "id"}),
            experiment);
  const json::Value workflow =
      json::parse(made.text({"pipeline_runtime", "workflow_manifest"})).value();
  EXPECT_EQ(json::text_at(json::array_at(workflow, {"spec", "arguments", "parameters"})->front(),
                          {"value"}),
            "5");
  const std::string id = made.text({"run", "id"});
  EXPECT_EQ(send("GET", "/runs/" + id).text({"state"}), "PENDING");
  const std::string list = old +
                           "/runs?resource_reference_key.type=EXPERIMENT&"
                           "resource_reference_key.id=";
  EXPECT_EQ(json::array_at(send("GET", list + experiment).body, {"runs"})->size(), 1u);
  EXPECT_EQ(json::serialize(send("GET", list + "other").body), "{}");
  EXPECT_EQ(
      json::array_at(send("GET", old + "/runs?filter=%7B%22predicates%22%3A%5B%7B%22op%22%3A1%2C"
                                       "%22key%22%3A%22storage_state%22%2C%22string_value%22%3A"
                                       "%22STORAGESTATE_AVAILABLE%22%7D%5D%7D")
                         .body,
                     {"runs"})
          ->size(),
      1u);
  EXPECT_EQ(send("POST", old + "/runs/" + id + "/terminate").status, 200);
  EXPECT_EQ(send("GET", old + "/runs/" + id).text({"run", "status"}), "Terminating");
  EXPECT_EQ(send("POST", old + "/runs/" + id + "/retry").status, 400);
  EXPECT_EQ(send("POST", old + "/runs/" + id + ":archive").status, 200);
  EXPECT_EQ(send("GET", old + "/runs/" + id).text({"run", "storage_state"}),
            "STORAGESTATE_ARCHIVED");
  EXPECT_EQ(send("POST", old + "/runs",
                 R"({"name": "r", "pipeline_spec": {"workflow_manifest": )" + quoted +
                     R"(, "parameters": [{"name": "m", "value": "5"}]}})")
                .text({"error"}),
            "Invalid input error: parameter(s) provided are not required by pipeline: m");
}

TEST_F(ApiTest, TheOlderVersionHasJobs) {
  const std::string old = "/apis/v1beta1";
  const std::string pipeline =
      upload(old + "/pipelines/upload?name=nm", "w.yaml", kWorkflow).text({"id"});
  const Reply made =
      send("POST", old + "/jobs",
           R"({"name": "j", "pipeline_spec": {"parameters": [], "pipeline_id": ")" + pipeline +
               R"("}, "max_concurrency": 1, "enabled": true,
                  "trigger": {"cron_schedule": {"cron": "0 0 9 ? * 2-6"}}})");
  ASSERT_EQ(made.status, 200) << json::serialize(made.body);
  EXPECT_TRUE(json::bool_at(made.body, {"enabled"}));
  EXPECT_EQ(made.text({"pipeline_spec", "pipeline_id"}), pipeline);
  const std::string path = old + "/jobs/" + made.text({"id"});
  EXPECT_EQ(send("POST", path + "/disable").status, 200);
  EXPECT_FALSE(json::bool_at(send("GET", path).body, {"enabled"}));
  EXPECT_EQ(json::array_at(send("GET", old + "/jobs").body, {"jobs"})->size(), 1u);
  EXPECT_EQ(send("DELETE", path).status, 200);
  EXPECT_EQ(send("GET", path).status, 404);
}

// Steps and artifacts as a run that has been driven leaves them in the records.
TEST_F(ApiTest, TasksAndArtifactsOfARun) {
  upload("/pipelines/upload?name=p1", "p.yaml", kSpec);
  const std::string pipeline = send("GET", "/pipelines/names/p1").text({"pipeline_id"});
  const std::string id =
      send("POST", "/runs",
           R"({"display_name": "r", "plugins_input": {"hekla.io": {"queue": "q"}},
               "pipeline_version_reference": {"pipeline_id": ")" +
               pipeline + "\"}}")
          .text({"run_id"});
  EXPECT_EQ(send("GET", "/tasks").status, 400);
  EXPECT_EQ(json::int_at(send("GET", "/tasks?run_id=" + id).body, {"total_size"}), 0);
  const std::string say = engine::child_id("root", "say");
  std::promise<Result<void>> saved;
  records_->submit(
      [&](records::Database& database) -> Result<void> {
        store::RunRecord record = TRY(store::load_run(database, id));
        EXPECT_EQ(record.queue, "q");
        engine::Node& node = record.run.nodes[say];
        node.id = say;
        node.task = "say";
        node.kind = engine::NodeKind::container;
        node.attempt = 2;  // each of them has a pod
        node.state = engine::NodeState::succeeded;
        node.finished = WallTime(std::chrono::seconds(5));
        node.inputs = {{"parameterValues", json::Object{{"n", 4}}}};
        node.outputs = json::parse(R"({"artifacts": {"model": [{"name": "model",
            "type": {"schemaTitle": "system.Model"}, "uri": "minio://b/k", "metadata": {"a": 1}}]}})")
                           .value()
                           .get_object();
        TRY(store::save_nodes(database, record.run, {say}));
        return store::save_nodes(database, record.run, {say});  // makes it no second one
      },
      loop_, [&](Result<void> done) { saved.set_value(std::move(done)); });
  ASSERT_TRUE(saved.get_future().get());
  const Reply tasks = send("GET", "/tasks?run_id=" + id);
  const json::Value& task = json::array_at(tasks.body, {"tasks"})->front();
  EXPECT_EQ(json::text_at(task, {"task_id"}), id + "/" + say);
  EXPECT_EQ(json::text_at(task, {"state"}), "SUCCEEDED");
  EXPECT_EQ(json::int_at(task, {"inputs", "parameters", "n"}), 4);
  ASSERT_EQ(json::array_at(task, {"pods"})->size(), 2u);
  EXPECT_NE(json::array_at(task, {"pods"})->back().as_string().find("-say-2"), std::string::npos);
  const Reply all = send("GET", "/artifacts?sort_by=created_at+desc&page_size=5");
  ASSERT_EQ(json::int_at(all.body, {"total_size"}), 1);
  const json::Value& artifact = json::array_at(all.body, {"artifacts"})->front();
  EXPECT_EQ(json::text_at(artifact, {"type"}), "system.Model");
  EXPECT_EQ(json::text_at(artifact, {"uri"}), "minio://b/k");
  EXPECT_EQ(json::int_at(artifact, {"metadata", "a"}), 1);
  const std::string number = json::text_at(artifact, {"artifact_id"});
  EXPECT_EQ(send("GET", "/artifacts/" + number).text({"task_id"}), id + "/" + say);
  EXPECT_EQ(send("GET", "/artifacts/999").status, 404);
  EXPECT_EQ(json::int_at(send("GET", "/artifacts?run_id=other").body, {"total_size"}), 0);
  EXPECT_EQ(send("DELETE", "/runs/" + id).status, 200);
  EXPECT_EQ(send("GET", "/artifacts/" + number).status, 404);  // goes with its run
}

}  // namespace
}  // namespace hekla::pipelines::api
