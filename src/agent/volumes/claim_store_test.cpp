#include "agent/volumes/claim_store.h"

#include <gtest/gtest.h>

#include "base/temp_dir_test.h"
#include "json/parse.h"
#include "support/fake_client.h"
#include "support/sim_executor.h"

namespace hekla::agent {
namespace {

using kube::resources::persistent_volume_claims;
using kube::resources::persistent_volumes;
using std::chrono::seconds;

class ClaimStoreTest : public ::testing::Test {
 protected:
  void claim(const std::string& name, const std::string& spec_members = "",
             const std::string& annotations = "{}") {
    api_.create(
        persistent_volume_claims,
        json::parse(R"({"metadata":{"name":")" + name + R"(","namespace":"n","annotations":)" +
                    annotations + R"(},"spec":{)" + spec_members +
                    R"("accessModes":["ReadWriteOnce"],"storageClassName":"",)"
                    R"("resources":{"requests":{"storage":"1Gi"}}}})")
            .value());
  }
  void volume(const std::string& name, const std::string& spec_members = "") {
    api_.create(persistent_volumes,
                json::parse(R"({"metadata":{"name":")" + name + R"("},"spec":{)" + spec_members +
                            R"("accessModes":["ReadWriteOnce"],"capacity":{"storage":"1Gi"},)"
                            R"("hostPath":{"path":"/data/)" +
                            name + R"("}}})")
                    .value());
  }
  std::string claim_phase(const std::string& name) {
    return std::string(
        json::string_at(*api_.find(persistent_volume_claims, {"n", name}), {"status", "phase"}));
  }
  std::string volume_of(const std::string& name) {
    return std::string(
        json::string_at(*api_.find(persistent_volume_claims, {"n", name}), {"spec", "volumeName"}));
  }
  const json::Value& stored(const std::string& name) {
    return *api_.find(persistent_volumes, {"", name});
  }
  std::string resolved(const std::string& name) {
    return resolved(name, R"({"name":"v","persistentVolumeClaim":{"claimName":")" + name + "\"}}");
  }
  std::string resolved(const std::string& name, const std::string& volume) {
    model::Pod pod;
    pod.metadata.ns = "n";
    pod.metadata.name = "p";
    pod.metadata.uid = "u";
    pod.spec.volumes = {json::parse(volume).value()};
    std::string out = "no answer";
    store_.resolve(pod, [&](Result<ClaimStore::Claims> claims) {
      out = claims ? claims->at(name).path : claims.error().message;
    });
    simulation_.run_until_idle();
    return out;
  }
  void start() {
    store_.start();
    simulation_.run_for(seconds(3));
  }

  sim::Simulation simulation_{1};
  test::FakeApi api_{simulation_.clock()};
  test::FakeClient client_{api_, simulation_.add("agent")};
  TempDir temp_;
  ClaimStore store_{
      ClaimStoreOptions{temp_.path(), "node", [](const std::string&, auto done) { done({}); },
                        [](const std::string&, const std::string&) { return false; }},
      client_};
};

TEST_F(ClaimStoreTest, BindsEveryClaimThatFitsInOneSweep) {
  for (const char* name : {"a", "b", "c"}) {
    claim(name);
    volume(std::string("v-") + name);
  }
  claim("more");
  store_.start();
  simulation_.run_for(std::chrono::milliseconds(1500));
  std::set<std::string> given{volume_of("a"), volume_of("b"), volume_of("c"), volume_of("more")};
  EXPECT_EQ(given, (std::set<std::string>{"", "v-a", "v-b", "v-c"}));
  EXPECT_EQ(claim_phase("a"), "Bound");
  EXPECT_EQ(resolved("a"), "/data/" + volume_of("a"));
}

TEST_F(ClaimStoreTest, AClaimThatNamesItsVolumeGetsThatOne) {
  volume("other");
  volume("mine");
  claim("c", R"("volumeName":"mine",)");
  start();
  EXPECT_EQ(claim_phase("c"), "Bound");
  EXPECT_EQ(json::string_at(stored("mine"), {"spec", "claimRef", "name"}), "c");
  EXPECT_EQ(json::string_at(stored("mine"), {"status", "phase"}), "Bound");
  EXPECT_EQ(json::string_at(stored("other"), {"status", "phase"}), "Available");
  EXPECT_EQ(resolved("c"), "/data/mine");
}

TEST_F(ClaimStoreTest, AClaimCannotHelpItselfToAnothersVolume) {
  volume("v");
  claim("owner");
  start();
  ASSERT_EQ(resolved("owner"), "/data/v");
  claim("thief", R"("volumeName":"v",)");
  claim("liar", R"("volumeName":"v",)", R"({"pv.kubernetes.io/bind-completed":"yes"})");
  simulation_.run_for(seconds(3));
  EXPECT_EQ(resolved("thief"), "persistentvolumeclaim \"thief\" not bound");
  EXPECT_EQ(resolved("liar"), "persistentvolumeclaim \"liar\" not bound");
  EXPECT_EQ(resolved("owner"), "/data/v");
}

TEST_F(ClaimStoreTest, AnEphemeralVolumeIsThatOfThePodsOwnClaim) {
  const std::string ephemeral = R"({"name":"v","ephemeral":{"volumeClaimTemplate":{}}})";
  volume("x");
  claim("p-v");
  start();
  EXPECT_EQ(resolved("p-v", ephemeral), "PVC n/p-v was not created for pod n/p (pod is not owner)");
  api_.patch(
      persistent_volume_claims, {"n", "p-v"},
      json::parse(R"({"metadata":{"ownerReferences":[{"uid":"u","controller":true}]}})").value());
  EXPECT_EQ(resolved("p-v", ephemeral), "/data/x");
}

TEST_F(ClaimStoreTest, WhatTheApiRefusedIsTriedAgain) {
  int refusals = 2;
  api_.on_write = [&](const kube::Write& write) -> std::optional<Error> {
    if (write.resource == persistent_volumes && write.subresource.empty() && refusals-- > 0)
      return Error{Code::unavailable, "not now"};
    return std::nullopt;
  };
  volume("v");
  claim("c");
  store_.start();
  simulation_.run_for(std::chrono::milliseconds(1500));
  EXPECT_EQ(volume_of("c"), "") << "a claim is not bound before its volume";
  simulation_.run_for(seconds(5));
  EXPECT_EQ(volume_of("c"), "v");
  EXPECT_EQ(claim_phase("c"), "Bound");
}

TEST_F(ClaimStoreTest, AClassThatDoesNotWaitGetsItsVolumesAtOnce) {
  auto storage_class = [&](const std::string& name, const std::string& provisioner) {
    api_.create(
        kube::resources::storage_classes,
        json::parse(R"({"metadata":{"name":")" + name + R"("},"provisioner":")" + provisioner +
                    R"(","reclaimPolicy":"Retain","volumeBindingMode":"Immediate"})")
            .value());
  };
  storage_class("now", "rancher.io/local-path");
  storage_class("far", "ebs.csi.aws.com");
  auto of_class = [&](const std::string& name) {
    claim(name);
    api_.patch(persistent_volume_claims, {"n", name},
               json::parse(R"({"spec":{"storageClassName":")" + name + "\"}}").value());
  };
  for (const char* name : {"now", "far", "local-path", "nowhere", ""})
    of_class(name[0] == '\0' ? std::string("none") : std::string(name));
  api_.patch(persistent_volume_claims, {"n", "none"},
             json::parse(R"({"spec":{"storageClassName":""}})").value());
  start();
  EXPECT_EQ(claim_phase("now"), "Bound");
  const std::string made = volume_of("now");
  EXPECT_EQ(json::string_at(stored(made), {"spec", "persistentVolumeReclaimPolicy"}), "Retain");
  EXPECT_TRUE(resolved("now").starts_with(temp_.path() + "/" + made));
  for (const char* name : {"far", "local-path", "nowhere", "none"})
    EXPECT_EQ(volume_of(name), "") << name;
  simulation_.run_for(seconds(60));
  std::set<std::string> said;
  for (const json::Value* event : api_.list(kube::resources::events)) {
    EXPECT_LE(json::int_at(*event, {"count"}, 1), 1);
    said.insert(json::text_at(*event, {"involvedObject", "name"}) + " " +
                json::text_at(*event, {"reason"}) + " " +
                json::text_at(*event, {"message"}).substr(0, 40));
  }
  EXPECT_EQ(said, (std::set<std::string>{
                      "far ExternalProvisioning Waiting for a volume to be created eithe",
                      "local-path WaitForFirstConsumer waiting for first consumer to be created",
                      "none FailedBinding no persistent volumes available for this",
                      "now ExternalProvisioning Waiting for a volume to be created eithe",
                      "now Provisioning External provisioner is provisioning vol",
                      "now ProvisioningSucceeded Successfully provisioned volume pvc-" +
                          made.substr(4, 4),
                      "nowhere ProvisioningFailed storageclass.storage.k8s.io \"nowhere\" no"}));
}

TEST_F(ClaimStoreTest, TheVolumeOfADeletedClaimIsReleased) {
  volume("v");
  claim("c");
  start();
  int refusals = 1;
  api_.on_write = [&](const kube::Write& write) -> std::optional<Error> {
    if (write.subresource == "status" && refusals-- > 0) return Error{Code::unavailable, "not now"};
    return std::nullopt;
  };
  api_.remove(persistent_volume_claims, {"n", "c"});
  simulation_.run_for(seconds(5));
  EXPECT_EQ(json::string_at(stored("v"), {"status", "phase"}), "Released");
}

}  // namespace
}  // namespace hekla::agent
