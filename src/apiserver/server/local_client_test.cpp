#include "apiserver/server/local_client.h"

#include <set>

#include "apiserver/server/server_fixture_test.h"

namespace hekla::apiserver {
namespace {

using kube::resources::config_maps;
using kube::resources::namespaces;
using kube::resources::pods;

class LocalClientTest : public ServerFixture {
 protected:
  std::unique_ptr<kube::Client> client = server->client(caller, {"tester"});

  std::vector<kube::WriteResult> batch(std::vector<kube::Write> writes) {
    std::vector<kube::WriteResult> results;
    bool done = false;
    client->batch(std::move(writes), [&](std::vector<kube::WriteResult> r) {
      results = std::move(r);
      done = true;
    });
    EXPECT_FALSE(done) << "a client never calls back from within a call";
    simulation.run_until_idle();
    EXPECT_TRUE(done);
    return results;
  }
  static kube::Write create(const kube::Resource& resource, const std::string& ns,
                            const std::string& text) {
    kube::Write write;
    write.resource = resource;
    write.key = {ns, ""};
    write.body = *json::parse(text);
    return write;
  }
  static kube::Write named(kube::Write::Verb verb, const std::string& name,
                           const std::string& text = "null") {
    kube::Write write;
    write.verb = verb;
    write.resource = pods;
    write.key = {"default", name};
    write.body = *json::parse(text);
    return write;
  }
};

TEST_F(LocalClientTest, ABatchIsOneCommit) {
  const std::uint64_t before = disk.operations();
  std::vector<kube::Write> writes;
  for (int i = 0; i < 100; ++i)
    writes.push_back(create(pods, "default", pod("p" + std::to_string(i))));
  std::vector<kube::WriteResult> results = batch(std::move(writes));
  ASSERT_EQ(results.size(), 100u);
  for (const kube::WriteResult& result : results) ASSERT_TRUE(result.has_value());
  EXPECT_EQ((*results[7])->name, "p7");
  EXPECT_EQ((*results[8])->resource_version, (*results[7])->resource_version + 1);
  EXPECT_LE(disk.operations() - before, 2u);  // one append, one sync
  EXPECT_TRUE((*results[0])->json->starts_with("{\"apiVersion\":\"v1\",\"kind\":\"Pod\","));
}

// A pod of a job, with its number in a label and an annotation.
std::string numbered_pod(const std::string& name, const std::string& number,
                         const std::string& more = "") {
  return R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + name +
         R"(","namespace":"default","labels":{"app":"a","volcano.sh/task-index":")" + number +
         R"("},"annotations":{"volcano.sh/task-index":")" + number + R"("})" + more +
         R"(},"spec":{"containers":[{"name":"c","image":"busybox"}]}})";
}

// A pod without the members that are its own.
std::string common_part(const std::string& text) {
  json::Value pod = *json::parse(text);
  EXPECT_EQ(json::serialize(pod), text) << "compact, and each member once";
  for (std::string_view own : {"name", "uid", "resourceVersion"})
    json::at_path(pod, {"metadata", own}) = "";
  for (std::string_view list : {"labels", "annotations"})
    json::at_path(pod, {"metadata", list, "volcano.sh/task-index"}) = "";
  for (json::Value& volume : json::at_path(pod, {"spec", "volumes"}).as_array())
    volume.get_object()["name"] = "";  // with a suffix of chance
  for (json::Value& container : json::at_path(pod, {"spec", "containers"}).as_array())
    for (json::Value& mount : container.get_object()["volumeMounts"].as_array())
      mount.get_object()["name"] = "";
  return json::serialize(pod);
}

TEST_F(LocalClientTest, PodsMadeTogetherAreWhatTheyWouldBeAlone) {
  std::vector<kube::Write> writes;
  for (int i = 0; i < 12; ++i)
    writes.push_back(
        create(pods, "default", numbered_pod("p-" + std::to_string(i), std::to_string(i))));
  std::vector<kube::WriteResult> together = batch(std::move(writes));
  ASSERT_EQ(together.size(), 12u);
  std::vector<kube::Write> one;
  one.push_back(create(pods, "default", numbered_pod("alone", "5")));
  const std::string alone = common_part(*(*batch(std::move(one))[0])->json);
  std::set<std::string> uids;
  for (int i = 0; i < 12; ++i) {
    ASSERT_TRUE(together[static_cast<std::size_t>(i)].has_value());
    const kube::Object& made = **together[static_cast<std::size_t>(i)];
    EXPECT_EQ(common_part(*made.json), alone);
    json::Value pod = *json::parse(*made.json);
    EXPECT_EQ(made.name, "p-" + std::to_string(i));
    EXPECT_EQ(json::string_at(pod, {"metadata", "name"}), made.name);
    EXPECT_EQ(json::string_at(pod, {"metadata", "uid"}), made.uid);
    EXPECT_EQ(json::string_at(pod, {"metadata", "resourceVersion"}),
              std::to_string(made.resource_version));
    for (std::string_view list : {"labels", "annotations"})
      EXPECT_EQ(json::string_at(pod, {"metadata", list, "volcano.sh/task-index"}),
                std::to_string(i));
    uids.insert(made.uid);
  }
  EXPECT_EQ(uids.size(), 12u);
  std::size_t found = 0;
  client->list(pods, {"default", "volcano.sh/task-index=11", ""},
               [&](Result<kube::List> list) { found = list->items.size(); });
  simulation.run_until_idle();
  EXPECT_EQ(found, 1u);
}

TEST_F(LocalClientTest, PodsMadeTogetherAreJudgedEachForItself) {
  std::vector<kube::Write> writes;
  writes.push_back(create(pods, "default", numbered_pod("p-0", "0")));
  writes.push_back(create(pods, "default", numbered_pod("P-1", "1")));
  writes.push_back(create(pods, "default", numbered_pod("p-2", "no label")));
  writes.push_back(create(pods, "default", numbered_pod("p-0", "3")));
  writes.push_back(create(pods, "default", numbered_pod("p-4", "4", R"(,"finalizers":["x/y"])")));
  writes.push_back(
      create(pods, "default", numbered_pod("p-5", "5", R"(,"ownerReferences":[{"kind":""}])")));
  writes.push_back(create(pods, "default", numbered_pod("p-6", "6")));
  std::vector<kube::WriteResult> results = batch(std::move(writes));
  ASSERT_EQ(results.size(), 7u);
  EXPECT_TRUE(results[0].has_value());
  EXPECT_EQ(results[1].error().code, Code::invalid);
  EXPECT_EQ(results[2].error().code, Code::invalid);
  EXPECT_EQ(results[3].error().code, Code::already_exists);
  ASSERT_TRUE(results[4].has_value());
  EXPECT_NE((*results[4])->json->find(R"("finalizers":["x/y"])"), std::string::npos);
  EXPECT_EQ(results[5].error().code, Code::invalid);
  ASSERT_TRUE(results[6].has_value());
  EXPECT_EQ((*results[6])->json->find("finalizers"), std::string::npos);
}

// A step that was plugged in sees every pod.
class PluggedStepTest : public LocalClientTest {
 protected:
  PluggedStepTest() {
    auto is_third = [](const json::Value& pod) {
      return json::string_at(pod, {"metadata", "annotations", "volcano.sh/task-index"}) == "3";
    };
    kube::AdmissionStep mark{
        "mark.example.com", on_pods,
        [is_third](const kube::AdmissionRequest&, json::Value& pod) -> Result<void> {
          if (is_third(pod)) json::at_path(pod, {"spec", "nodeSelector", "third"}) = "yes";
          return {};
        },
        nullptr};
    kube::AdmissionStep refuse{
        "refuse.example.com", on_pods, nullptr,
        [](const kube::AdmissionRequest&, const json::Value& pod) -> Result<void> {
          if (json::string_at(pod, {"metadata", "name"}) != "p-5") return {};
          return fail(Code::forbidden, "not this one");
        }};
    restart([&](Options& options) { options.admission = {mark, refuse}; });
    bootstrap();
    client = server->client(caller, {"tester"});
  }
  static bool on_pods(const kube::Resource& resource, kube::Operation operation, std::string_view) {
    return resource == pods && operation == kube::Operation::create;
  }
};

TEST_F(PluggedStepTest, SeesEveryPodOfABatch) {
  std::vector<kube::Write> writes;
  for (int i = 0; i < 7; ++i)
    writes.push_back(
        create(pods, "default", numbered_pod("p-" + std::to_string(i), std::to_string(i))));
  std::vector<kube::WriteResult> results = batch(std::move(writes));
  for (std::size_t i = 0; i < 7; ++i) {
    ASSERT_EQ(results[i].has_value(), i != 5) << i;
    if (!results[i]) continue;
    EXPECT_EQ((*results[i])->json->find("\"third\"") != std::string::npos, i == 3) << i;
  }
}

TEST_F(LocalClientTest, MembersFailAloneAndOrderIsKept) {
  std::vector<kube::Write> writes;
  writes.push_back(create(config_maps, "default", config_map("a")));
  writes.push_back(create(config_maps, "default", config_map("a")));
  writes.push_back(create(namespaces, "", R"({"metadata":{"name":"fresh"}})"));
  writes.push_back(create(config_maps, "fresh", config_map("b")));
  writes.push_back(create(config_maps, "nowhere", config_map("c")));
  std::vector<kube::WriteResult> results = batch(std::move(writes));
  ASSERT_EQ(results.size(), 5u);
  EXPECT_TRUE(results[0].has_value());
  EXPECT_EQ(results[1].error().code, Code::already_exists);
  EXPECT_TRUE(results[2].has_value());
  EXPECT_TRUE(results[3].has_value());
  EXPECT_EQ(results[4].error().code, Code::not_found);
}

TEST_F(LocalClientTest, OneObjectMayBeWrittenSeveralTimes) {
  std::vector<kube::Write> writes;
  writes.push_back(create(pods, "default", pod("p")));
  writes.push_back(
      named(kube::Write::Verb::bind, "p", R"({"target":{"kind":"Node","name":"n1"}})"));
  kube::Write status = named(kube::Write::Verb::patch, "p", R"({"status":{"phase":"Running"}})");
  status.subresource = "status";
  writes.push_back(std::move(status));
  kube::Write remove = named(kube::Write::Verb::remove, "p");
  remove.grace_period_seconds = 0;
  writes.push_back(std::move(remove));
  std::vector<kube::WriteResult> results = batch(std::move(writes));
  for (const kube::WriteResult& result : results) EXPECT_TRUE(result.has_value());
  json::Value last = *json::parse(*(*results[3])->json);
  EXPECT_EQ(json::string_at(last, {"status", "phase"}), "Running");
  EXPECT_EQ(json::string_at(last, {"spec", "nodeName"}), "n1");
  EXPECT_EQ(call("GET", std::string(kPods) + "/p").status, 404);
}

TEST_F(LocalClientTest, APodBoundInPlaceIsWhatOneThatWasReadWouldBe) {
  std::vector<kube::Write> writes;
  writes.push_back(create(pods, "default", pod("p")));
  writes.push_back(create(pods, "default", pod("q")));
  writes.push_back(named(kube::Write::Verb::bind, "p", R"({"target":{"name":"n1"}})"));
  // Labels, be they none, are merged into a pod that is read.
  writes.push_back(
      named(kube::Write::Verb::bind, "q", R"({"target":{"name":"n1"},"metadata":{"labels":{}}})"));
  std::vector<kube::WriteResult> results = batch(std::move(writes));
  std::vector<std::string> shown;
  for (std::size_t i : {2u, 3u}) {
    ASSERT_TRUE(results[i].has_value());
    json::Value bound = *json::parse(*(*results[i])->json);
    EXPECT_EQ(json::serialize(bound), *(*results[i])->json) << "compact, and each member once";
    EXPECT_EQ(json::string_at(bound, {"metadata", "resourceVersion"}),
              std::to_string((*results[i])->resource_version));
    for (std::string_view own : {"name", "uid", "resourceVersion"})
      json::at_path(bound, {"metadata", own}) = "";
    for (json::Value& volume : json::at_path(bound, {"spec", "volumes"}).as_array())
      volume.get_object()["name"] = "";  // with a suffix of chance
    for (json::Value& container : json::at_path(bound, {"spec", "containers"}).as_array())
      for (json::Value& mount : container.get_object()["volumeMounts"].as_array())
        mount.get_object()["name"] = "";
    shown.push_back(json::serialize(bound));
  }
  EXPECT_EQ(shown[0], shown[1]);
  for (const char* selector : {"spec.nodeName=n1", "spec.host=n1"}) {
    std::size_t found = 0;
    client->list(pods, {"default", "", selector},
                 [&](Result<kube::List> list) { found = list->items.size(); });
    simulation.run_until_idle();
    EXPECT_EQ(found, 2u) << selector;
  }
}

TEST_F(LocalClientTest, ReadsShareTheStoredBytes) {
  batch({});
  std::vector<kube::Write> writes;
  writes.push_back(create(config_maps, "default", config_map("a", R"(,"labels":{"x":"y"})")));
  writes.push_back(create(config_maps, "default", config_map("b")));
  batch(std::move(writes));
  std::optional<Result<kube::ObjectPtr>> one, none;
  client->get(config_maps, {"default", "a"},
              [&](Result<kube::ObjectPtr> r) { one = std::move(r); });
  client->get(config_maps, {"default", "z"},
              [&](Result<kube::ObjectPtr> r) { none = std::move(r); });
  std::optional<Result<kube::List>> list;
  client->list(config_maps, {"default", "x=y", ""},
               [&](Result<kube::List> r) { list = std::move(r); });
  EXPECT_FALSE(one || list);
  simulation.run_until_idle();
  ASSERT_TRUE(one && list && none);
  EXPECT_EQ(none->error().code, Code::not_found);
  ASSERT_EQ((*list)->items.size(), 1u);
  EXPECT_EQ((*list)->items[0]->json.get(), (**one)->json.get());
  EXPECT_EQ((*list)->resource_version, store->snapshot().revision());
}

TEST_F(LocalClientTest, AWatchThatFellBehindIsShownWhatBecameOfAnObject) {
  const store::Revision start = store->snapshot().revision();
  std::vector<kube::Write> writes;
  for (std::string name : {"p", "q"}) {
    writes.push_back(create(pods, "default", pod(name)));
    writes.push_back(
        named(kube::Write::Verb::bind, name, R"({"target":{"kind":"Node","name":"n1"}})"));
  }
  kube::Write remove = named(kube::Write::Verb::remove, "p");
  remove.grace_period_seconds = 0;
  writes.push_back(std::move(remove));
  writes.push_back(create(pods, "default", pod("p")));
  batch(std::move(writes));
  std::vector<std::string> seen;
  auto watch = client->watch(pods, {"default", "", "", start},
                             {[&](const std::vector<kube::WatchEvent>& events) {
                                for (const kube::WatchEvent& event : events) {
                                  json::Value object = *json::parse(*event.object->json);
                                  seen.push_back(std::to_string(static_cast<int>(event.type)) +
                                                 event.object->name + " " +
                                                 json::text_at(object, {"spec", "nodeName"}));
                                }
                              },
                              nullptr});
  simulation.run_until_idle();
  EXPECT_EQ(seen, (std::vector<std::string>{"0p n1", "0q n1", "2p n1", "0p "}));
}

TEST_F(LocalClientTest, WatchesPullTheirEvents) {
  std::vector<std::string> seen;
  auto watch = client->watch(
      config_maps, {"default", "", "", store->snapshot().revision()},
      {[&](std::vector<kube::WatchEvent> events) {
         for (const kube::WatchEvent& event : events)
           seen.push_back(std::to_string(static_cast<int>(event.type)) + event.object->name);
       },
       nullptr});
  call("POST", kMaps, config_map("a"));
  patch(std::string(kMaps) + "/a", R"({"data":{"a":"2"}})");
  call("DELETE", std::string(kMaps) + "/a");
  EXPECT_EQ(seen, (std::vector<std::string>{"0a", "1a", "2a"}));
  watch.reset();
  call("POST", kMaps, config_map("b"));
  EXPECT_EQ(seen.size(), 3u);
}

TEST_F(LocalClientTest, UnknownResourcesFail) {
  kube::Resource none{"none.io", "v1", "things", "Thing", true};
  std::vector<kube::Write> writes;
  writes.push_back(create(none, "default", R"({"metadata":{"name":"x"}})"));
  writes.push_back(create(config_maps, "default", config_map("a")));
  std::vector<kube::WriteResult> results = batch(std::move(writes));
  EXPECT_EQ(results[0].error().code, Code::not_found);
  EXPECT_TRUE(results[1].has_value());
  std::optional<Error> error;
  auto watch = client->watch(none, {}, {nullptr, [&](Error e) { error = std::move(e); }});
  simulation.run_until_idle();
  EXPECT_TRUE(error);
}

TEST_F(LocalClientTest, DiscoveryListsEachKindOnce) {
  std::vector<kube::Resource> all = server->discovery().resources();
  auto events = std::count_if(all.begin(), all.end(),
                              [](const kube::Resource& r) { return r.plural == "events"; });
  EXPECT_EQ(events, 1);
}

TEST_F(LocalClientTest, ApplyTakesOverWhatKubectlAppliedFromTheClient) {
  const std::string before =
      R"({"apiVersion":"v1","data":{"x":"1","y":"1"},"kind":"ConfigMap","metadata":{"name":"m"}})";
  json::Value map = json::parse(before).value();
  json::at_path(map, {"metadata", "annotations",
                      "kubectl.kubernetes.io/last-applied-configuration"}) = before;
  ASSERT_EQ(call("POST", std::string(kMaps) + "?fieldManager=kubectl-client-side-apply",
                 json::serialize(map))
                .status,
            201);
  // Since then somebody edits one of the fields, under the same name.
  call("PATCH", std::string(kMaps) + "/m?fieldManager=kubectl-client-side-apply",
       R"({"data":{"y":"2"}})", {{"Content-Type", "application/merge-patch+json"}});
  auto apply = [&](const std::string& manager, const std::string& data) {
    return call(
        "PATCH", std::string(kMaps) + "/m?fieldManager=" + manager,
        R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m"},"data":)" + data + "}",
        {{"Content-Type", "application/apply-patch+yaml"}});
  };
  Reply other = apply("helm", R"({"x":"3"})");
  EXPECT_EQ(other.status, 409) << "only kubectl is the heir of kubectl";
  Reply edited = apply("kubectl", R"({"x":"3","y":"3"})");
  EXPECT_EQ(edited.status, 409);
  EXPECT_EQ(edited.message(),
            "Apply failed with 1 conflict: conflict with \"kubectl-client-side-apply\" using v1: "
            ".data.y");
  Reply taken = apply("kubectl", R"({"x":"3"})");
  EXPECT_EQ(taken.status, 200) << taken.text;
  EXPECT_EQ(taken.at({"data", "x"}), "3");
  EXPECT_EQ(
      taken.at({"metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration"}),
      R"({"apiVersion":"v1","data":{"x":"3"},"kind":"ConfigMap","metadata":{"name":"m"}})"
      "\n");
}

// kubectl writes the entries of managedFields anew when it changes sides, and then owns the map as
// such, too.
TEST_F(LocalClientTest, GivingUpAMapLeavesWhatOthersOwnInIt) {
  const std::string url = std::string(kMaps) + "/m?fieldManager=";
  auto apply = [&](const std::string& manager, const std::string& annotations) {
    return call("PATCH", url + manager,
                R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m","annotations":)" +
                    annotations + "}}",
                {{"Content-Type", "application/apply-patch+yaml"}});
  };
  ASSERT_EQ(apply("a", R"({"x":"1"})").status, 201);
  ASSERT_EQ(apply("b", R"({"y":"1"})").status, 200);
  Reply moved = call("PATCH", url + "a",
                     R"([{"op":"replace","path":"/metadata/managedFields","value":[
  {"manager":"a","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1",
   "fieldsV1":{"f:metadata":{"f:annotations":{".":{},"f:x":{},"f:y":{}}}}},
  {"manager":"b","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1",
   "fieldsV1":{"f:metadata":{"f:annotations":{"f:y":{}}}}}]}])",
                     {{"Content-Type", "application/json-patch+json"}});
  ASSERT_EQ(moved.status, 200) << moved.text;
  Reply given_up = apply("a", "{}");
  EXPECT_EQ(given_up.at({"metadata", "annotations", "x"}), "");
  EXPECT_EQ(given_up.at({"metadata", "annotations", "y"}), "1");
  const json::Array* managers = json::array_at(given_up.body, {"metadata", "managedFields"});
  ASSERT_TRUE(managers && !managers->empty()) << given_up.text;
  EXPECT_EQ(json::string_at(managers->back(), {"manager"}), "b");
}

TEST_F(LocalClientTest, ServerSideApplyOwnsItsFields) {
  const std::string url = std::string(kMaps) + "/m?fieldManager=";
  auto apply = [&](const std::string& manager, const std::string& data, bool force = false) {
    return call(
        "PATCH", url + manager + (force ? "&force=true" : ""),
        R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m"},"data":)" + data + "}",
        {{"Content-Type", "application/apply-patch+yaml"}});
  };
  EXPECT_EQ(apply("a", R"({"x":"1","y":"1"})").status, 201);
  Reply second = apply("b", R"({"z":"1"})");
  EXPECT_EQ(second.status, 200) << second.text;
  Reply conflict = apply("b", R"({"x":"2","z":"1"})");
  EXPECT_EQ(conflict.status, 409);
  EXPECT_EQ(conflict.message(), "Apply failed with 1 conflict: conflict with \"a\": .data.x");
  Reply forced = apply("b", R"({"x":"2","z":"1"})", true);
  EXPECT_EQ(forced.at({"data", "x"}), "2");
  Reply dropped = apply("a", R"({"x":"2"})");
  EXPECT_EQ(dropped.status, 200) << dropped.text;
  EXPECT_EQ(dropped.at({"data", "y"}), "");
  EXPECT_EQ(dropped.at({"data", "z"}), "1");
  Reply same = apply("a", R"({"x":"2"})");
  EXPECT_EQ(same.at({"metadata", "resourceVersion"}), dropped.at({"metadata", "resourceVersion"}));
  Reply anonymous = call("PATCH", std::string(kMaps) + "/m", "{}",
                         {{"Content-Type", "application/apply-patch+yaml"}});
  EXPECT_EQ(anonymous.status, 422);
  EXPECT_EQ(anonymous.message(),
            "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required "
            "value: is required for apply patch");
}

}  // namespace
}  // namespace hekla::apiserver
