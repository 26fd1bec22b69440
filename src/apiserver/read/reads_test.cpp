#include "apiserver/read/reads.h"

#include "apiserver/server/server_fixture_test.h"

namespace hekla::apiserver {
namespace {

class ReadsTest : public ServerFixture {
 protected:
  static std::vector<std::string> names(const Reply& list) {
    std::vector<std::string> found;
    for (const json::Value& item : *json::array_at(list.body, {"items"}))
      found.emplace_back(json::string_at(item, {"metadata", "name"}));
    return found;
  }
  using Names = std::vector<std::string>;
};

TEST_F(ReadsTest, ListsCarryTheRevisionAndBareItems) {
  Reply empty = call("GET", kMaps);
  EXPECT_EQ(empty.at({"kind"}), "ConfigMapList");
  EXPECT_EQ(empty.at({"metadata", "resourceVersion"}),
            std::to_string(store->snapshot().revision()));
  call("POST", kMaps, config_map("b"));
  call("POST", kMaps, config_map("a"));
  Reply list = call("GET", kMaps);
  EXPECT_EQ(names(list), (Names{"a", "b"}));
  EXPECT_EQ(json::find(json::array_at(list.body, {"items"})->front(), "kind"), nullptr);
  EXPECT_EQ(names(call("GET", "/api/v1/configmaps?fieldSelector=metadata.name%3Db")), (Names{"b"}));
}

TEST_F(ReadsTest, LargeListsAreTheSameThoughMadeWhileTheyAreSent) {
  const std::string text(2000, 'x');
  for (int i = 0; i < 150; ++i)
    call("POST", kMaps,
         R"({"metadata":{"name":"m)" + std::to_string(i) + R"("},"data":{"a":")" + text + R"("}})");
  std::shared_ptr<FakeWriter> writer = send("GET", kMaps);
  EXPECT_GT(writer->tail_bytes, 150 * text.size());
  Result<json::Value> list = json::parse(writer->answer.body);
  ASSERT_TRUE(list.has_value());
  EXPECT_EQ(writer->answer.body, json::serialize(*list) + "\n");
  EXPECT_EQ(writer->answer.headers.get("Content-Type"), "application/json");
  EXPECT_EQ(json::array_at(*list, {"items"})->size(), 150u);
  EXPECT_TRUE(json::equal(*list, call("GET", std::string(kMaps) + "?pretty=true").body));
}

TEST_F(ReadsTest, PagesOfOneTraversalAgree) {
  for (const char* name : {"a", "b", "c", "d", "e"}) call("POST", kMaps, config_map(name));
  Reply first = call("GET", std::string(kMaps) + "?limit=2");
  EXPECT_EQ(names(first), (Names{"a", "b"}));
  EXPECT_EQ(json::int_at(first.body, {"metadata", "remainingItemCount"}), 3);
  call("DELETE", std::string(kMaps) + "/c");
  call("DELETE", std::string(kMaps) + "/e");
  call("POST", kMaps, config_map("bb"));
  patch(std::string(kMaps) + "/d", R"({"data":{"a":"changed"}})");
  Reply second =
      call("GET", std::string(kMaps) + "?limit=2&continue=" + first.at({"metadata", "continue"}));
  EXPECT_EQ(names(second), (Names{"c", "d"}));
  EXPECT_EQ(second.at({"metadata", "resourceVersion"}), first.at({"metadata", "resourceVersion"}));
  EXPECT_EQ(json::string_at((*json::array_at(second.body, {"items"}))[1], {"data", "a"}), "1");
  Reply last =
      call("GET", std::string(kMaps) + "?limit=2&continue=" + second.at({"metadata", "continue"}));
  EXPECT_EQ(names(last), (Names{"e"}));
  EXPECT_EQ(last.at({"metadata", "continue"}), "");
  Reply bad = call("GET", std::string(kMaps) + "?limit=2&continue=!!");
  EXPECT_EQ(bad.status, 400);
  EXPECT_TRUE(bad.message().starts_with("invalid continue token: continue key is not valid: "));
}

TEST_F(ReadsTest, RevisionsOfTheFutureAreRefused) {
  Reply future = call("GET", std::string(kMaps) + "?resourceVersion=999999999");
  EXPECT_EQ(future.status, 504);
  EXPECT_EQ(future.reason(), "Timeout");
  EXPECT_EQ(future.message(), "Timeout: Too large resource version: 999999999, current: " +
                                  std::to_string(store->snapshot().revision()));
  EXPECT_EQ(future.headers.get("Retry-After"), "1");
  EXPECT_EQ(call("GET", std::string(kMaps) + "?resourceVersion=abc").status, 400);
  EXPECT_EQ(call("GET", std::string(kMaps) + "?resourceVersion=0").status, 200);
  EXPECT_EQ(call("GET", std::string(kMaps) + "?resourceVersionMatch=Exact").status, 422);
}

TEST_F(ReadsTest, ExactRevisionsShowThePast) {
  call("POST", kMaps, config_map("a"));
  const std::string then = std::to_string(store->snapshot().revision());
  call("POST", kMaps, config_map("b"));
  Reply past =
      call("GET", std::string(kMaps) + "?resourceVersionMatch=Exact&resourceVersion=" + then);
  EXPECT_EQ(names(past), (Names{"a"}));
  EXPECT_EQ(past.at({"metadata", "resourceVersion"}), then);
  Reply newer = call(
      "GET", std::string(kMaps) + "?resourceVersionMatch=NotOlderThan&resourceVersion=" + then);
  EXPECT_EQ(names(newer), (Names{"a", "b"}));
}

TEST_F(ReadsTest, TablesAndMetadata) {
  call("POST", kPods, pod("p"));
  const std::string table = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
  Reply list = call("GET", std::string(kPods) + "?limit=500", "", {{"Accept", table}});
  EXPECT_EQ(list.at({"kind"}), "Table");
  const json::Array& columns = *json::array_at(list.body, {"columnDefinitions"});
  EXPECT_EQ(json::string_at(columns[0], {"name"}), "Name");
  EXPECT_EQ(json::string_at(columns[0], {"format"}), "name");
  EXPECT_EQ(json::string_at(columns[2], {"name"}), "Status");
  const json::Value& row = json::array_at(list.body, {"rows"})->front();
  const json::Array& cells = *json::array_at(row, {"cells"});
  EXPECT_EQ(cells.size(), columns.size());
  EXPECT_EQ(cells[0], json::Value("p"));
  EXPECT_EQ(cells[2], json::Value("Pending"));
  EXPECT_EQ(json::string_at(row, {"object", "kind"}), "PartialObjectMetadata");
  Reply whole =
      call("GET", std::string(kPods) + "/p?includeObject=Object", "", {{"Accept", table}});
  EXPECT_EQ(json::string_at(json::array_at(whole.body, {"rows"})->front(), {"object", "kind"}),
            "Pod");
  call(
      "POST", "/apis/apps/v1/namespaces/default/replicasets",
      R"({"metadata":{"name":"r"},"spec":{"replicas":3,"selector":{"matchLabels":{"a":"b"}},)"
      R"("template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})");
  Reply scale =
      call("GET", "/apis/apps/v1/namespaces/default/replicasets/r/scale", "", {{"Accept", table}});
  std::string heads;
  for (const json::Value& one : *json::array_at(scale.body, {"columnDefinitions"}))
    heads += std::string(json::string_at(one, {"name"})) + " ";
  EXPECT_EQ(heads, "Name Desired Available Age ");
  EXPECT_EQ(json::serialize(*json::find(json::array_at(scale.body, {"rows"})->front(), "cells")),
            R"(["r",3,0,"0s"])");
  Reply partial =
      call("GET", kPods, "",
           {{"Accept", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}});
  EXPECT_EQ(partial.at({"kind"}), "PartialObjectMetadataList");
  EXPECT_EQ(json::find(json::array_at(partial.body, {"items"})->front(), "spec"), nullptr);
  Reply odd = call("GET", kPods, "", {{"Accept", "text/html"}});
  EXPECT_EQ(odd.status, 406);
  EXPECT_EQ(odd.reason(), "NotAcceptable");
}

TEST_F(ReadsTest, KindsInTwoGroupsShareTheirObjects) {
  Reply made =
      call("POST", "/api/v1/namespaces/default/events",
           R"({"metadata":{"name":"e"},"involvedObject":{"kind":"Pod","name":"p","namespace":
                    "default"},"reason":"Started","message":"hello","type":"Normal"})");
  ASSERT_EQ(made.status, 201) << made.text;
  Reply other = call("GET", "/apis/events.k8s.io/v1/namespaces/default/events/e");
  EXPECT_EQ(other.status, 200);
  EXPECT_EQ(other.at({"apiVersion"}), "events.k8s.io/v1");
  EXPECT_EQ(other.at({"note"}), "hello");
  EXPECT_EQ(other.at({"regarding", "name"}), "p");
  Reply found = call("GET",
                     "/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3Dp,"
                     "involvedObject.namespace%3Ddefault");
  EXPECT_EQ(names(found), (Names{"e"}));
}

TEST_F(ReadsTest, UnknownPathsAndVerbs) {
  Reply unknown = call("GET", "/apis/nothing.io/v1/things");
  EXPECT_EQ(unknown.status, 404);
  EXPECT_EQ(unknown.text, "404 page not found\n");
  EXPECT_EQ(call("GET", std::string(kMaps) + "/none").message(), "configmaps \"none\" not found");
  EXPECT_EQ(call("GET", "/apis/apps/v1/namespaces/default/deployments/d").message(),
            "deployments.apps \"d\" not found");
  EXPECT_EQ(call("POST", std::string(kMaps) + "/m", config_map("m")).status, 405);
  EXPECT_EQ(call("GET", "/api/v1/pods/p").status, 404);
  EXPECT_EQ(call("GET", "/api/v1/namespaces/default/nodes").status, 404);
  EXPECT_EQ(call("GET", "/api/v1/namespaces/default").status, 200);
}

TEST_F(ReadsTest, HealthFollowsTheDisk) {
  EXPECT_EQ(call("GET", "/healthz", "", {{"Authorization", ""}}).text, "ok");
  EXPECT_EQ(call("GET", "/readyz?verbose").text,
            "[+]ping ok\n[+]log ok\n[+]etcd ok\nreadyz check passed\n");
  EXPECT_EQ(call("GET", "/readyz/etcd").text, "ok");
  EXPECT_EQ(call("GET", "/readyz/nonsense").status, 404);
  disk.fail_next_syncs(1);
  EXPECT_GE(call("POST", kMaps, config_map("m")).status, 500);
  Reply unready = call("GET", "/readyz");
  EXPECT_EQ(unready.status, 500);
  EXPECT_EQ(unready.text,
            "[+]ping ok\n[+]log ok\n[-]etcd failed: reason withheld\nreadyz check failed\n");
  EXPECT_EQ(call("GET", "/readyz/etcd").status, 500);
  EXPECT_EQ(call("GET", "/readyz?exclude=etcd&exclude=x&verbose").text,
            "[+]ping ok\n[+]log ok\n[+]etcd excluded: ok\nwarn: some health checks cannot be "
            "excluded: no matches for "
            "\"x\"\nreadyz check passed\n");
  EXPECT_EQ(call("GET", "/livez").status, 200) << "reads go on";
  for (int attempt = 0; attempt < 5 && call("POST", kMaps, config_map("m")).status != 201;
       ++attempt) {
  }
  EXPECT_EQ(call("GET", "/readyz").status, 200);
}

}  // namespace
}  // namespace hekla::apiserver
