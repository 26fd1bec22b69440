#include "apiserver/server/backup.h"

#include "apiserver/server/server_fixture_test.h"

namespace hekla::apiserver {
namespace {

class BackupTest : public ServerFixture {
 protected:
  std::string backup() {
    auto answer = send("GET", "/hekla/backup");
    EXPECT_EQ(answer->answer.status, 200);
    EXPECT_TRUE(answer->ended);
    return answer->answer.body;
  }
  Reply restore(const std::string& file, std::size_t part = 1000) {
    const std::string path = "/hekla/restore/" + call("POST", "/hekla/restore").at({"id"});
    for (std::size_t at = 0; at < file.size(); at += part)
      EXPECT_EQ(call("POST", path, file.substr(at, part)).status, 200);
    return call("POST", path + "/finish");
  }
};

constexpr const char* kCrd =
    R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
  "metadata":{"name":"things.x.io"},"spec":{"group":"x.io","scope":"Namespaced","names":{"plural":"things",
  "kind":"Thing"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{
  "type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}})";
constexpr const char* kThings = "/apis/x.io/v1/namespaces/default/things";
constexpr const char* kCrds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

TEST_F(BackupTest, EverythingComesBackAndWatchersSeeIt) {
  call("POST", kMaps, config_map("kept"));
  Reply before = call("POST", kMaps, config_map("lost"));
  const std::string file = backup();

  call("DELETE", std::string(kMaps) + "/lost");
  patch(std::string(kMaps) + "/kept", R"({"data":{"a":"other"}})");
  call("POST", kMaps, config_map("extra"));
  ASSERT_EQ(call("POST", kCrds, kCrd).status, 201);
  EXPECT_EQ(call("GET", kThings).status, 200);
  auto watch = send("GET", std::string(kMaps) + "?watch=1&resourceVersion=" +
                               std::to_string(store->snapshot().revision()));
  Reply restored = restore(file);
  ASSERT_EQ(restored.status, 200) << restored.text;
  EXPECT_EQ(json::int_at(restored.body, {"removed"}), 3);  // the map, the CRD, its APIService
  EXPECT_EQ(json::int_at(restored.body, {"written"}), 2);

  Reply again = call("GET", std::string(kMaps) + "/lost");
  EXPECT_EQ(again.at({"metadata", "uid"}), before.at({"metadata", "uid"}));
  EXPECT_GT(std::stoul(again.at({"metadata", "resourceVersion"})),
            std::stoul(before.at({"metadata", "resourceVersion"})));
  EXPECT_EQ(call("GET", std::string(kMaps) + "/kept").at({"data", "a"}), "1");
  EXPECT_EQ(call("GET", std::string(kMaps) + "/extra").status, 404);
  EXPECT_EQ(call("GET", kThings).status, 404);
  std::multiset<std::string> types;
  for (const json::Value& event : watch->events()) types.emplace(json::string_at(event, {"type"}));
  EXPECT_EQ(types, (std::multiset<std::string>{"ADDED", "DELETED", "MODIFIED"}));
}

TEST_F(BackupTest, WhatIsNoBackupIsRefused) {
  std::string file = backup();
  file.resize(file.size() - 3);
  Reply refused = restore(file);
  EXPECT_EQ(refused.status, 400);
  EXPECT_TRUE(refused.message().starts_with("the backup: damaged at offset ")) << refused.message();
  EXPECT_EQ(call("POST", "/hekla/restore/other", "x").status, 404);
  EXPECT_EQ(call("GET", "/hekla/backup", "", {{"Impersonate-User", "jane"}}).status, 403);
  EXPECT_EQ(call("POST", "/hekla/restore", "", {{"Impersonate-User", "jane"}}).status, 403);
}

TEST_F(BackupTest, AFullDiskFailsWritesWhileReadsGoOn) {
  ASSERT_EQ(call("POST", kMaps, config_map("a")).status, 201);
  disk.set_space_left(10);
  Reply refused = call("POST", kMaps, config_map("b"));
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.reason(), "ServiceUnavailable");
  EXPECT_NE(refused.message().find("No space left on device"), std::string::npos)
      << refused.message();
  EXPECT_EQ(call("GET", std::string(kMaps) + "/a").status, 200);
  EXPECT_EQ(call("GET", std::string(kMaps) + "/b").status, 404);
  EXPECT_EQ(call("GET", "/livez").status, 200);
  EXPECT_EQ(call("GET", "/readyz").status, 500);
  disk.set_space_left(std::nullopt);
  EXPECT_EQ(call("POST", kMaps, config_map("b")).status, 201);
  disk.fail_next_syncs(1);
  EXPECT_EQ(call("POST", kMaps, config_map("c")).status, 503);
  EXPECT_EQ(call("GET", kMaps).status, 200);
  EXPECT_EQ(call("POST", kMaps, config_map("c")).status, 201);
}

}  // namespace
}  // namespace hekla::apiserver
