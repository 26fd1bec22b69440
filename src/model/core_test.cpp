#include "model/core.h"

#include <gtest/gtest.h>

#include "model/volcano.h"

namespace hekla::model {
namespace {

constexpr std::string_view kPod = R"({"apiVersion":"v1","kind":"Pod",
  "metadata":{"name":"p","namespace":"ns","uid":"u","resourceVersion":"12","generation":3,
    "creationTimestamp":"2024-03-15T05:59:15Z","deletionGracePeriodSeconds":0,"labels":{"a":"b"},
    "annotations":{"k":"v"},"finalizers":["f"],"managedFields":[{"manager":"x"}],
    "ownerReferences":[{"apiVersion":"v1","kind":"K","name":"o","uid":"1"},
      {"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job","name":"j","uid":"2","controller":true}]},
  "spec":{"containers":[{"name":"c","image":"i","command":["sh","-c","true"],"stdin":true,
      "env":[{"name":"A","value":"1"},{"name":"B","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}],
      "ports":[{"containerPort":80,"hostPort":8080}],"resources":{"requests":{"cpu":"100m","memory":1024}}}],
    "tolerations":[{"key":"k","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}],
    "priority":0,"nodeSelector":{"zone":"z"},"terminationGracePeriodSeconds":30,"unknownField":[1]},
  "status":{"phase":"Running","conditions":[{"type":"Ready","status":"True","lastProbeTime":null,
      "lastTransitionTime":"2024-03-15T05:59:16Z"}],
    "containerStatuses":[{"name":"c","ready":true,"restartCount":1,
      "state":{"running":{"startedAt":"2024-03-15T05:59:16Z"}},
      "lastState":{"terminated":{"exitCode":137,"reason":"OOMKilled"}}}]}})";

std::string requests(std::string_view spec) {
  const ResourceList list = pod_requests(json::decode_text<PodSpec>(spec).value());
  return json::serialize(json::encode(list));
}

TEST(Pod, DecodesWhatComponentsRead) {
  const Pod pod = json::decode_text<Pod>(kPod).value();
  EXPECT_EQ(pod.metadata.ns, "ns");
  EXPECT_EQ(pod.metadata.generation, 3);
  EXPECT_EQ(pod.metadata.deletionGracePeriodSeconds, 0);
  EXPECT_FALSE(pod.metadata.deletionTimestamp);
  EXPECT_EQ(pod.metadata.label("a"), "b");
  EXPECT_EQ(pod.metadata.label("missing"), "");
  EXPECT_EQ(pod.metadata.annotation("k"), "v");
  ASSERT_NE(pod.metadata.controller(), nullptr);
  EXPECT_EQ(pod.metadata.controller()->name, "j");
  ASSERT_EQ(pod.spec.containers.size(), 1u);
  const Container& container = pod.spec.containers[0];
  EXPECT_TRUE(container.stdin);
  EXPECT_EQ(container.env[1].valueFrom.at("fieldRef").at("fieldPath"),
            json::Value("metadata.name"));
  EXPECT_EQ(container.resources.requests.at("memory").text(), "1024");
  EXPECT_EQ(pod.spec.tolerations[0].op, "Exists");
  EXPECT_EQ(pod.spec.tolerations[0].tolerationSeconds, 300);
  EXPECT_EQ(pod.spec.priority, 0);
  EXPECT_EQ(pod.status.containerStatuses[0].lastState.terminated->exitCode, 137);
  EXPECT_FALSE(pod.status.containerStatuses[0].state.terminated);
}

TEST(Pod, AResizeIsChargedWithTheMostUntilItIsMadeOrCannotBe) {
  auto charged = [](const std::string& wanted, const std::string& has,
                    const std::string& condition = "") {
    std::string text =
        R"({"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":")" + wanted +
        R"("}}},{"name":"d","resources":{"requests":{"cpu":"1"}}}]},"status":{"conditions":[)" +
        condition + R"(],"containerStatuses":[{"name":"c","allocatedResources":{"cpu":"1"},)" +
        R"("resources":{"requests":{"cpu":")" + has + R"("}}}]}})";
    return json::serialize(json::encode(pod_requests(json::decode_text<Pod>(text).value())));
  };
  EXPECT_EQ(charged("4", "2"), R"({"cpu":"5"})");
  EXPECT_EQ(charged("1", "3"), R"({"cpu":"4"})") << "it has not given up what it has";
  const std::string pending = R"({"type":"PodResizePending","status":"True","reason":)";
  EXPECT_EQ(charged("4", "2", pending + R"("Infeasible"})"), R"({"cpu":"3"})");
  EXPECT_EQ(charged("4", "2", pending + R"("Deferred"})"), R"({"cpu":"5"})");
}

TEST(Pod, EncodesBackToTheSame) {
  const Pod pod = json::decode_text<Pod>(kPod).value();
  const json::Value once = json::encode(pod);
  EXPECT_EQ(json::find_path(once, {"metadata", "ns"}), nullptr);
  EXPECT_EQ(json::string_at(once, {"metadata", "namespace"}), "ns");
  const json::Value* toleration = json::find_path(once, {"spec", "tolerations"});
  ASSERT_NE(toleration, nullptr);
  EXPECT_EQ(json::serialize(toleration->at(0)),
            R"({"key":"k","operator":"Exists","effect":"NoExecute","tolerationSeconds":300})");
  EXPECT_TRUE(json::equal(json::encode(json::decode<Pod>(once).value()), once));
}

TEST(Pod, ErrorsNameThePath) {
  const auto error = [](std::string_view text) {
    return json::decode_text<Pod>(text).error().message;
  };
  EXPECT_EQ(error(R"({"metadata":{"labels":{"a":1}}})"),
            "metadata.labels.a: expected string, got number 1");
  EXPECT_EQ(error(R"({"metadata":{"creationTimestamp":"now"}})"),
            "metadata.creationTimestamp: cannot parse time \"now\" as RFC 3339");
  EXPECT_EQ(error(R"({"metadata":[]})"), "metadata: expected object, got array");
  EXPECT_EQ(error(R"({"spec":{"tolerations":[{"tolerationSeconds":"5"}]}})"),
            "spec.tolerations[0].tolerationSeconds: expected integer, got string");
  EXPECT_EQ(error(R"({"spec":{"containers":[{"resources":{"limits":{"cpu":"1K"}}}]}})"),
            "spec.containers[0].resources.limits.cpu: unable to parse quantity's suffix");
}

TEST(Meta, ControllerReference) {
  ObjectMeta meta;
  meta.name = "j";
  meta.uid = "u";
  const OwnerReference owner = controller_reference("batch.volcano.sh/v1alpha1", "Job", meta);
  EXPECT_EQ(json::serialize(json::encode(owner)),
            R"({"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job","name":"j","uid":"u",)"
            R"("controller":true,"blockOwnerDeletion":true})");
  EXPECT_EQ(json::serialize(ObjectMeta{}.to_json()), "{}");
  EXPECT_EQ(ObjectMeta{}.controller(), nullptr);
}

TEST(PodRequests, SumsContainers) {
  EXPECT_EQ(requests("{}"), "{}");
  EXPECT_EQ(requests(R"({"containers":[{"resources":{"requests":{"cpu":"100m","memory":"1Gi"}}},
                                       {"resources":{"requests":{"cpu":"400m"}}},{}]})"),
            R"({"cpu":"500m","memory":"1Gi"})");
}

TEST(PodRequests, TakesTheInitPeak) {
  EXPECT_EQ(requests(R"({"containers":[{"resources":{"requests":{"cpu":"1","memory":"1Gi"}}}],
      "initContainers":[{"resources":{"requests":{"cpu":"3"}}},{"resources":{"requests":{"cpu":"2","gpu":1}}}]})"),
            R"({"cpu":"3","gpu":"1","memory":"1Gi"})");
}

TEST(PodRequests, CountsSidecarsBesideContainersAndLaterInits) {
  // Sidecar 1 runs beside everything: init 5+1, containers 2+1.
  EXPECT_EQ(requests(R"({"containers":[{"resources":{"requests":{"cpu":"2"}}}],"initContainers":[
      {"restartPolicy":"Always","resources":{"requests":{"cpu":"1"}}},{"resources":{"requests":{"cpu":"5"}}}]})"),
            R"({"cpu":"6"})");
  // An init container before the sidecar does not run beside it.
  EXPECT_EQ(requests(R"({"containers":[{"resources":{"requests":{"cpu":"2"}}}],"initContainers":[
      {"resources":{"requests":{"cpu":"5"}}},{"restartPolicy":"Always","resources":{"requests":{"cpu":"1"}}}]})"),
            R"({"cpu":"5"})");
  EXPECT_EQ(requests(R"({"containers":[{"resources":{"requests":{"cpu":"2"}}}],"initContainers":[
      {"restartPolicy":"Always","resources":{"requests":{"cpu":"1"}}},
      {"restartPolicy":"Always","resources":{"requests":{"cpu":"1"}}}]})"),
            R"({"cpu":"4"})");
}

TEST(PodRequests, PodLevelWinsAndOverheadIsAdded) {
  EXPECT_EQ(requests(R"({"containers":[{"resources":{"requests":{"cpu":"2","gpu":"1"}}}],
      "resources":{"requests":{"cpu":"1","gpu":"9","hugepages-2Mi":"4Mi"}},
      "overhead":{"cpu":"250m","memory":"64Mi"}})"),
            R"({"cpu":"1250m","gpu":"1","hugepages-2Mi":"4Mi","memory":"64Mi"})");
}

TEST(TaskSpec, TemplateIsOpaque) {
  const std::string text =
      R"({"name":"worker","replicas":2,"minAvailable":0,"template":{"spec":{"any":[1,{}]}},)"
      R"("policies":[{"action":"RestartJob","event":"PodEvicted"}],"maxRetry":3,)"
      R"("dependsOn":{"name":["master"],"iteration":"any"}})";
  const TaskSpec task = json::decode_text<TaskSpec>(text).value();
  EXPECT_EQ(json::serialize(task.podTemplate), R"({"spec":{"any":[1,{}]}})");
  EXPECT_EQ(task.minAvailable, 0);
  EXPECT_EQ(json::serialize(json::encode(task)), text);
  EXPECT_EQ(json::decode_text<VcJob>(R"({"spec":{"tasks":[{},{"replicas":"x"}]}})").error().message,
            "spec.tasks[1].replicas: expected integer, got string");
}

TEST(VcJob, RoundTrips) {
  const VcJob job = json::decode_text<VcJob>(R"({"metadata":{"name":"j"},"spec":{"minAvailable":3,
      "plugins":{"ssh":[],"env":["--x"]},"tasks":[{"name":"t","replicas":1}],"minSuccess":0},
      "status":{"state":{"phase":"Running","lastTransitionTime":"2024-03-15T05:59:15Z"},
      "taskStatusCount":{"t":{"phase":{"Running":1}}},"runningDuration":"10m14.475393813s"}})")
                        .value();
  EXPECT_EQ(job.spec.minSuccess, 0);
  EXPECT_EQ(job.spec.plugins.at("env"), std::vector<std::string>{"--x"});
  EXPECT_EQ(job.status.taskStatusCount.at("t").phase.at("Running"), 1);
  const json::Value encoded = json::encode(job);
  EXPECT_TRUE(json::equal(json::encode(json::decode<VcJob>(encoded).value()), encoded));
}

}  // namespace
}  // namespace hekla::model
