#include "apiserver/server/server_fixture_test.h"

namespace hekla::apiserver {
namespace {

using kube::AdmissionRequest;
using kube::Operation;

// Labels config maps, refuses those called "bad" on create, and those labelled "keep" on delete.
std::vector<kube::AdmissionStep> steps() {
  auto maps = [](const kube::Resource& resource, Operation, std::string_view) {
    return resource.plural == "configmaps";
  };
  kube::AdmissionStep label{
      "label.test.io", maps,
      [](const AdmissionRequest& request, json::Value& object) -> Result<void> {
        json::at_path(object, {"metadata", "labels", "seen"}) = request.user.name;
        return {};
      },
      nullptr};
  kube::AdmissionStep refuse{
      "validate.test.io", maps, nullptr,
      [](const AdmissionRequest& request, const json::Value& object) -> Result<void> {
        if (request.operation == Operation::remove &&
            json::find_path(*request.old_object, {"metadata", "labels", "keep"}))
          return fail(Code::forbidden, "kept");
        if (json::string_at(object, {"metadata", "name"}) == "bad")
          return fail(Code::bad_request, "a bad name");
        if (!request.reader->get(kube::resources::namespaces, {"", "default"}))
          return fail(Code::internal, "the reader does not see");
        if (request.warnings) request.warnings->push_back("looked at");
        return {};
      }};
  return {label, refuse};
}

class AdmissionTest : public ServerFixture {
 protected:
  AdmissionTest() : ServerFixture(steps()) {}
};

TEST_F(AdmissionTest, StepsMutateWarnAndDeny) {
  Reply made = call("POST", kMaps, config_map("good"));
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_EQ(made.at({"metadata", "labels", "seen"}), "kubernetes-admin");
  EXPECT_EQ(made.headers.get("Warning"), "299 - \"looked at\"");
  const json::Value& entry = json::array_at(made.body, {"metadata", "managedFields"})->front();
  EXPECT_EQ(json::find_path(entry, {"fieldsV1", "f:metadata"}), nullptr)
      << "not the creator's field";
  Reply denied = call("POST", kMaps, config_map("bad"));
  EXPECT_EQ(denied.status, 400);
  EXPECT_EQ(denied.message(),
            "admission webhook \"validate.test.io\" denied the request: a bad name");
  EXPECT_EQ(denied.reason(), "");
}

TEST_F(AdmissionTest, DeletionIsJudgedByTheOldObject) {
  call("POST", kMaps, config_map("m", R"(,"labels":{"keep":"1"})"));
  Reply kept = call("DELETE", std::string(kMaps) + "/m");
  EXPECT_EQ(kept.status, 403);
  EXPECT_EQ(kept.message(), "admission webhook \"validate.test.io\" denied the request: kept");
  EXPECT_EQ(call("GET", std::string(kMaps) + "/m").status, 200);
}

TEST_F(AdmissionTest, AClaimGrowsOnlyWhenItsClassAllows) {
  const std::string claims = "/api/v1/namespaces/default/persistentvolumeclaims";
  auto grow = [&](const std::string& name, const std::string& size) {
    Reply reply = patch(claims + "/" + name,
                        R"({"spec":{"resources":{"requests":{"storage":")" + size + R"("}}}})");
    return reply.status == 200 ? "ok" : reply.message();
  };
  auto claim = [&](const std::string& name, const std::string& of) {
    Reply made = call("POST", claims,
                      R"({"metadata":{"name":")" + name +
                          R"("},"spec":{"accessModes":["ReadWriteOnce"],"storageClassName":")" +
                          of + R"(","resources":{"requests":{"storage":"2Gi"}}}})");
    ASSERT_EQ(made.status, 201) << made.text;
  };
  auto bind = [&](const std::string& name) {
    patch(claims + "/" + name + "/status",
          R"({"status":{"phase":"Bound","capacity":{"storage":"2Gi"}}})");
  };
  auto make_class = [&](const std::string& name, const std::string& expands) {
    Reply made = call("POST", "/apis/storage.k8s.io/v1/storageclasses",
                      R"({"metadata":{"name":")" + name +
                          R"("},"provisioner":"x.io/p","allowVolumeExpansion":)" + expands + "}");
    ASSERT_EQ(made.status, 201) << made.text;
  };
  make_class("fixed", "false");
  make_class("elastic", "true");
  claim("a", "fixed");
  EXPECT_NE(grow("a", "3Gi").find("spec is immutable after creation except resources.requests"),
            std::string::npos);
  bind("a");
  EXPECT_EQ(grow("a", "3Gi"),
            "persistentvolumeclaims \"a\" is forbidden: only dynamically provisioned pvc can be "
            "resized and the "
            "storageclass that provisions the pvc must support resize");
  claim("b", "elastic");
  bind("b");
  EXPECT_EQ(grow("b", "3Gi"), "ok");
  EXPECT_NE(grow("b", "1Gi").find("field can not be less than status.capacity"), std::string::npos);
}

class BuiltinAdmissionTest : public ServerFixture {};

TEST_F(BuiltinAdmissionTest, NewNodesWaitUntilTheyAreReady) {
  Reply made =
      call("POST", "/api/v1/nodes",
           R"({"metadata":{"name":"a"},"spec":{"taints":[{"key":"k","effect":"NoExecute"}]}})");
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_EQ(
      json::serialize(*json::find_path(made.body, {"spec", "taints"})),
      R"([{"key":"k","effect":"NoExecute"},{"key":"node.kubernetes.io/not-ready","effect":"NoSchedule"}])");
  const Reply changed = patch("/api/v1/nodes/a", R"({"spec":{"taints":null}})");
  EXPECT_EQ(json::serialize(*json::find(changed.body, "spec")), "{}") << "only at their creation";
  made = call(
      "POST", "/api/v1/nodes",
      R"({"metadata":{"name":"b"},"status":{"conditions":[{"type":"Ready","status":"True"}]}})");
  EXPECT_EQ(json::find_path(made.body, {"spec", "taints"}), nullptr);
}

}  // namespace
}  // namespace hekla::apiserver
