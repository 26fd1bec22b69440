// YAML text: no crash, bounded, and what parses is written and read back as the same value.
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "json/parse.h"

using namespace hekla;

// Aliases make megabytes of a few lines, up to a bound. To read those back shows nothing that a
// short text does not, and takes an unoptimised build ten seconds.
constexpr std::size_t kReadBackMax = 256 << 10;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<std::string> duplicates;
  const auto documents = json::parse_yaml(text, &duplicates);
  if (!documents) {
    CHECK(!documents.error().message.empty());
    return 0;
  }
  for (const json::YamlDocument& document : *documents) {
    CHECK(document.line >= 1);
    const std::string written = json::to_yaml(document.value);
    if (written.size() > kReadBackMax) continue;
    const auto again = json::parse_yaml(written);
    CHECK(again.has_value(), written);
    CHECK(again->size() == 1 && json::equal(again->front().value, document.value), written);
    CHECK(json::equal(json::parse(json::serialize(document.value)).value(), document.value));
  }
  return 0;
}
