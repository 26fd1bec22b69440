// CEL expressions: whatever compiles ends within its budget.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "cel/program.h"
#include "json/parse.h"

using namespace hekla;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const json::Value self =
      json::parse(R"({"a":1,"b":"text","c":[1,2,3],"d":{"x":1.5},"e":null})").value();
  const std::string text(reinterpret_cast<const char*>(data), size);
  auto program = cel::Program::compile(text, {{"self", {}}});
  if (!program) {
    CHECK(program.error().message.starts_with("ERROR: <input>:"), "an error without a place");
    return 0;
  }
  cel::Budget budget(10'000);
  if (auto value = (*program)->run({{"self", cel::Value::of(self, nullptr)}}, budget)) {
    CHECK(cel::equal(*value, *value) || value->kind() == cel::Value::Kind::floating ||
              value->is_list() || value->is_map() || value->kind() == cel::Value::Kind::optional,
          "a value differs from itself");
    (void)cel::to_json(*value);
  }
  return 0;
}
