// What jobs, services and others may not say, beyond the texts in kinds_rules_test.cpp.
#include "apiserver/kinds_fixture_test.h"

namespace hekla::apiserver {
namespace {

using namespace testing;

std::string job(const std::string& spec) {
  const std::string name = R"({"metadata":{"name":"j","uid":"u"},"spec":{)";
  return complaints("jobs.batch", name + spec + R"(,"template":{"spec":{"restartPolicy":"Never",)"
                                                R"("containers":[{"name":"c","image":"i"}]}}}})");
}

TEST(JobRefusals, FailurePolicies) {
  const auto rule = [](const std::string& more, const std::string& rest = "") {
    return job(R"("podFailurePolicy":{"rules":[{)" + more + "}]}" + rest);
  };
  const auto codes = [&](const std::string& more) {
    return rule(R"("action":"FailJob","onExitCodes":{)" + more + "}");
  };
  const std::string at = "spec.podFailurePolicy.rules[0].";
  EXPECT_EQ(codes(R"("operator":"In","values":[1,3])"), "");
  EXPECT_EQ(codes(R"("operator":"In","values":[0])"),
            at + "onExitCodes.values[0]: Invalid value: 0: must not be 0 for the In operator");
  EXPECT_EQ(codes(R"("operator":"NotIn","values":[0,2,2])"), at + "onExitCodes.values[2]: Duplicate value: 2");
  EXPECT_EQ(codes(R"("operator":"In","values":[3,1])"),
            at + "onExitCodes.values: Invalid value: [3,1]: must be ordered");
  EXPECT_EQ(codes(R"("operator":"In","values":[1],"containerName":"x")"),
            at + R"(onExitCodes.containerName: Invalid value: "x": must be one of the container or initContainer )"
                 "names in the pod template");
  EXPECT_EQ(rule(R"("action":"FailIndex","onPodConditions":[{"type":"a"}])"),
            at + R"(action: Invalid value: "FailIndex": requires the backoffLimitPerIndex to be set)");
}

TEST(JobRefusals, SuccessPolicies) {
  const auto rule = [](const std::string& more) {
    return job(R"("completionMode":"Indexed","completions":3,"successPolicy":{"rules":[{)" + more + "}]}");
  };
  const std::string at = "spec.successPolicy.rules[0].";
  EXPECT_EQ(rule(R"("succeededIndexes":"0,2","succeededCount":2)"), "");
  EXPECT_EQ(rule(R"("succeededIndexes":"0-9")"),
            at + R"(succeededIndexes: Invalid value: "0-9": error parsing succeededIndexes: too large index: "9")");
  EXPECT_EQ(rule(R"("succeededIndexes":"2-1,x")"),
            at + R"(succeededIndexes: Invalid value: "2-1,x": error parsing succeededIndexes: non-increasing order, )"
                 "previous: 2, current: 1");
  EXPECT_EQ(rule(R"("succeededIndexes":"0,")"),
            at + R"(succeededIndexes: Invalid value: "0,": error parsing succeededIndexes: cannot convert string to )"
                 R"(integer for index: "")");
  EXPECT_EQ(rule(R"("succeededCount":9)"),
            at + "succeededCount: Invalid value: 9: must be less than or equal to 3 (the number of specified "
                 "completions)");
}

TEST(JobRefusals, IndexesAndManagers) {
  EXPECT_EQ(job(R"("completionMode":"Indexed","parallelism":1)"),
            "spec.completions: Required value: when completion mode is Indexed");
  EXPECT_EQ(job(R"("completionMode":"Indexed","completions":3,"backoffLimitPerIndex":1,"maxFailedIndexes":5)"),
            "spec.maxFailedIndexes: Invalid value: 5: must be less than or equal to completions");
  EXPECT_EQ(job(R"("managedBy":"acme.io/x")"), "");
  EXPECT_EQ(job(R"("managedBy":"bad name")"),
            R"(spec.managedBy: Invalid value: "bad name": must be a domain-prefixed path (such as "acme.io/foo"))");
}

TEST(JobRefusals, TimeZones) {
  const auto cron = [](const std::string& zone) {
    return complaints("cronjobs.batch", R"({"metadata":{"name":"c"},"spec":{"schedule":"* * * * *","timeZone":")" +
                                            zone +
                                            R"(","jobTemplate":{"spec":{"template":{"spec":{"restartPolicy":"Never",)"
                                            R"("containers":[{"name":"c","image":"i"}]}}}}}})");
  };
  EXPECT_EQ(cron("Europe/Berlin"), "");
  EXPECT_EQ(cron("Foo/Bar"), R"(spec.timeZone: Invalid value: "Foo/Bar": unknown time zone Foo/Bar)");
}

std::string service(const std::string& spec) {
  return complaints("services", R"({"metadata":{"name":"s"},"spec":{"ports":[{"port":1}],)" + spec + "}}");
}

TEST(ServiceRefusals, OfOtherTypes) {
  EXPECT_EQ(service(R"("externalTrafficPolicy":"Local")"),
            R"(spec.externalTrafficPolicy: Invalid value: "Local": may only be set for externally-accessible )"
            "services");
  EXPECT_EQ(service(R"("externalIPs":["192.0.2.1"],"externalTrafficPolicy":"Local")"), "");
  EXPECT_EQ(service(R"("loadBalancerClass":"a/b")"),
            "spec.loadBalancerClass: Forbidden: may only be used when `type` is 'LoadBalancer'");
  EXPECT_EQ(service(R"("loadBalancerSourceRanges":["10.0.0.0/8"])"),
            "spec.LoadBalancerSourceRanges: Forbidden: may only be used when `type` is 'LoadBalancer'");
  EXPECT_EQ(service(R"("type":"LoadBalancer","loadBalancerSourceRanges":[" 10.0.0.0/8 ","x"])"),
            R"(spec.LoadBalancerSourceRanges[1]: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 or )"
            "2001:db8::/64)");
}

TEST(ServiceRefusals, Values) {
  EXPECT_EQ(service(R"("sessionAffinity":"ClientIP")"), "");
  EXPECT_EQ(service(R"("sessionAffinity":"ClientIP","sessionAffinityConfig":{"clientIP":{"timeoutSeconds":999999}})"),
            "spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 999999: must be greater than 0 and "
            "less than 86400");
  EXPECT_EQ(service(R"("trafficDistribution":"Foo")"),
            R"(spec.trafficDistribution: Unsupported value: "Foo": supported values: "PreferClose", "PreferSameZone", )"
            R"("PreferSameNode")");
  EXPECT_EQ(service(R"("externalIPs":["127.0.0.1"])"),
            R"(spec.externalIPs[0]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, )"
            "::1/128)");
  EXPECT_EQ(service(R"("ipFamilies":["IPv5"])"),
            R"(spec.ipFamilies[0]: Unsupported value: "IPv5": supported values: "IPv4", "IPv6")");
}

// Who changes the type need not know what was set for the old one.
TEST(ServiceRefusals, WhatTheOldTypeHadGoes) {
  const Kind& kind = kind_of("services");
  const json::Value old = created("services", R"({"metadata":{"name":"s"},"spec":{"type":"LoadBalancer",
      "loadBalancerClass":"a/b","ports":[{"port":1}]}})");
  json::Value now = old;
  json::at_path(now, {"spec", "type"}) = "ClusterIP";
  kind.prepare_update(now, old, {test_now(), nullptr, ""});
  EXPECT_EQ(text_of(kind.validate(now)), "");
}

TEST(OtherRefusals, Quotas) {
  const auto quota = [](const std::string& spec) { return complaints("resourcequotas", R"({"spec":{)" + spec + "}}"); };
  EXPECT_EQ(quota(R"("hard":{"pods":"1","count/jobs.batch":"2","requests.nvidia.com/gpu":"1"},"scopes":[])"), "");
  EXPECT_EQ(quota(R"("hard":{"foo":"1"})"),
            "spec.hard[foo]: Invalid value: \"foo\": must be a standard resource type or fully qualified\n"
            "spec.hard[foo]: Invalid value: \"foo\": must be a standard resource for quota");
  EXPECT_EQ(quota(R"("hard":{"pods":"500m"})"), "spec.hard[pods]: Invalid value: \"500m\": must be an integer");
  EXPECT_EQ(quota(R"("hard":{"pods":"1"},"scopes":["BestEffort","NotBestEffort"])"),
            "spec.scopes: Invalid value: [\"BestEffort\",\"NotBestEffort\"]: conflicting scopes");
  EXPECT_EQ(quota(R"("hard":{"cpu":"1"},"scopes":["BestEffort"])"),
            "spec.scopes: Invalid value: [\"BestEffort\"]: unsupported scope applied to resource");
  EXPECT_EQ(quota(R"("scopeSelector":{"matchExpressions":[{"scopeName":"PriorityClass","operator":"In"}]})"),
            "spec.scopeSelector.matchExpressions.values: Required value: must be at least one value when `operator` is "
            "'In' or 'NotIn' for scope selector");
}

TEST(OtherRefusals, LimitRanges) {
  const auto limits = [](const std::string& item) {
    const json::Value object = defaulted("limitranges", R"({"spec":{"limits":[{)" + item + "}]}}");
    return text_of(kind_of("limitranges").validate(object));
  };
  const std::string at = "spec.limits[0].";
  EXPECT_EQ(limits(R"("type":"Container","min":{"cpu":"1"},"max":{"cpu":"2"})"), "");
  EXPECT_EQ(limits(R"("type":"Pod","default":{"cpu":"1"})"),
            at + "default: Forbidden: may not be specified when `type` is 'Pod'");
  EXPECT_EQ(limits(R"("type":"Container","max":{"cpu":"1"},"default":{"cpu":"2"},"defaultRequest":{"cpu":"1"})"),
            at + "default[cpu]: Invalid value: \"1\": default value 2 is greater than max value 1");
  EXPECT_EQ(limits(R"("type":"PersistentVolumeClaim")"),
            at + "limits: Required value: either minimum or maximum storage value is required, but neither was "
                 "provided");
  EXPECT_EQ(limits(R"("type":"Container","maxLimitRequestRatio":{"cpu":"500m"})"),
            at + "maxLimitRequestRatio[cpu]: Invalid value: \"500m\": ratio 500m is less than 1");
}

// More pods than there are to be may stand beside them while they are replaced.
TEST(OtherRefusals, ASurgeMayBeMoreThanAll) {
  EXPECT_EQ(complaints("deployments.apps", R"({"spec":{"selector":{"matchLabels":{"a":"b"}},"strategy":{
                "rollingUpdate":{"maxSurge":"150%"}},"template":{"metadata":{"labels":{"a":"b"}},
                "spec":{"containers":[{"name":"c","image":"i"}]}}}})"), "");
}

TEST(OtherRefusals, ClaimsAutoscalersIngressesAndPolicies) {
  EXPECT_EQ(complaints("persistentvolumeclaims", R"({"spec":{"accessModes":["ReadWriteOncePod","ReadWriteOnce"],
                "resources":{"requests":{"storage":"1"}}}})"),
            "spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes");
  const auto scaler = [](const std::string& more) {
    return complaints("horizontalpodautoscalers.v2.autoscaling",
                      R"({"spec":{"maxReplicas":2,"scaleTargetRef":{"kind":"K","name":"n"},)" + more + "}}");
  };
  EXPECT_EQ(scaler(R"("metrics":[{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization"}}}])"),
            "spec.metrics[0].resource.target.averageUtilization: Required value: must set either a target raw value "
            "or a target utilization");
  EXPECT_EQ(scaler(R"("metrics":[{"type":"Pods"}])"),
            "spec.metrics[0].pods: Required value: must populate information for the given metric source");
  EXPECT_EQ(scaler(R"("behavior":{"scaleDown":{"stabilizationWindowSeconds":3601}})"),
            "spec.behavior.scaleDown.stabilizationWindowSeconds: Invalid value: 3601: must be less than or equal to "
            "3600");
  const auto ingress = [](const std::string& rule) {
    return complaints("ingresses.networking.k8s.io", R"({"spec":{"rules":[{)" + rule + "}]}}");
  };
  EXPECT_EQ(ingress(R"("host":"*.a.b")"), "");
  EXPECT_EQ(ingress(R"("host":"10.0.0.1")"),
            R"(spec.rules[0].host: Invalid value: "10.0.0.1": must be a DNS name, not an IP address)");
  EXPECT_EQ(complaints("networkpolicies.networking.k8s.io",
                       R"({"spec":{"egress":[{"ports":[{"port":"http","endPort":90}]}]}})"),
            "spec.egress[0].ports[0].endPort: Invalid value: 90: may not be specified when `port` is non-numeric");
}

}  // namespace
}  // namespace hekla::apiserver
