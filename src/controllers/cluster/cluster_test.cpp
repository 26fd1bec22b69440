// Garbage collection, namespaces, expiry of events and endpoints, on a fake API in simulated time.
#include "controllers/cluster/cluster_fixture_test.h"
#include "controllers/cluster/endpoints.h"
#include "controllers/cluster/event_expiry.h"
#include "controllers/cluster/garbage_collector.h"
#include "controllers/cluster/namespaces.h"

namespace hekla::controllers {
namespace {

namespace resources = kube::resources;

class GarbageCollectorTest : public ClusterTest {
 protected:
  GarbageCollectorTest()
      : discovery_({resources::config_maps, resources::secrets, resources::nodes, resources::pods}),
        collector_(client_, discovery_) {
    collector_.start();
    settle();
  }
  // A ConfigMap in `default` unless `name` says otherwise ("other/x"), owned as `owners` says.
  void map(const std::string& name, const std::string& owners = "[]",
           const std::string& more = "") {
    create(resources::config_maps,
           "{metadata: {name: " + name + ", ownerReferences: " + owners + more + "}}");
  }
  static std::string owner(const std::string& name, const std::string& more = "") {
    return "{apiVersion: v1, kind: ConfigMap, name: " + name + ", uid: u-configmaps-" + name +
           more + "}";
  }
  bool map_exists(const std::string& name) const {
    return has(resources::config_maps, {"default", name});
  }

  FixedDiscovery discovery_;
  GarbageCollector collector_;
};

TEST_F(GarbageCollectorTest, BackgroundTakesDependentsAfterTheOwner) {
  map("owner");
  map("child", "[" + owner("owner") + "]");
  map("grandchild", "[" + owner("child") + "]");
  map("stranger");
  EXPECT_TRUE(map_exists("child"));
  remove(resources::config_maps, {"default", "owner"}, "Background");
  EXPECT_FALSE(map_exists("child"));
  EXPECT_FALSE(map_exists("grandchild"));
  EXPECT_TRUE(map_exists("stranger"));
}

TEST_F(GarbageCollectorTest, OneLivingOwnerIsEnough) {
  map("a");
  map("b");
  map("child", "[" + owner("a") + ", " + owner("b") + "]");
  remove(resources::config_maps, {"default", "a"});
  EXPECT_TRUE(map_exists("child"));
  // Only what is dead is struck off.
  EXPECT_EQ(at(resources::config_maps, {"default", "child"}, {"metadata", "ownerReferences"})
                .find("u-configmaps-a"),
            std::string::npos);
  remove(resources::config_maps, {"default", "b"});
  EXPECT_FALSE(map_exists("child"));
}

TEST_F(GarbageCollectorTest, AnOwnerOfTheSameNameIsAnother) {
  map("owner");
  map("child", "[{apiVersion: v1, kind: ConfigMap, name: owner, uid: long-gone}]");
  EXPECT_FALSE(map_exists("child"));
  map("waif", "[{apiVersion: v1, kind: ConfigMap, name: nobody, uid: u-none}]");
  EXPECT_FALSE(map_exists("waif"));
}

TEST_F(GarbageCollectorTest, AnOwnerOfAKindNobodyServesIsLeftInDoubt) {
  map("child", "[{apiVersion: example.com/v1, kind: Widget, name: w, uid: u-w}]");
  EXPECT_TRUE(map_exists("child"));
}

TEST_F(GarbageCollectorTest, OwnersInAnotherNamespaceCountAsAbsent) {
  create(resources::config_maps, "{metadata: {name: owner, namespace: other}}");
  map("child", "[{apiVersion: v1, kind: ConfigMap, name: owner, uid: u-configmaps-owner}]");
  EXPECT_FALSE(map_exists("child"));
  EXPECT_TRUE(has(resources::config_maps, {"other", "owner"}));
  EXPECT_TRUE(
      has_event("Warning OwnerRefInvalidNamespace: ownerRef [v1/ConfigMap, namespace: default, "
                "name: owner, uid: u-configmaps-owner] does not exist in namespace \"default\""))
      << ::testing::PrintToString(events());
}

TEST_F(GarbageCollectorTest, ClusterScopedOwnersServeAnyNamespace) {
  create(resources::nodes, "{metadata: {name: n1}}");
  map("child", "[{apiVersion: v1, kind: Node, name: n1, uid: u-nodes-n1}]");
  EXPECT_TRUE(map_exists("child"));
  remove(resources::nodes, {"", "n1"});
  EXPECT_FALSE(map_exists("child"));
}

TEST_F(GarbageCollectorTest, ForegroundWaitsForThoseThatBlock) {
  map("owner");
  map("blocking", "[" + owner("owner", ", blockOwnerDeletion: true") + "]",
      ", finalizers: [example.com/busy]");
  map("idle", "[" + owner("owner") + "]", ", finalizers: [example.com/busy]");
  remove(resources::config_maps, {"default", "owner"}, "Foreground");
  EXPECT_TRUE(map_exists("owner"));
  EXPECT_NE(at(resources::config_maps, {"default", "blocking"}, {"metadata", "deletionTimestamp"}),
            "");
  EXPECT_NE(at(resources::config_maps, {"default", "idle"}, {"metadata", "deletionTimestamp"}), "");
  // The idle one may linger, the blocking one may not.
  patch(resources::config_maps, {"default", "blocking"},
        "{metadata: {finalizers: [foregroundDeletion]}}");
  advance(std::chrono::seconds(2));
  EXPECT_FALSE(map_exists("blocking"));
  EXPECT_FALSE(map_exists("owner"));
  EXPECT_TRUE(map_exists("idle"));
}

TEST_F(GarbageCollectorTest, ForegroundWithoutDependentsEndsAtOnce) {
  map("owner");
  remove(resources::config_maps, {"default", "owner"}, "Foreground");
  EXPECT_FALSE(map_exists("owner"));
}

TEST_F(GarbageCollectorTest, CirclesDoNotBlock) {
  map("a");
  map("b", "[" + owner("a", ", blockOwnerDeletion: true") + "]");
  patch(resources::config_maps, {"default", "a"},
        "{metadata: {ownerReferences: [" + owner("b", ", blockOwnerDeletion: true") + "]}}");
  EXPECT_TRUE(map_exists("a") && map_exists("b"));
  remove(resources::config_maps, {"default", "a"}, "Foreground");
  advance(std::chrono::seconds(5));
  EXPECT_FALSE(map_exists("a"));
  EXPECT_FALSE(map_exists("b"));
}

TEST_F(GarbageCollectorTest, ForegroundSparesWhatAnotherOwns) {
  map("owner");
  map("other");
  map("child", "[" + owner("owner", ", blockOwnerDeletion: true") + ", " + owner("other") + "]");
  remove(resources::config_maps, {"default", "owner"}, "Foreground");
  advance(std::chrono::seconds(2));
  EXPECT_FALSE(map_exists("owner"));
  EXPECT_TRUE(map_exists("child"));
}

TEST_F(GarbageCollectorTest, OrphansLoseTheOwnerAndStay) {
  map("owner");
  map("other");
  map("child", "[" + owner("owner") + ", " + owner("other") + "]");
  remove(resources::config_maps, {"default", "owner"}, "Orphan");
  advance(std::chrono::seconds(2));
  EXPECT_FALSE(map_exists("owner"));
  ASSERT_TRUE(map_exists("child"));
  EXPECT_EQ(json::array_at(*api_.find(resources::config_maps, {"default", "child"}),
                           {"metadata", "ownerReferences"})
                ->size(),
            1u);
  remove(resources::config_maps, {"default", "other"}, "Orphan");
  advance(std::chrono::seconds(2));
  EXPECT_TRUE(map_exists("child"));
}

TEST_F(GarbageCollectorTest, FailedRemovalsAreTriedAgain) {
  map("owner");
  map("child", "[" + owner("owner") + "]");
  int refusals = 2;
  api_.on_write = [&](const kube::Write& write) -> std::optional<Error> {
    if (write.verb == kube::Write::Verb::remove && refusals-- > 0)
      return Error{Code::unavailable, "not now"};
    return std::nullopt;
  };
  remove(resources::config_maps, {"default", "owner"});
  EXPECT_TRUE(map_exists("child"));
  advance(std::chrono::seconds(5));
  EXPECT_FALSE(map_exists("child"));
}

class NamespacesTest : public ClusterTest {
 protected:
  NamespacesTest()
      : discovery_({resources::config_maps, resources::secrets, resources::pods,
                    resources::service_accounts, resources::nodes}),
        namespaces_(client_, discovery_, "the root") {
    namespaces_.start();
    settle();
  }
  void make(const std::string& name) {
    create(resources::namespaces,
           "{metadata: {name: " + name +
               "}, spec: {finalizers: [kubernetes]}, status: {phase: Active}}");
  }
  std::string condition(const std::string& ns, std::string_view type) const {
    const json::Value* object = api_.find(resources::namespaces, {"", ns});
    const json::Array* all = object ? json::array_at(*object, {"status", "conditions"}) : nullptr;
    if (!all) return "";
    for (const json::Value& one : *all)
      if (json::string_at(one, {"type"}) == type)
        return std::string(json::string_at(one, {"status"})) + " " +
               std::string(json::string_at(one, {"reason"})) + ": " +
               std::string(json::string_at(one, {"message"}));
    return "";
  }

  FixedDiscovery discovery_;
  Namespaces namespaces_;
};

TEST_F(NamespacesTest, AreFurnishedAndStayFurnished) {
  make("team");
  EXPECT_TRUE(has(resources::service_accounts, {"team", "default"}));
  EXPECT_EQ(at(resources::config_maps, {"team", "kube-root-ca.crt"}, {"data", "ca.crt"}),
            "\"the root\"");
  remove(resources::service_accounts, {"team", "default"});
  remove(resources::config_maps, {"team", "kube-root-ca.crt"});
  EXPECT_TRUE(has(resources::service_accounts, {"team", "default"}));
  EXPECT_TRUE(has(resources::config_maps, {"team", "kube-root-ca.crt"}));
  patch(resources::config_maps, {"team", "kube-root-ca.crt"}, "{data: {ca.crt: forged, more: x}}");
  EXPECT_EQ(at(resources::config_maps, {"team", "kube-root-ca.crt"}, {"data"}),
            "{\"ca.crt\":\"the root\"}");
}

TEST_F(NamespacesTest, GoWithTheirContentPodsFirst) {
  make("team");
  create(resources::secrets, "{metadata: {name: s, namespace: team}}");
  create(resources::pods, "{metadata: {name: p, namespace: team, finalizers: [example.com/busy]}}");
  create(resources::secrets, "{metadata: {name: s, namespace: elsewhere}}");
  remove(resources::namespaces, {"", "team"});
  advance(std::chrono::seconds(1));
  // The pod holds everything else back.
  EXPECT_TRUE(has(resources::secrets, {"team", "s"}));
  EXPECT_NE(at(resources::pods, {"team", "p"}, {"metadata", "deletionTimestamp"}), "");
  EXPECT_EQ(
      condition("team", "NamespaceContentRemaining"),
      "True SomeResourcesRemain: Some resources are remaining: pods. has 1 resource instances");
  EXPECT_EQ(condition("team", "NamespaceFinalizersRemaining"),
            "True SomeFinalizersRemain: Some content in the namespace has finalizers remaining: "
            "example.com/busy in 1 resource instances");
  EXPECT_EQ(
      condition("team", "NamespaceDeletionContentFailure"),
      "False ContentDeleted: All content successfully deleted, may be waiting on finalization");
  patch(resources::pods, {"team", "p"}, "{metadata: {finalizers: null}}");
  advance(std::chrono::seconds(10));
  EXPECT_FALSE(has(resources::secrets, {"team", "s"}));
  EXPECT_FALSE(has(resources::namespaces, {"", "team"}));
  EXPECT_TRUE(has(resources::secrets, {"elsewhere", "s"}));
}

TEST_F(NamespacesTest, ForeignFinalizersOfTheNamespaceAreRespected) {
  create(resources::namespaces,
         "{metadata: {name: team}, spec: {finalizers: [kubernetes, example.com/audit]}}");
  remove(resources::namespaces, {"", "team"});
  advance(std::chrono::seconds(5));
  EXPECT_EQ(at(resources::namespaces, {"", "team"}, {"spec", "finalizers"}),
            R"(["example.com/audit"])");
}

TEST_F(NamespacesTest, WhatCannotBeDeletedIsReportedAndTriedAgain) {
  make("team");
  create(resources::secrets, "{metadata: {name: s, namespace: team}}");
  bool broken = true;
  api_.on_write = [&](const kube::Write& write) -> std::optional<Error> {
    if (broken && write.verb == kube::Write::Verb::remove && write.resource == resources::secrets)
      return Error{Code::forbidden, "no"};
    return std::nullopt;
  };
  remove(resources::namespaces, {"", "team"});
  advance(std::chrono::seconds(2));
  EXPECT_EQ(condition("team", "NamespaceDeletionContentFailure"),
            "True ContentDeletionFailed: Failed to delete all resource types, 1 remaining: no");
  broken = false;
  advance(std::chrono::seconds(10));
  EXPECT_FALSE(has(resources::namespaces, {"", "team"}));
}

class EventExpiryTest : public ClusterTest {
 protected:
  EventExpiryTest() : expiry_(client_) { expiry_.start(); }
  EventExpiry expiry_;
};

TEST_F(EventExpiryTest, AnHourAfterTheLastWord) {
  create(resources::events,
         "{metadata: {name: once, namespace: default}, lastTimestamp: '2026-01-01T00:00:00Z'}");
  create(resources::events,
         "{metadata: {name: again, namespace: default}, lastTimestamp: '2026-01-01T00:00:00Z'}");
  // Events of events.k8s.io carry no lastTimestamp: their making counts, or the last of the series.
  create(resources::events,
         "{metadata: {name: new, namespace: default}, eventTime: '2026-01-01T00:00:00.000000Z'}");
  create(resources::events,
         "{metadata: {name: series, namespace: default}, eventTime: '2026-01-01T00:00:00.000000Z', "
         "series: {count: 2, lastObservedTime: '2026-01-01T00:30:00.000000Z'}}");
  advance(std::chrono::minutes(59));
  EXPECT_EQ(api_.list(resources::events).size(), 4u);
  patch(resources::events, {"default", "again"},
        "{lastTimestamp: '2026-01-01T00:59:00Z', count: 2}");
  advance(std::chrono::minutes(3));
  EXPECT_FALSE(has(resources::events, {"default", "once"}));
  EXPECT_FALSE(has(resources::events, {"default", "new"}));
  EXPECT_TRUE(has(resources::events, {"default", "again"}));
  EXPECT_TRUE(has(resources::events, {"default", "series"}));
  advance(std::chrono::minutes(61));
  EXPECT_TRUE(api_.list(resources::events).empty());
}

TEST_F(EventExpiryTest, AFailedSweepIsFollowedByAnother) {
  create(resources::events,
         "{metadata: {name: old, namespace: default}, lastTimestamp: '2025-01-01T00:00:00Z'}");
  int refusals = 1;
  api_.on_write = [&](const kube::Write&) -> std::optional<Error> {
    if (refusals-- > 0) return Error{Code::unavailable, "not now"};
    return std::nullopt;
  };
  advance(std::chrono::minutes(61) + std::chrono::seconds(1));
  EXPECT_TRUE(has(resources::events, {"default", "old"}));
  advance(std::chrono::seconds(61));
  EXPECT_FALSE(has(resources::events, {"default", "old"}));
}

class EndpointsTest : public ClusterTest {
 protected:
  EndpointsTest() : caches_(client_), endpoints_(caches_) {
    caches_.start();
    settle();
  }
  void pod(const std::string& name, const std::string& ip, bool ready, const std::string& spec = "",
           const std::string& app = "web") {
    create(resources::pods, "{metadata: {name: " + name + ", labels: {app: " + app +
                                "}}, spec: {nodeName: n1, containers: "
                                "[{name: c, ports: [{name: http, containerPort: 8080}]}]" +
                                spec + "}, status: {phase: Running, podIP: '" + ip +
                                "', conditions: [{type: Ready, status: '" +
                                (ready ? "True" : "False") + "'}]}}");
  }
  void service(const std::string& spec) {
    create(resources::services, "{metadata: {name: web, labels: {team: a}}, spec: {" + spec + "}}");
  }
  std::string subsets() const { return at(resources::endpoints, {"default", "web"}, {"subsets"}); }
  const json::Value& slice(std::size_t i = 0) const {
    static const json::Value none;
    auto all = api_.list(resources::endpoint_slices);
    return i < all.size() ? *all[i] : none;
  }
  std::string slice_at(std::initializer_list<std::string_view> path) const {
    const json::Value* found = json::find_path(slice(), path);
    return found ? json::serialize(*found) : "";
  }
  // "10.0.0.1 ready serving" of every endpoint.
  std::vector<std::string> endpoints() const {
    std::vector<std::string> found;
    for (const json::Value* one : api_.list(resources::endpoint_slices))
      if (const json::Array* all = json::array_at(*one, {"endpoints"}))
        for (const json::Value& endpoint : *all) {
          std::string text(json::sv(json::array_at(endpoint, {"addresses"})->front().get_string()));
          for (std::string_view condition : {"ready", "serving", "terminating"})
            if (json::bool_at(endpoint, {"conditions", condition}))
              text += " " + std::string(condition);
          found.push_back(text);
        }
    std::sort(found.begin(), found.end());
    return found;
  }

  using Texts = std::vector<std::string>;
  kube::CacheSet caches_;
  Endpoints endpoints_;
};

TEST_F(EndpointsTest, ReadyAndUnreadyPods) {
  service(
      "selector: {app: web}, clusterIP: 10.96.0.5, ports: [{name: web, port: 80, targetPort: "
      "http}]");
  EXPECT_EQ(subsets(), "");
  EXPECT_TRUE(has(resources::endpoints, {"default", "web"}));
  EXPECT_EQ(api_.list(resources::endpoint_slices).size(), 1u);  // one, be it empty
  pod("a", "10.0.0.1", true);
  pod("b", "10.0.0.2", false);
  pod("c", "10.0.0.3", true, "", "db");
  pod("d", "", true);
  EXPECT_EQ(endpoints(), (Texts{"10.0.0.1 ready serving", "10.0.0.2"}));
  EXPECT_EQ(subsets(), R"([{"addresses":[{"ip":"10.0.0.1","nodeName":"n1","targetRef":)"
                       R"({"kind":"Pod","namespace":"default","name":"a","uid":"u-pods-a"}}],)"
                       R"("notReadyAddresses":[{"ip":"10.0.0.2","nodeName":"n1","targetRef":)"
                       R"({"kind":"Pod","namespace":"default","name":"b","uid":"u-pods-b"}}],)"
                       R"("ports":[{"name":"web","port":8080,"protocol":"TCP"}]}])");
  EXPECT_EQ(slice_at({"ports"}), R"([{"name":"web","port":8080,"protocol":"TCP"}])");
  EXPECT_EQ(slice_at({"metadata", "labels", "kubernetes.io/service-name"}), "\"web\"");
  EXPECT_EQ(slice_at({"metadata", "labels", "endpointslice.kubernetes.io/managed-by"}),
            "\"endpointslice-controller.k8s.io\"");
  patch(resources::pods, {"default", "b"},
        "{status: {conditions: [{type: Ready, status: 'True'}]}}", "status");
  EXPECT_EQ(endpoints(), (Texts{"10.0.0.1 ready serving", "10.0.0.2 ready serving"}));
  patch(resources::pods, {"default", "a"}, "{status: {phase: Succeeded}}", "status");
  EXPECT_EQ(endpoints(), (Texts{"10.0.0.2 ready serving"}));
  patch(resources::pods, {"default", "b"}, "{metadata: {labels: {app: other}}}");
  EXPECT_EQ(endpoints(), Texts{});
  EXPECT_EQ(subsets(), "");
}

TEST_F(EndpointsTest, UnnamedPortsAndNumbers) {
  service("selector: {app: web}, ports: [{port: 80, targetPort: 8081, protocol: UDP}]");
  pod("a", "10.0.0.1", true);
  EXPECT_EQ(slice_at({"ports"}), R"([{"name":"","port":8081,"protocol":"UDP"}])");
  EXPECT_NE(subsets().find(R"("ports":[{"port":8081,"protocol":"UDP"}])"), std::string::npos);
}

// A name that two pods give different numbers makes two slices, and two subsets.
TEST_F(EndpointsTest, NamedPortsAreEachPodsOwn) {
  service("selector: {app: web}, ports: [{name: web, port: 80, targetPort: http}]");
  pod("a", "10.0.0.1", true);
  create(resources::pods,
         "{metadata: {name: b, labels: {app: web}}, spec: {nodeName: n1, containers: [{name: c, "
         "ports: "
         "[{name: http, containerPort: 9090}]}]}, status: {phase: Running, podIP: '10.0.0.2', "
         "conditions: "
         "[{type: Ready, status: 'True'}]}}");
  std::vector<std::string> ports;
  for (const json::Value* one : api_.list(resources::endpoint_slices))
    ports.push_back(json::serialize(*json::find(*one, "ports")));
  std::sort(ports.begin(), ports.end());
  EXPECT_EQ(ports, (Texts{R"([{"name":"web","port":8080,"protocol":"TCP"}])",
                          R"([{"name":"web","port":9090,"protocol":"TCP"}])"}));
  EXPECT_EQ(
      json::array_at(*api_.find(resources::endpoints, {"default", "web"}), {"subsets"})->size(),
      2u);
}

TEST_F(EndpointsTest, WhatSomebodyTookAwayComesBack) {
  service("selector: {app: web}, ports: [{name: web, port: 80, targetPort: http}]");
  pod("a", "10.0.0.1", true);
  remove(resources::endpoint_slices,
         {"default", std::string(json::string_at(slice(), {"metadata", "name"}))});
  EXPECT_EQ(endpoints(), (Texts{"10.0.0.1 ready serving"}));
  remove(resources::endpoints, {"default", "web"});
  EXPECT_NE(subsets(), "");
}

TEST_F(EndpointsTest, HeadlessServicesNameTheirPods) {
  service("selector: {app: web}, clusterIP: None");
  pod("a", "10.0.0.1", true, ", hostname: a-0, subdomain: web");
  pod("b", "10.0.0.2", true, ", hostname: b-0, subdomain: other");
  EXPECT_EQ(slice_at({"metadata", "labels", "service.kubernetes.io/headless"}), "\"\"");
  EXPECT_NE(subsets().find(R"("ip":"10.0.0.1","hostname":"a-0")"), std::string::npos);
  EXPECT_EQ(subsets().find("b-0"), std::string::npos);
  EXPECT_EQ(subsets().find("ports"), std::string::npos);
}

TEST_F(EndpointsTest, PublishesUnreadyAddressesWhenAsked) {
  service("selector: {app: web}, clusterIP: None, publishNotReadyAddresses: true");
  pod("a", "10.0.0.1", false);
  EXPECT_EQ(endpoints(), (Texts{"10.0.0.1 ready"}));
  EXPECT_NE(subsets().find(R"("addresses":[{"ip":"10.0.0.1")"), std::string::npos);
  EXPECT_EQ(subsets().find("notReadyAddresses"), std::string::npos);
}

TEST_F(EndpointsTest, TerminatingPodsServeButAreNotReady) {
  service("selector: {app: web}, ports: [{port: 80}]");
  create(resources::pods,
         "{metadata: {name: a, labels: {app: web}, finalizers: [x]}, spec: {nodeName: n1}, status: "
         "{phase: Running, "
         "podIP: '10.0.0.1', conditions: [{type: Ready, status: 'True'}]}}");
  remove(resources::pods, {"default", "a"});
  EXPECT_EQ(endpoints(), (Texts{"10.0.0.1 serving terminating"}));
  EXPECT_EQ(subsets(), "");
}

TEST_F(EndpointsTest, WithoutASelectorTheUserSaysWhere) {
  create(resources::endpoints,
         "{metadata: {name: web}, subsets: [{addresses: [{ip: 192.0.2.1}], "
         "ports: [{name: x, port: 9, protocol: TCP}]}]}");
  service("ports: [{name: x, port: 80}]");
  EXPECT_EQ(
      subsets(),
      R"([{"addresses":[{"ip":"192.0.2.1"}],"ports":[{"name":"x","port":9,"protocol":"TCP"}]}])");
  // Mirrored, so that whoever reads slices alone finds it too.
  EXPECT_EQ(endpoints(), (Texts{"192.0.2.1 ready"}));
  EXPECT_EQ(slice_at({"metadata", "labels", "endpointslice.kubernetes.io/managed-by"}),
            "\"endpointslicemirroring-controller.k8s.io\"");
}

TEST_F(EndpointsTest, ManyPodsFillSeveralSlices) {
  service("selector: {app: web}, ports: [{port: 80}]");
  for (int i = 0; i < 101; ++i) pod("p" + std::to_string(i), "10.0.1." + std::to_string(i), true);
  EXPECT_EQ(endpoints().size(), 101u);
  EXPECT_EQ(api_.list(resources::endpoint_slices).size(), 2u);
  for (int i = 0; i < 50; ++i) remove(resources::pods, {"default", "p" + std::to_string(i)});
  EXPECT_EQ(endpoints().size(), 51u);
  EXPECT_EQ(api_.list(resources::endpoint_slices).size(), 1u);
}

TEST_F(EndpointsTest, APodThatGoesConcernsItsSliceAlone) {
  service("selector: {app: web}, ports: [{port: 80}]");
  for (int i = 0; i < 250; ++i)
    pod("p" + std::to_string(i), "10.0." + std::to_string(i / 200) + "." + std::to_string(i % 200),
        true);
  ASSERT_EQ(api_.list(resources::endpoint_slices).size(), 3u);
  auto slices_written = [&] {
    return std::ranges::count_if(api_.log(), [](const kube::Write& write) {
      return write.resource == resources::endpoint_slices;
    });
  };
  api_.clear_log();
  remove(resources::pods, {"default", "p0"});
  EXPECT_EQ(slices_written(), 1);
  EXPECT_EQ(endpoints().size(), 249u);
  api_.clear_log();
  pod("new", "10.0.9.9", true);
  EXPECT_EQ(slices_written(), 1);
  EXPECT_EQ(endpoints().size(), 250u);
  EXPECT_EQ(api_.list(resources::endpoint_slices).size(), 3u);
}

TEST(EndpointSubsets, HoldAThousandAddressesReadyOnesFirst) {
  auto list = [](int from, int count) {
    json::Array out;
    for (int i = from; i < from + count; ++i)
      out.push_back(json::Object{{"ip", std::to_string(i)}});
    return out;
  };
  json::Array subsets{
      json::Object{{"addresses", list(0, 500)}, {"notReadyAddresses", list(500, 300)}},
      json::Object{{"addresses", list(800, 400)}, {"notReadyAddresses", list(1200, 9)}}};
  json::Array few{subsets[0]};
  EXPECT_FALSE(truncate_subsets(few));
  EXPECT_EQ(json::array_at(few[0], {"notReadyAddresses"})->size(), 300u);
  EXPECT_TRUE(truncate_subsets(subsets));
  EXPECT_EQ(json::array_at(subsets[0], {"addresses"})->size(), 500u);
  EXPECT_EQ(json::array_at(subsets[1], {"addresses"})->size(), 400u);
  EXPECT_EQ(json::array_at(subsets[0], {"notReadyAddresses"})->size(), 100u);
  EXPECT_EQ(json::find(subsets[1], "notReadyAddresses"), nullptr);
}

TEST_F(EndpointsTest, GoWithTheService) {
  service("selector: {app: web}, ports: [{port: 80}]");
  remove(resources::services, {"default", "web"});
  EXPECT_FALSE(has(resources::endpoints, {"default", "web"}));
}

}  // namespace
}  // namespace hekla::controllers
