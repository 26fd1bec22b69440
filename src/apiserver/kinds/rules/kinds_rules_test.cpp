// Defaults, creation and validation of every kind but pods; names, flags and selectable fields of
// all.
#include "apiserver/kinds/kinds_fixture_test.h"
#include "apiserver/kinds/rules/batch_rules.h"
#include "apiserver/kinds/rules/rules.h"
#include "model/formats.h"

namespace hekla::apiserver {
namespace {

using namespace testing;

void expect_defaults(std::string_view kind, std::string_view text, std::string_view expected) {
  json::Value object = defaulted(kind, text);
  EXPECT_TRUE(json::equal(object, parsed(expected))) << kind << ": " << json::serialize(object);
}

TEST(Fields, PathsAreWordedHoweverDeepTheyGo) {
  const json::Value object = parsed(R"({"spec":{"list":[{"limits":{"cpu":1}}]}})");
  const Field cpu = Field(object, "")["spec"]["list"].at(0)["limits"].key("cpu");
  EXPECT_EQ(cpu.path(), "spec.list[0].limits[cpu]");
  EXPECT_EQ(cpu.number(), 1);
  EXPECT_EQ(Field(object, "base")["spec"].path(), "base.spec");
  Field deep(object, "");
  std::string expected;
  for (int i = 0; i < 40; ++i) {
    deep = deep["m"].at(static_cast<std::size_t>(i));
    expected += (i ? ".m[" : "m[") + std::to_string(i) + "]";
  }
  EXPECT_EQ(deep.path(), expected);
  EXPECT_FALSE(deep.present());
}

TEST(Kinds, NamesAndFlags) {
  const Kind& pods = kind_of("pods");
  EXPECT_EQ(pods.resource.kind, "Pod");
  EXPECT_EQ(pods.singular, "pod");
  EXPECT_EQ(pods.list_kind, "PodList");
  EXPECT_EQ(pods.short_names, std::vector<std::string>{"po"});
  EXPECT_EQ(pods.categories, std::vector<std::string>{"all"});
  EXPECT_TRUE(pods.traits.graceful_delete && pods.traits.has_status && pods.traits.has_generation &&
              pods.resource.namespaced);
  EXPECT_EQ(pods.storage.bucket, "pods");
  EXPECT_FALSE(kind_of("nodes").resource.namespaced);
  EXPECT_EQ(kind_of("deployments.apps").storage.bucket, "deployments.apps");
  EXPECT_EQ(kind_of("namespaces").verbs.size(), 7u);
}

TEST(Kinds, UnconditionalUpdateAndCreateOnUpdate) {
  for (const char* kind :
       {"leases.coordination.k8s.io", "customresourcedefinitions.apiextensions.k8s.io",
        "poddisruptionbudgets.policy", "mutatingwebhookconfigurations.admissionregistration.k8s.io",
        "runtimeclasses.node.k8s.io", "csinodes.storage.k8s.io",
        "volumeattachments.storage.k8s.io"})
    EXPECT_FALSE(kind_of(kind).traits.unconditional_update) << kind;
  for (const char* kind :
       {"leases.coordination.k8s.io", "endpoints", "events", "limitranges", "services",
        "runtimeclasses.node.k8s.io", "roles.rbac.authorization.k8s.io",
        "clusterrolebindings.rbac.authorization.k8s.io"})
    EXPECT_TRUE(kind_of(kind).traits.create_on_update) << kind;
  EXPECT_TRUE(kind_of("configmaps").traits.unconditional_update);
  EXPECT_FALSE(kind_of("configmaps").traits.create_on_update);
}

TEST(Kinds, GenerationOnlyWhereASpecIsCounted) {
  for (const char* kind : {"configmaps", "secrets", "events", "leases.coordination.k8s.io",
                           "serviceaccounts", "endpoints", "roles.rbac.authorization.k8s.io"})
    EXPECT_FALSE(kind_of(kind).traits.has_generation) << kind;
  for (const char* kind :
       {"pods", "deployments.apps", "jobs.batch", "customresourcedefinitions.apiextensions.k8s.io"})
    EXPECT_TRUE(kind_of(kind).traits.has_generation) << kind;
}

TEST(Kinds, SelectableFields) {
  const auto value = [](std::string_view kind, const char* field, std::string_view text) {
    auto found = kind_of(kind).selectable.find(field);
    return found == kind_of(kind).selectable.end() ? std::string("no such field")
                                                   : found->second(parsed(text));
  };
  EXPECT_EQ(value("pods", "spec.nodeName", R"({"spec":{"nodeName":"n"}})"), "n");
  EXPECT_EQ(value("pods", "spec.hostNetwork", "{}"), "false");
  EXPECT_EQ(value("pods", "status.podIPs", R"({"status":{"podIPs":[{"ip":"1"},{"ip":"2"}]}})"),
            "1,2");
  EXPECT_EQ(value("nodes", "spec.unschedulable", "{}"), "false");
  EXPECT_EQ(value("events", "involvedObject.uid", R"({"involvedObject":{"uid":"u"}})"), "u");
  EXPECT_EQ(value("events", "source", R"({"reportingComponent":"c"})"), "c");
  EXPECT_EQ(value("events.events.k8s.io", "regarding.name", R"({"regarding":{"name":"u"}})"), "u");
  EXPECT_EQ(value("namespaces", "status.phase", R"({"status":{"phase":"Active"}})"), "Active");
  EXPECT_EQ(value("secrets", "type", R"({"type":"Opaque"})"), "Opaque");
  EXPECT_EQ(value("services", "spec.type", R"({"spec":{"type":"ClusterIP"}})"), "ClusterIP");
  EXPECT_EQ(value("replicationcontrollers", "status.replicas", "{}"), "0");
  EXPECT_EQ(value("jobs.batch", "status.successful", R"({"status":{"succeeded":2}})"), "2");
}

TEST(Events, TheTwoShapesAreOneObject) {
  const Kind& newer = kind_of("events.events.k8s.io");
  EXPECT_EQ(newer.storage.bucket, "events");
  EXPECT_EQ(newer.storage.version, "v1");
  json::Value event = parsed(R"({"regarding":{"kind":"Pod"},"note":"n","reportingController":"c",)"
                             R"("deprecatedCount":2,"eventTime":"t"})");
  json::Value before = event;
  newer.storage.to_stored(event);
  EXPECT_TRUE(json::equal(
      event,
      parsed(R"({"involvedObject":{"kind":"Pod"},"message":"n","reportingComponent":"c","count":2,)"
             R"("eventTime":"t"})")));
  newer.storage.from_stored(event);
  EXPECT_TRUE(json::equal(event, before));
}

TEST(Autoscaler, TheTwoVersionsAreOneObject) {
  const Kind& first = kind_of("horizontalpodautoscalers.v1.autoscaling");
  EXPECT_EQ(first.storage.version, "autoscaling/v2");
  json::Value hpa =
      parsed(R"({"metadata":{},"spec":{"maxReplicas":3,"targetCPUUtilizationPercentage":70}})");
  json::Value before = hpa;
  first.storage.to_stored(hpa);
  EXPECT_TRUE(json::equal(
      *json::find_path(hpa, {"spec", "metrics"}),
      parsed(R"([{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization",)"
             R"("averageUtilization":70}}}])")));
  first.storage.from_stored(hpa);
  EXPECT_TRUE(json::equal(hpa, before)) << json::serialize(hpa);
}

TEST(Defaults, Workloads) {
  expect_defaults("deployments.apps", R"({"spec":{}})",
                  R"({"spec":{"replicas":1,"strategy":{"type":"RollingUpdate",)"
                  R"("rollingUpdate":{"maxUnavailable":"25%","maxSurge":"25%"}},)"
                  R"("revisionHistoryLimit":10,"progressDeadlineSeconds":600}})");
  expect_defaults(
      "deployments.apps", R"({"spec":{"replicas":0,"strategy":{"type":"Recreate"}}})",
      R"({"spec":{"replicas":0,"strategy":{"type":"Recreate"},"revisionHistoryLimit":10,)"
      R"("progressDeadlineSeconds":600}})");
  expect_defaults("replicasets.apps", R"({"spec":{}})", R"({"spec":{"replicas":1}})");
  expect_defaults(
      "daemonsets.apps", R"({"spec":{}})",
      R"({"spec":{"updateStrategy":{"type":"RollingUpdate",)"
      R"("rollingUpdate":{"maxUnavailable":1,"maxSurge":0}},"revisionHistoryLimit":10},)"
      R"("metadata":{"annotations":{"deprecated.daemonset.template.generation":"1"}}})");
  expect_defaults(
      "statefulsets.apps", R"({"spec":{"volumeClaimTemplates":[{"metadata":{"name":"v"}}]}})",
      R"({"spec":{"replicas":1,"podManagementPolicy":"OrderedReady",)"
      R"("updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"partition":0}},)"
      R"("revisionHistoryLimit":10,"persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Ret)"
      R"(ain","whenScaled":"Retain"},"volumeClaimTemplates":[{"apiVersion":"v1",)"
      R"("kind":"PersistentVolumeClaim","metadata":{"name":"v"},)"
      R"("spec":{"volumeMode":"Filesystem"},"status":{"phase":"Pending"}}]}})");
  json::Value deployment =
      defaulted("deployments.apps",
                R"({"spec":{"template":{"spec":{"containers":[{"name":"c","image":"i"}]}}}})");
  EXPECT_EQ(json::string_at(deployment, {"spec", "template", "spec", "restartPolicy"}), "Always");
  EXPECT_EQ(json::find_path(deployment, {"spec", "template", "spec", "enableServiceLinks"}),
            nullptr);
}

TEST(Defaults, Jobs) {
  expect_defaults("jobs.batch", R"({"spec":{}})",
                  R"({"spec":{"completions":1,"parallelism":1,"backoffLimit":6,)"
                  R"("completionMode":"NonIndexed","suspend":false,)"
                  R"("podReplacementPolicy":"TerminatingOrFailed","manualSelector":false}})");
  expect_defaults(
      "jobs.batch",
      R"({"spec":{"parallelism":3,"backoffLimitPerIndex":1,)"
      R"("podFailurePolicy":{"rules":[{"onPodConditions":[{"type":"X"}]}]}}})",
      R"({"spec":{"parallelism":3,"backoffLimitPerIndex":1,"backoffLimit":2147483647,)"
      R"("completionMode":"NonIndexed","suspend":false,"podReplacementPolicy":"Failed",)"
      R"("manualSelector":false,"podFailurePolicy":{"rules":[{"onPodConditions":[{"type":"X",)"
      R"("status":"True"}]}]}}})");
  expect_defaults(
      "cronjobs.batch", R"({"spec":{}})",
      R"({"spec":{"concurrencyPolicy":"Allow","suspend":false,"successfulJobsHistoryLimit":3,)"
      R"("failedJobsHistoryLimit":1}})");
  json::Value labelled = defaulted(
      "jobs.batch",
      R"({"metadata":{"name":"j"},"spec":{"template":{"metadata":{"labels":{"a":"b"}}}}})");
  EXPECT_EQ(json::string_at(labelled, {"metadata", "labels", "a"}), "b");
}

TEST(Defaults, TheRest) {
  expect_defaults(
      "services", R"({"spec":{"ports":[{"port":80},{"port":81,"targetPort":"http"}]}})",
      R"({"spec":{"ports":[{"port":80,"protocol":"TCP","targetPort":80},{"port":81,)"
      R"("targetPort":"http","protocol":"TCP"}],"sessionAffinity":"None","type":"ClusterIP",)"
      R"("internalTrafficPolicy":"Cluster"}})");
  expect_defaults("services", R"({"spec":{"type":"LoadBalancer","sessionAffinity":"ClientIP"}})",
                  R"({"spec":{"type":"LoadBalancer","sessionAffinity":"ClientIP",)"
                  R"("sessionAffinityConfig":{"clientIP":{"timeoutSeconds":10800}},)"
                  R"("externalTrafficPolicy":"Cluster","internalTrafficPolicy":"Cluster",)"
                  R"("allocateLoadBalancerNodePorts":true}})");
  expect_defaults(
      "services", R"({"spec":{"clusterIP":"None","selector":{"a":"b"}}})",
      R"({"spec":{"clusterIP":"None","clusterIPs":["None"],"selector":{"a":"b"},)"
      R"("sessionAffinity":"None","type":"ClusterIP","internalTrafficPolicy":"Cluster"}})");
  expect_defaults("secrets", R"({"data":{"a":"eA=="},"stringData":{"a":"y","b":"z"}})",
                  R"({"data":{"a":"eQ==","b":"eg=="},"type":"Opaque"})");
  expect_defaults("namespaces", R"({"metadata":{"name":"n"}})",
                  R"({"metadata":{"name":"n","labels":{"kubernetes.io/metadata.name":"n"}}})");
  expect_defaults(
      "persistentvolumes", R"({"spec":{}})",
      R"({"spec":{"persistentVolumeReclaimPolicy":"Retain","volumeMode":"Filesystem"}})");
  expect_defaults("persistentvolumeclaims", R"({"spec":{}})",
                  R"({"spec":{"volumeMode":"Filesystem"}})");
  expect_defaults("storageclasses.storage.k8s.io", "{}",
                  R"({"reclaimPolicy":"Delete","volumeBindingMode":"Immediate"})");
  expect_defaults(
      "limitranges",
      R"({"spec":{"limits":[{"type":"Container","max":{"cpu":"2"},"min":{"memory":"1"}}]}})",
      R"({"spec":{"limits":[{"type":"Container","max":{"cpu":"2"},"min":{"memory":"1"},)"
      R"("default":{"cpu":"2"},"defaultRequest":{"cpu":"2","memory":"1"}}]}})");
  expect_defaults("priorityclasses.scheduling.k8s.io", "{}",
                  R"({"preemptionPolicy":"PreemptLowerPriority"})");
  expect_defaults("networkpolicies.networking.k8s.io",
                  R"({"spec":{"egress":[{"ports":[{"port":1}]}]}})",
                  R"({"spec":{"egress":[{"ports":[{"port":1,"protocol":"TCP"}]}],)"
                  R"("policyTypes":["Ingress","Egress"]}})");
  expect_defaults("endpointslices.discovery.k8s.io", R"({"ports":[{"port":1}]})",
                  R"({"ports":[{"port":1,"protocol":"TCP","name":""}]})");
  expect_defaults(
      "rolebindings.rbac.authorization.k8s.io",
      R"({"roleRef":{"kind":"Role","name":"r"},"subjects":[{"kind":"User","name":"u"},)"
      R"({"kind":"ServiceAccount","name":"s"}]})",
      R"({"roleRef":{"kind":"Role","name":"r","apiGroup":"rbac.authorization.k8s.io"},)"
      R"("subjects":[{"kind":"User","name":"u","apiGroup":"rbac.authorization.k8s.io"},)"
      R"({"kind":"ServiceAccount","name":"s"}]})");
  expect_defaults("horizontalpodautoscalers.v2.autoscaling", R"({"spec":{"metrics":[{}]}})",
                  R"({"spec":{"metrics":[{}],"minReplicas":1}})");
  expect_defaults("validatingwebhookconfigurations.admissionregistration.k8s.io",
                  R"({"webhooks":[{"name":"a","clientConfig":{"service":{}},"rules":[{}]}]})",
                  R"({"webhooks":[{"name":"a","clientConfig":{"service":{"port":443}},)"
                  R"("rules":[{"scope":"*"}],"failurePolicy":"Fail","matchPolicy":"Equivalent",)"
                  R"("namespaceSelector":{},"objectSelector":{},"timeoutSeconds":10}]})");
  expect_defaults("customresourcedefinitions.apiextensions.k8s.io",
                  R"({"spec":{"names":{"kind":"Foo"}}})",
                  R"({"spec":{"names":{"kind":"Foo","singular":"foo","listKind":"FooList"},)"
                  R"("conversion":{"strategy":"None"}}})");
}

TEST(Create, NamespacesAreActiveAndHeld) {
  json::Value ns = created("namespaces", R"({"metadata":{"name":"n"}})");
  EXPECT_EQ(json::string_at(ns, {"status", "phase"}), "Active");
  EXPECT_EQ(json::serialize(*json::find_path(ns, {"spec", "finalizers"})), R"(["kubernetes"])");
}

TEST(Create, JobsSelectTheirPodsByUid) {
  json::Value job = created(
      "jobs.batch", R"({"metadata":{"name":"j","uid":"u"},"spec":{"template":{"spec":{}}}})");
  EXPECT_TRUE(json::equal(*json::find_path(job, {"spec", "selector"}),
                          parsed(R"({"matchLabels":{"batch.kubernetes.io/controller-uid":"u"}})")));
  EXPECT_TRUE(json::equal(
      *json::find_path(job, {"spec", "template", "metadata", "labels"}),
      parsed(R"({"batch.kubernetes.io/controller-uid":"u","batch.kubernetes.io/job-name":"j",)"
             R"("controller-uid":"u","job-name":"j"})")));
  json::Value manual =
      created("jobs.batch", R"({"metadata":{"name":"j","uid":"u"},"spec":{"manualSelector":true,)"
                            R"("selector":{"matchLabels":{"a":"b"}}}})");
  EXPECT_TRUE(json::equal(*json::find_path(manual, {"spec", "selector"}),
                          parsed(R"({"matchLabels":{"a":"b"}})")));
}

TEST(Create, ClaimsArePending) {
  EXPECT_EQ(
      json::string_at(created("persistentvolumeclaims", R"({"spec":{}})"), {"status", "phase"}),
      "Pending");
}

TEST(Update, ServicesKeepTheirAddress) {
  json::Value old =
      parsed(R"({"spec":{"type":"ClusterIP","clusterIP":"10.0.0.1","clusterIPs":["10.0.0.1"],)"
             R"("ports":[{"port":80}]}})");
  json::Value now = parsed(R"({"spec":{"type":"ClusterIP","ports":[{"port":81}]}})");
  kind_of("services").rules.prepare_update(now, old, {test_now(), nullptr, ""});
  EXPECT_EQ(json::string_at(now, {"spec", "clusterIP"}), "10.0.0.1");
}

std::string deployment(std::string_view labels, std::string_view more = "") {
  return R"({"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":)" +
         std::string(labels) + R"(},"spec":{"containers":[{"name":"c","image":"i"}]}})" +
         std::string(more) + "}}";
}

TEST(Validation, Workloads) {
  EXPECT_EQ(complaints("deployments.apps", deployment(R"({"a":"b"})")), "");
  EXPECT_EQ(complaints("deployments.apps", deployment(R"({"a":"c"})")),
            R"(spec.template.metadata.labels: Invalid value: {"a":"c"}: `selector` does not match )"
            R"(template `labels`)");
  EXPECT_EQ(complaints("deployments.apps", deployment(R"({"a":"b"})", R"(,"replicas":-1)")),
            "spec.replicas: Invalid value: -1: must be greater than or equal to 0");
  EXPECT_EQ(
      complaints("deployments.apps",
                 deployment(R"({"a":"b"})",
                            R"(,"strategy":{"type":"Recreate","rollingUpdate":{"maxSurge":1}})")),
      "spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is "
      "'Recreate'");
  EXPECT_EQ(
      complaints("deployments.apps",
                 deployment(R"({"a":"b"})",
                            R"(,"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":0,)"
                            R"("maxUnavailable":0}})")),
      "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` "
      "is 0");
  EXPECT_EQ(
      complaints("deployments.apps",
                 R"({"spec":{"template":{"spec":{"containers":[{"name":"c","image":"i"}]}}}})"),
      "spec.selector: Required value\n"
      "spec.template.metadata.labels: Invalid value: null: `selector` does not match template "
      "`labels`");
  EXPECT_EQ(
      complaints(
          "replicasets.apps",
          R"({"spec":{"selector":{},"template":{"spec":{"containers":[{"name":"c","image":"i"}],)"
          R"("restartPolicy":"Never"}}}})"),
      "spec.selector: Invalid value: {}: empty selector is invalid for deployment\n"
      "spec.template.spec.restartPolicy: Unsupported value: \"Never\": supported values: "
      "\"Always\"");
  EXPECT_EQ(
      update_complaints("deployments.apps", R"({"spec":{"selector":{"matchLabels":{"x":"y"}}}})",
                        deployment(R"({"a":"b"})")),
      R"(spec.selector: Invalid value: {"matchLabels":{"x":"y"}}: field is immutable)");
  EXPECT_EQ(
      complaints(
          "statefulsets.apps",
          R"({"spec":{"selector":{"matchLabels":{"a":"b"}},)"
          R"("volumeClaimTemplates":[{"metadata":{"name":"d"},"spec":{"accessModes":["ReadWriteOnce"],)"
          R"("resources":{"requests":{"storage":"1Gi"}}}}],)"
          R"("template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c",)"
          R"("image":"i","volumeMounts":[{"name":"d","mountPath":"/d"}]}]}}}})"),
      "");
  EXPECT_EQ(update_complaints("statefulsets.apps", R"({"spec":{"serviceName":"x"}})",
                              R"({"spec":{"serviceName":"y"}})"),
            "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', "
            "'ordinals', 'template', 'updateStrategy', "
            "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' "
            "are forbidden");
  EXPECT_EQ(
      complaints(
          "daemonsets.apps",
          deployment(R"({"a":"b"})",
                     R"(,"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":1,)"
                     R"("maxUnavailable":1}})")),
      "spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: 1: may not be set when "
      "maxUnavailable is non-zero");
}

const char* const kJob =
    R"({"metadata":{"name":"j","uid":"u"},"spec":{"template":{"spec":{"restartPolicy":"Neve)"
    R"(r","containers":[{"name":"c","image":"i"}]}}MORE}})";
std::string job(std::string_view more = "", std::string_view policy = "Never") {
  std::string text = kJob;
  text.replace(text.find("MORE"), 4, more);
  text.replace(text.find("Never"), 5, policy);
  return text;
}

TEST(Validation, Jobs) {
  EXPECT_EQ(complaints("jobs.batch", job()), "");
  EXPECT_EQ(
      complaints("jobs.batch", job("", "Always")),
      R"(spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never")");
  EXPECT_EQ(complaints("jobs.batch", job(R"(,"parallelism":-1)")),
            "spec.parallelism: Invalid value: -1: must be greater than or equal to 0");
  EXPECT_EQ(complaints("jobs.batch", job(R"(,"completionMode":"Indexed","parallelism":1)")),
            "spec.completions: Required value: when completion mode is Indexed");
  EXPECT_EQ(complaints("jobs.batch", job(R"(,"selector":{"matchLabels":{"x":"y"}})")),
            R"(spec.selector: Invalid value: {"matchLabels":{"x":"y",)"
            R"("batch.kubernetes.io/controller-uid":"u"}}: `selector` not auto-generated)");
  EXPECT_EQ(update_complaints(
                "jobs.batch",
                json::serialize(created("jobs.batch", job(R"(,"parallelism":3,"completions":1)"))),
                job(R"(,"completions":1)")),
            "");
  std::string changed =
      json::serialize(created("jobs.batch", job(R"(,"completions":2,"parallelism":1)")));
  EXPECT_EQ(update_complaints("jobs.batch", changed, job()),
            "spec.completions: Invalid value: 2: field is immutable");
  EXPECT_NE(update_complaints("jobs.batch",
                              json::serialize(created("jobs.batch", job("", "OnFailure"))), job())
                .find("spec.template: Invalid value"),
            std::string::npos);
}

TEST(Validation, CronSchedules) {
  for (const char* good :
       {"* * * * *", "*/5 0-6 1,15 jan-mar mon", "@hourly", "@every 1h30m", "0 0 ? * 0"})
    EXPECT_EQ(schedule_error(good), "") << good;
  EXPECT_EQ(schedule_error("x"), "expected exactly 5 fields, found 1: [x]");
  EXPECT_EQ(schedule_error("60 * * * *"), "end of range (60) above maximum (59): 60");
  EXPECT_EQ(schedule_error("* * 0 * *"), "beginning of range (0) below minimum (1): 0");
  EXPECT_EQ(schedule_error("5-1 * * * *"), "beginning of range (5) beyond end of range (1): 5-1");
  EXPECT_EQ(schedule_error("*/0 * * * *"), "step of range should be a positive number: */0");
  EXPECT_EQ(schedule_error("@never"), "unrecognized descriptor: @never");
  EXPECT_EQ(schedule_error("a * * * *"),
            R"(failed to parse int from a: strconv.Atoi: parsing "a": invalid syntax)");
}

TEST(Validation, CronJobs) {
  const auto cron = [](const char* more) {
    return complaints("cronjobs.batch",
                      std::string(R"({"metadata":{"name":"c"},"spec":{)") + more +
                          R"("jobTemplate":{"spec":{"template":{"spec":{"restartPolicy":"Never",)"
                          R"("containers":[{"name":"c","image":"i"}]}}}}}})");
  };
  EXPECT_EQ(cron(R"("schedule":"* * * * *",)"), "");
  EXPECT_EQ(cron(""), "spec.schedule: Required value");
  EXPECT_EQ(cron(R"("schedule":"x",)"),
            R"(spec.schedule: Invalid value: "x": expected exactly 5 fields, found 1: [x])");
  EXPECT_EQ(cron(R"("schedule":"* * * * *","concurrencyPolicy":"No",)"),
            R"(spec.concurrencyPolicy: Unsupported value: "No": supported values: "Allow", )"
            R"("Forbid", "Replace")");
}

TEST(Validation, Services) {
  EXPECT_EQ(complaints("services", R"({"spec":{"ports":[{"port":80}]}})"), "");
  EXPECT_EQ(complaints("services", R"({"spec":{}})"), "spec.ports: Required value");
  EXPECT_EQ(complaints("services", R"({"spec":{"clusterIP":"None"}})"), "");
  EXPECT_EQ(complaints("services", R"({"spec":{"ports":[{"port":80},{"port":81}]}})"),
            "spec.ports[0].name: Required value\nspec.ports[1].name: Required value");
  EXPECT_EQ(complaints("services", R"({"spec":{"ports":[{"port":0}]}})"),
            "spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, "
            "inclusive\nspec.ports[0].targetPort: Invalid value: 0: must be between 1 and 65535, "
            "inclusive");
  EXPECT_EQ(
      complaints("services", R"({"spec":{"type":"Odd","ports":[{"port":80}]}})"),
      R"(spec.type: Unsupported value: "Odd": supported values: "ClusterIP", "ExternalName", )"
      R"("LoadBalancer", "NodePort")");
  EXPECT_EQ(complaints("services", R"({"spec":{"type":"ExternalName"}})"),
            "spec.externalName: Required value");
  EXPECT_EQ(
      update_complaints("services", R"({"spec":{"clusterIP":"10.0.0.2","ports":[{"port":80}]}})",
                        R"({"spec":{"clusterIP":"10.0.0.1","ports":[{"port":80}]}})"),
      R"(spec.clusterIPs[0]: Invalid value: ["10.0.0.2"]: may not change once set)");
}

TEST(Validation, Addresses) {
  for (const char* good : {"10.0.0.1", "fe80::42:1dff:fe84:f9e2", "::1"})
    EXPECT_TRUE(model::ip_errors(good).empty()) << good;
  EXPECT_EQ(model::ip_errors("fe80:0::1").front(), R"(must be in canonical form ("fe80::1"))");
  EXPECT_EQ(model::ip_errors("::ffff:1.2.3.4").front(), "must not be an IPv4-mapped IPv6 address");
  EXPECT_EQ(model::ip_errors("web").front(),
            "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)");
  const std::string kind = "ipaddresses.networking.k8s.io";
  EXPECT_EQ(complaints(kind, R"({"metadata":{"name":"10.0.0.1"}})"),
            "spec.parentRef: Required value");
  EXPECT_EQ(complaints(kind, R"({"spec":{"parentRef":{"resource":"services","name":"a/b"}}})"),
            R"(spec.parentRef.name: Invalid value: "a/b": may not contain '/')");
  EXPECT_EQ(complaints(kind, R"({"spec":{"parentRef":{"name":"a"}}})"),
            "spec.parentRef.resource: Required value");
}

TEST(Validation, ConfigAndSecrets) {
  EXPECT_EQ(complaints("configmaps", R"({"data":{"a/b":"1"}})").substr(0, 48),
            R"(data[a/b]: Invalid value: "a/b": a valid config )");
  EXPECT_EQ(complaints("configmaps", R"({"data":{"a":"1"},"binaryData":{"a":"eA=="}})"),
            R"(data[a]: Invalid value: "a": duplicate of key present in binaryData)");
  EXPECT_EQ(update_complaints("configmaps", R"({"immutable":true,"data":{"a":"2"}})",
                              R"({"immutable":true,"data":{"a":"1"}})"),
            "data: Forbidden: field is immutable when `immutable` is set");
  EXPECT_EQ(update_complaints("configmaps", R"({"data":{"a":"1"}})",
                              R"({"immutable":true,"data":{"a":"1"}})"),
            "immutable: Forbidden: field is immutable when `immutable` is set");
  EXPECT_EQ(complaints("secrets", R"({"type":"kubernetes.io/tls","data":{"tls.crt":""}})"),
            "data[tls.key]: Required value");
  EXPECT_EQ(update_complaints("secrets", R"({"type":"b"})", R"({"type":"a"})"),
            R"(type: Invalid value: "b": field is immutable)");
}

TEST(Validation, Volumes) {
  EXPECT_EQ(
      complaints(
          "persistentvolumeclaims",
          R"({"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}})"
          R"(})"),
      "");
  EXPECT_EQ(complaints("persistentvolumeclaims", R"({"spec":{}})"),
            "spec.accessModes: Required value: at least 1 access mode is "
            "required\nspec.resources[storage]: Required value");
  EXPECT_EQ(
      update_complaints("persistentvolumeclaims", R"({"spec":{"accessModes":["ReadWriteMany"]}})",
                        R"({"spec":{"accessModes":["ReadWriteOnce"]}})"),
      "spec: Forbidden: spec is immutable after creation except resources.requests and "
      "volumeAttributesClassName for bound claims");
  EXPECT_EQ(
      update_complaints(
          "persistentvolumeclaims",
          R"({"spec":{"accessModes":["ReadWriteOnce"],"volumeName":"v",)"
          R"("resources":{"requests":{"storage":"2Gi"}}},"status":{"phase":"Bound"}})",
          R"({"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}})"
          R"(})"),
      "");
  EXPECT_EQ(
      complaints("persistentvolumes",
                 R"({"spec":{"accessModes":["ReadWriteOnce"],"capacity":{"storage":"1Gi"}}})"),
      "spec: Required value: must specify a volume type");
}

TEST(Validation, Priorities) {
  EXPECT_EQ(complaints("priorityclasses.scheduling.k8s.io",
                       R"({"metadata":{"name":"p"},"value":1000000001})"),
            "value: Forbidden: maximum allowed value of a user defined priority is 1000000000");
  EXPECT_EQ(complaints("priorityclasses.scheduling.k8s.io",
                       R"({"metadata":{"name":"system-x"},"value":1})"),
            "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for "
            "system use only. error: system-x is not a known system priority class");
  EXPECT_EQ(complaints("priorityclasses.scheduling.k8s.io",
                       R"({"metadata":{"name":"system-node-critical"},"value":2000001000})"),
            "");
  EXPECT_EQ(
      update_complaints("priorityclasses.scheduling.k8s.io", R"({"value":2})", R"({"value":1})"),
      "value: Forbidden: may not be changed in an update.");
}

TEST(Validation, Rbac) {
  EXPECT_EQ(complaints("roles.rbac.authorization.k8s.io", R"({"rules":[{"verbs":["get"]}]})"),
            "rules[0].apiGroups: Required value: resource rules must supply at least one api "
            "group\nrules[0].resources: Required value: resource rules must supply at least one "
            "resource");
  EXPECT_EQ(complaints("clusterroles.rbac.authorization.k8s.io",
                       R"({"rules":[{"verbs":["get"],"nonResourceURLs":["/x"]}]})"),
            "");
  EXPECT_EQ(
      complaints("rolebindings.rbac.authorization.k8s.io",
                 R"({"roleRef":{"kind":"Odd","name":"r"},"subjects":[{"kind":"ServiceAccount",)"
                 R"("name":"s"}]})"),
      "roleRef.kind: Unsupported value: \"Odd\": supported values: \"Role\", \"ClusterRole\"");
  EXPECT_EQ(update_complaints("rolebindings.rbac.authorization.k8s.io",
                              R"({"roleRef":{"kind":"Role","name":"b"}})",
                              R"({"roleRef":{"kind":"Role","name":"a"}})"),
            R"(roleRef: Invalid value: {"kind":"Role","name":"b",)"
            R"("apiGroup":"rbac.authorization.k8s.io"}: cannot change roleRef)");
}

TEST(Validation, TheRest) {
  EXPECT_EQ(complaints("leases.coordination.k8s.io", R"({"spec":{"leaseDurationSeconds":0}})"),
            "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0");
  EXPECT_EQ(
      complaints("poddisruptionbudgets.policy", R"({"spec":{"minAvailable":1,"maxUnavailable":1}})")
          .find("spec: Invalid value: "),
      0u);
  EXPECT_EQ(complaints("nodes", R"({"spec":{"taints":[{"key":"a","effect":"Odd"}]}})"),
            R"(spec.taints[0].effect: Unsupported value: "Odd": supported values: "NoSchedule", )"
            R"("PreferNoSchedule", "NoExecute")");
  EXPECT_EQ(complaints("endpoints", R"({"subsets":[{"addresses":[{"ip":"x"}]}]})"),
            R"(subsets[0].addresses[0].ip: Invalid value: "x": must be a valid IP address, (e.g. )"
            R"(10.9.8.7 or 2001:db8::ffff))");
  EXPECT_EQ(
      complaints("events", R"({"metadata":{"namespace":"a"},"involvedObject":{"namespace":"b"}})"),
      R"(involvedObject.namespace: Invalid value: "b": does not match event.namespace)");
  EXPECT_EQ(complaints(
                "horizontalpodautoscalers.v2.autoscaling",
                R"({"spec":{"minReplicas":5,"maxReplicas":2,"scaleTargetRef":{"kind":"Deployment",)"
                R"("apiVersion":"apps/v1","name":"d"}}})"),
            "spec.maxReplicas: Invalid value: 2: must be greater than or equal to `minReplicas`");
  EXPECT_EQ(complaints("networkpolicies.networking.k8s.io",
                       R"({"spec":{"ingress":[{"from":[{"ipBlock":{"cidr":"x"}}]}]}})"),
            R"(spec.ingress[0].from[0].ipBlock.cidr: Invalid value: "x": must be a valid CIDR )"
            R"(value, (e.g. 10.9.8.0/24 or 2001:db8::/64))");
  auto except = [&](const std::string& cidr, const std::string& except) {
    return complaints("networkpolicies.networking.k8s.io",
                      R"({"spec":{"egress":[{"to":[{"ipBlock":{"cidr":")" + cidr +
                          R"(","except":[")" + except + R"("]}}]}]}})");
  };
  const std::string at = "spec.egress[0].to[0].ipBlock.except[0]: Invalid value: ";
  EXPECT_EQ(except("10.0.0.0/8", "10.1.0.0/16"), "");
  EXPECT_EQ(except("2001:db8::/32", "2001:db8:1::/48"), "");
  EXPECT_EQ(except("10.0.0.0/8", "10.0.0.1 } return"),
            at + R"("10.0.0.1 } return": must be a valid CIDR value, (e.g. 10.9.8.0/24 or )"
                 R"(2001:db8::/64))");
  for (const char* block : {"11.1.0.0/16", "10.0.0.0/8", "10.0.0.0/7", "2001:db8::/32"})
    EXPECT_EQ(except("10.0.0.0/8", block),
              at + "\"" + block + "\": must be a strict subset of `cidr`");
  EXPECT_EQ(complaints("networkpolicies.networking.k8s.io",
                       R"({"spec":{"egress":[{"ports":[{"port":80,"endPort":65536}]}]}})"),
            "spec.egress[0].ports[0].endPort: Invalid value: 65536: must be between 1 and 65535, "
            "inclusive");
  EXPECT_EQ(complaints("storageclasses.storage.k8s.io", "{}"), "provisioner: Required value");
  EXPECT_EQ(
      complaints(
          "validatingwebhookconfigurations.admissionregistration.k8s.io",
          R"({"webhooks":[{"name":"a.b","sideEffects":"None","admissionReviewVersions":["v1"],)"
          R"("clientConfig":{"url":"https://x"}}]})"),
      R"(webhooks[0].name: Invalid value: "a.b": should be a domain with at least three )"
      R"(segments separated by dots)");
  const auto with_conditions = [](const std::string& conditions) {
    return complaints(
        "validatingwebhookconfigurations.admissionregistration.k8s.io",
        R"({"webhooks":[{"name":"a.b.c","sideEffects":"None","admissionReviewVersions":["v1"],)"
        R"("clientConfig":{"url":"https://x"},"matchConditions":)" +
            conditions + "}]}");
  };
  EXPECT_EQ(with_conditions(R"([{"name":"n","expression":"object.metadata.name == 'x'"}])"), "");
  EXPECT_TRUE(
      with_conditions(R"([{"name":"n","expression":"... [] bad"}])")
          .starts_with(R"(webhooks[0].matchConditions[0].expression: Invalid value: "... [] bad": )"
                       "compilation failed: "));
  EXPECT_EQ(with_conditions(R"([{"expression":"true"}])"),
            "webhooks[0].matchConditions[0].name: Required value");
}

}  // namespace
}  // namespace hekla::apiserver
