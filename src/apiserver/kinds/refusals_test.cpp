// Refusals of jobs, services and others, beyond the texts in kinds/rules/kinds_rules_test.cpp.
#include "apiserver/kinds/kinds_fixture_test.h"

namespace hekla::apiserver {
namespace {

using namespace testing;

std::string job(const std::string& spec) {
  const std::string name = R"({"metadata":{"name":"j","uid":"u"},"spec":{)";
  return complaints("jobs.batch", name + spec +
                                      R"(,"template":{"spec":{"restartPolicy":"Never",)"
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
  EXPECT_EQ(codes(R"("operator":"NotIn","values":[0,2,2])"),
            at + "onExitCodes.values[2]: Duplicate value: 2");
  EXPECT_EQ(codes(R"("operator":"In","values":[3,1])"),
            at + "onExitCodes.values: Invalid value: [3,1]: must be ordered");
  EXPECT_EQ(
      codes(R"("operator":"In","values":[1],"containerName":"x")"),
      at +
          R"(onExitCodes.containerName: Invalid value: "x": must be one of the container or initContainer )"
          "names in the pod template");
  EXPECT_EQ(
      rule(R"("action":"FailIndex","onPodConditions":[{"type":"a"}])"),
      at + R"(action: Invalid value: "FailIndex": requires the backoffLimitPerIndex to be set)");
}

TEST(JobRefusals, SuccessPolicies) {
  const auto rule = [](const std::string& more) {
    return job(R"("completionMode":"Indexed","completions":3,"successPolicy":{"rules":[{)" + more +
               "}]}");
  };
  const std::string at = "spec.successPolicy.rules[0].";
  EXPECT_EQ(rule(R"("succeededIndexes":"0,2","succeededCount":2)"), "");
  EXPECT_EQ(
      rule(R"("succeededIndexes":"0-9")"),
      at +
          R"(succeededIndexes: Invalid value: "0-9": error parsing succeededIndexes: too large index: "9")");
  EXPECT_EQ(
      rule(R"("succeededIndexes":"2-1,x")"),
      at +
          R"(succeededIndexes: Invalid value: "2-1,x": error parsing succeededIndexes: non-increasing order, )"
          "previous: 2, current: 1");
  EXPECT_EQ(
      rule(R"("succeededIndexes":"0,")"),
      at +
          R"(succeededIndexes: Invalid value: "0,": error parsing succeededIndexes: cannot convert string to )"
          R"(integer for index: "")");
  EXPECT_EQ(rule(R"("succeededCount":9)"), at + "succeededCount: Invalid value: 9: must be less "
                                                "than or equal to 3 (the number of specified "
                                                "completions)");
}

TEST(JobRefusals, IndexesAndManagers) {
  EXPECT_EQ(job(R"("completionMode":"Indexed","parallelism":1)"),
            "spec.completions: Required value: when completion mode is Indexed");
  EXPECT_EQ(
      job(R"("completionMode":"Indexed","completions":3,"backoffLimitPerIndex":1,"maxFailedIndexes":5)"),
      "spec.maxFailedIndexes: Invalid value: 5: must be less than or equal to completions");
  EXPECT_EQ(job(R"("managedBy":"acme.io/x")"), "");
  EXPECT_EQ(
      job(R"("managedBy":"bad name")"),
      R"(spec.managedBy: Invalid value: "bad name": must be a domain-prefixed path (such as "acme.io/foo"))");
}

TEST(JobRefusals, TimeZones) {
  const auto cron = [](const std::string& zone) {
    return complaints("cronjobs.batch",
                      R"({"metadata":{"name":"c"},"spec":{"schedule":"* * * * *","timeZone":")" +
                          zone +
                          R"(","jobTemplate":{"spec":{"template":{"spec":{"restartPolicy":"Never",)"
                          R"("containers":[{"name":"c","image":"i"}]}}}}}})");
  };
  EXPECT_EQ(cron("Europe/Berlin"), "");
  EXPECT_EQ(cron("Foo/Bar"),
            R"(spec.timeZone: Invalid value: "Foo/Bar": unknown time zone Foo/Bar)");
}

std::string service(const std::string& spec) {
  return complaints("services",
                    R"({"metadata":{"name":"s"},"spec":{"ports":[{"port":1}],)" + spec + "}}");
}

TEST(ServiceRefusals, OfOtherTypes) {
  EXPECT_EQ(
      service(R"("externalTrafficPolicy":"Local")"),
      R"(spec.externalTrafficPolicy: Invalid value: "Local": may only be set for externally-accessible )"
      "services");
  EXPECT_EQ(service(R"("externalIPs":["192.0.2.1"],"externalTrafficPolicy":"Local")"), "");
  EXPECT_EQ(service(R"("loadBalancerClass":"a/b")"),
            "spec.loadBalancerClass: Forbidden: may only be used when `type` is 'LoadBalancer'");
  EXPECT_EQ(
      service(R"("loadBalancerSourceRanges":["10.0.0.0/8"])"),
      "spec.LoadBalancerSourceRanges: Forbidden: may only be used when `type` is 'LoadBalancer'");
  EXPECT_EQ(
      service(R"("type":"LoadBalancer","loadBalancerSourceRanges":[" 10.0.0.0/8 ","x"])"),
      R"(spec.LoadBalancerSourceRanges[1]: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 or )"
      "2001:db8::/64)");
}

TEST(ServiceRefusals, Values) {
  EXPECT_EQ(service(R"("sessionAffinity":"ClientIP")"), "");
  EXPECT_EQ(
      service(
          R"("sessionAffinity":"ClientIP","sessionAffinityConfig":{"clientIP":{"timeoutSeconds":999999}})"),
      "spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 999999: must be greater "
      "than 0 and "
      "less than 86400");
  EXPECT_EQ(
      service(R"("trafficDistribution":"Foo")"),
      R"(spec.trafficDistribution: Unsupported value: "Foo": supported values: "PreferClose", "PreferSameZone", )"
      R"("PreferSameNode")");
  EXPECT_EQ(
      service(R"("externalIPs":["127.0.0.1"])"),
      R"(spec.externalIPs[0]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, )"
      "::1/128)");
  EXPECT_EQ(service(R"("ipFamilies":["IPv5"])"),
            R"(spec.ipFamilies[0]: Unsupported value: "IPv5": supported values: "IPv4", "IPv6")");
}

// A change of type drops what was set for the old one.
TEST(ServiceRefusals, WhatTheOldTypeHadGoes) {
  const Kind& kind = kind_of("services");
  const json::Value old =
      created("services", R"({"metadata":{"name":"s"},"spec":{"type":"LoadBalancer",
      "loadBalancerClass":"a/b","ports":[{"port":1}]}})");
  json::Value now = old;
  json::at_path(now, {"spec", "type"}) = "ClusterIP";
  kind.rules.prepare_update(now, old, {test_now(), nullptr, ""});
  EXPECT_EQ(text_of(kind.rules.validate(now)), "");
}

TEST(OtherRefusals, Quotas) {
  const auto quota = [](const std::string& spec) {
    return complaints("resourcequotas", R"({"spec":{)" + spec + "}}");
  };
  EXPECT_EQ(
      quota(
          R"("hard":{"pods":"1","count/jobs.batch":"2","requests.nvidia.com/gpu":"1"},"scopes":[])"),
      "");
  EXPECT_EQ(quota(R"("hard":{"foo":"1"})"),
            "spec.hard[foo]: Invalid value: \"foo\": must be a standard resource type or fully "
            "qualified\n"
            "spec.hard[foo]: Invalid value: \"foo\": must be a standard resource for quota");
  EXPECT_EQ(quota(R"("hard":{"pods":"500m"})"),
            "spec.hard[pods]: Invalid value: \"500m\": must be an integer");
  EXPECT_EQ(quota(R"("hard":{"pods":"1"},"scopes":["BestEffort","NotBestEffort"])"),
            "spec.scopes: Invalid value: [\"BestEffort\",\"NotBestEffort\"]: conflicting scopes");
  EXPECT_EQ(quota(R"("hard":{"cpu":"1"},"scopes":["BestEffort"])"),
            "spec.scopes: Invalid value: [\"BestEffort\"]: unsupported scope applied to resource");
  EXPECT_EQ(
      quota(
          R"("scopeSelector":{"matchExpressions":[{"scopeName":"PriorityClass","operator":"In"}]})"),
      "spec.scopeSelector.matchExpressions.values: Required value: must be at least one value when "
      "`operator` is "
      "'In' or 'NotIn' for scope selector");
}

TEST(OtherRefusals, LimitRanges) {
  const auto limits = [](const std::string& item) {
    const json::Value object = defaulted("limitranges", R"({"spec":{"limits":[{)" + item + "}]}}");
    return text_of(kind_of("limitranges").rules.validate(object));
  };
  const std::string at = "spec.limits[0].";
  EXPECT_EQ(limits(R"("type":"Container","min":{"cpu":"1"},"max":{"cpu":"2"})"), "");
  EXPECT_EQ(limits(R"("type":"Pod","default":{"cpu":"1"})"),
            at + "default: Forbidden: may not be specified when `type` is 'Pod'");
  EXPECT_EQ(
      limits(
          R"("type":"Container","max":{"cpu":"1"},"default":{"cpu":"2"},"defaultRequest":{"cpu":"1"})"),
      at + "default[cpu]: Invalid value: \"1\": default value 2 is greater than max value 1");
  EXPECT_EQ(limits(R"("type":"PersistentVolumeClaim")"),
            at + "limits: Required value: either minimum or maximum storage value is required, but "
                 "neither was "
                 "provided");
  EXPECT_EQ(limits(R"("type":"Container","maxLimitRequestRatio":{"cpu":"500m"})"),
            at + "maxLimitRequestRatio[cpu]: Invalid value: \"500m\": ratio 500m is less than 1");
}

// More pods than there are to be may stand beside them while they are replaced.
TEST(OtherRefusals, ASurgeMayBeMoreThanAll) {
  EXPECT_EQ(
      complaints("deployments.apps", R"({"spec":{"selector":{"matchLabels":{"a":"b"}},"strategy":{
                "rollingUpdate":{"maxSurge":"150%"}},"template":{"metadata":{"labels":{"a":"b"}},
                "spec":{"containers":[{"name":"c","image":"i"}]}}}})"),
      "");
}

TEST(OtherRefusals, ClaimsAutoscalersIngressesAndPolicies) {
  EXPECT_EQ(complaints("persistentvolumeclaims",
                       R"({"spec":{"accessModes":["ReadWriteOncePod","ReadWriteOnce"],
                "resources":{"requests":{"storage":"1"}}}})"),
            "spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes");
  const auto scaler = [](const std::string& more) {
    return complaints(
        "horizontalpodautoscalers.v2.autoscaling",
        R"({"spec":{"maxReplicas":2,"scaleTargetRef":{"apiVersion":"g/v1","kind":"K","name":"n"},)" +
            more + "}}");
  };
  EXPECT_EQ(
      scaler(
          R"("metrics":[{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization"}}}])"),
      "spec.metrics[0].resource.target.averageUtilization: Required value: must set either a "
      "target raw value "
      "or a target utilization");
  EXPECT_EQ(scaler(R"("metrics":[{"type":"Pods"}])"),
            "spec.metrics[0].pods: Required value: must populate information for the given metric "
            "source");
  EXPECT_EQ(scaler(R"("behavior":{"scaleDown":{"stabilizationWindowSeconds":3601}})"),
            "spec.behavior.scaleDown.stabilizationWindowSeconds: Invalid value: 3601: must be less "
            "than or equal to "
            "3600");
  const auto ingress = [](const std::string& rule) {
    return complaints("ingresses.networking.k8s.io", R"({"spec":{"rules":[{)" + rule + "}]}}");
  };
  EXPECT_EQ(ingress(R"("host":"*.a.b")"), "");
  EXPECT_EQ(
      ingress(R"("host":"10.0.0.1")"),
      R"(spec.rules[0].host: Invalid value: "10.0.0.1": must be a DNS name, not an IP address)");
  EXPECT_EQ(complaints("networkpolicies.networking.k8s.io",
                       R"({"spec":{"egress":[{"ports":[{"port":"http","endPort":90}]}]}})"),
            "spec.egress[0].ports[0].endPort: Invalid value: 90: may not be specified when `port` "
            "is non-numeric");
}

// Of a field that names what is scaled, and of what is measured and how fast.
TEST(OtherRefusals, Autoscalers) {
  const auto scaler = [](const std::string& more) {
    return complaints("horizontalpodautoscalers.v2.autoscaling",
                      R"({"spec":{"maxReplicas":2,)" + more + "}}");
  };
  const std::string at = "spec.scaleTargetRef.";
  EXPECT_EQ(scaler(R"("scaleTargetRef":{"apiVersion":"a/b/c","kind":"a/b","name":".."})"),
            at + R"(kind: Invalid value: "a/b": may not contain '/')" + "\n" + at +
                R"(name: Invalid value: "..": may not be '..')" + "\n" + at +
                R"(apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c)");
  EXPECT_EQ(scaler(R"("scaleTargetRef":{"kind":"Deployment","name":"d"})"),
            at + R"(apiVersion: Invalid value: "": apiVersion must specify API group)");
  EXPECT_EQ(
      scaler(R"("scaleTargetRef":{"apiVersion":"v1","kind":"ReplicationController","name":"d"})"),
      "");
  const std::string target =
      R"("scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"d"},)";
  EXPECT_EQ(
      scaler(target + R"("metrics":[{"type":""}])"),
      "spec.metrics[0].type: Required value: must specify a metric source type\n"
      R"(spec.metrics[0].type: Unsupported value: "": supported values: "ContainerResource", "External", )"
      R"("Object", "Pods", "Resource")");
  EXPECT_EQ(scaler(target + R"("behavior":{"scaleUp":{"policies":[]}})"),
            "spec.behavior.scaleUp.policies: Required value: must specify at least one Policy");
  EXPECT_EQ(
      scaler(target +
             R"("behavior":{"scaleUp":{"policies":[{"type":"","value":1,"periodSeconds":1}]}})"),
      R"(spec.behavior.scaleUp.policies[0].type: Unsupported value: "": supported values: "Percent", "Pods")");
}

TEST(OtherRefusals, TheFirstVersionsPercentage) {
  EXPECT_EQ(complaints("horizontalpodautoscalers.v1.autoscaling",
                       R"({"spec":{"maxReplicas":2,"targetCPUUtilizationPercentage":0,
                           "scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"d"}}})"),
            "spec.metrics[0].resource.target.averageUtilization: Invalid value: 0: must be greater "
            "than 0");
}

TEST(OtherRefusals, BehaviorIsFilledIn) {
  const json::Value object =
      defaulted("horizontalpodautoscalers.v2.autoscaling",
                R"({"spec":{"behavior":{"scaleDown":{"selectPolicy":"Min"}}}})");
  EXPECT_TRUE(json::equal(*json::find_path(object, {"spec", "behavior"}), parsed(R"({
      "scaleUp":{"stabilizationWindowSeconds":0,"selectPolicy":"Max","policies":[
          {"type":"Pods","value":4,"periodSeconds":15},{"type":"Percent","value":100,"periodSeconds":15}]},
      "scaleDown":{"selectPolicy":"Min","policies":[{"type":"Percent","value":100,"periodSeconds":15}]}})")))
      << json::serialize(object);
}

TEST(OtherRefusals, StatefulSets) {
  const auto set = [](const std::string& more, const std::string& pod = "") {
    return complaints(
        "statefulsets.apps",
        R"({"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},)"
        R"("spec":{)" +
            pod + R"("containers":[{"name":"c","image":"i"}]}},)" + more + "}}");
  };
  const std::string claim = R"("volumeClaimTemplates":[{"metadata":{"name":"data"},"spec":{)";
  const std::string good =
      claim + R"("accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1"}}}}])";
  EXPECT_EQ(set(good), "");
  // The controller's volume replaces the template's, and its names replace the template's.
  EXPECT_EQ(
      set(good, R"("volumes":[{"name":"data","emptyDir":{}}],"hostname":"A_","subdomain":"B_",)"),
      "");
  EXPECT_EQ(set(claim + "}}]"),
            "spec.volumeClaimTemplates[0].spec.accessModes: Required value: at least 1 access mode "
            "is required\n"
            "spec.volumeClaimTemplates[0].spec.resources[storage]: Required value");
  EXPECT_EQ(set(R"("serviceName":"A_b")")
                .find(R"(spec.serviceName: Invalid value: "A_b": a lowercase RFC 1123)"),
            0u);
  EXPECT_EQ(
      set(R"("updateStrategy":{"type":"OnDelete","rollingUpdate":{"partition":1}})"),
      R"(spec.updateStrategy.rollingUpdate: Invalid value: {"partition":1}: only allowed for updateStrategy )"
      "'RollingUpdate'");
  EXPECT_EQ(
      set(R"("persistentVolumeClaimRetentionPolicy":{"whenScaled":"X"})"),
      R"(spec.persistentVolumeClaimRetentionPolicy.whenScaled: Unsupported value: "X": supported values: )"
      R"("Retain", "Delete")");
}

// No selector selects nothing, so it does not fit its template either.
TEST(OtherRefusals, NoSelector) {
  const std::string spec = R"({"spec":{"template":{"metadata":{"labels":{"a":"b"}},)"
                           R"("spec":{"containers":[{"name":"c","image":"i"}]}}}})";
  const std::string unfit =
      R"(spec.template.metadata.labels: Invalid value: {"a":"b"}: `selector` does not match template `labels`)";
  EXPECT_EQ(complaints("deployments.apps", spec), "spec.selector: Required value\n" + unfit);
  EXPECT_EQ(complaints("statefulsets.apps", spec), "spec.selector: Required value\n" + unfit);
  EXPECT_EQ(complaints("daemonsets.apps", spec), unfit);
}

TEST(OtherRefusals, BindingsAndAggregatedRoles) {
  const auto binding = [](const std::string& kind, const std::string& role) {
    return complaints(kind + ".rbac.authorization.k8s.io",
                      R"({"roleRef":{"kind":"ClusterRole","name":")" + role +
                          R"("},"subjects":[{"kind":"ServiceAccount","name":"s"}]})");
  };
  EXPECT_EQ(binding("rolebindings", "r"), "");  // one of the same namespace
  EXPECT_EQ(binding("clusterrolebindings", "a/b"),
            "roleRef.name: Invalid value: \"a/b\": may not contain '/'\nsubjects[0].namespace: "
            "Required value");
  const auto role = [](const std::string& aggregation) {
    return complaints("clusterroles.rbac.authorization.k8s.io",
                      R"({"aggregationRule":)" + aggregation + "}");
  };
  EXPECT_EQ(role(R"({"clusterRoleSelectors":[{"matchLabels":{"a":"b"}}]})"), "");
  EXPECT_EQ(role("{}"),
            "aggregationRule.clusterRoleSelectors: Required value: at least one "
            "clusterRoleSelector required if "
            "aggregationRule is non-nil");
  EXPECT_EQ(
      role(R"({"clusterRoleSelectors":[{"matchExpressions":[{"key":"a","operator":"Odd"}]}]})"),
      "aggregationRule.clusterRoleSelectors[0].matchExpressions[0].operator: Invalid value: "
      "\"Odd\": not a "
      "valid selector operator");
}

TEST(OtherRefusals, IngressBackends) {
  const auto backend = [](const std::string& one) {
    return complaints("ingresses.networking.k8s.io",
                      R"({"spec":{"defaultBackend":{)" + one + "}}}");
  };
  const std::string at = "spec.defaultBackend";
  EXPECT_EQ(backend(R"("service":{"name":"a","port":{"number":1}})"), "");
  EXPECT_EQ(backend(""), at + R"(: Invalid value: "": resource or service backend is required)");
  EXPECT_EQ(backend(R"("service":{"name":"a"})"),
            at + ": Required value: port name or number is required");
  EXPECT_EQ(backend(R"("service":{"name":"a","port":{"number":1,"name":"x"}})"),
            at + R"(: Invalid value: "": cannot set both port name & port number)");
  EXPECT_EQ(backend(R"("service":{"name":"A","port":{"number":1}})")
                .find(at + R"(.service.name: Invalid value: "A": a DNS-1035 label must consist)"),
            0u);
  EXPECT_EQ(backend(R"("resource":{"apiGroup":"A","kind":"K"})")
                .find(at + R"(.resource.apiGroup: Invalid value: "A")"),
            0u);
  EXPECT_EQ(backend(R"("resource":{"kind":"a/b"})"),
            at + ".resource.kind: Invalid value: \"a/b\": may not contain '/'\n" + at +
                ".resource.name: Required value");
  const auto path = [](const std::string& one) {
    return complaints("ingresses.networking.k8s.io",
                      R"({"spec":{"rules":[{"http":{"paths":[{)" + one + "}]}}]}}");
  };
  EXPECT_EQ(path(R"("path":"x")"),
            "spec.rules[0].http.paths[0].pathType: Required value: pathType must be specified");
  EXPECT_EQ(complaints("ingresses.networking.k8s.io", R"({"spec":{}})"),
            "spec: Invalid value: null: either `defaultBackend` or `rules` must be specified");
  EXPECT_EQ(
      complaints("ingresses.networking.k8s.io",
                 R"({"metadata":{"annotations":{"kubernetes.io/ingress.class":"b"}},
                           "spec":{"ingressClassName":"a","rules":[{"host":"h"}]}})"),
      R"(annotations.kubernetes.io/ingress.class: Invalid value: "b": must match `ingressClassName` when both )"
      "are specified");
}

TEST(OtherRefusals, IngressClasses) {
  const auto ingress_class = [](const std::string& spec) {
    return complaints("ingressclasses.networking.k8s.io", R"({"spec":{)" + spec + "}}");
  };
  EXPECT_EQ(ingress_class(R"("controller":"a.b/c","parameters":{"kind":"K","name":"n"})"), "");
  EXPECT_EQ(ingress_class(""), "spec.controller: Required value");
  EXPECT_EQ(
      ingress_class(R"("controller":"nginx")"),
      R"(spec.controller: Invalid value: "nginx": must be a domain-prefixed path (such as "acme.io/foo"))");
  EXPECT_EQ(ingress_class(R"("controller":"a.b/c d")"),
            R"(spec.controller: Invalid value: "c d": Invalid path (regex used for validation is )"
            R"('[A-Za-z0-9/\-._~%!$&'()*+,;=:]+'))");
  EXPECT_EQ(ingress_class("\"controller\":\"a.b/" + std::string(250, 'x') + "\""),
            "spec.controller: Too long: may not be more than 250 bytes");
  EXPECT_EQ(ingress_class(
                R"("controller":"a.b/c","parameters":{"kind":"K","name":"n","scope":"Namespace"})"),
            "spec.parameters.namespace: Required value: `parameters.scope` is set to 'Namespace'");
  EXPECT_EQ(
      ingress_class(R"("controller":"a.b/c","parameters":{"kind":"K","name":"n","namespace":"x"})"),
      "spec.parameters.namespace: Forbidden: `parameters.scope` is set to 'Cluster'");
}

TEST(OtherRefusals, NetworkPolicies) {
  const auto policy = [](const std::string& spec) {
    return complaints("networkpolicies.networking.k8s.io", R"({"spec":{)" + spec + "}}");
  };
  EXPECT_EQ(policy(R"("ingress":[{"from":[{"ipBlock":{}}]}])"),
            "spec.ingress[0].from[0].ipBlock.cidr: Required value");
  EXPECT_EQ(
      policy(R"("policyTypes":["A"])"),
      R"(spec.policyTypes[0]: Unsupported value: "A": supported values: "Ingress", "Egress")");
  EXPECT_EQ(
      policy(R"("policyTypes":["A","B","C"])"),
      R"(spec.policyTypes: Invalid value: ["A","B","C"]: may not specify more than two policyTypes)");
  EXPECT_EQ(
      policy(R"("egress":[{"ports":[{"port":80,"endPort":0,"protocol":"X"}]}])"),
      R"(spec.egress[0].ports[0].protocol: Unsupported value: "X": supported values: "TCP", "UDP", "SCTP")"
      "\nspec.egress[0].ports[0].endPort: Invalid value: 80: must be greater than or equal to "
      "`port`\n"
      "spec.egress[0].ports[0].endPort: Invalid value: 0: must be between 1 and 65535, inclusive");
}

}  // namespace
}  // namespace hekla::apiserver
