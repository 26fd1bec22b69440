#include "agent/spec/environment.h"

#include <gtest/gtest.h>

#include "json/codec.h"

namespace hekla::agent {
namespace {

model::Pod pod_of(const char* text) { return json::decode_text<model::Pod>(text).value(); }

PodFacts facts() {
  PodFacts out{"10.244.0.7", "192.168.1.5", "node-1", {}};
  out.node_allocatable["memory"] = model::Quantity::of(std::int64_t{8} << 30);
  return out;
}

std::string get(const Environment& env, const std::string& name) {
  for (const auto& [key, value] : env)
    if (key == name) return value;
  return "(unset)";
}

std::string expanded(const std::string& text) {
  const std::string a = "1", empty;
  return expand(text, [&](const std::string& name) {
    return name == "A" ? &a : name == "EMPTY" ? &empty : nullptr;
  });
}

TEST(Expansion, FollowsKubernetes) {
  EXPECT_EQ(expanded("x$(A)y$(A)"), "x1y1");
  EXPECT_EQ(expanded("$(NO)"), "$(NO)");
  EXPECT_EQ(expanded("$$(A)"), "$(A)");
  EXPECT_EQ(expanded("$$$(A)"), "$1");
  EXPECT_EQ(expanded("$(EMPTY)|"), "|");
  EXPECT_EQ(expanded("cost: $5 $ $A $(A"), "cost: $5 $ $A $(A");
  EXPECT_EQ(expanded("$"), "$");
}

TEST(Environment, LaterVariablesSeeEarlierOnes) {
  model::Pod pod = pod_of(R"j({"spec":{"containers":[{"name":"c","env":[
      {"name":"A","value":"1"},{"name":"B","value":"$(A)2"},{"name":"C","value":"$(D)"},
      {"name":"D","value":"4"},{"name":"A","value":"again"}]}]}})j");
  Environment env = container_environment(pod, pod.spec.containers[0], facts(), {}, {}).value();
  EXPECT_EQ(get(env, "B"), "12");
  EXPECT_EQ(get(env, "C"), "$(D)");
  EXPECT_EQ(get(env, "A"), "again");
  EXPECT_EQ(env.size(), 4u);
}

TEST(Environment, ResolvesReferences) {
  model::Pod pod = pod_of(R"j({"metadata":{"name":"p","namespace":"ns","labels":{"app.io/x":"y"}},
    "spec":{"containers":[{"name":"c","resources":{"limits":{"cpu":"1500m"}},
    "envFrom":[{"prefix":"P_","configMapRef":{"name":"m"}},{"secretRef":{"name":"s"}}],
    "env":[{"name":"LABEL","valueFrom":{"fieldRef":{"fieldPath":"metadata.labels['app.io/x']"}}},
      {"name":"NODE","valueFrom":{"fieldRef":{"fieldPath":"spec.nodeName"}}},
      {"name":"IP","valueFrom":{"fieldRef":{"fieldPath":"status.podIP"}}},
      {"name":"CPU","valueFrom":{"resourceFieldRef":{"resource":"limits.cpu"}}},
      {"name":"MILLI","valueFrom":{"resourceFieldRef":{"resource":"limits.cpu","divisor":"1m"}}},
      {"name":"MEM","valueFrom":{"resourceFieldRef":{"resource":"limits.memory","divisor":"1Gi"}}},
      {"name":"KEY","valueFrom":{"secretKeyRef":{"name":"s","key":"token"}}},
      {"name":"OPT","valueFrom":{"configMapKeyRef":{"name":"nope","key":"k","optional":true}}}]}]}})j");
  PodSources sources;
  sources.config_maps["m"].data = {{"level", "3"}, {"1bad", "x"}};
  sources.secrets["s"].data = {{"token", "czNjcjN0"}};
  Environment env =
      container_environment(pod, pod.spec.containers[0], facts(), sources, {}).value();
  EXPECT_EQ(get(env, "P_level"), "3");
  EXPECT_EQ(get(env, "token"), "s3cr3t");
  EXPECT_EQ(get(env, "LABEL"), "y");
  EXPECT_EQ(get(env, "NODE"), "node-1");
  EXPECT_EQ(get(env, "IP"), "10.244.0.7");
  EXPECT_EQ(get(env, "CPU"), "2");
  EXPECT_EQ(get(env, "MILLI"), "1500");
  EXPECT_EQ(get(env, "MEM"), "8");
  EXPECT_EQ(get(env, "KEY"), "s3cr3t");
  EXPECT_EQ(get(env, "OPT"), "(unset)");
}

TEST(Environment, FailsInTheKubeletsWords) {
  auto message = [](const char* container) {
    model::Pod pod = pod_of((std::string(R"({"metadata":{"name":"p","namespace":"ns"},
        "spec":{"containers":[)") +
                             container + "]}}")
                                .c_str());
    PodSources sources;
    sources.config_maps["m"].data = {};
    auto env = container_environment(pod, pod.spec.containers[0], facts(), sources, {});
    return env ? "(fine)" : env.error().message;
  };
  EXPECT_EQ(message(R"({"name":"c","envFrom":[{"configMapRef":{"name":"x"}}]})"),
            "configmap \"x\" not found");
  EXPECT_EQ(message(R"({"name":"c","env":[{"name":"A","valueFrom":
            {"secretKeyRef":{"name":"x","key":"k"}}}]})"),
            "secret \"x\" not found");
  EXPECT_EQ(message(R"({"name":"c","env":[{"name":"A","valueFrom":
            {"configMapKeyRef":{"name":"m","key":"k"}}}]})"),
            "couldn't find key k in ConfigMap ns/m");
}

TEST(Environment, ServicesComeLastAndCanBeOverridden) {
  model::Service web;
  web.metadata.name = "my-web";
  web.spec.clusterIP = "10.96.0.9";
  web.spec.ports = {{.name = "http", .protocol = "TCP", .port = 80},
                    {.protocol = "UDP", .port = 53}};
  model::Service headless;
  headless.metadata.name = "job";
  headless.spec.clusterIP = "None";
  Environment services = service_environment({"10.96.0.1", 443}, true, {&web, &headless});
  EXPECT_EQ(get(services, "KUBERNETES_SERVICE_HOST"), "10.96.0.1");
  EXPECT_EQ(get(services, "KUBERNETES_SERVICE_PORT_HTTPS"), "443");
  EXPECT_EQ(get(services, "KUBERNETES_PORT_443_TCP_ADDR"), "10.96.0.1");
  EXPECT_EQ(get(services, "MY_WEB_SERVICE_PORT_HTTP"), "80");
  EXPECT_EQ(get(services, "MY_WEB_PORT"), "tcp://10.96.0.9:80");
  EXPECT_EQ(get(services, "MY_WEB_PORT_53_UDP"), "udp://10.96.0.9:53");
  EXPECT_EQ(get(services, "JOB_SERVICE_HOST"), "(unset)");
  EXPECT_EQ(get(service_environment({"h", 1}, false, {&web}), "MY_WEB_PORT"), "(unset)");

  model::Pod pod = pod_of(R"j({"spec":{"containers":[{"name":"c","env":[
      {"name":"MY_WEB_PORT","value":"mine"},{"name":"URL","value":"$(KUBERNETES_SERVICE_HOST)"}]}]}})j");
  Environment env =
      container_environment(pod, pod.spec.containers[0], facts(), {}, services).value();
  EXPECT_EQ(get(env, "MY_WEB_PORT"), "mine");
  EXPECT_EQ(get(env, "URL"), "10.96.0.1");
}

TEST(Downward, PrintsMapsAsFiles) {
  EXPECT_EQ(format_map({{"b", "x\"y\n"}, {"a", "1"}}), "a=\"1\"\nb=\"x\\\"y\\n\"");
}

}  // namespace
}  // namespace hekla::agent
