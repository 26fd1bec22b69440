// What a binding brings along: claims written before it, annotations with it, and where a job sits.
#include "scheduler/loop/scheduler_fixture_test.h"

namespace hekla::scheduler {
namespace {

const kube::Resource kDeviceClaims{"resource.k8s.io", "v1", "resourceclaims", "ResourceClaim"};
const kube::Resource kDeviceClasses{"resource.k8s.io", "v1", "deviceclasses", "DeviceClass", false};
const kube::Resource kSlices{"resource.k8s.io", "v1", "resourceslices", "ResourceSlice", false};

struct BindingsTest : SchedulerTest {
  void create(const kube::Resource& resource, std::string_view text) {
    ASSERT_TRUE(api.create(resource, Bench::yaml(text)));
  }
  void claims() {
    create(resources::storage_classes,
           "{metadata: {name: local}, provisioner: kubernetes.io/no-provisioner, "
           "volumeBindingMode: WaitForFirstConsumer}");
    create(resources::storage_classes,
           "{metadata: {name: path}, provisioner: rancher.io/local-path, "
           "volumeBindingMode: WaitForFirstConsumer}");
    create(resources::persistent_volume_claims,
           "{metadata: {namespace: default, name: static}, spec: {storageClassName: local}}");
    create(resources::persistent_volume_claims,
           "{metadata: {namespace: default, name: made}, spec: {storageClassName: path}}");
    create(resources::persistent_volumes,
           "{metadata: {name: disk}, spec: {storageClassName: local}}");
  }
  static constexpr std::string_view kPod =
      "{name: p, schedulerName: default-scheduler, cpu: 1, spec: {volumes: [{name: a, "
      "persistentVolumeClaim: {claimName: static}}, {name: b, persistentVolumeClaim: {claimName: "
      "made}}]}}";
};

TEST_F(BindingsTest, ClaimsAreWrittenBeforeThePodIsBound) {
  node("{name: n1, cpu: 4}");
  claims();
  start();
  pod(kPod);
  settle();
  EXPECT_EQ(node_of("p"), "n1");
  EXPECT_EQ(at(resources::persistent_volumes, "", "disk", {"spec", "claimRef", "name"}), "static");
  EXPECT_EQ(at(resources::persistent_volumes, "", "disk", {"spec", "claimRef", "uid"}),
            at(resources::persistent_volume_claims, "default", "static", {"metadata", "uid"}));
  EXPECT_EQ(at(resources::persistent_volume_claims, "default", "made",
               {"metadata", "annotations", "volume.kubernetes.io/selected-node"}),
            "n1");
  std::vector<std::string> order;
  for (const kube::Write& write : api.log())
    if (write.resource == resources::persistent_volumes ||
        write.resource == resources::persistent_volume_claims ||
        (write.resource == resources::pods && write.subresource.empty()))
      order.push_back(write.resource.kind);
  ASSERT_GE(order.size(), 3u);
  EXPECT_EQ(order.back(), "Pod");
}

TEST_F(BindingsTest, EventsAreWrittenByWhoeverIsToWriteThem) {
  BindingClient clerk{api, simulation.add("clerk")};
  node("{name: n1, cpu: 4}");
  start({.event_client = &clerk});
  pod("{name: p, schedulerName: default-scheduler, cpu: 1}");
  pod("{name: q, schedulerName: default-scheduler, cpu: 1}");
  settle();
  for (const char* name : {"p", "q"})
    EXPECT_EQ(events_about(name),
              (std::vector<std::string>{std::string("default-scheduler Scheduled: Successfully "
                                                    "assigned default/") +
                                        name + " to n1"}));
  EXPECT_EQ(clerk.events, 2u);
  EXPECT_EQ(client.events, 0u);
  scheduler.reset();
}

TEST_F(BindingsTest, APodWhoseClaimCannotBeWrittenIsPlacedAgain) {
  int refusals = 1;
  api.on_write = [&](const kube::Write& write) -> std::optional<Error> {
    if (write.resource != resources::persistent_volumes || refusals == 0) return std::nullopt;
    --refusals;
    return Error{Code::conflict, "somebody was faster"};
  };
  node("{name: n1, cpu: 4}");
  claims();
  start();
  pod(kPod);
  settle();
  EXPECT_EQ(refusals, 0);
  std::vector<std::string> events = events_about("p");
  EXPECT_NE(std::find(events.begin(), events.end(),
                      "default-scheduler FailedScheduling: somebody was faster"),
            events.end());
  ASSERT_TRUE(simulation.run_for(std::chrono::seconds(2)));
  EXPECT_EQ(node_of("p"), "n1");
  EXPECT_TRUE(client.binds.size() == 1u);
}

TEST_F(BindingsTest, ResourceClaimsGetTheirDevicesAndTheirUser) {
  node("{name: n1, cpu: 4}");
  create(kDeviceClasses, "{metadata: {name: gpu}, spec: {}}");
  create(kSlices,
         "{metadata: {name: s}, spec: {driver: d, nodeName: n1, pool: {name: p}, devices: [{name: "
         "gpu-0}]}}");
  create(kDeviceClaims,
         "{metadata: {namespace: default, name: c, finalizers: [other/one]}, spec: {devices: "
         "{requests: [{name: r, exactly: {deviceClassName: gpu}}]}}}");
  start();
  pod("{name: p, schedulerName: default-scheduler, cpu: 1, spec: {resourceClaims: [{name: x, "
      "resourceClaimName: c}]}}");
  settle();
  EXPECT_EQ(node_of("p"), "n1");
  EXPECT_EQ(at(kDeviceClaims, "default", "c", {"status", "allocation", "devices", "results"}),
            R"([{"request":"r","driver":"d","pool":"p","device":"gpu-0"}])");
  EXPECT_EQ(at(kDeviceClaims, "default", "c", {"metadata", "finalizers"}),
            R"(["other/one","resource.kubernetes.io/delete-protection"])");
  EXPECT_NE(at(kDeviceClaims, "default", "c", {"status", "reservedFor"}).find("\"name\":\"p\""),
            std::string::npos);
}

TEST_F(BindingsTest, SeveralPodsJoinAClaimAtOnce) {
  node("{name: n1, cpu: 4}");
  create(kDeviceClasses, "{metadata: {name: gpu}, spec: {}}");
  create(kSlices,
         "{metadata: {name: s}, spec: {driver: d, nodeName: n1, pool: {name: p}, devices: [{name: "
         "gpu-0}]}}");
  create(kDeviceClaims,
         "{metadata: {namespace: default, name: c}, spec: {devices: {requests: [{name: r, exactly: "
         "{deviceClassName: gpu}}]}}}");
  for (const char* name : {"p", "q", "r"})
    pod("{name: " + std::string(name) +
        ", schedulerName: default-scheduler, cpu: 1, spec: {resourceClaims: [{name: x, "
        "resourceClaimName: c}]}}");
  start();
  settle();
  for (const char* name : {"p", "q", "r"}) {
    EXPECT_EQ(node_of(name), "n1");
    EXPECT_NE(at(kDeviceClaims, "default", "c", {"status", "reservedFor"})
                  .find("\"name\":\"" + std::string(name) + "\""),
              std::string::npos);
  }
}

TEST_F(BindingsTest, AnnotationsTravelWithTheBindingAndAJobSaysWhereItSits) {
  node("{name: n1, cpu: 4, resources: {volcano.sh/gpu-memory: 10, volcano.sh/gpu-number: 1}}");
  create(resources::hyper_nodes,
         "{metadata: {name: s0}, spec: {tier: 1, members: [{type: Node, selector: {exactMatch: "
         "{name: n1}}}]}}");
  start();
  ASSERT_TRUE(scheduler->set_configuration(R"(actions: allocate
tiers:
- plugins:
  - name: gang
  - name: predicates
  - name: network-topology-aware
  - name: deviceshare
    arguments: {deviceshare.GPUSharingEnable: true}
)"));
  group("{name: g, minMember: 1, networkTopology: {mode: hard, highestTierAllowed: 1}}");
  pod("{name: g-0, group: g, spec: {containers: [{name: c, image: x, resources: {limits: "
      "{volcano.sh/gpu-memory: 4}, requests: {volcano.sh/gpu-memory: 4}}}]}}");
  settle();
  ASSERT_EQ(client.binds.size(), 1u);
  EXPECT_EQ(
      json::string_at(client.binds[0].body, {"metadata", "annotations", "volcano.sh/gpu-index"}),
      "0");
  EXPECT_EQ(at(resources::pod_groups, "default", "g",
               {"metadata", "annotations", "volcano.sh/job-allocated-hypernode"}),
            "s0");
}

TEST_F(BindingsTest, AConfigurationWithAMetricsSourceNobodyKnowsIsRefused) {
  start();
  Result<void> refused = scheduler->set_configuration(
      "actions: allocate\ntiers: []\nmetrics: {type: elasticsearch, address: x}\n");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("elasticsearch"), std::string::npos);
}

}  // namespace
}  // namespace hekla::scheduler
