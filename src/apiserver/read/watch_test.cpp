#include "apiserver/server/server_fixture_test.h"
#include "net/websocket.h"

namespace hekla::apiserver {
namespace {

class WatchTest : public ServerFixture {
 protected:
  static std::string type(const json::Value& event) {
    return std::string(json::string_at(event, {"type"}));
  }
  static std::string meta(const json::Value& event, std::string_view member) {
    return std::string(json::string_at(event, {"object", "metadata", member}));
  }
  std::string revision() { return std::to_string(store->snapshot().revision()); }
};

TEST_F(WatchTest, WithoutRevisionTheStateComesFirst) {
  call("POST", kMaps, config_map("a"));
  auto watch = send("GET", std::string(kMaps) + "?watch=true");
  EXPECT_EQ(watch->answer.status, 200);
  ASSERT_EQ(watch->events().size(), 1u);
  EXPECT_EQ(type(watch->events()[0]), "ADDED");
  call("POST", kMaps, config_map("b"));
  patch(std::string(kMaps) + "/b", R"({"data":{"a":"2"}})");
  call("DELETE", std::string(kMaps) + "/b");
  std::vector<json::Value> events = watch->events();
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(type(events[1]), "ADDED");
  EXPECT_EQ(type(events[2]), "MODIFIED");
  EXPECT_EQ(type(events[3]), "DELETED");
  EXPECT_EQ(meta(events[3], "resourceVersion"), revision());
  EXPECT_EQ(json::string_at(events[3], {"object", "kind"}), "ConfigMap");
}

TEST_F(WatchTest, FromARevisionOnlyWhatCameAfter) {
  call("POST", kMaps, config_map("a"));
  const std::string from = revision();
  call("POST", kMaps, config_map("b"));
  call("POST", "/api/v1/namespaces/kube-system/configmaps", config_map("c"));
  auto watch = send("GET", std::string(kMaps) + "?watch=True&resourceVersion=" + from);
  ASSERT_EQ(watch->events().size(), 1u);
  EXPECT_EQ(meta(watch->events()[0], "name"), "b");
}

TEST_F(WatchTest, EventsAreMessagesOverWebSocket) {
  call("POST", kMaps, config_map("a"));
  call("POST", kMaps, config_map("b"));
  auto lines = send("GET", std::string(kMaps) + "?watch=true");
  auto socket = send("GET", std::string(kMaps) + "?watch=true", "",
                     {{"Connection", "Upgrade"},
                      {"Upgrade", "websocket"},
                      {"Sec-WebSocket-Version", "13"},
                      {"Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="}});
  EXPECT_EQ(socket->answer.status, 101);
  call("DELETE", std::string(kMaps) + "/b");
  std::string messages;
  for (std::string_view rest = lines->answer.body; !rest.empty();) {
    const std::size_t line = rest.find('\n') + 1;
    messages += net::websocket_frame(net::WebSocketOpcode::text, rest.substr(0, line));
    rest.remove_prefix(line);
  }
  EXPECT_EQ(lines->events().size(), 3u);
  EXPECT_EQ(socket->answer.body, messages);
  EXPECT_FALSE(socket->ended);
  socket->input(std::string("\x88\x80\0\0\0\0", 6));  // the client closes
  EXPECT_TRUE(socket->ended);
}

TEST_F(WatchTest, ObjectsEnterAndLeaveASelector) {
  auto watch = send(
      "GET", std::string(kMaps) + "?watch=1&labelSelector=x%3Dy&resourceVersion=" + revision());
  call("POST", kMaps, config_map("a"));
  EXPECT_TRUE(watch->events().empty());
  patch(std::string(kMaps) + "/a", R"({"metadata":{"labels":{"x":"y"}}})");
  patch(std::string(kMaps) + "/a", R"({"metadata":{"labels":{"x":"z"}}})");
  const std::string left = revision();
  std::vector<json::Value> events = watch->events();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(type(events[0]), "ADDED");
  EXPECT_EQ(type(events[1]), "DELETED");
  EXPECT_EQ(json::string_at(events[1], {"object", "metadata", "labels", "x"}), "y");
  EXPECT_EQ(meta(events[1], "resourceVersion"), left);
}

TEST_F(WatchTest, OneChangeIsEachWatchersOwnEvent) {
  const std::string now = "&resourceVersion=" + revision();
  const std::string maps = kMaps;
  std::vector<std::shared_ptr<FakeWriter>> all{send("GET", maps + "?watch=1" + now),
                                               send("GET", maps + "?watch=1" + now)};
  auto chosen = send("GET", maps + "?watch=1&labelSelector=x%3Dy" + now);
  call("POST", kMaps, config_map("a"));
  patch(maps + "/a", R"({"metadata":{"labels":{"x":"y"}}})");
  patch(maps + "/a", R"({"metadata":{"labels":{"x":"z"}}})");
  EXPECT_EQ(all[0]->answer.body, all[1]->answer.body);
  ASSERT_EQ(all[0]->events().size(), 3u);
  EXPECT_EQ(type(all[0]->events()[1]), "MODIFIED");
  EXPECT_EQ(type(all[0]->events()[2]), "MODIFIED");
  ASSERT_EQ(chosen->events().size(), 2u);
  EXPECT_EQ(type(chosen->events()[0]), "ADDED") << "the same object, to whom it is new";
  EXPECT_EQ(type(chosen->events()[1]), "DELETED");
}

TEST_F(WatchTest, FieldSelectors) {
  auto watch = send(
      "GET", "/api/v1/pods?watch=1&fieldSelector=spec.nodeName%3Dn1&resourceVersion=" + revision());
  call("POST", kPods, pod("p"));
  call("POST", std::string(kPods) + "/p/binding", R"({"target":{"name":"n1"}})");
  ASSERT_EQ(watch->events().size(), 1u);
  EXPECT_EQ(type(watch->events()[0]), "ADDED");
  Reply bad = call("GET", std::string(kPods) + "?watch=1&fieldSelector=spec.color%3Dred");
  EXPECT_EQ(bad.status, 400);
  EXPECT_EQ(bad.message(), "field label not supported: spec.color");
}

TEST_F(WatchTest, InitialEventsEndWithABookmark) {
  call("POST", kMaps, config_map("a"));
  auto watch =
      send("GET", std::string(kMaps) +
                      "?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
                      "&allowWatchBookmarks=true");
  std::vector<json::Value> events = watch->events();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(type(events[0]), "ADDED");
  EXPECT_EQ(type(events[1]), "BOOKMARK");
  EXPECT_EQ(json::string_at(events[1],
                            {"object", "metadata", "annotations", "k8s.io/initial-events-end"}),
            "true");
  EXPECT_EQ(meta(events[1], "resourceVersion"), revision());
  EXPECT_EQ(call("GET", std::string(kMaps) + "?watch=true&sendInitialEvents=true").status, 422);
  EXPECT_EQ(call("GET", std::string(kMaps) + "?sendInitialEvents=true").status, 422);
}

TEST_F(WatchTest, BookmarksAndTheEnd) {
  auto watch = send("GET", std::string(kMaps) +
                               "?watch=true&allowWatchBookmarks=true&timeoutSeconds=90"
                               "&resourceVersion=" +
                               revision());
  call("POST", "/api/v1/namespaces/kube-system/configmaps", config_map("c"));
  simulation.run_for(std::chrono::seconds(61));
  ASSERT_EQ(watch->events().size(), 1u);
  EXPECT_EQ(type(watch->events()[0]), "BOOKMARK");
  EXPECT_EQ(meta(watch->events()[0], "resourceVersion"), revision());
  EXPECT_FALSE(watch->ended);
  simulation.run_for(std::chrono::seconds(30));
  EXPECT_TRUE(watch->ended);
}

TEST_F(WatchTest, SlowClientsArePulledLater) {
  auto watch = send("GET", std::string(kMaps) + "?watch=true&resourceVersion=" + revision());
  watch->pending = 100u << 20;
  call("POST", kMaps, config_map("a"));
  EXPECT_TRUE(watch->events().empty());
  watch->pending = 0;
  watch->drained();
  simulation.run_until_idle();
  EXPECT_EQ(watch->events().size(), 1u);
}

TEST_F(WatchTest, TablesComeWithHeadersOnce) {
  auto watch = send("GET", std::string(kPods) + "?watch=true&resourceVersion=" + revision(), "",
                    {{"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"}});
  call("POST", kPods, pod("a"));
  call("POST", kPods, pod("b"));
  std::vector<json::Value> events = watch->events();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(json::string_at(events[0], {"object", "kind"}), "Table");
  EXPECT_TRUE(json::array_at(events[0], {"object", "columnDefinitions"}));
  EXPECT_FALSE(json::array_at(events[1], {"object", "columnDefinitions"}));
}

TEST_F(WatchTest, WatchesAndListsGoOnOverARestart) {
  call("POST", kMaps, config_map("a", R"(,"labels":{"l":"x"})"));
  call("POST", kMaps, config_map("b", R"(,"labels":{"l":"x"})"));
  const std::string from = revision();
  const std::string token =
      call("GET", std::string(kMaps) + "?limit=1").at({"metadata", "continue"});
  patch(std::string(kMaps) + "/b", R"({"metadata":{"labels":{"l":"y"}}})");
  patch(std::string(kMaps) + "/b", R"({"metadata":{"labels":{"l":"x"}}})");
  call("DELETE", std::string(kMaps) + "/a");
  const std::string target =
      std::string(kMaps) + "?watch=true&labelSelector=l%3Dx&resourceVersion=" + from;
  auto before = send("GET", target);
  server.reset();
  store.reset();
  open();
  auto after = send("GET", target);
  ASSERT_EQ(after->events().size(), 3u);
  EXPECT_EQ(after->answer.body, before->answer.body);
  EXPECT_EQ(type(after->events()[0]), "DELETED");
  EXPECT_EQ(type(after->events()[1]), "ADDED");
  EXPECT_EQ(type(after->events()[2]), "DELETED");
  Reply rest = call("GET", std::string(kMaps) + "?limit=9&continue=" + token);
  EXPECT_EQ(rest.status, 200) << rest.text;
  EXPECT_EQ(rest.at({"metadata", "resourceVersion"}), from);
}

class ShortHistoryTest : public WatchTest {
 protected:
  ShortHistoryTest() {
    store_options.history_changes = 3;
    server.reset();
    store.reset();
    open();
  }
};

TEST_F(ShortHistoryTest, ALostRevisionIsAnErrorEvent) {
  for (int i = 0; i < 6; ++i) call("POST", kMaps, config_map("m" + std::to_string(i)));
  auto watch = send("GET", std::string(kMaps) + "?watch=true&resourceVersion=1");
  EXPECT_EQ(watch->answer.status, 200);
  ASSERT_EQ(watch->events().size(), 1u);
  json::Value event = watch->events()[0];
  EXPECT_EQ(type(event), "ERROR");
  EXPECT_EQ(json::int_at(event, {"object", "code"}), 410);
  EXPECT_EQ(json::string_at(event, {"object", "reason"}), "Expired");
  EXPECT_TRUE(watch->ended);
}

TEST_F(ShortHistoryTest, ALostPageNamesWhereToGoOn) {
  for (int i = 0; i < 6; ++i) call("POST", kMaps, config_map("m" + std::to_string(i)));
  std::string token = call("GET", std::string(kMaps) + "?limit=2").at({"metadata", "continue"});
  for (int i = 0; i < 6; ++i) call("DELETE", std::string(kMaps) + "/m" + std::to_string(i));
  call("POST", kMaps, config_map("z"));
  Reply expired = call("GET", std::string(kMaps) + "?limit=2&continue=" + token);
  EXPECT_EQ(expired.status, 410);
  EXPECT_EQ(expired.reason(), "Expired");
  Reply rest =
      call("GET", std::string(kMaps) + "?limit=2&continue=" + expired.at({"metadata", "continue"}));
  EXPECT_EQ(rest.status, 200);
  EXPECT_EQ(json::array_at(rest.body, {"items"})->size(), 1u);
}

TEST_F(WatchTest, AnEventThatCannotBeEncodedEndsTheWatch) {
  auto watch = send("GET", std::string(kMaps) + "?watch=1&resourceVersion=" + revision(), "",
                    {{"Accept", "application/vnd.kubernetes.protobuf;stream=watch"}});
  ASSERT_EQ(watch->answer.status, 200);
  auto header = std::make_shared<ObjectHeader>();
  header->ns = "default";
  header->name = "broken";
  store::Write write;
  write.bucket = store->bucket("configmaps");
  write.key = "default/broken";
  write.value = R"({"apiVersion":"v1","kind":"ConfigMap",)";
  header->body_at = static_cast<std::uint32_t>(write.value.size());
  write.value += R"("data":})";
  write.attachment = header;
  store::Batch batch;
  batch.writes.push_back(std::move(write));
  ASSERT_TRUE(store->commit(std::move(batch), [](store::CommitResults results) {
    for (const auto& one : results) EXPECT_TRUE(one.has_value());
  }));
  simulation.run_until_idle();
  EXPECT_TRUE(watch->ended);
  EXPECT_NE(watch->answer.body.find("ERROR"), std::string::npos);
  EXPECT_NE(watch->answer.body.find("unable to encode watch object"), std::string::npos);
}

}  // namespace
}  // namespace hekla::apiserver
