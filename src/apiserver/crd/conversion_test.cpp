#include "apiserver/crd/conversion.h"

#include <deque>

#include "apiserver/server/server_fixture_test.h"

namespace hekla::apiserver {
namespace {

// v1 has spec.host ("a:1"), v2 spec.name and spec.port.
class ScriptedConverter final : public WebhookTransport {
 public:
  void send(WebhookCall call, std::function<void(Result<net::Response>)> done) override {
    ++calls;
    last_url = call.url;
    last_body = json::parse(call.body).value();
    if (hold)
      held.emplace_back(std::move(call), std::move(done));
    else
      done(answer(call));
  }
  Result<net::Response> answer(const WebhookCall& call) const {
    if (!failure.empty()) return fail(Code::unavailable, failure);
    if (!raw.empty()) return net::Response{200, {}, raw};
    const json::Value review = json::parse(call.body).value();
    const std::string version(json::string_at(review, {"request", "desiredAPIVersion"}));
    json::Array converted;
    for (const json::Value& object : *json::array_at(review, {"request", "objects"}))
      converted.push_back(convert(object, version));
    json::Object result{{"status", refusal.empty() ? "Success" : "Failure"}};
    if (!refusal.empty()) result.emplace("message", refusal);
    json::Object response{{"result", std::move(result)},
                          {"convertedObjects", std::move(converted)}};
    if (!old_fashioned) response.emplace("uid", *json::find_path(review, {"request", "uid"}));
    json::Object answer{{"response", std::move(response)}};
    if (!old_fashioned) {
      answer.emplace("kind", "ConversionReview");
      answer.emplace("apiVersion", "apiextensions.k8s.io/v1");
    }
    return net::Response{200, {}, json::serialize(answer)};
  }
  json::Value convert(json::Value object, const std::string& version) const {
    object.get_object()["apiVersion"] = version;
    if (!rename.empty()) json::at_path(object, {"metadata", "name"}) = rename;
    json::at_path(object, {"metadata", "labels", "converted"}) = "yes";
    json::at_path(object, {"metadata", "generation"}) = 77;
    json::at_path(object, {"spec", "unheardOf"}) = true;
    json::Object& spec = json::at_path(object, {"spec"}).get_object();
    if (version == "x.io/v2" && spec.contains("host")) {
      const std::string host(json::sv(spec["host"].get_string()));
      spec["name"] = host.substr(0, host.find(':'));
      spec["port"] = std::stoll(host.substr(host.find(':') + 1));
      spec.erase("host");
    } else if (version == "x.io/v1" && spec.contains("name")) {
      spec["host"] = std::string(json::sv(spec["name"].get_string())) + ":" +
                     std::to_string(spec["port"].get_int64());
      spec.erase("name");
      spec.erase("port");
    }
    return object;
  }

  int calls = 0;
  bool hold = false, old_fashioned = false;
  std::string failure, refusal, rename, raw, last_url;
  json::Value last_body;
  std::deque<std::pair<WebhookCall, std::function<void(Result<net::Response>)>>> held;
};

constexpr const char* kCrds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
constexpr const char* kOne = "/apis/x.io/v1/namespaces/default/hosts";
constexpr const char* kTwo = "/apis/x.io/v2/namespaces/default/hosts";

std::string crd(
    const std::string& storage,
    const std::string& conversion =
        R"({"strategy":"Webhook","webhook":{"clientConfig":{"url":"https://127.0.0.1:9/convert"},)"
        R"("conversionReviewVersions":["v1"]}})") {
  auto version = [&](const std::string& name, const std::string& properties) {
    return R"({"name":")" + name + R"(","served":true,"storage":)" +
           (name == storage ? "true" : "false") +
           R"(,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{)" +
           properties + "}}}}}}";
  };
  return R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",)"
         R"("metadata":{"name":"hosts.x.io"},)"
         R"("spec":{"group":"x.io","scope":"Namespaced","names":{"plural":"hosts","kind":"Host"},"conversion":)" +
         conversion + R"(,"versions":[)" + version("v1", R"("host":{"type":"string"})") + "," +
         version("v2", R"("name":{"type":"string"},"port":{"type":"integer"})") + "]}}";
}

class ConversionTest : public ServerFixture {
 protected:
  ConversionTest() {
    server->set_webhook_transport(&converter);
    Reply made = call("POST", kCrds, crd("v1"));
    EXPECT_EQ(made.status, 201) << made.text;
  }
  static std::string host(const std::string& name, const std::string& version,
                          const std::string& spec) {
    return R"({"apiVersion":"x.io/)" + version + R"(","kind":"Host","metadata":{"name":")" + name +
           R"("},"spec":)" + spec + "}";
  }
  ScriptedConverter converter;
};

TEST_F(ConversionTest, EachVersionSeesItsOwnShape) {
  Reply made = call("POST", kTwo, host("a", "v2", R"({"name":"n","port":80})"));
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_EQ(made.at({"apiVersion"}), "x.io/v2");
  EXPECT_EQ(made.at({"spec", "name"}), "n");
  EXPECT_EQ(converter.last_url, "https://127.0.0.1:9/convert?timeout=30s");
  EXPECT_EQ(json::int_at(made.body, {"metadata", "generation"}), 1)
      << "a webhook changes labels and annotations alone";
  EXPECT_EQ(made.at({"metadata", "labels", "converted"}), "yes");
  EXPECT_EQ(json::find_path(made.body, {"spec", "unheardOf"}), nullptr)
      << "what the schema does not know is dropped";
  Reply one = call("GET", std::string(kOne) + "/a");
  EXPECT_EQ(one.at({"spec", "host"}), "n:80");
  EXPECT_EQ(one.at({"metadata", "uid"}), made.at({"metadata", "uid"}));
  EXPECT_EQ(one.at({"metadata", "resourceVersion"}), made.at({"metadata", "resourceVersion"}));
  const int before = converter.calls;
  Reply two = call("GET", std::string(kTwo) + "/a");
  EXPECT_EQ(json::int_at(two.body, {"spec", "port"}), 80);
  EXPECT_EQ(call("GET", kTwo).status, 200);
  EXPECT_EQ(converter.calls, before) << "what was converted once is remembered";

  ASSERT_EQ(patch(std::string(kTwo) + "/a", R"({"spec":{"port":81}})").status, 200);
  EXPECT_EQ(call("GET", std::string(kOne) + "/a").at({"spec", "host"}), "n:81");
  ASSERT_EQ(patch(std::string(kOne) + "/a", R"({"spec":{"host":"m:9"}})").status, 200);
  Reply list = call("GET", kTwo);
  EXPECT_EQ(json::string_at((*json::array_at(list.body, {"items"}))[0], {"spec", "name"}), "m");
  EXPECT_EQ(call("DELETE", std::string(kTwo) + "/a").status, 200);
  EXPECT_EQ(call("GET", std::string(kOne) + "/a").status, 404);
}

TEST_F(ConversionTest, WatchesWaitForTheWebhookAndKeepTheOrder) {
  call("POST", kOne, host("a", "v1", R"({"host":"a:1"})"));
  auto watch = send("GET", std::string(kTwo) + "?watch=1");
  ASSERT_EQ(watch->events().size(), 1u);
  converter.hold = true;
  call("POST", kOne, host("b", "v1", R"({"host":"b:2"})"));
  patch(std::string(kOne) + "/b", R"({"spec":{"host":"b:3"}})");
  EXPECT_EQ(watch->events().size(), 1u);
  converter.hold = false;
  while (!converter.held.empty()) {
    auto [asked, done] = std::move(converter.held.front());
    converter.held.pop_front();
    done(converter.answer(asked));
    simulation.run_until_idle();
  }
  std::vector<json::Value> events = watch->events();
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(json::int_at(events[1], {"object", "spec", "port"}), 2);
  EXPECT_EQ(json::string_at(events[2], {"type"}), "MODIFIED");
  EXPECT_EQ(json::int_at(events[2], {"object", "spec", "port"}), 3);
  EXPECT_EQ(json::string_at(events[2], {"object", "apiVersion"}), "x.io/v2");
}

TEST_F(ConversionTest, FieldsAreSelectedInTheVersionThatIsAskedFor) {
  std::string text = crd("v1");
  const std::string second = R"({"name":"v2",)";
  text.insert(text.find(second) + second.size(),
              R"("selectableFields":[{"jsonPath":".spec.name"},{"jsonPath":".spec.port"}],)");
  call("DELETE", std::string(kCrds) + "/hosts.x.io");
  simulation.run_for(std::chrono::seconds(1));
  ASSERT_EQ(call("POST", kCrds, text).status, 201);
  const std::string selected = std::string(kTwo) + "?fieldSelector=spec.name%3Da";
  call("POST", kTwo, host("early", "v2", R"({"name":"a","port":1})"));
  auto watch = send("GET", selected + "&watch=1");
  call("POST", kTwo, host("one", "v2", R"({"name":"a","port":80})"));
  call("POST", kTwo, host("other", "v2", R"({"name":"b","port":80})"));
  const auto names = [](const Reply& list) {
    std::string all;
    for (const json::Value& item : *json::array_at(list.body, {"items"}))
      all += json::text_at(item, {"metadata", "name"}) + " ";
    return all;
  };
  EXPECT_EQ(names(call("GET", selected)), "early one ");
  EXPECT_EQ(names(call("GET", selected + ",spec.port%3D80")), "one ");
  const Reply page = call("GET", selected + "&limit=1");
  EXPECT_EQ(names(page), "early ");
  EXPECT_EQ(json::find_path(page.body, {"metadata", "remainingItemCount"}), nullptr);
  patch(std::string(kTwo) + "/early", R"({"spec":{"name":"b"}})");
  EXPECT_EQ(names(call("DELETE", selected)), "one ");
  EXPECT_EQ(names(call("GET", kTwo)), "early other ");
  std::string told;
  for (const json::Value& event : watch->events())
    told += json::text_at(event, {"type"}) + " " +
            json::text_at(event, {"object", "metadata", "name"}) + " " +
            json::text_at(event, {"object", "spec", "name"}) + "\n";
  EXPECT_EQ(told, "ADDED early a\nADDED one a\nDELETED early a\nDELETED one a\n");
}

TEST_F(ConversionTest, AnotherStorageVersionLeavesOldObjectsReadable) {
  call("POST", kOne, host("old", "v1", R"({"host":"o:1"})"));
  Reply changed = patch(std::string(kCrds) + "/hosts.x.io", [] {
    json::Value next = json::parse(crd("v2")).value();
    return json::serialize(json::Object{{"spec", *json::find(next, "spec")}});
  }());
  ASSERT_EQ(changed.status, 200) << changed.text;
  EXPECT_EQ(json::array_at(changed.body, {"status", "storedVersions"})->size(), 2u);
  EXPECT_EQ(call("GET", std::string(kOne) + "/old").at({"spec", "host"}), "o:1");
  EXPECT_EQ(call("GET", std::string(kTwo) + "/old").at({"spec", "name"}), "o");
  ASSERT_EQ(call("POST", kOne, host("new", "v1", R"({"host":"n:2"})")).status, 201);
  Reply list = call("GET", kOne);
  for (const json::Value& item : *json::array_at(list.body, {"items"}))
    EXPECT_NE(json::string_at(item, {"spec", "host"}), "") << json::serialize(item);
}

TEST_F(ConversionTest, AListIsConvertedInOneReview) {
  for (const char* name : {"a", "b", "c"})
    call("POST", kOne, host(name, "v1", R"({"host":"h:1"})"));
  call("POST", kTwo, host("d", "v2", R"({"name":"n","port":80})"));
  const int before = converter.calls;
  Reply list = call("GET", kTwo);
  EXPECT_EQ(json::array_at(list.body, {"items"})->size(), 4u);
  EXPECT_EQ(converter.calls, before + 1);
  EXPECT_EQ(json::array_at(converter.last_body, {"request", "objects"})->size(), 3u)
      << "d is remembered";
  EXPECT_EQ(json::string_at(converter.last_body, {"apiVersion"}), "apiextensions.k8s.io/v1");
  EXPECT_EQ(json::string_at(converter.last_body, {"request", "desiredAPIVersion"}), "x.io/v2");
  Reply table = call("GET", kTwo, "", {{"Accept", "application/json;as=Table;g=meta.k8s.io;v=v1"}});
  EXPECT_EQ(json::array_at(table.body, {"rows"})->size(), 4u);
}

TEST_F(ConversionTest, StoredVersionsAreKeptUntilNothingIsStoredInThem) {
  call("POST", kOne, host("old", "v1", R"({"host":"o:1"})"));
  auto with = [&](const std::string& storage, bool first) {
    json::Value next = json::parse(crd(storage)).value();
    json::Array& versions = json::at_path(next, {"spec", "versions"}).get_array();
    if (!first) versions.erase(versions.begin());
    return patch(std::string(kCrds) + "/hosts.x.io",
                 json::serialize(json::Object{{"spec", *json::find(next, "spec")}}));
  };
  ASSERT_EQ(with("v2", true).status, 200);
  Reply refused = with("v2", false);
  EXPECT_EQ(refused.status, 422);
  EXPECT_EQ(refused.message(),
            "CustomResourceDefinition.apiextensions.k8s.io \"hosts.x.io\" is invalid: "
            "status.storedVersions[0]: "
            "Invalid value: \"v1\": missing from spec.versions; v1 was previously a storage "
            "version, and must remain in "
            "spec.versions until a storage migration ensures no data remains persisted in v1 and "
            "removes v1 from "
            "status.storedVersions");
  // Migration as people do it: read, and write back what was read.
  Reply read = call("GET", std::string(kTwo) + "/old");
  Reply written = call("PUT", std::string(kTwo) + "/old", read.text);
  ASSERT_EQ(written.status, 200) << written.text;
  EXPECT_NE(written.at({"metadata", "resourceVersion"}), read.at({"metadata", "resourceVersion"}));
  EXPECT_EQ(
      call("PUT", std::string(kTwo) + "/old", written.text).at({"metadata", "resourceVersion"}),
      written.at({"metadata", "resourceVersion"}));
  Reply status =
      patch(std::string(kCrds) + "/hosts.x.io/status", R"({"status":{"storedVersions":["v2"]}})");
  ASSERT_EQ(status.status, 200) << status.text;
  ASSERT_EQ(with("v2", false).status, 200);
  const int before = converter.calls;
  EXPECT_EQ(call("GET", std::string(kTwo) + "/old").at({"spec", "name"}), "o");
  EXPECT_EQ(converter.calls, before) << "it is kept in v2 now";
  EXPECT_EQ(call("GET", std::string(kOne) + "/old").status, 404);
}

TEST_F(ConversionTest, ReviewsOfTheOldVersionAreSpokenWhenTheyComeFirst) {
  converter.old_fashioned = true;
  Reply refused = call("POST", kTwo, host("a", "v2", R"({"name":"n","port":80})"));
  EXPECT_EQ(refused.message(),
            "conversion webhook for x.io/v2, Kind=Host failed: expected webhook response of "
            "apiextensions.k8s.io/v1, Kind=ConversionReview, got , Kind=");
  ASSERT_EQ(
      patch(
          std::string(kCrds) + "/hosts.x.io",
          R"({"spec":{"conversion":{"webhook":{"conversionReviewVersions":["v9","v1beta1","v1"]}}}})")
          .status,
      200);
  ASSERT_EQ(call("POST", kTwo, host("a", "v2", R"({"name":"n","port":80})")).status, 201);
  EXPECT_EQ(json::string_at(converter.last_body, {"apiVersion"}), "apiextensions.k8s.io/v1beta1");
}

TEST_F(ConversionTest, ADefinitionGoesThoughItsWebhookIsGone) {
  call("POST", kOne, host("a", "v1", R"({"host":"a:1"})"));
  call("POST", kTwo, host("b", "v2", R"({"name":"n","port":80})"));
  converter.failure = "gone";
  ASSERT_EQ(call("DELETE", std::string(kCrds) + "/hosts.x.io").status, 200);
  simulation.run_for(std::chrono::seconds(2));
  EXPECT_EQ(call("GET", std::string(kCrds) + "/hosts.x.io").status, 404);
}

TEST_F(ConversionTest, FailuresAreSaidAndNothingIsWritten) {
  auto create = [&] { return call("POST", kTwo, host("a", "v2", R"({"name":"n","port":80})")); };
  converter.failure = "refused";
  Reply made = create();
  EXPECT_EQ(made.status, 500);
  EXPECT_EQ(made.reason(), "");
  EXPECT_EQ(made.message(),
            "conversion webhook for x.io/v2, Kind=Host failed: Post "
            "\"https://127.0.0.1:9/convert?timeout=30s\": refused");
  converter.failure.clear();
  converter.refusal = "no way";
  EXPECT_EQ(create().message(), "conversion webhook for x.io/v2, Kind=Host failed: no way");
  converter.refusal.clear();
  converter.rename = "other";
  EXPECT_EQ(create().message(),
            "conversion webhook for x.io/v2, Kind=Host returned invalid object: must have the same "
            "name: a != other");
  converter.rename.clear();
  EXPECT_EQ(call("GET", std::string(kOne) + "/a").status, 404);

  call("POST", kOne, host("b", "v1", R"({"host":"b:1"})"));
  auto answer = [&](const std::string& objects) {
    converter.raw =
        R"({"response":{"result":{"status":"Success"},"convertedObjects":)" + objects + "}}";
    return call("GET", std::string(kTwo) + "/b").message();
  };
  ASSERT_EQ(patch(std::string(kCrds) + "/hosts.x.io",
                  R"({"spec":{"conversion":{"webhook":{"conversionReviewVersions":["v1beta1"]}}}})")
                .status,
            200);
  const std::string head = "conversion webhook for x.io/v1, Kind=Host returned ";
  EXPECT_EQ(answer("[]"), head + "0 objects, expected 1");
  EXPECT_EQ(
      answer(R"([{"apiVersion":"x.io/v1","kind":"Host"}])"),
      head +
          "invalid object at index 0: invalid groupVersion (expected x.io/v2, received x.io/v1)");
  EXPECT_EQ(answer(R"([{"apiVersion":"x.io/v2","kind":"Ghost"}])"),
            head + "invalid object at index 0: invalid kind (expected Host, received Ghost)");
  const std::string uid = call("GET", std::string(kOne) + "/b").at({"metadata", "uid"});
  auto labelled = [&](const std::string& labels) {
    return answer(
        R"([{"apiVersion":"x.io/v2","kind":"Host","metadata":{"name":"b","namespace":"default","uid":")" +
        uid + R"(","labels":)" + labels + "}}]");
  };
  EXPECT_EQ(labelled(R"({"a":1})"),
            head + "invalid metadata: metadata.labels[a] must be a string in converted object");
  EXPECT_NE(
      labelled(R"({"a":"?"})")
          .find(head + "invalid metadata: metadata.labels: Invalid value: \"?\": a valid label"),
      std::string::npos);
  EXPECT_EQ(labelled(R"({"a":"b"})"), "");
}

TEST_F(ConversionTest, AWatchThatCannotBeConvertedSaysSo) {
  call("POST", kOne, host("a", "v1", R"({"host":"a:1"})"));
  auto watch = send("GET", std::string(kTwo) + "?watch=1");
  ASSERT_EQ(watch->events().size(), 1u);
  converter.failure = "gone";
  call("POST", kOne, host("b", "v1", R"({"host":"b:2"})"));
  ASSERT_EQ(watch->events().size(), 2u);
  EXPECT_EQ(json::string_at(watch->events()[1], {"type"}), "ERROR");
  EXPECT_TRUE(watch->ended);
}

TEST_F(ConversionTest, TheDefinitionIsChecked) {
  auto refused = [&](const std::string& conversion) {
    std::string text = crd("v1", conversion);
    for (std::size_t at; (at = text.find("hosts")) != std::string::npos;)
      text.replace(at, 5, "lamps");
    text.replace(text.find("\"Host\""), 6, "\"Lamp\"");
    const std::string message = call("POST", kCrds, text).message();
    const std::size_t at = message.find("is invalid: ");
    return at == std::string::npos ? message : message.substr(at + 12);
  };
  EXPECT_EQ(refused(R"({"strategy":"Other"})"),
            "spec.conversion.strategy: Unsupported value: \"Other\": supported values: \"None\", "
            "\"Webhook\"");
  EXPECT_EQ(refused(R"({})"), "spec.conversion.strategy: Required value");
  EXPECT_EQ(refused(R"({"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"]}})"),
            "spec.conversion.webhookClientConfig: Required value: required when strategy is set to "
            "Webhook");
  const std::string client = R"("clientConfig":{"url":"https://h/x"})";
  EXPECT_EQ(refused(R"({"strategy":"None","webhook":{)" + client + "}}"),
            "spec.conversion.webhookClientConfig: Forbidden: should not be set when strategy is "
            "not set to Webhook");
  EXPECT_EQ(
      refused(R"({"strategy":"Webhook","webhook":{"conversionReviewVersions":[],)" + client + "}}"),
      "spec.conversion.conversionReviewVersions: Required value");
  EXPECT_NE(refused(R"({"strategy":"Webhook","webhook":{"conversionReviewVersions":["v9"],)" +
                    client + "}}")
                .find("must include at least one of v1, v1beta1"),
            std::string::npos);
  auto client_refused = [&](const std::string& config) {
    return refused(
        R"({"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],"clientConfig":)" +
        config + "}}");
  };
  EXPECT_EQ(client_refused(R"({})"),
            "spec.conversion.webhookClientConfig: Required value: exactly one of url or service is "
            "required");
  EXPECT_EQ(client_refused(R"({"url":"http://h/x"})"),
            "spec.conversion.webhookClientConfig.url: Invalid value: \"http\": 'https' is the only "
            "allowed URL scheme; "
            "desired format: https://host[/path]");
  EXPECT_EQ(client_refused(R"({"url":"https://h/x?y=1"})"),
            "spec.conversion.webhookClientConfig.url: Invalid value: \"y=1\": query parameters are "
            "not permitted in the URL");
  Reply made = call("POST", kCrds, [] {
    std::string text =
        crd("v1", R"({"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],)"
                  R"("clientConfig":{"service":{"name":"s","namespace":"n"}}}})");
    for (std::size_t at; (at = text.find("hosts")) != std::string::npos;)
      text.replace(at, 5, "lamps");
    return text.replace(text.find("\"Host\""), 6, "\"Lamp\"");
  }());
  EXPECT_EQ(
      json::int_at(made.body, {"spec", "conversion", "webhook", "clientConfig", "service", "port"}),
      443);
}

TEST_F(ConversionTest, AServiceWithoutReadyEndpointsIsNotCalled) {
  const char* service = R"({"metadata":{"name":"s"},"spec":{"ports":[{"port":443}]}})";
  ASSERT_EQ(call("POST", "/api/v1/namespaces/default/services", service).status, 201);
  const Reply changed =
      patch(std::string(kCrds) + "/hosts.x.io",
            R"({"spec":{"conversion":{"webhook":{"clientConfig":{"url":null,)"
            R"("service":{"name":"s","namespace":"default","path":"/convert"}}}}}})");
  ASSERT_EQ(changed.status, 200) << changed.text;
  const Reply refused = call("POST", kTwo, host("a", "v2", R"({"name":"n","port":80})"));
  EXPECT_EQ(refused.status, 500) << refused.text;
  EXPECT_EQ(refused.message(),
            "conversion webhook for x.io/v2, Kind=Host failed: Post "
            "\"https://s.default.svc:443/convert?timeout=30s\": no endpoints available for service "
            "\"s\"");
  EXPECT_EQ(converter.calls, 0);
}

}  // namespace
}  // namespace hekla::apiserver
