#include "agent/runtime/bundle.h"

#include <gtest/gtest.h>

#include "json/codec.h"
#include "json/parse.h"

namespace hekla::agent {
namespace {

json::Value parsed(const char* text) { return json::parse(text).value(); }

BundleSpec sample() {
  BundleSpec spec;
  spec.args = {"/bin/sh", "-c", "true"};
  spec.env = {"A=1"};
  spec.hostname = "worker-0";
  spec.rootfs = "/r";
  spec.network_namespace = "/run/ns";
  spec.cgroup = "/hekla-1/u/c";
  return spec;
}

std::string namespaces(const json::Value& config) {
  std::string out;
  for (const json::Value& entry : *json::array_at(config, {"linux", "namespaces"}))
    out += std::string(json::string_at(entry, {"type"})) + "=" +
           std::string(json::string_at(entry, {"path"})) + " ";
  return out;
}

TEST(Bundle, HasTheNamespacesOfAPod) {
  EXPECT_EQ(namespaces(oci_config(sample())), "mount= uts= pid= ipc= cgroup= network=/run/ns ");
  BundleSpec host = sample();
  host.network_namespace.clear();
  host.host_pid = host.host_ipc = true;
  EXPECT_EQ(namespaces(oci_config(host)), "mount= uts= cgroup= ");
  BundleSpec shared = sample();
  shared.ipc_namespace = "/run/ipc";
  shared.security.privileged = true;
  EXPECT_EQ(namespaces(oci_config(shared)), "mount= uts= pid= ipc=/run/ipc network=/run/ns ");
}

std::string mount_at(const BundleSpec& spec, std::string_view destination) {
  const json::Value config = oci_config(spec);
  std::string out;
  for (const json::Value& mount : *json::array_at(config, {"mounts"}))
    if (json::string_at(mount, {"destination"}) == destination) {
      out = std::string(json::string_at(mount, {"source"})) + ":";
      for (const json::Value& option : *json::array_at(mount, {"options"}))
        out += " " + std::string(json::sv(option.get_string()));
    }
  return out;
}

TEST(Bundle, ControlGroupsCanBeReadAndNotWritten) {
  BundleSpec spec = sample();
  EXPECT_EQ(mount_at(spec, "/sys"), "sysfs: nosuid noexec nodev ro");
  EXPECT_EQ(mount_at(spec, "/sys/fs/cgroup"), "cgroup: nosuid noexec nodev relatime ro");
  spec.network_namespace.clear();
  EXPECT_EQ(mount_at(spec, "/sys"), "/sys: bind nosuid noexec nodev ro")
      << "ro reaches no mount below";
  EXPECT_EQ(mount_at(spec, "/sys/fs/cgroup"), "cgroup: nosuid noexec nodev relatime ro");
  spec.security.privileged = true;
  EXPECT_EQ(mount_at(spec, "/sys"), "/sys: rbind nosuid noexec nodev rw");
  EXPECT_EQ(mount_at(spec, "/sys/fs/cgroup"), "") << "it has come with the host's /sys";
}

TEST(Bundle, SharedMemoryIsThePods) {
  BundleSpec spec = sample();
  EXPECT_TRUE(mount_at(spec, "/dev/shm").starts_with("shm: "));
  spec.shared_memory = "/p/shm";
  EXPECT_EQ(mount_at(spec, "/dev/shm"), "/p/shm: rbind nosuid noexec nodev rw");
}

model::PodSpec pod_spec(const char* text) {
  return json::decode_text<model::PodSpec>(text).value();
}

TEST(Bundle, APodIsTheSumOfItsContainers) {
  model::PodSpec spec = pod_spec(
      R"({"initContainers":[
            {"name":"i","resources":{"requests":{"cpu":"3"},"limits":{"cpu":"3","memory":"1Ki"}}},
            {"name":"s","restartPolicy":"Always","resources":{"limits":{"cpu":"1","memory":"2Ki"}}}],
          "containers":[
            {"name":"a","resources":{"requests":{"cpu":"500m"},"limits":{"cpu":"1","memory":"4Ki"}}},
            {"name":"b","resources":{"requests":{"cpu":"250m"},"limits":{"cpu":"500m","memory":"8Ki"}}}]})");
  Limits limits = pod_limits_of(spec, "Burstable");
  EXPECT_EQ(limits.cpu_request_milli, 3000) << "the first init container is alone and needs most";
  EXPECT_EQ(limits.cpu_limit_milli, 3000);
  EXPECT_EQ(limits.memory_limit_bytes, 14 * 1024);
  spec.containers[1].resources.limits.erase("memory");
  limits = pod_limits_of(spec, "Burstable");
  EXPECT_EQ(limits.cpu_limit_milli, 3000);
  EXPECT_FALSE(limits.memory_limit_bytes) << "one of them has no limit";
  spec.resources.limits["memory"] = model::Quantity::of(4096);
  EXPECT_EQ(pod_limits_of(spec, "Burstable").memory_limit_bytes, 4096);
  limits = pod_limits_of(pod_spec(R"({"containers":[{"name":"a"}]})"), "BestEffort");
  EXPECT_EQ(cpu_shares(limits), 2);
  EXPECT_FALSE(limits.cpu_limit_milli);
}

TEST(Bundle, SharesAndWeights) {
  EXPECT_EQ(cpu_shares({.cpu_request_milli = 1500}), 1536);
  EXPECT_EQ(cpu_weight(2), 1);
  EXPECT_EQ(cpu_weight(1024), 39);
  EXPECT_EQ(cpu_weight(262'144), 10'000);
}

TEST(Bundle, NoMountHidesAnother) {
  std::vector<OciMount> mounts;
  for (const char* at : {"/etc/hosts", "/data/sub/", "/a/b/c", "/data", "/etc/", "/b", "/x/./y"})
    mounts.push_back({at, "none", "/s", {}});
  order_by_depth(mounts);
  std::string order;
  for (const OciMount& mount : mounts) order += mount.destination + " ";
  EXPECT_EQ(order, "/data /etc/ /b /etc/hosts /data/sub/ /x/./y /a/b/c ");
}

TEST(Bundle, LimitsAsTheKubeletWould) {
  BundleSpec spec = sample();
  spec.limits.cpu_request_milli = 500;
  spec.limits.cpu_limit_milli = 1500;
  spec.limits.memory_limit_bytes = 64 << 20;
  json::Value config = oci_config(spec);
  EXPECT_EQ(json::int_at(config, {"linux", "resources", "cpu", "shares"}), 512);
  EXPECT_EQ(json::int_at(config, {"linux", "resources", "cpu", "quota"}), 150'000);
  EXPECT_EQ(json::int_at(config, {"linux", "resources", "cpu", "period"}), 100'000);
  EXPECT_EQ(json::int_at(config, {"linux", "resources", "memory", "limit"}), 64 << 20);
  EXPECT_EQ(json::int_at(config, {"linux", "resources", "memory", "swap"}), 64 << 20);
  EXPECT_EQ(json::string_at(config, {"linux", "cgroupsPath"}), "/hekla-1/u/c");
}

TEST(Bundle, BestEffortHasTheLeastSharesAndNoLimits) {
  json::Value config = oci_config(sample());
  EXPECT_EQ(json::int_at(config, {"linux", "resources", "cpu", "shares"}), 2);
  EXPECT_EQ(json::find_path(config, {"linux", "resources", "cpu", "quota"}), nullptr);
  EXPECT_EQ(json::find_path(config, {"linux", "resources", "memory"}), nullptr);
}

TEST(Bundle, PrivilegeEscalationIsAllowedUnlessForbidden) {
  EXPECT_FALSE(json::bool_at(oci_config(sample()), {"process", "noNewPrivileges"}, true));
  BundleSpec strict = sample();
  strict.security = merge_security(nullptr, parsed(R"({"allowPrivilegeEscalation":false})"));
  EXPECT_TRUE(json::bool_at(oci_config(strict), {"process", "noNewPrivileges"}));
}

TEST(Bundle, SysctlsThatConcernThePodAlone) {
  const json::Value safe = parsed(R"({"sysctls":[{"name":"net/ipv4/tcp_wmem","value":"1 2 3"}]})");
  BundleSpec spec = sample();
  spec.sysctls = sysctls_of(safe);
  EXPECT_EQ(json::string_at(oci_config(spec), {"linux", "sysctl", "net.ipv4.tcp_wmem"}), "1 2 3");
  EXPECT_EQ(forbidden_sysctl(safe, false, true), std::nullopt);
  EXPECT_EQ(forbidden_sysctl(safe, true, false),
            "forbidden sysctl: \"net.ipv4.tcp_wmem\" not allowed with host net enabled");
  EXPECT_EQ(forbidden_sysctl(parsed(R"({"sysctls":[{"name":"kernel.shmmax","value":"1"}]})"), false,
                             false),
            "forbidden sysctl: \"kernel.shmmax\" not allowlisted");
  EXPECT_EQ(forbidden_sysctl(nullptr, false, false), std::nullopt);
}

TEST(Bundle, OrdinaryUsersHaveNoEffectiveCapabilities) {
  BundleSpec spec = sample();
  spec.security =
      merge_security(parsed(R"({"runAsUser":1000,"fsGroup":7})"), parsed(R"({"runAsGroup":3000})"));
  json::Value config = oci_config(spec);
  EXPECT_EQ(json::int_at(config, {"process", "user", "uid"}), 1000);
  EXPECT_EQ(json::int_at(config, {"process", "user", "gid"}), 3000);
  EXPECT_EQ(json::array_at(config, {"process", "user", "additionalGids"})->at(0).to_number<int>(),
            7);
  EXPECT_EQ(json::find_path(config, {"process", "capabilities", "effective"}), nullptr);
  EXPECT_EQ(json::array_at(config, {"process", "capabilities", "bounding"})->size(), 14u);
}

TEST(Bundle, CapabilitiesAreDroppedAndAdded) {
  Security security = merge_security(
      nullptr, parsed(R"({"capabilities":{"drop":["ALL"],"add":["net_admin","CAP_KILL"]}})"));
  EXPECT_EQ(capability_set(security), (std::vector<std::string>{"NET_ADMIN", "KILL"}));
  Security privileged = merge_security(nullptr, parsed(R"({"privileged":true})"));
  EXPECT_EQ(capability_set(privileged).size(), 41u);
  privileged.grantable = 0b101;  // a machine that has few of its own to give
  EXPECT_EQ(capability_set(privileged), (std::vector<std::string>{"CHOWN", "DAC_READ_SEARCH"}));
}

TEST(Bundle, OwnMountsComeLast) {
  BundleSpec spec = sample();
  spec.mounts = {{"/data", "none", "/src", {"rbind", "ro"}}};
  json::Value config = oci_config(spec);
  const json::Array& mounts = *json::array_at(config, {"mounts"});
  EXPECT_EQ(json::string_at(mounts.front(), {"destination"}), "/proc");
  EXPECT_EQ(json::string_at(mounts.back(), {"destination"}), "/data");
}

TEST(Bundle, OomScoreFollowsTheQualityOfService) {
  model::ResourceRequirements half;
  half.requests["memory"] = model::Quantity::of(512);
  EXPECT_EQ(oom_score_adjust("Guaranteed", half, 1024), -997);
  EXPECT_EQ(oom_score_adjust("Burstable", half, 1024), 500);
  EXPECT_EQ(oom_score_adjust("Burstable", {}, 1024), 999);
  EXPECT_EQ(oom_score_adjust("BestEffort", {}, 1024), 1000);
}

TEST(Bundle, ALimitAloneIsAlsoTheRequest) {
  model::ResourceRequirements resources;
  resources.limits["cpu"] = model::Quantity::of_milli(250);
  Limits limits = limits_of(resources, "Burstable", 1024);
  EXPECT_EQ(limits.cpu_request_milli, 250);
  EXPECT_EQ(limits.cpu_limit_milli, 250);
  EXPECT_FALSE(limits.memory_limit_bytes);
}

}  // namespace
}  // namespace hekla::agent
