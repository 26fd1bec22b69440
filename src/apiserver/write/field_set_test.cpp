#include "apiserver/write/field_set.h"

#include <gtest/gtest.h>

#include "apiserver/kinds/builtin.h"
#include "apiserver/write/managed_fields.h"
#include "json/parse.h"

namespace hekla::apiserver {
namespace {

json::Value parse(std::string_view text) { return *json::parse(text); }

const Kind& pods() {
  for (const KindPtr& kind : builtin_kinds())
    if (kind->resource.plural == "pods") return *kind;
  std::abort();
}

TEST(FieldSetTest, RoundTripAndAlgebra) {
  const char* text = R"({"f:metadata":{"f:labels":{".":{},"f:a":{}}},"f:spec":{"f:x":{}}})";
  FieldSet set = FieldSet::from_fields_v1(parse(text));
  EXPECT_EQ(json::serialize(set.to_fields_v1()), text);
  FieldSet part = FieldSet::from_fields_v1(parse(R"({"f:spec":{"f:x":{}}})"));
  FieldSet rest = set;
  rest.subtract(part);
  EXPECT_EQ(json::serialize(rest.to_fields_v1()),
            R"({"f:metadata":{"f:labels":{".":{},"f:a":{}}}})");
  EXPECT_EQ(set.intersect(part), part);
  rest.unite(part);
  EXPECT_EQ(rest, set);
  std::vector<std::string> paths;
  FieldSet::from_fields_v1(parse(R"({"f:spec":{"k:{\"name\":\"c\"}":{"f:image":{}}}})"))
      .append_paths("", paths);
  EXPECT_EQ(paths, (std::vector<std::string>{R"(.spec[name="c"].image)"}));
}

TEST(ManagedFieldsTest, CreationOwnsWhatWasWritten) {
  json::Value pod =
      parse(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","labels":{"a":"b"}},
      "spec":{"containers":[{"name":"c","image":"i"}],"restartPolicy":"Never"}})");
  track_update(pods(), nullptr, pod, {"me", "v1", ""}, WallTime{});
  const json::Value& entry = json::array_at(pod, {"metadata", "managedFields"})->front();
  EXPECT_EQ(json::string_at(entry, {"manager"}), "me");
  EXPECT_EQ(json::string_at(entry, {"operation"}), "Update");
  EXPECT_EQ(json::string_at(entry, {"time"}), "1970-01-01T00:00:00Z");
  EXPECT_EQ(json::serialize(*json::find(entry, "fieldsV1")),
            R"({"f:metadata":{"f:labels":{".":{},"f:a":{}}},"f:spec":{"f:containers":)"
            R"({"k:{\"name\":\"c\"}":{".":{},"f:image":{},"f:name":{}}},"f:restartPolicy":{}}})");
}

TEST(ManagedFieldsTest, ChangesMoveToTheWriter) {
  json::Value live =
      parse(R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}})");
  track_update(pods(), nullptr, live, {"one", "v1", ""}, WallTime{});
  json::Value next = live;
  json::at_path(next, {"metadata", "annotations", "k"}) = "v";
  next.get_object()["spec"].get_object()["containers"].get_array()[0].get_object()["image"] = "j";
  track_update(pods(), &live, next, {"two", "v1", ""}, WallTime{} + std::chrono::seconds(5));
  std::vector<ManagedEntry> entries = read_managed_fields(next);
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(json::serialize(entries[0].fields.to_fields_v1()),
            R"({"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:name":{}}}}})");
  EXPECT_EQ(json::serialize(entries[1].fields.to_fields_v1()),
            R"({"f:metadata":{"f:annotations":{".":{},"f:k":{}}},)"
            R"("f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{"f:image":{}}}}})");
  json::Value same = next;
  track_update(pods(), &next, same, {"three", "v1", ""}, WallTime{} + std::chrono::seconds(9));
  EXPECT_TRUE(json::equal(same, next));
}

TEST(ManagedFieldsTest, OldUpdatersAreFolded) {
  json::Value object =
      parse(R"({"metadata":{"name":"p","annotations":{"k":"v"}},"spec":{"containers":[]}})");
  track_update(pods(), nullptr, object, {"m", "v1", ""}, WallTime{});
  for (int i = 0; i < 14; ++i) {
    json::Value next = object;
    json::at_path(next, {"metadata", "annotations", "k" + std::to_string(i)}) = "v";
    track_update(pods(), i == 0 ? nullptr : &object, next, {"m" + std::to_string(i), "v1", ""},
                 WallTime{} + std::chrono::seconds(i));
    object = std::move(next);
  }
  std::vector<ManagedEntry> entries = read_managed_fields(object);
  ASSERT_EQ(entries.size(), 10u);
  EXPECT_EQ(entries[0].owner.manager, "ancient-changes");
}

TEST(ManagedFieldsTest, AreForgottenAndWrittenOnRequest) {
  json::Value live =
      parse(R"({"metadata":{"name":"p","annotations":{"k":"v"}},"spec":{"containers":[]}})");
  track_update(pods(), nullptr, live, {"m", "v1", ""}, WallTime{});
  auto after = [&](std::string_view managed, std::string subresource) {
    json::Value next = live;
    json::at_path(next, {"metadata", "managedFields"}) = parse(managed);
    track_update(pods(), &live, next, {"m", "v1", std::move(subresource)}, WallTime{});
    return read_managed_fields(next);
  };
  EXPECT_TRUE(after("[]", "").empty());
  EXPECT_TRUE(after("[{}]", "").empty());
  EXPECT_EQ(after("null", "").size(), 1u);
  EXPECT_EQ(after("[]", "status").size(), 1u);
  const std::string entry =
      R"([{"manager":"x","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":)";
  EXPECT_EQ(after(entry + R"({"f:spec":{}}}])", "").at(0).owner.manager, "x");
  EXPECT_EQ(after(entry + R"({"spec":{}}}])", "").at(0).owner.manager, "m");
  EXPECT_EQ(after(R"([{"manager":"x","operation":"Guess","fieldsType":"FieldsV1"}])", "")
                .at(0)
                .owner.manager,
            "m");

  json::Value forgotten = live;
  json::at_path(forgotten, {"metadata"}).get_object().erase("managedFields");
  json::Value next = forgotten;
  json::at_path(next, {"metadata", "annotations", "k"}) = "w";
  track_update(pods(), &forgotten, next, {"m", "v1", ""}, WallTime{});
  EXPECT_TRUE(read_managed_fields(next).empty());
}

TEST(ManagedFieldsTest, ManagersAreNamedByTheUserAgent) {
  EXPECT_EQ(manager_name("x", "kubectl/v1"), "x");
  EXPECT_EQ(manager_name("", "kubectl/v1.32 (linux)"), "kubectl");
  EXPECT_EQ(manager_name("", ""), "unknown");
}

}  // namespace
}  // namespace hekla::apiserver
