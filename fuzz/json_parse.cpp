// JSON text: no crash, and what parses is written and read back as the same value, by the tree and
// by the view.
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "json/codec.h"
#include "json/jsonpath.h"
#include "json/parse.h"

namespace {

using namespace hekla;

struct Sample {
  std::string name;
  std::int32_t number = 0;
  std::optional<double> ratio;
  std::vector<std::string> list;
  std::map<std::string, json::Value> table;
};
BOOST_DESCRIBE_STRUCT(Sample, (), (name, number, ratio, list, table))

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)json::JsonPath::parse(text);
  std::vector<std::string> duplicates;
  const Result<json::Value> value = json::parse(text, &duplicates);
  if (!value) {
    CHECK(!value.error().message.empty());
    return 0;
  }
  const std::string written = json::serialize(*value);
  const Result<json::Value> again = json::parse(written);
  CHECK(again.has_value() && json::equal(*value, *again));
  CHECK(json::serialize(*again) == written);
  CHECK(json::equal(json::parse(json::serialize_pretty(*value)).value(), *value));
  const Result<Sample> from_text = json::decode_text<Sample>(text);
  if (!duplicates.empty())
    return 0;  // a repeated member is decoded twice by one, once by the other
  const Result<Sample> from_value = json::decode<Sample>(*value);
  CHECK(from_text.has_value() == from_value.has_value());
  if (from_text) CHECK(json::equal(json::encode(*from_text), json::encode(*from_value)));
  if (!from_text) CHECK(from_text.error().message == from_value.error().message);
  return 0;
}
