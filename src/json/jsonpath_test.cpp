#include "json/jsonpath.h"

#include <gtest/gtest.h>

#include "json/parse.h"

namespace hekla::json {
namespace {

const Value& job() {
  static const Value value = json::parse(R"({
    "metadata":{"name":"j","annotations":{"a.b/c":"dotted"}},
    "spec":{"tasks":[{"name":"master","replicas":1},{"name":"worker","replicas":4},{"name":"eval"}]},
    "status":{"state":{"phase":"Running"},"conditions":[
      {"type":"Scheduled","status":"True"},{"type":"Ready","status":"False","n":{"x":[1,2]}}]}})")
                                 .value();
  return value;
}

// The results as a JSON array.
std::string found(std::string_view path) {
  const Result<JsonPath> parsed = JsonPath::parse(path);
  if (!parsed) return "error";
  Array array;
  for (const Value* value : parsed->find(job())) array.push_back(*value);
  return serialize(array);
}

TEST(JsonPath, FollowsNames) {
  EXPECT_EQ(found(".status.state.phase"), R"(["Running"])");
  EXPECT_EQ(found("{.status.state.phase}"), R"(["Running"])");
  EXPECT_EQ(found("$.metadata.name"), R"(["j"])");
  EXPECT_EQ(found("metadata.name"), R"(["j"])");
  EXPECT_EQ(found(".metadata.annotations['a.b/c']"), R"(["dotted"])");
  EXPECT_EQ(found(R"(.metadata.annotations["a.b/c"])"), R"(["dotted"])");
  EXPECT_EQ(found(R"(.metadata.annotations.a\.b/c)"), R"(["dotted"])");
  EXPECT_EQ(found(".status['state']['phase']"), R"(["Running"])");
  EXPECT_EQ(found(".metadata['name','missing','name']"), R"(["j","j"])");
  EXPECT_EQ(found(".status.missing.phase"), "[]");
  EXPECT_EQ(found(".metadata.name.deeper"), "[]");
}

TEST(JsonPath, IndexesArrays) {
  EXPECT_EQ(found(".spec.tasks[0].name"), R"(["master"])");
  EXPECT_EQ(found(".spec.tasks[-1].name"), R"(["eval"])");
  EXPECT_EQ(found(".spec.tasks[-2].name"), R"(["worker"])");
  EXPECT_EQ(found(".spec.tasks[5].name"), "[]");
  EXPECT_EQ(found(".spec.tasks[-5].name"), "[]");
  EXPECT_EQ(found(".spec.tasks[0:2].name"), R"(["master","worker"])");
  EXPECT_EQ(found(".spec.tasks[1:].name"), R"(["worker","eval"])");
  EXPECT_EQ(found(".spec.tasks[:-1].name"), R"(["master","worker"])");
  EXPECT_EQ(found(".spec.tasks[::2].name"), R"(["master","eval"])");
  EXPECT_EQ(found(".spec.tasks[*].replicas"), "[1,4]");
  EXPECT_EQ(found(".metadata[0]"), "[]");
}

TEST(JsonPath, WildcardsAndDescent) {
  EXPECT_EQ(found(".status.state.*"), R"(["Running"])");
  EXPECT_EQ(found("..phase"), R"(["Running"])");
  EXPECT_EQ(found("..replicas"), "[1,4]");
  EXPECT_EQ(found(".status..x[1]"), "[2]");
}

TEST(JsonPath, Filters) {
  EXPECT_EQ(found(R"(.status.conditions[?(@.type=="Ready")].status)"), R"(["False"])");
  EXPECT_EQ(found(R"(.status.conditions[?(@.type=='Ready')].status)"), R"(["False"])");
  EXPECT_EQ(found(R"(.status.conditions[?( @.type != "Ready" )].status)"), R"(["True"])");
  EXPECT_EQ(found(".spec.tasks[?(@.replicas>1)].name"), R"(["worker"])");
  EXPECT_EQ(found(".spec.tasks[?(@.replicas>=1)].name"), R"(["master","worker"])");
  EXPECT_EQ(found(".spec.tasks[?(@.replicas<4)].name"), R"(["master"])");
  EXPECT_EQ(found(".spec.tasks[?(@.replicas<=4)].name"), R"(["master","worker"])");
  EXPECT_EQ(found(".spec.tasks[?(@.replicas)].name"), R"(["master","worker"])");
  EXPECT_EQ(found(".spec.tasks[?(@.name>\"n\")].name"), R"(["worker"])");
  EXPECT_EQ(found(".spec.tasks[?(@.replicas>\"1\")].name"), "[]");
  EXPECT_EQ(found(".status.conditions[?(@.n.x[0]==1)].type"), R"(["Ready"])");
  EXPECT_EQ(found(".spec.tasks[?(@.name==$.spec.tasks[1].name)].replicas"), "[4]");
}

TEST(JsonPath, FindFirst) {
  const JsonPath path = JsonPath::parse(".spec.tasks[*].name").value();
  EXPECT_EQ(*path.find_first(job()), Value("master"));
  EXPECT_EQ(JsonPath::parse(".x").value().find_first(job()), nullptr);
  EXPECT_EQ(JsonPath::parse(".").value().find_first(job()), &job());
}

TEST(JsonPath, RefusesWhatItCannotRead) {
  for (const char* path :
       {".a[", ".a[]", ".a[?(@.b==]", ".a[?(@.b", ".a['b", ".a[x]", ".a b", ".a[1", ".a[0:1:-1]",
        ".a[?(b)]", ".a..", ".a[99999999999999999999]", ".a]"})
    EXPECT_EQ(found(path), "error") << path;
  EXPECT_EQ(found("." + std::string(5000, 'a')), "error");
}

}  // namespace
}  // namespace hekla::json
