#include "kube/rest/rest_wire.h"

#include <gtest/gtest.h>

#include "json/parse.h"

namespace hekla::kube {
namespace {

using json::Object;
using json::Value;

Value body_of(const net::ClientRequest& request) { return json::parse(request.body).value(); }
Value value(std::string_view text) { return json::parse(text).value(); }

TEST(ResourcePath, FollowsGroupScopeAndName) {
  EXPECT_EQ(resource_path(resources::pods, ""), "/api/v1/pods");
  EXPECT_EQ(resource_path(resources::pods, "a", "b", "log"), "/api/v1/namespaces/a/pods/b/log");
  EXPECT_EQ(resource_path(resources::vcjobs, "a", "b", "status"),
            "/apis/batch.volcano.sh/v1alpha1/namespaces/a/jobs/b/status");
  EXPECT_EQ(resource_path(resources::queues, "ignored", "q"),
            "/apis/scheduling.volcano.sh/v1beta1/queues/q");
  EXPECT_EQ(resource_path(resources::pods, "a", "../x"), "/api/v1/namespaces/a/pods/..%2Fx");
}

TEST(Requests, ListAndWatchCarryTheirParameters) {
  ListOptions list{"ns", "a=b,c", "spec.nodeName=n1"};
  EXPECT_EQ(list_request(resources::pods, list, 500, "tok=").url,
            "/api/v1/namespaces/ns/"
            "pods?labelSelector=a%3Db%2Cc&fieldSelector=spec.nodeName%3Dn1&limit=500"
            "&continue=tok%3D");
  EXPECT_EQ(list_request(resources::pods, {}, 0, "").url, "/api/v1/pods");
  WatchOptions watch{"", "", "", 42};
  net::ClientRequest request = watch_request(resources::pods, watch);
  EXPECT_EQ(request.url, "/api/v1/pods?watch=true&resourceVersion=42&allowWatchBookmarks=true");
  EXPECT_EQ(request.timeout.count(), 0);
}

TEST(Requests, CreateFillsInWhatTheServerInsistsOn) {
  Write write{
      .resource = resources::pod_groups, .key = {"ns", "pg"}, .body = Object{{"spec", Object{}}}};
  net::ClientRequest request = write_request(write, "vc-controller-manager");
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.url,
            "/apis/scheduling.volcano.sh/v1beta1/namespaces/ns/podgroups"
            "?fieldManager=vc-controller-manager");
  EXPECT_EQ(request.headers.get("Content-Type"), "application/json");
  EXPECT_TRUE(json::equal(
      body_of(request),
      value(R"({"spec":{},"apiVersion":"scheduling.volcano.sh/v1beta1","kind":"PodGroup",
                                    "metadata":{"name":"pg","namespace":"ns"}})")));
}

TEST(Requests, GenerateNameIsLeftAlone) {
  Write write{.resource = resources::pods,
              .key = {"ns", ""},
              .body = value(R"({"metadata":{"generateName":"x-"}})")};
  EXPECT_EQ(json::find_path(body_of(write_request(write, "c")), {"metadata", "name"}), nullptr);
}

TEST(Requests, PatchesAnnounceTheirType) {
  Write write{.verb = Write::Verb::patch,
              .resource = resources::vcjobs,
              .key = {"n", "j"},
              .subresource = "status",
              .body = value(R"({"status":{"a":1}})")};
  net::ClientRequest merge = write_request(write, "c");
  EXPECT_EQ(merge.method, "PATCH");
  EXPECT_EQ(merge.url, "/apis/batch.volcano.sh/v1alpha1/namespaces/n/jobs/j/status?fieldManager=c");
  EXPECT_EQ(merge.headers.get("Content-Type"), "application/merge-patch+json");
  EXPECT_EQ(merge.body, R"({"status":{"a":1}})");
  write.patch_type = PatchType::json;
  EXPECT_EQ(write_request(write, "c").headers.get("Content-Type"), "application/json-patch+json");
  write.patch_type = PatchType::strategic;
  EXPECT_EQ(write_request(write, "c").headers.get("Content-Type"),
            "application/strategic-merge-patch+json");
  write.patch_type = PatchType::apply;
  write.force = true;
  net::ClientRequest apply = write_request(write, "c");
  EXPECT_EQ(apply.headers.get("Content-Type"), "application/apply-patch+yaml");
  EXPECT_TRUE(apply.url.ends_with("?fieldManager=c&force=true"));
  EXPECT_EQ(json::string_at(body_of(apply), {"kind"}), "Job");
}

TEST(Requests, RemovalsCarryTheirConditions) {
  Write write{.verb = Write::Verb::remove,
              .resource = resources::pods,
              .key = {"n", "p"},
              .grace_period_seconds = 0,
              .propagation_policy = "Background",
              .precondition_uid = "u",
              .precondition_resource_version = 7};
  net::ClientRequest request = write_request(write, "c");
  EXPECT_EQ(request.method + " " + request.url, "DELETE /api/v1/namespaces/n/pods/p");
  EXPECT_TRUE(json::equal(body_of(request),
                          value(R"({"apiVersion":"v1","kind":"DeleteOptions","gracePeriodSeconds":0,
                            "propagationPolicy":"Background","preconditions":{"uid":"u","resourceVersion":"7"}})")));
}

TEST(Requests, BindAndEvict) {
  Write bind{.verb = Write::Verb::bind,
             .resource = resources::pods,
             .key = {"n", "p"},
             .body = value(R"({"target":{"kind":"Node","name":"n1"}})")};
  net::ClientRequest binding = write_request(bind, "c");
  EXPECT_EQ(binding.method + " " + binding.url, "POST /api/v1/namespaces/n/pods/p/binding");
  EXPECT_TRUE(
      json::equal(body_of(binding),
                  value(R"({"target":{"kind":"Node","name":"n1"},"apiVersion":"v1","kind":"Binding",
                                    "metadata":{"name":"p","namespace":"n"}})")));
  Write evict{.verb = Write::Verb::evict, .resource = resources::pods, .key = {"n", "p"}};
  net::ClientRequest eviction = write_request(evict, "c");
  EXPECT_EQ(eviction.url, "/api/v1/namespaces/n/pods/p/eviction");
  EXPECT_EQ(json::string_at(body_of(eviction), {"apiVersion"}), "policy/v1");
}

TEST(Errors, StatusBodiesKeepReasonDetailsAndCauses) {
  net::Response response{.status = 422,
                         .headers = {},
                         .body =
                             R"({"kind":"Status","apiVersion":"v1","status":"Failure",
          "message":"Job.batch \"x\" is invalid","reason":"Invalid",
          "details":{"name":"x","group":"batch","kind":"Job","uid":"u","retryAfterSeconds":3,
          "causes":[{"reason":"FieldValueRequired","message":"Required value","field":"spec.a"}]},"code":422})"};
  Error error = error_from("POST /x", response);
  EXPECT_EQ(error.code, Code::invalid);
  EXPECT_EQ(error.message, "Job.batch \"x\" is invalid");
  EXPECT_EQ(error.details.name + error.details.group + error.details.kind + error.details.uid,
            "xbatchJobu");
  EXPECT_EQ(error.details.retry_after_seconds, 3);
  ASSERT_EQ(error.details.causes.size(), 1u);
  EXPECT_EQ(error.details.causes[0].field, "spec.a");
}

TEST(Errors, PlainBodiesAndHeaders) {
  net::Response response{.status = 429, .headers = {}, .body = "slow down\n"};
  response.headers.add("Retry-After", "5");
  Error error = error_from("GET /x", response);
  EXPECT_EQ(error.code, Code::too_many_requests);
  EXPECT_EQ(error.message, "GET /x: the server answered 429: slow down");
  EXPECT_EQ(error.details.retry_after_seconds, 5);
  EXPECT_EQ(error_from("GET /x", {.status = 404, .headers = {}, .body = ""}).code, Code::not_found);
}

TEST(Decode, ItemsOfAListGetTheirKind) {
  net::Response response{
      .status = 200,
      .headers = {},
      .body =
          R"({"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"99","continue":"next"},
          "items":[{"metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"7"}}]})"};
  ListPage page = decode_page(resources::pods, {}, response).value();
  EXPECT_EQ(page.resource_version, 99u);
  EXPECT_EQ(page.continue_token, "next");
  ASSERT_EQ(page.items.size(), 1u);
  EXPECT_EQ(page.items[0]->name, "a");
  EXPECT_EQ(page.items[0]->resource_version, 7u);
  Value item = value(*page.items[0]->json);
  EXPECT_EQ(json::string_at(item, {"kind"}), "Pod");
  EXPECT_EQ(json::string_at(item, {"apiVersion"}), "v1");
}

TEST(Decode, RemovalAnsweredByAStatus) {
  Write write{.verb = Write::Verb::remove, .resource = resources::queues, .key = {"", "q"}};
  net::Response response{
      .status = 200,
      .headers = {},
      .body = R"({"kind":"Status","status":"Success","details":{"name":"q","uid":"u-1"}})"};
  ObjectPtr last = decode_write(write, {}, response).value();
  EXPECT_EQ(last->name, "q");
  EXPECT_EQ(last->uid, "u-1");
  EXPECT_EQ(json::string_at(value(*last->json), {"kind"}), "Queue");
}

TEST(Decode, BindAndEvictYieldNoObject) {
  Write write{.verb = Write::Verb::bind, .resource = resources::pods, .key = {"n", "p"}};
  net::Response response{
      .status = 201, .headers = {}, .body = R"({"kind":"Status","status":"Success"})"};
  EXPECT_EQ(decode_write(write, {}, response).value(), nullptr);
}

TEST(Decode, WatchEvents) {
  WatchEvent added =
      decode_event(
          resources::pods,
          R"({"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","resourceVersion":"5"}}})")
          .value();
  EXPECT_EQ(added.type, WatchEvent::Type::added);
  EXPECT_EQ(added.object->name, "a");
  EXPECT_EQ(added.resource_version, 5u);
  WatchEvent bookmark =
      decode_event(
          resources::pods,
          R"({"type":"BOOKMARK","object":{"kind":"Pod","metadata":{"resourceVersion":"9"}}})")
          .value();
  EXPECT_EQ(bookmark.type, WatchEvent::Type::bookmark);
  EXPECT_EQ(bookmark.object, nullptr);
  EXPECT_EQ(bookmark.resource_version, 9u);
  Result<WatchEvent> gone =
      decode_event(resources::pods,
                   R"x({"type":"ERROR","object":{"kind":"Status","reason":"Expired",
          "message":"too old resource version: 5 (1000)","code":410}})x");
  EXPECT_EQ(gone.error().code, Code::expired);
  EXPECT_EQ(gone.error().message, "too old resource version: 5 (1000)");
  EXPECT_EQ(
      decode_event(resources::pods, R"({"type":"ERROR","object":{"reason":"Gone","code":410}})")
          .error()
          .code,
      Code::expired);
  EXPECT_FALSE(decode_event(resources::pods, "{}"));
  EXPECT_FALSE(decode_event(resources::pods, "nonsense"));
  EXPECT_FALSE(decode_event(resources::pods, R"({"type":"ODD","object":{}})"));
}

}  // namespace
}  // namespace hekla::kube
