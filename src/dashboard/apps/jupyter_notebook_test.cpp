#include "dashboard/apps/jupyter_notebook.h"

#include <gtest/gtest.h>

#include "dashboard/apps/access.h"
#include "json/parse.h"

namespace hekla::dashboard {
namespace {

json::Value read(std::string_view text) {
  Result<json::Value> value = json::parse(text);
  EXPECT_TRUE(value) << text;
  return value ? *value : json::Value();
}

const char* kForm =
    R"({"name":"my-nb","image":"example/jupyter:v1","imagePullPolicy":"IfNotPresent",)"
    R"("serverType":"jupyter","cpu":"0.5","memory":"1Gi","gpus":{"num":"none"},"shm":true,)"
    R"("configurations":["access-ml-pipeline"],"affinityConfig":"","tolerationGroup":"",)"
    R"("workspace":{"mount":"/home/jovyan","newPvc":{"metadata":{"name":"my-nb-workspace"},)"
    R"("spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"5Gi"}}}}},)"
    R"("datavols":[{"mount":"/data",)"
    R"("existingSource":{"persistentVolumeClaim":{"claimName":"mnist"}}}]})";

json::Value form_with(std::string_view member, std::string_view value) {
  json::Value form = read(kForm);
  form.get_object()[member] = read(value);
  return form;
}

std::string refusal(const json::Value& form, const json::Value& config = spawner_defaults()) {
  Result<NewNotebook> made = notebook_from_form(form, config, "a", "u");
  return made ? "" : made.error().message;
}

TEST(NotebookForm, MakesTheNotebookAndItsClaims) {
  Result<NewNotebook> made =
      notebook_from_form(read(kForm), spawner_defaults(), "team-a", "user@example.com");
  ASSERT_TRUE(made) << made.error().message;
  ASSERT_EQ(made->claims.size(), 1U);
  EXPECT_EQ(json::string_at(made->claims[0], {"metadata", "namespace"}), "team-a");
  const json::Value& notebook = made->notebook;
  EXPECT_EQ(json::string_at(notebook, {"metadata", "labels", "access-ml-pipeline"}), "true");
  EXPECT_EQ(
      json::string_at(notebook, {"metadata", "annotations", "notebooks.kubeflow.org/creator"}),
      "user@example.com");
  const json::Value* spec = json::find_path(notebook, {"spec", "template", "spec"});
  ASSERT_TRUE(spec);
  EXPECT_EQ(json::string_at(*spec, {"serviceAccountName"}), "default-editor");
  const json::Array* containers = json::array_at(*spec, {"containers"});
  ASSERT_TRUE(containers);
  const json::Value& container = containers->front();
  EXPECT_EQ(json::string_at(container, {"resources", "limits", "cpu"}), "0.6");
  EXPECT_EQ(json::string_at(container, {"resources", "limits", "memory"}), "1.2Gi");
  EXPECT_EQ(json::array_at(*spec, {"volumes"})->size(), 3U);
  EXPECT_EQ(json::serialize(json::array_at(container, {"volumeMounts"})->back()),
            R"({"name":"dshm","mountPath":"/dev/shm"})");
}

TEST(NotebookForm, TheOtherServersAreRewritten) {
  Result<NewNotebook> made =
      notebook_from_form(form_with("serverType", R"("group-two")"), spawner_defaults(), "a", "u");
  ASSERT_TRUE(made);
  const json::Value* notes = json::find_path(made->notebook, {"metadata", "annotations"});
  EXPECT_EQ(json::string_at(*notes, {"notebooks.kubeflow.org/http-rewrite-uri"}), "/");
  EXPECT_EQ(json::string_at(*notes, {"notebooks.kubeflow.org/http-headers-request-set"}),
            R"({"X-RStudio-Root-Path":"/notebook/a/my-nb/"})");
}

TEST(NotebookForm, SaysWhatIsWrong) {
  EXPECT_EQ(refusal(form_with("name", R"("")")),
            "Parameter 'name' is missing from the request's body.");
  EXPECT_EQ(refusal(form_with("cpuLimit", R"("0.1")")),
            "cpu limit must be greater than the request");
  EXPECT_EQ(refusal(form_with("gpus", R"({"num":"2"})")), "'gpus' must have a 'vendor' field");
  EXPECT_EQ(refusal(form_with("tolerationGroup", R"("x")")),
            "tolerationGroup 'x' is not in the configuration");
  json::Value form = read(kForm);
  form.get_object().erase("cpu");
  EXPECT_EQ(refusal(form), "No value provided for: cpu");
  json::Value config = spawner_defaults();
  json::at_path(config, {"cpu", "readOnly"}) = true;
  EXPECT_EQ(refusal(read(kForm), config), "'cpu' is readonly but a value was provided: \"0.5\"");
}

TEST(NotebookStatus, IsUpstreams) {
  const WallTime now{std::chrono::hours(24 * 365 * 50)};
  const auto phase = [&](std::string_view text, const json::Array& events = {}) {
    const json::Object status = notebook_status(read(text), events, now);
    return json::text_at(status, {"phase"}) + " " + json::text_at(status, {"message"});
  };
  EXPECT_EQ(phase(R"({"status":{"readyReplicas":1,"containerState":{"running":{}}}})"),
            "ready Running");
  EXPECT_EQ(phase(R"({"metadata":{"annotations":{"kubeflow-resource-stopped":""}}})"),
            "stopped No Pods are currently running for this Notebook Server.");
  EXPECT_EQ(phase(R"({"metadata":{"annotations":{"kubeflow-resource-stopped":""}},)"
                  R"("status":{"readyReplicas":1}})"),
            "waiting Notebook Server is stopping.");
  EXPECT_EQ(phase(R"({"status":{"containerState":{"waiting":{"reason":"A","message":"b"}}}})"),
            "warning A: b");
  EXPECT_EQ(
      phase(
          R"({"status":{"containerState":{"waiting":{"reason":"ImageBuilding","message":"b"}}}})"),
      "waiting ImageBuilding: b");
  EXPECT_EQ(phase("{}", {json::Object{{"type", "Warning"}, {"message", "m"}}}), "warning m");
  EXPECT_EQ(phase("{}"), "warning Couldn't find any information for the status of this notebook.");
}

TEST(NotebookRow, OneWithoutRequestsDoesNotBreakTheList) {
  const json::Object row =
      notebook_row(read(R"({"metadata":{"name":"a"},"spec":{}})"), {}, WallTime{});
  EXPECT_EQ(json::text_at(row, {"cpu"}), "");
  EXPECT_TRUE(row.at("volumes").get_array().empty());
  EXPECT_TRUE(row.at("serverType").is_null());
}

TEST(Bindings, OnlyTheThreeRolesPass) {
  const auto body = [](std::string_view role) {
    return read(R"({"user":{"kind":"User","name":"a.b@x.org"},"referredNamespace":"n",)"
                R"("RoleRef":{"kind":"ClusterRole","name":")" +
                std::string(role) + R"("}})");
  };
  EXPECT_FALSE(binding_from_json(body("cluster-admin")));
  EXPECT_FALSE(binding_from_json(read(R"({"user":{"name":"a"}})")));
  Result<Binding> edit = binding_from_json(body("edit"));
  ASSERT_TRUE(edit);
  EXPECT_EQ(binding_name(*edit), "user-a-b-x-org-clusterrole-edit");
  const json::Object made = role_binding_of(*edit);
  EXPECT_EQ(json::string_at(made, {"roleRef", "name"}), "kubeflow-edit");
  EXPECT_EQ(bindings_from({made}).front().user, "a.b@x.org");
}

}  // namespace
}  // namespace hekla::dashboard
