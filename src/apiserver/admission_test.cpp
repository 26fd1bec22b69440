#include "apiserver/server_fixture_test.h"

namespace hekla::apiserver {
namespace {

using kube::AdmissionRequest;
using kube::Operation;

// Labels config maps, refuses those called "bad" on create, and those labelled "keep" on delete.
std::vector<kube::AdmissionStep> steps() {
  auto maps = [](const kube::Resource& resource, Operation, std::string_view) {
    return resource.plural == "configmaps";
  };
  kube::AdmissionStep label{"label.test.io", maps,
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
  EXPECT_EQ(json::find_path(entry, {"fieldsV1", "f:metadata"}), nullptr) << "not the creator's field";
  Reply denied = call("POST", kMaps, config_map("bad"));
  EXPECT_EQ(denied.status, 400);
  EXPECT_EQ(denied.message(), "admission webhook \"validate.test.io\" denied the request: a bad name");
  EXPECT_EQ(denied.reason(), "");
}

TEST_F(AdmissionTest, DeletionIsJudgedByTheOldObject) {
  call("POST", kMaps, config_map("m", R"(,"labels":{"keep":"1"})"));
  Reply kept = call("DELETE", std::string(kMaps) + "/m");
  EXPECT_EQ(kept.status, 403);
  EXPECT_EQ(kept.message(), "admission webhook \"validate.test.io\" denied the request: kept");
  EXPECT_EQ(call("GET", std::string(kMaps) + "/m").status, 200);
}

}  // namespace
}  // namespace hekla::apiserver
