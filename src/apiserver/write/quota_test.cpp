#include "apiserver/server/server_fixture_test.h"

namespace hekla::apiserver {
namespace {

class QuotaTest : public ServerFixture {
 protected:
  static constexpr const char* kQuotas = "/api/v1/namespaces/default/resourcequotas";

  // A quota as its controller leaves it: counted, with nothing used yet.
  void quota(const std::string& name, const std::string& hard, const std::string& used,
             const std::string& more = "") {
    Reply made =
        call("POST", kQuotas,
             R"({"metadata":{"name":")" + name + R"("},"spec":{"hard":)" + hard + more + "}}");
    ASSERT_EQ(made.status, 201) << made.text;
    Reply counted = patch(std::string(kQuotas) + "/" + name + "/status",
                          R"({"status":{"hard":)" + hard + R"(,"used":)" + used + "}}");
    ASSERT_EQ(counted.status, 200) << counted.text;
  }
  std::string used(const std::string& name) {
    Reply read = call("GET", std::string(kQuotas) + "/" + name);
    const json::Value* found = json::find_path(read.body, {"status", "used"});
    return found ? json::serialize(*found) : "";
  }
  static std::string sized(const std::string& name, const std::string& cpu,
                           const std::string& more = "") {
    return R"({"metadata":{"name":")" + name +
           R"("},"spec":{"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":")" +
           cpu + R"(","memory":"64Mi"}}}])" + more + "}}";
  }
};

TEST_F(QuotaTest, ChargesWithTheWriteAndRefusesInUpstreamsWords) {
  quota("q", R"({"pods":"2","cpu":"1","count/pods":"5"})",
        R"({"pods":"0","cpu":"0","count/pods":"0"})");
  EXPECT_EQ(call("POST", kPods, sized("a", "600m")).status, 201);
  EXPECT_EQ(used("q"), R"({"pods":"1","cpu":"600m","count/pods":"1"})");
  Reply refused = call("POST", kPods, sized("b", "500m"));
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(refused.reason(), "Forbidden");
  EXPECT_EQ(refused.message(),
            "pods \"b\" is forbidden: exceeded quota: q, requested: cpu=500m, used: cpu=600m, "
            "limited: cpu=1");
  EXPECT_EQ(call("GET", std::string(kPods) + "/b").status, 404);
  EXPECT_EQ(call("POST", std::string(kPods) + "?dryRun=All", sized("b", "100m")).status, 201);
  EXPECT_EQ(used("q"), R"({"pods":"1","cpu":"600m","count/pods":"1"})");
  EXPECT_EQ(call("POST", kPods, sized("b", "400m")).status, 201);
  Reply full = call("POST", kPods, sized("d", "1"));
  EXPECT_EQ(
      full.message(),
      "pods \"d\" is forbidden: exceeded quota: q, requested: cpu=1,pods=1, used: cpu=1,pods=2, "
      "limited: cpu=1,pods=2");
}

TEST_F(QuotaTest, GivesBackWhatEndsOrGoes) {
  quota("q", R"({"pods":"2","cpu":"2","count/pods":"2"})",
        R"({"pods":"0","cpu":"0","count/pods":"0"})");
  call("POST", kPods, sized("a", "1"));
  call("POST", kPods, sized("b", "1"));
  Reply ended = patch(std::string(kPods) + "/a/status", R"({"status":{"phase":"Succeeded"}})");
  EXPECT_EQ(ended.status, 200) << ended.text;
  EXPECT_EQ(used("q"), R"({"pods":"1","cpu":"1","count/pods":"2"})");
  call("DELETE", std::string(kPods) + "/a");
  EXPECT_EQ(used("q"), R"({"pods":"1","cpu":"1","count/pods":"1"})");
  call("DELETE", std::string(kPods) + "/b");
  EXPECT_EQ(used("q"), R"({"pods":"0","cpu":"0","count/pods":"0"})");
}

TEST_F(QuotaTest, ContainersMustSayWhatIsLimited) {
  quota("q", R"({"cpu":"1","limits.memory":"1Gi"})", R"({"cpu":"0","limits.memory":"0"})");
  Reply vague = call("POST", kPods, pod("p", R"(,"initContainers":[{"name":"b","image":"i"}])"));
  EXPECT_EQ(vague.status, 403);
  EXPECT_EQ(vague.message(),
            "pods \"p\" is forbidden: failed quota: q: must specify cpu for: b,c; limits.memory "
            "for: b,c");
}

TEST_F(QuotaTest, AQuotaThatIsNotCountedYetSaysSo) {
  Reply made = call("POST", kQuotas, R"({"metadata":{"name":"q"},"spec":{"hard":{"pods":"1"}}})");
  ASSERT_EQ(made.status, 201);
  EXPECT_EQ(call("POST", kPods, pod("early")).status, 201);  // nobody has looked at it at all
  patch(std::string(kQuotas) + "/q/status", R"({"status":{"hard":{"pods":"1"}}})");
  EXPECT_EQ(call("POST", kPods, pod("p")).message(),
            "pods \"p\" is forbidden: status unknown for quota: q, resources: pods");
}

TEST_F(QuotaTest, ScopesChooseThePods) {
  quota("best", R"({"pods":"0"})", R"({"pods":"0"})", R"(,"scopes":["BestEffort"])");
  quota("high", R"({"pods":"0"})", R"({"pods":"0"})",
        R"(,"scopeSelector":{"matchExpressions":[{"scopeName":"PriorityClass","operator":"In",
      "values":["system-node-critical"]}]})");
  quota("short", R"({"pods":"0"})", R"({"pods":"0"})", R"(,"scopes":["Terminating"])");
  quota("away", R"({"pods":"0"})", R"({"pods":"0"})", R"(,"scopes":["CrossNamespacePodAffinity"])");
  EXPECT_EQ(call("POST", kPods, sized("p", "1")).status, 201);
  EXPECT_NE(call("POST", kPods, pod("q")).message().find("exceeded quota: best"),
            std::string::npos);
  EXPECT_NE(call("POST", kPods, sized("r", "1", R"(,"priorityClassName":"system-node-critical")"))
                .message()
                .find("exceeded quota: high"),
            std::string::npos);
  EXPECT_NE(call("POST", kPods, sized("s", "1", R"(,"activeDeadlineSeconds":5)"))
                .message()
                .find("exceeded quota: short"),
            std::string::npos);
  const std::string affinity =
      R"(,"affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[
        {"topologyKey":"k","labelSelector":{},"namespaces":["other"]}]}})";
  EXPECT_NE(call("POST", kPods, sized("t", "1", affinity)).message().find("exceeded quota: away"),
            std::string::npos);
}

TEST_F(QuotaTest, CountsServicesClaimsAndObjectsOfAnyKind) {
  quota(
      "q",
      R"({"services":"3","services.nodeports":"2","services.loadbalancers":"1","persistentvolumeclaims":"2",
      "requests.storage":"3Gi","fast.storageclass.storage.k8s.io/requests.storage":"1Gi","configmaps":"1",
      "count/deployments.apps":"0"})",
      R"({"services":"0","services.nodeports":"0","services.loadbalancers":"0","persistentvolumeclaims":"0",
      "requests.storage":"0","fast.storageclass.storage.k8s.io/requests.storage":"0","configmaps":"0",
      "count/deployments.apps":"0"})");
  const std::string services = "/api/v1/namespaces/default/services";
  auto service = [](const std::string& name, const std::string& type) {
    return R"({"metadata":{"name":")" + name + R"("},"spec":{"type":")" + type +
           R"(","ports":[{"name":"a","port":1},{"name":"b","port":2}]}})";
  };
  EXPECT_EQ(call("POST", services, service("a", "NodePort")).status, 201);
  EXPECT_EQ(
      call("POST", services, service("b", "LoadBalancer")).message(),
      "services \"b\" is forbidden: exceeded quota: q, requested: services.nodeports=2, used: "
      "services.nodeports=2, limited: services.nodeports=2");
  Reply smaller = patch(services + "/a", R"({"spec":{"type":"ClusterIP"}})");
  EXPECT_EQ(smaller.status, 200) << smaller.text;
  EXPECT_EQ(call("POST", services, service("b", "LoadBalancer")).status, 201);
  const std::string claims = "/api/v1/namespaces/default/persistentvolumeclaims";
  auto claim = [](const std::string& name, const std::string& size,
                  const std::string& storage_class) {
    return R"({"metadata":{"name":")" + name +
           R"("},"spec":{"accessModes":["ReadWriteOnce"],"storageClassName":")" + storage_class +
           R"(","resources":{"requests":{"storage":")" + size + R"("}}}})";
  };
  EXPECT_EQ(call("POST", claims, claim("a", "2Gi", "slow")).status, 201);
  EXPECT_EQ(call("POST", claims, claim("b", "2Gi", "fast")).message(),
            "persistentvolumeclaims \"b\" is forbidden: exceeded quota: q, requested: "
            "fast.storageclass.storage.k8s.io/requests.storage=2Gi,requests.storage=2Gi, used: "
            "fast.storageclass.storage.k8s.io/requests.storage=0,requests.storage=2Gi, limited: "
            "fast.storageclass.storage.k8s.io/requests.storage=1Gi,requests.storage=3Gi");
  EXPECT_EQ(call("POST", kMaps, config_map("m")).status, 201);
  EXPECT_EQ(call("POST", kMaps, config_map("n")).status, 403);
  Reply deployment = call("POST", "/apis/apps/v1/namespaces/default/deployments",
                          R"({"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},
      "template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})");
  EXPECT_EQ(deployment.message(),
            "deployments.apps \"d\" is forbidden: exceeded quota: q, requested: "
            "count/deployments.apps=1, "
            "used: count/deployments.apps=0, limited: count/deployments.apps=0");
}

// One batch is one commit, charges and all; when a member cannot be, the others still are.
TEST_F(QuotaTest, BatchesShareACommitUntilOneOfThemFails) {
  quota("q", R"({"pods":"3"})", R"({"pods":"0"})");
  auto client = server->client(caller, {"test"});
  auto create_all = [&](const std::vector<std::string>& names) {
    std::vector<kube::Write> writes;
    for (const std::string& name : names) {
      kube::Write write;
      write.resource = kube::resources::pods;
      write.key = {"default", name};
      write.body = *json::parse(pod(name));
      writes.push_back(std::move(write));
    }
    std::string outcome;
    client->batch(std::move(writes), [&](std::vector<kube::WriteResult> results) {
      for (const kube::WriteResult& result : results)
        outcome += result ? "ok " : std::string(reason_of(result.error().code)) + " ";
    });
    simulation.run_until_idle();
    return outcome;
  };
  EXPECT_EQ(create_all({"a", "b"}), "ok ok ");
  EXPECT_EQ(used("q"), R"({"pods":"2"})");
  EXPECT_EQ(create_all({"a", "c", "d"}), "AlreadyExists ok Forbidden ");
  EXPECT_EQ(used("q"), R"({"pods":"3"})");
}

class LimitsTest : public ServerFixture {
 protected:
  void limits(const std::string& items) {
    Reply made = call("POST", "/api/v1/namespaces/default/limitranges",
                      R"({"metadata":{"name":"l"},"spec":{"limits":[)" + items + "]}}");
    ASSERT_EQ(made.status, 201) << made.text;
  }
};

TEST_F(LimitsTest, DefaultsAreGivenAndNoted) {
  limits(
      R"({"type":"Container","default":{"cpu":"1","memory":"1Gi"},"defaultRequest":{"cpu":"500m"}})");
  Reply made = call("POST", kPods, pod("p", R"(,"initContainers":[{"name":"i","image":"i",
      "resources":{"limits":{"cpu":"2"}}}])"));
  ASSERT_EQ(made.status, 201) << made.text;
  const json::Value& container = json::array_at(made.body, {"spec", "containers"})->front();
  EXPECT_EQ(json::string_at(container, {"resources", "requests", "cpu"}), "500m");
  EXPECT_EQ(json::string_at(container, {"resources", "requests", "memory"}), "1Gi");
  EXPECT_EQ(json::string_at(container, {"resources", "limits", "cpu"}), "1");
  EXPECT_EQ(made.at({"metadata", "annotations", "kubernetes.io/limit-ranger"}),
            "LimitRanger plugin set: cpu, memory request for container c; cpu, memory limit for "
            "container c; "
            "memory request for init container i; memory limit for init container i");
}

TEST_F(LimitsTest, BoundsAreKept) {
  limits(
      R"({"type":"Container","min":{"cpu":"100m"},"max":{"cpu":"2"},"maxLimitRequestRatio":{"cpu":"2"},
             "default":{"cpu":"200m"},"defaultRequest":{"cpu":"100m"}},
            {"type":"Pod","max":{"memory":"1Gi"}},
            {"type":"PersistentVolumeClaim","min":{"storage":"1Gi"},"max":{"storage":"2Gi"}})");
  auto with = [](const std::string& resources) {
    return R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i","resources":)" +
           resources + "}]}}";
  };
  struct Case {
    std::string resources, message;
  };
  const Case cases[] = {
      {R"({"requests":{"cpu":"50m","memory":"1Mi"},"limits":{"cpu":"100m","memory":"1Mi"}})",
       "minimum cpu usage per Container is 100m, but request is 50m"},
      {R"({"requests":{"cpu":"2","memory":"1Mi"},"limits":{"cpu":"3","memory":"1Mi"}})",
       "maximum cpu usage per Container is 2, but limit is 3"},
      {R"({"requests":{"cpu":"100m","memory":"1Mi"},"limits":{"cpu":"1","memory":"1Mi"}})",
       "cpu max limit to request ratio per Container is 2, but provided ratio is 10.000000"},
      {R"({})", "maximum memory usage per Pod is 1Gi.  No limit is specified"},
      {R"({"requests":{"cpu":"50m"},"limits":{"cpu":"3","memory":"2Gi"}})",
       "[minimum cpu usage per Container is 100m, but request is 50m, maximum cpu usage per "
       "Container is 2, "
       "but limit is 3, cpu max limit to request ratio per Container is 2, but provided ratio is "
       "60.000000, "
       "maximum memory usage per Pod is 1Gi, but limit is 2Gi]"},
  };
  for (const Case& one : cases)
    EXPECT_EQ(call("POST", kPods, with(one.resources)).message(),
              "pods \"p\" is forbidden: " + one.message);
  auto claim = [&](const std::string& size) {
    return call("POST", "/api/v1/namespaces/default/persistentvolumeclaims",
                R"({"metadata":{"name":"c"},"spec":{"accessModes":["ReadWriteOnce"],
      "resources":{"requests":{"storage":")" +
                    size + R"("}}}})");
  };
  EXPECT_EQ(claim("500Mi").message(),
            "persistentvolumeclaims \"c\" is forbidden: minimum storage usage per "
            "PersistentVolumeClaim is 1Gi, but request is 500Mi");
  EXPECT_EQ(claim("3Gi").message(),
            "persistentvolumeclaims \"c\" is forbidden: maximum storage usage per "
            "PersistentVolumeClaim is 2Gi, but request is 3Gi");
  EXPECT_EQ(claim("1Gi").status, 201);
}

TEST_F(LimitsTest, ClaimsGetTheDefaultClassAndProtection) {
  auto storage_class = [&](const std::string& name, const std::string& annotations) {
    return call("POST", "/apis/storage.k8s.io/v1/storageclasses",
                R"({"metadata":{"name":")" + name + R"(","annotations":)" + annotations +
                    R"(},"provisioner":"p"})");
  };
  const std::string claims = "/api/v1/namespaces/default/persistentvolumeclaims";
  auto claim = [&](const std::string& name, const std::string& spec) {
    return call("POST", claims,
                R"({"metadata":{"name":")" + name +
                    R"("},"spec":{"accessModes":["ReadWriteOnce"],)" + spec +
                    R"("resources":{"requests":{"storage":"1Gi"}}}})");
  };
  EXPECT_EQ(json::find_path(claim("before", "").body, {"spec", "storageClassName"}), nullptr);
  ASSERT_EQ(storage_class("plain", "{}").status, 201);
  ASSERT_EQ(
      storage_class("usual", R"({"storageclass.kubernetes.io/is-default-class":"true"})").status,
      201);
  Reply made = claim("a", "");
  EXPECT_EQ(made.at({"spec", "storageClassName"}), "usual");
  EXPECT_EQ(json::serialize(*json::find_path(made.body, {"metadata", "finalizers"})),
            R"(["kubernetes.io/pvc-protection"])");
  EXPECT_EQ(claim("b", R"("storageClassName":"",)").at({"spec", "storageClassName"}), "");
  Reply volume = call("POST", "/api/v1/persistentvolumes",
                      R"({"metadata":{"name":"v"},"spec":{"capacity":{"storage":"1Gi"},
      "accessModes":["ReadWriteOnce"],"hostPath":{"path":"/x"}}})");
  EXPECT_EQ(json::serialize(*json::find_path(volume.body, {"metadata", "finalizers"})),
            R"(["kubernetes.io/pv-protection"])");
}

class EvictionTest : public ServerFixture {
 protected:
  static constexpr const char* kBudgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";
  void running(const std::string& name, const std::string& ready) {
    Reply made = call("POST", kPods,
                      R"({"metadata":{"name":")" + name +
                          R"(","labels":{"app":"a"}},"spec":{"nodeName":"n",
      "containers":[{"name":"c","image":"i"}]}})");
    ASSERT_EQ(made.status, 201) << made.text;
    patch(std::string(kPods) + "/" + name + "/status",
          R"({"status":{"phase":"Running","conditions":[{"type":"Ready","status":")" + ready +
              R"("}]}})");
  }
  void budget(const std::string& name, const std::string& status, const std::string& spec = "") {
    Reply made = call("POST", kBudgets,
                      R"({"metadata":{"name":")" + name +
                          R"("},"spec":{"minAvailable":1,
      "selector":{"matchLabels":{"app":"a"}})" +
                          spec + "}}");
    ASSERT_EQ(made.status, 201) << made.text;
    Reply counted =
        patch(std::string(kBudgets) + "/" + name + "/status", R"({"status":)" + status + "}");
    ASSERT_EQ(counted.status, 200) << counted.text;
  }
  Reply evict(const std::string& name) {
    return call(
        "POST", std::string(kPods) + "/" + name + "/eviction",
        R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":")" + name + R"("}})");
  }
};

TEST_F(EvictionTest, UsesTheBudgetUp) {
  for (const char* name : {"a", "b"}) running(name, "True");
  budget("pdb",
         R"({"observedGeneration":1,"disruptionsAllowed":1,"currentHealthy":2,"desiredHealthy":1,
    "expectedPods":2,"conditions":[{"type":"DisruptionAllowed","status":"True","reason":"SufficientPods",
      "message":"","lastTransitionTime":"2025-01-01T00:00:00Z"}]})");
  Reply gone = evict("a");
  EXPECT_EQ(gone.status, 201) << gone.text;
  Reply pod = call("GET", std::string(kPods) + "/a");
  EXPECT_FALSE(pod.at({"metadata", "deletionTimestamp"}).empty());
  const json::Value& condition = json::array_at(pod.body, {"status", "conditions"})->back();
  EXPECT_EQ(json::string_at(condition, {"type"}), "DisruptionTarget");
  EXPECT_EQ(json::string_at(condition, {"reason"}), "EvictionByEvictionAPI");
  Reply now = call("GET", std::string(kBudgets) + "/pdb");
  EXPECT_EQ(json::int_at(now.body, {"status", "disruptionsAllowed"}, -1), 0);
  EXPECT_EQ(now.at({"status", "disruptedPods", "a"}), "2026-01-01T00:00:00Z");
  EXPECT_EQ(
      json::string_at(json::array_at(now.body, {"status", "conditions"})->front(), {"status"}),
      "False");
  Reply refused = evict("b");
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.reason(), "TooManyRequests");
  EXPECT_EQ(refused.message(), "Cannot evict pod as it would violate the pod's disruption budget.");
  EXPECT_EQ(json::serialize(*json::find_path(refused.body, {"details", "causes"})),
            R"([{"reason":"DisruptionBudget","message":)"
            R"("The disruption budget pdb needs 1 healthy pods and has 2 currently"}])");
}

TEST_F(EvictionTest, BudgetsThatDoNotStandInTheWay) {
  running("sick", "False");
  running("well", "True");
  budget("pdb",
         R"({"observedGeneration":1,"disruptionsAllowed":0,"currentHealthy":1,"desiredHealthy":1,
      "expectedPods":2})");
  EXPECT_EQ(evict("well").status, 429);
  EXPECT_EQ(evict("sick").status, 201);  // the budget is healthy without it
  call("POST", kPods,
       R"({"metadata":{"name":"waiting","labels":{"app":"a"}},"spec":{"containers":[{"name":"c",
      "image":"i"}]}})");
  EXPECT_EQ(evict("waiting").status, 201);
  EXPECT_EQ(evict("nobody").status, 404);
}

TEST_F(EvictionTest, StaleAndDoubledBudgets) {
  running("p", "True");
  budget("pdb",
         R"({"observedGeneration":0,"disruptionsAllowed":1,"currentHealthy":1,"desiredHealthy":0,
      "expectedPods":1})");
  Reply stale = evict("p");
  EXPECT_EQ(stale.status, 429);
  EXPECT_EQ(stale.headers.get("Retry-After"), "10");
  EXPECT_EQ(
      json::string_at(json::array_at(stale.body, {"details", "causes"})->front(), {"message"}),
      "The disruption budget pdb is still being processed by the server.");
  budget("second", R"({"observedGeneration":1,"disruptionsAllowed":1})");
  Reply doubled = evict("p");
  EXPECT_EQ(doubled.status, 500);
  EXPECT_EQ(doubled.message(),
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does "
            "not support.");
}

}  // namespace
}  // namespace hekla::apiserver
