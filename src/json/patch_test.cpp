#include "json/patch.h"

#include <gtest/gtest.h>

#include <ctime>

#include "json/parse.h"
#include "json/pointer.h"

namespace hekla::json {
namespace {

Value read(std::string_view text) { return json::parse(text).value(); }

// The patched document, or the code of the failure.
std::string patched(std::string_view document, std::string_view patch) {
  Value value = read(document);
  const Value before = value;
  const Result<void> done = apply_json_patch(value, read(patch));
  if (done) return serialize(value);
  EXPECT_TRUE(equal(value, before)) << "a failed patch changed the document";
  return std::string(reason_of(done.error().code));
}

std::string merged(std::string_view target, std::string_view patch) {
  Value value = read(target);
  apply_merge_patch(value, read(patch));
  return serialize(value);
}

std::string diff(std::string_view from, std::string_view to) {
  return serialize(diff_merge(read(from), read(to)));
}

TEST(Pointer, ParsesAndFinds) {
  const Value value = read(R"({"a/b":{"m~n":[10,20]},"":3})");
  EXPECT_EQ(*find_pointer(value, parse_pointer("/a~1b/m~0n/1").value()), Value(20));
  EXPECT_EQ(*find_pointer(value, parse_pointer("/").value()), Value(3));
  EXPECT_EQ(find_pointer(value, parse_pointer("").value()), &value);
  EXPECT_EQ(find_pointer(value, parse_pointer("/a~1b/m~0n/2").value()), nullptr);
  EXPECT_EQ(find_pointer(value, parse_pointer("/a~1b/m~0n/01").value()), nullptr);
  EXPECT_EQ(find_pointer(value, parse_pointer("/a~1b/m~0n/-").value()), nullptr);
  EXPECT_EQ(find_pointer(value, parse_pointer("/x/y").value()), nullptr);
  EXPECT_EQ(pointer_text({"a/b", "m~n", ""}), "/a~1b/m~0n/");
  EXPECT_FALSE(parse_pointer("a"));
  EXPECT_FALSE(parse_pointer("/a~2"));
  EXPECT_FALSE(parse_pointer("/a~"));
}

TEST(JsonPatch, Adds) {
  EXPECT_EQ(patched(R"({"a":1})", R"([{"op":"add","path":"/b","value":{"c":2}}])"),
            R"({"a":1,"b":{"c":2}})");
  EXPECT_EQ(patched(R"({"a":1})", R"([{"op":"add","path":"/a","value":2}])"), R"({"a":2})");
  EXPECT_EQ(patched("[1,3]", R"([{"op":"add","path":"/1","value":2}])"), "[1,2,3]");
  EXPECT_EQ(patched("[1]", R"([{"op":"add","path":"/1","value":2}])"), "[1,2]");
  EXPECT_EQ(patched("[1]", R"([{"op":"add","path":"/-","value":null}])"), "[1,null]");
  EXPECT_EQ(patched("[1]", R"([{"op":"add","path":"","value":{}}])"), "{}");
  EXPECT_EQ(patched("[1]", R"([{"op":"add","path":"/2","value":2}])"), "NotFound");
  EXPECT_EQ(patched("{}", R"([{"op":"add","path":"/a/b","value":2}])"), "NotFound");
  EXPECT_EQ(patched(R"({"a":1})", R"([{"op":"add","path":"/a/b","value":2}])"), "NotFound");
}

TEST(JsonPatch, RemovesAndReplaces) {
  EXPECT_EQ(patched(R"({"a":1,"b":2,"c":3})", R"([{"op":"remove","path":"/a"}])"),
            R"({"b":2,"c":3})");
  EXPECT_EQ(patched("[1,2,3]", R"([{"op":"remove","path":"/1"}])"), "[1,3]");
  EXPECT_EQ(patched("{}", R"([{"op":"remove","path":"/a"}])"), "NotFound");
  EXPECT_EQ(patched("[1]", R"([{"op":"remove","path":"/-"}])"), "NotFound");
  EXPECT_EQ(patched("{}", R"([{"op":"remove","path":""}])"), "BadRequest");
  EXPECT_EQ(patched(R"({"a":[1]})", R"([{"op":"replace","path":"/a/0","value":"x"}])"),
            R"({"a":["x"]})");
  EXPECT_EQ(patched("{}", R"([{"op":"replace","path":"","value":5}])"), "5");
  EXPECT_EQ(patched("{}", R"([{"op":"replace","path":"/a","value":5}])"), R"({"a":5})");
  EXPECT_EQ(patched("{}", R"([{"op":"replace","path":"/a/b","value":5}])"), "NotFound");
  EXPECT_EQ(patched(R"({"a":[1]})", R"([{"op":"replace","path":"/a/1","value":5}])"), "NotFound");
}

TEST(JsonPatch, MovesAndCopies) {
  EXPECT_EQ(patched(R"({"a":{"b":1}})", R"([{"op":"move","from":"/a/b","path":"/c"}])"),
            R"({"a":{},"c":1})");
  EXPECT_EQ(patched("[1,2,3]", R"([{"op":"move","from":"/0","path":"/2"}])"), "[2,3,1]");
  EXPECT_EQ(patched(R"({"a":1})", R"([{"op":"move","from":"/a","path":"/a"}])"), R"({"a":1})");
  EXPECT_EQ(patched(R"({"a":{"b":1}})", R"([{"op":"move","from":"/a","path":"/a/b"}])"),
            "BadRequest");
  EXPECT_EQ(patched("{}", R"([{"op":"move","from":"/a","path":"/a"}])"), "NotFound");
  EXPECT_EQ(patched(R"({"a":[1]})", R"([{"op":"copy","from":"/a","path":"/a/-"}])"),
            R"({"a":[1,[1]]})");
  EXPECT_EQ(patched("{}", R"([{"op":"copy","from":"/a","path":"/b"}])"), "NotFound");
}

TEST(JsonPatch, Tests) {
  EXPECT_EQ(patched(R"({"a":[1,{"b":2,"c":3}]})",
                    R"([{"op":"test","path":"/a/1","value":{"c":3,"b":2.0}}])"),
            R"({"a":[1,{"b":2,"c":3}]})");
  EXPECT_EQ(patched(R"({"a":1})", R"([{"op":"test","path":"/a","value":2}])"), "Invalid");
  EXPECT_EQ(patched(R"({"a":1})", R"([{"op":"test","path":"/b","value":2}])"), "NotFound");
  EXPECT_EQ(patched(R"({"a":1})", R"([{"op":"test","path":"/b","value":null}])"), R"({"a":1})");
  EXPECT_EQ(
      patched(R"({"a":1})",
              R"([{"op":"add","path":"/b","value":1},{"op":"test","path":"/a","value":"1"}])"),
      "Invalid");
}

TEST(JsonPatch, RefusesWhatIsNoPatch) {
  for (const char* patch :
       {"{}", "[1]", R"([{"path":"/a"}])", R"([{"op":"add","path":"/a"}])",
        R"([{"op":"add","value":1}])", R"([{"op":"merge","path":"/a","value":1}])",
        R"([{"op":"add","path":"a","value":1}])", R"([{"op":"move","path":"/a"}])",
        R"([{"op":3,"path":"/a"}])"})
    EXPECT_EQ(patched(R"({"a":1})", patch), "BadRequest") << patch;
}

TEST(JsonPatch, IsBounded) {
  Array operations(kPatchOperationsMax,
                   Value(Object{{"op", "test"}, {"path", "/a"}, {"value", 1}}));
  Value document = read(R"({"a":1})");
  EXPECT_TRUE(apply_json_patch(document, operations));
  operations.push_back(operations[0]);
  EXPECT_EQ(apply_json_patch(document, operations).error().code, Code::too_large);

  // Each copy doubles the document; without a bound forty of them would fill the machine.
  Array doubling(40, Value(Object{{"op", "copy"}, {"from", ""}, {"path", "/-"}}));
  document = Array{"0123456789"};
  EXPECT_EQ(apply_json_patch(document, doubling).error().code, Code::too_large);

  Array nesting;
  std::string path;
  for (int i = 0; i < 300; ++i) {
    path += "/a";
    nesting.push_back(Object{{"op", "add"}, {"path", path}, {"value", Object{}}});
  }
  document = Object{};
  EXPECT_EQ(apply_json_patch(document, nesting).error().code, Code::too_large);

  // At the beginning of a long list every operation moves all the others.
  Array shifting(kPatchOperationsMax, Value(Object{{"op", "add"}, {"path", "/0"}, {"value", 1}}));
  document = Array(100'000, Value(1));
  EXPECT_EQ(apply_json_patch(document, shifting).error().code, Code::too_large);
  EXPECT_EQ(document.get_array().size(), 100'000u);
  Array moving;
  for (std::size_t i = 0; i < kPatchOperationsMax / 2; ++i) {
    moving.push_back(Object{{"op", "move"}, {"from", "/a"}, {"path", "/b/c"}});
    moving.push_back(Object{{"op", "move"}, {"from", "/b/c"}, {"path", "/a"}});
  }
  document = Object{{"a", Array(100'000, Value(1))}, {"b", Object{}}};
  EXPECT_EQ(apply_json_patch(document, moving).error().code, Code::too_large);
  document = Object{{"a", 1}, {"b", Object{}}};
  EXPECT_TRUE(apply_json_patch(document, moving));
}

TEST(JsonPatch, RemovesManyMembersInAMoment) {
  const std::clock_t begun = std::clock();
  Value document = Object{};
  Value nothing = Object{};
  Array removals;
  for (int i = 0; i < 200'000; ++i) {
    const std::string name = "k" + std::to_string(i);
    document.get_object().emplace(name, i);
    nothing.get_object().emplace(name, nullptr);
    if (removals.size() < kPatchOperationsMax)
      removals.push_back(Object{{"op", "remove"}, {"path", "/" + name}});
  }
  ASSERT_TRUE(apply_json_patch(document, removals));
  EXPECT_EQ(document.get_object().size(), 190'000u);
  apply_merge_patch(document, nothing);
  EXPECT_TRUE(document.get_object().empty());
  EXPECT_LT(static_cast<double>(std::clock() - begun) / CLOCKS_PER_SEC, 5);
}

// The table of RFC 7396, appendix A.
TEST(MergePatch, FollowsTheExamplesOfTheStandard) {
  EXPECT_EQ(merged(R"({"a":"b"})", R"({"a":"c"})"), R"({"a":"c"})");
  EXPECT_EQ(merged(R"({"a":"b"})", R"({"b":"c"})"), R"({"a":"b","b":"c"})");
  EXPECT_EQ(merged(R"({"a":"b"})", R"({"a":null})"), "{}");
  EXPECT_EQ(merged(R"({"a":"b","b":"c"})", R"({"a":null})"), R"({"b":"c"})");
  EXPECT_EQ(merged(R"({"a":["b"]})", R"({"a":"c"})"), R"({"a":"c"})");
  EXPECT_EQ(merged(R"({"a":"c"})", R"({"a":["b"]})"), R"({"a":["b"]})");
  EXPECT_EQ(merged(R"({"a":{"b":"c"}})", R"({"a":{"b":"d","c":null}})"), R"({"a":{"b":"d"}})");
  EXPECT_EQ(merged(R"({"a":[{"b":"c"}]})", R"({"a":[1]})"), R"({"a":[1]})");
  EXPECT_EQ(merged(R"(["a","b"])", R"(["c","d"])"), R"(["c","d"])");
  EXPECT_EQ(merged(R"({"a":"b"})", R"(["c"])"), R"(["c"])");
  EXPECT_EQ(merged(R"({"a":"foo"})", "null"), "null");
  EXPECT_EQ(merged(R"({"e":null})", R"({"a":1})"), R"({"e":null,"a":1})");
  EXPECT_EQ(merged("[1,2]", R"({"a":"b","c":null})"), R"({"a":"b"})");
  EXPECT_EQ(merged("{}", R"({"a":{"bb":{"ccc":null}}})"), R"({"a":{"bb":{}}})");
}

TEST(DiffMerge, IsMinimal) {
  EXPECT_EQ(diff(R"({"a":1,"b":{"c":2,"d":3}})", R"({"b":{"d":3,"c":2},"a":1})"), "{}");
  EXPECT_EQ(diff(R"({"a":1,"b":{"c":2,"d":3}})", R"({"a":1,"b":{"c":5,"d":3}})"),
            R"({"b":{"c":5}})");
  EXPECT_EQ(diff(R"({"a":1,"b":{"c":2}})", R"({"b":{}})"), R"({"a":null,"b":{"c":null}})");
  EXPECT_EQ(diff(R"({"a":[1,2]})", R"({"a":[1,3]})"), R"({"a":[1,3]})");
  EXPECT_EQ(diff(R"({"a":1})", R"({"a":{"b":1}})"), R"({"a":{"b":1}})");
  EXPECT_EQ(diff("null", R"({"a":1})"), R"({"a":1})");
  EXPECT_EQ(diff(R"({"a":1})", "3"), "3");
  EXPECT_EQ(diff(R"({"a":1})", R"({"a":null})"), R"({"a":null})");
}

}  // namespace
}  // namespace hekla::json
