// The printed columns of every kind but pods, and the cells' formats.
#include "apiserver/kinds/builtin.h"
#include "apiserver/kinds/kinds_fixture_test.h"

namespace hekla::apiserver {
namespace {

using namespace testing;

// "Ready Status IP*": a star marks what only -o wide shows.
std::string column_names(std::string_view kind) {
  std::string out;
  for (const Column& column : kind_of(kind).printing.columns)
    out += (out.empty() ? "" : " ") + column.name + (column.priority > 0 ? "*" : "");
  return out;
}

TEST(Columns, NamesOfEveryKind) {
  const std::pair<const char*, const char*> cases[] = {
      {"pods", "Ready Status Restarts Age IP* Node* Nominated Node* Readiness Gates*"},
      {"services", "Type Cluster-IP External-IP Port(s) Age Selector*"},
      {"endpoints", "Endpoints Age"},
      {"configmaps", "Data Age"},
      {"secrets", "Type Data Age"},
      {"namespaces", "Status Age"},
      {"nodes",
       "Status Roles Age Version Internal-IP* External-IP* OS-Image* Kernel-Version* "
       "Container-Runtime*"},
      {"events",
       "Last Seen Type Reason Object Subobject* Source* Message First Seen* Count* Name*"},
      {"events.events.k8s.io",
       "Last Seen Type Reason Object Subobject* Source* Message First Seen* Count* Name*"},
      {"persistentvolumes",
       "Capacity Access Modes Reclaim Policy Status Claim StorageClass VolumeAttributesClass "
       "Reason Age VolumeMode*"},
      {"persistentvolumeclaims",
       "Status Volume Capacity Access Modes StorageClass VolumeAttributesClass Age VolumeMode*"},
      {"serviceaccounts", "Secrets Age"},
      {"resourcequotas", "Request Limit Age"},
      {"limitranges", ""},
      {"replicationcontrollers", "Desired Current Ready Age Containers* Images* Selector*"},
      {"podtemplates", "Containers Images Pod Labels"},
      {"deployments.apps", "Ready Up-to-date Available Age Containers* Images* Selector*"},
      {"replicasets.apps", "Desired Current Ready Age Containers* Images* Selector*"},
      {"statefulsets.apps", "Ready Age Containers* Images*"},
      {"daemonsets.apps",
       "Desired Current Ready Up-to-date Available Node Selector Age Containers* Images* "
       "Selector*"},
      {"controllerrevisions.apps", "Controller Revision Age"},
      {"jobs.batch", "Status Completions Duration Age Containers* Images* Selector*"},
      {"cronjobs.batch",
       "Schedule Timezone Suspend Active Last Schedule Age Containers* Images* Selector*"},
      {"priorityclasses.scheduling.k8s.io", "Value Global-Default Age PreemptionPolicy"},
      {"poddisruptionbudgets.policy", "Min Available Max Unavailable Allowed Disruptions Age"},
      {"roles.rbac.authorization.k8s.io", ""},
      {"clusterroles.rbac.authorization.k8s.io", ""},
      {"rolebindings.rbac.authorization.k8s.io", "Role Age Users* Groups* ServiceAccounts*"},
      {"clusterrolebindings.rbac.authorization.k8s.io", "Role Age Users* Groups* ServiceAccounts*"},
      {"storageclasses.storage.k8s.io",
       "Name Provisioner ReclaimPolicy VolumeBindingMode AllowVolumeExpansion Age"},
      {"leases.coordination.k8s.io", "Holder Age"},
      {"endpointslices.discovery.k8s.io", "AddressType Ports Endpoints Age"},
      {"ingresses.networking.k8s.io", "Class Hosts Address Ports Age"},
      {"ingressclasses.networking.k8s.io", "Controller Parameters Age"},
      {"networkpolicies.networking.k8s.io", "Pod-Selector Age"},
      {"customresourcedefinitions.apiextensions.k8s.io", ""},
      {"apiservices.apiregistration.k8s.io", "Service Available Age"},
      {"mutatingwebhookconfigurations.admissionregistration.k8s.io", "Webhooks Age"},
      {"validatingwebhookconfigurations.admissionregistration.k8s.io", "Webhooks Age"},
      {"horizontalpodautoscalers.v2.autoscaling", "Reference Targets MinPods MaxPods Replicas Age"},
      {"horizontalpodautoscalers.v1.autoscaling", "Reference Targets MinPods MaxPods Replicas Age"},
      {"runtimeclasses.node.k8s.io", "Handler Age"},
      {"certificatesigningrequests.certificates.k8s.io",
       "Age SignerName Requestor RequestedDuration Condition"},
      {"flowschemas.flowcontrol.apiserver.k8s.io",
       "PriorityLevel MatchingPrecedence DistinguisherMethod Age MissingPL"},
      {"resourceclaims.resource.k8s.io", "State Age"},
  };
  for (const auto& [kind, names] : cases) EXPECT_EQ(column_names(kind), names) << kind;
}

TEST(Columns, OneCellPerColumnOnAnEmptyObject) {
  for (const KindPtr& kind : builtin_kinds()) {
    EXPECT_EQ(kind->printing.cells == nullptr, kind->printing.columns.empty())
        << kind->resource.plural;
    if (!kind->printing.cells) continue;
    EXPECT_EQ(kind->printing.cells(json::Object(), test_now()).size(),
              kind->printing.columns.size())
        << kind->resource.plural;
  }
}

TEST(Columns, OnlyEventsAndStorageClassesNameThemselves) {
  for (const KindPtr& kind : builtin_kinds())
    EXPECT_EQ(kind->printing.names_itself,
              kind->resource.plural == "events" || kind->resource.plural == "storageclasses");
}

const char* const kMeta = R"("metadata":{"name":"x","creationTimestamp":"2024-01-01T00:00:00Z"})";
std::string object(std::string_view rest) {
  return "{" + std::string(kMeta) + (rest.empty() ? "" : ",") + std::string(rest) + "}";
}

TEST(Cells, Services) {
  EXPECT_EQ(
      cells("services",
            object(R"("spec":{"type":"ClusterIP","clusterIPs":["10.0.0.1"],"ports":[{"port":80,)"
                   R"("protocol":"TCP"},{"port":443,"nodePort":30443,"protocol":"TCP"}],)"
                   R"("selector":{"b":"2","a":"1"}})")),
      "ClusterIP|10.0.0.1|<none>|80/TCP,443:30443/TCP|60m|a=1,b=2");
  EXPECT_EQ(cells("services", object(R"("spec":{"type":"LoadBalancer","clusterIP":"10.0.0.1"})")),
            "LoadBalancer|10.0.0.1|<pending>|<none>|60m|<none>");
  EXPECT_EQ(
      cells(
          "services",
          object(
              R"("spec":{"type":"LoadBalancer"},"status":{"loadBalancer":{"ingress":[{"ip":"2.2.2.2"})"
              R"(,{"hostname":"a.b"}]}})")),
      "LoadBalancer|<none>|2.2.2.2,a.b|<none>|60m|<none>");
  EXPECT_EQ(cells("services", object(R"("spec":{"type":"ExternalName","externalName":"e.x"})")),
            "ExternalName|<none>|e.x|<none>|60m|<none>");
}

TEST(Cells, NodesHaveRolesAndState) {
  EXPECT_EQ(
      cells("nodes",
            R"({"metadata":{"creationTimestamp":"2024-01-01T00:00:00Z",)"
            R"("labels":{"node-role.kubernetes.io/control-plane":"","kubernetes.io/role":"gpu"}},)"
            R"("spec":{"unschedulable":true},"status":{"conditions":[{"type":"Ready",)"
            R"("status":"True"}],"nodeInfo":{"kubeletVersion":"v1"},)"
            R"("addresses":[{"type":"InternalIP","address":"10.1.1.1"}]}})"),
      "Ready,SchedulingDisabled|control-plane,gpu|60m|v1|10.1.1.1|<none>|<unknown>|<unknown>|<"
      "unknown>");
  EXPECT_EQ(
      cells("nodes", object(R"("status":{"conditions":[{"type":"Ready","status":"False"}]})")),
      "NotReady|<none>|60m||<none>|<none>|<unknown>|<unknown>|<unknown>");
  EXPECT_EQ(cells("nodes", object("")).substr(0, 7), "Unknown");
}

TEST(Cells, EventsOldAndNew) {
  EXPECT_EQ(
      cells("events",
            object(
                R"("lastTimestamp":"2024-01-01T00:59:00Z","firstTimestamp":"2024-01-01T00:58:00Z",)"
                R"("count":4,"type":"Normal","reason":"R","message":" m \n",)"
                R"("involvedObject":{"kind":"Pod","name":"p","fieldPath":"spec"},)"
                R"("source":{"component":"c","host":"h"})")),
      "60s|Normal|R|pod/p|spec|c, h|m|2m|4|x");
  EXPECT_EQ(
      cells("events", object(R"("eventTime":"2024-01-01T00:59:30Z","reportingComponent":"rc",)"
                             R"("involvedObject":{"kind":"Pod"})")),
      "30s|||pod||rc||30s|1|x");
  EXPECT_EQ(
      cells(
          "events",
          object(R"("eventTime":"2024-01-01T00:00:00Z","series":{"count":9,)"
                 R"("lastObservedTime":"2024-01-01T00:59:50Z"},"involvedObject":{"kind":"Pod"})")),
      "10s|||pod||||60m|9|x");
  EXPECT_EQ(
      cells("events.events.k8s.io",
            object(R"("eventTime":"2024-01-01T00:59:30Z","reportingController":"rc","note":"n",)"
                   R"("regarding":{"kind":"Job","name":"j"})")),
      "30s|||job/j||rc|n|30s|1|x");
}

TEST(Cells, Jobs) {
  EXPECT_EQ(
      cells(
          "jobs.batch",
          object(
              R"("spec":{"completions":3},"status":{"succeeded":1,"startTime":"2024-01-01T00:50:00Z"})")),
      "Running|1/3|10m|60m|||<none>");
  EXPECT_EQ(cells("jobs.batch", object(R"("spec":{"parallelism":4})")),
            "Running|0/1 of 4||60m|||<none>");
  EXPECT_EQ(cells("jobs.batch", object(R"("spec":{"parallelism":1})")),
            "Running|0/1||60m|||<none>");
  EXPECT_EQ(
      cells("jobs.batch",
            object(R"("spec":{"completions":1,"selector":{"matchLabels":{"u":"1"}},)"
                   R"("template":{"spec":{"containers":[{"name":"a","image":"i"},{"name":"b",)"
                   R"("image":"j"}]}}},"status":{"succeeded":1,"startTime":"2024-01-01T00:00:00Z",)"
                   R"("completionTime":"2024-01-01T00:01:05Z","conditions":[{"type":"Complete",)"
                   R"("status":"True"}]})")),
      "Complete|1/1|65s|60m|a,b|i,j|u=1");
  for (const char* state : {"Failed", "Suspended", "FailureTarget", "SuccessCriteriaMet"})
    EXPECT_EQ(cells("jobs.batch", object(R"("status":{"conditions":[{"type":")" +
                                         std::string(state) + R"(","status":"True"}]})"))
                  .substr(0, std::string(state).size()),
              state);
}

TEST(Cells, CronJobs) {
  EXPECT_EQ(
      cells("cronjobs.batch",
            object(R"("spec":{"schedule":"* * * * *","suspend":false},"status":{"active":[{}],)"
                   R"("lastScheduleTime":"2024-01-01T00:59:00Z"})")),
      "* * * * *|<none>|False|1|60s|60m|||<none>");
}

TEST(Cells, Workloads) {
  const char* tail = R"("template":{"spec":{"containers":[{"name":"c","image":"i"}]}},)"
                     R"("selector":{"matchLabels":{"a":"b"}}})";
  EXPECT_EQ(
      cells("deployments.apps",
            object(std::string(R"("spec":{"replicas":3,)") + tail +
                   R"(,"status":{"readyReplicas":1,"updatedReplicas":2,"availableReplicas":1})")),
      "1/3|2|1|60m|c|i|a=b");
  EXPECT_EQ(cells("replicasets.apps", object(std::string(R"("spec":{"replicas":3,)") + tail +
                                             R"(,"status":{"replicas":2,"readyReplicas":1})")),
            "3|2|1|60m|c|i|a=b");
  EXPECT_EQ(cells("statefulsets.apps", object(std::string(R"("spec":{"replicas":3,)") + tail +
                                              R"(,"status":{"readyReplicas":1})")),
            "1/3|60m|c|i");
  EXPECT_EQ(
      cells("daemonsets.apps", object(std::string(R"("spec":{)") + tail +
                                      R"(,"status":{"desiredNumberScheduled":5,"numberReady":4})")),
      "5|0|4|0|0|<none>|60m|c|i|a=b");
  EXPECT_EQ(
      cells("controllerrevisions.apps",
            R"({"metadata":{"creationTimestamp":"2024-01-01T00:00:00Z",)"
            R"("ownerReferences":[{"controller":true,"kind":"StatefulSet","apiVersion":"apps/v1",)"
            R"("name":"s"}]},"revision":2})"),
      "statefulset.apps/s|2|60m");
}

TEST(Cells, Volumes) {
  EXPECT_EQ(cells("persistentvolumes",
                  object(R"("spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteMany",)"
                         R"("ReadWriteOnce"],"persistentVolumeReclaimPolicy":"Retain",)"
                         R"("claimRef":{"namespace":"n","name":"c"},"storageClassName":"s",)"
                         R"("volumeMode":"Filesystem"},"status":{"phase":"Bound"})")),
            "1Gi|RWO,RWX|Retain|Bound|n/c|s|<unset>||60m|Filesystem");
  EXPECT_EQ(cells("persistentvolumeclaims",
                  object(R"("spec":{"storageClassName":"s"},"status":{"phase":"Pending"})")),
            "Pending||||s|<unset>|60m|<unset>");
  EXPECT_EQ(
      cells(
          "persistentvolumeclaims",
          object(
              R"("spec":{"volumeName":"v"},"status":{"phase":"Bound","capacity":{"storage":"1Gi"},)"
              R"("accessModes":["ReadWriteOnce"]})")),
      "Bound|v|1Gi|RWO||<unset>|60m|<unset>");
}

TEST(Cells, EndpointsAreCutAfterThree) {
  EXPECT_EQ(cells("endpoints", object("")), "<none>|60m");
  EXPECT_EQ(
      cells(
          "endpoints",
          object(
              R"("subsets":[{"addresses":[{"ip":"1.1.1.1"},{"ip":"1.1.1.2"}],"ports":[{"port":80},)"
              R"({"port":81}]}])")),
      "1.1.1.1:80,1.1.1.2:80,1.1.1.1:81 + 1 more...|60m");
  EXPECT_EQ(cells("endpointslices.discovery.k8s.io",
                  object(R"("addressType":"IPv4","ports":[{"port":80},{"name":"n"}],)"
                         R"("endpoints":[{"addresses":["1.1.1.1"]}])")),
            "IPv4|80,n|1.1.1.1|60m");
  EXPECT_EQ(cells("endpointslices.discovery.k8s.io", object("")), "|<unset>|<unset>|60m");
}

TEST(Cells, SmallKinds) {
  EXPECT_EQ(cells("configmaps", object(R"("data":{"a":"1"},"binaryData":{"b":"x"})")), "2|60m");
  EXPECT_EQ(cells("secrets", object(R"("type":"Opaque","data":{"a":"1"})")), "Opaque|1|60m");
  EXPECT_EQ(cells("namespaces", object(R"("status":{"phase":"Active"})")), "Active|60m");
  EXPECT_EQ(
      cells(
          "resourcequotas",
          object(
              R"("status":{"hard":{"limits.cpu":"2","pods":"5","cpu":"1"},"used":{"pods":"1"}})")),
      "cpu: 0/1, pods: 1/5|limits.cpu: 0/2|60m");
  EXPECT_EQ(
      cells("priorityclasses.scheduling.k8s.io", object(R"("value":5,"preemptionPolicy":"Never")")),
      "5|false|60m|Never");
  EXPECT_EQ(cells("poddisruptionbudgets.policy",
                  object(R"("spec":{"minAvailable":"50%"},"status":{"disruptionsAllowed":2})")),
            "50%|N/A|2|60m");
  EXPECT_EQ(cells("leases.coordination.k8s.io", object(R"("spec":{"holderIdentity":"h"})")),
            "h|60m");
  EXPECT_EQ(cells("storageclasses.storage.k8s.io",
                  R"({"metadata":{"name":"s","creationTimestamp":"2024-01-01T00:00:00Z",)"
                  R"("annotations":{"storageclass.kubernetes.io/is-default-class":"true"}},)"
                  R"("provisioner":"p"})"),
            "s (default)|p|Delete|Immediate|false|60m");
  EXPECT_EQ(
      cells(
          "rolebindings.rbac.authorization.k8s.io",
          object(
              R"("roleRef":{"kind":"Role","name":"r"},"subjects":[{"kind":"User","name":"u"},)"
              R"({"kind":"Group","name":"g"},{"kind":"ServiceAccount","namespace":"n","name":"s"}])")),
      "Role/r|60m|u|g|n/s");
  EXPECT_EQ(
      cells(
          "ingresses.networking.k8s.io",
          object(
              R"("spec":{"rules":[{"host":"a"},{"host":"b"},{"host":"c"},{"host":"d"}],"tls":[{}]})")),
      "<none>|a,b,c + 1 more...||80, 443|60m");
  EXPECT_EQ(cells("networkpolicies.networking.k8s.io", object(R"("spec":{"podSelector":{}})")),
            "<none>|60m");
  EXPECT_EQ(
      cells("horizontalpodautoscalers.v2.autoscaling",
            object(R"("spec":{"scaleTargetRef":{"kind":"Deployment","name":"d"},"minReplicas":1,)"
                   R"("maxReplicas":5,"metrics":[{"type":"Resource","resource":{"name":"cpu",)"
                   R"("target":{"type":"Utilization","averageUtilization":80}}}]},)"
                   R"("status":{"currentReplicas":2,"currentMetrics":[{"type":"Resource",)"
                   R"("resource":{"name":"cpu","current":{"averageUtilization":30}}}]})")),
      "Deployment/d|cpu: 30%/80%|1|5|2|60m");
  EXPECT_EQ(
      cells(
          "apiservices.apiregistration.k8s.io",
          object(
              R"("status":{"conditions":[{"type":"Available","status":"False","reason":"Gone"}]})")),
      "Local|False (Gone)|60m");
}

TEST(Cells, AnObjectWithoutAgeIsUnknown) { EXPECT_EQ(cells("configmaps", "{}"), "0|<unknown>"); }

}  // namespace
}  // namespace hekla::apiserver
