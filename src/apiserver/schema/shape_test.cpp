#include <gtest/gtest.h>

#include "apiserver/schema/schema.h"
#include "cel/program.h"
#include "json/parse.h"

namespace hekla::apiserver {
namespace {

TEST(SchemaShape, types_objects_for_cel) {
  SchemaPtr schema =
      schema_from_openapi(json::parse(R"({"type":"object","properties":{"spec":{"type":"object",
      "properties":{"a-b":{"type":"integer"},"namespace":{"type":"string"},
      "when":{"type":"string","format":"date-time"},
      "share":{"type":"number"},"port":{"x-kubernetes-int-or-string":true}}}}})")
                              .value())
          .value();
  const json::Value self =
      json::parse(R"({"spec":{"a-b":1,"namespace":"x","when":"2024-03-15T05:59:15Z",
      "share":1,"port":"http"}})")
          .value();
  auto run = [&](const char* text) -> std::string {
    auto program = cel::Program::compile(text, {{"self", schema->cel_type()}});
    if (!program) return program.error().message;
    cel::Budget budget(1000);
    Result<cel::Value> value =
        (*program)->run({{"self", cel::Value::of(self, schema.get())}}, budget);
    return value ? json::serialize(cel::to_json(*value)) : value.error().message;
  };
  EXPECT_EQ(run("self.spec.a__dash__b == 1 && self.spec.__namespace__ == 'x'"), "true");
  EXPECT_EQ(run("self.spec.when.getFullYear() == 2024 && self.spec.share > 0.5"), "true");
  EXPECT_EQ(run("self.spec.port == 'http' || self.spec.port > 5"), "true");
  EXPECT_EQ(run("self.spec.port > 5"), "no such overload");
  EXPECT_EQ(run("self.spec.tpyo == 1"),
            "ERROR: <input>:1:10: undefined field 'tpyo'\n | self.spec.tpyo == 1\n | .........^");
}

}  // namespace
}  // namespace hekla::apiserver
