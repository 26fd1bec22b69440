// The small texts of the model: quantities, durations, times, selectors. What parses prints
// canonically and reads back as the same.
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "model/names.h"
#include "model/quantity.h"
#include "model/selector.h"
#include "model/time.h"

using namespace hekla;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto quantity = model::Quantity::parse(text)) {
    const std::string canonical = quantity->text();
    CHECK(model::Quantity::parse(canonical).value().text() == canonical, canonical);
    (void)quantity->value();
    (void)quantity->milli_value();
  }
  if (const auto duration = model::parse_go_duration(text))
    CHECK(model::parse_go_duration(model::format_go_duration(*duration)).value() == *duration);
  if (const auto when = model::parse_rfc3339(text))
    CHECK(model::parse_rfc3339(model::format_rfc3339_nano(*when)).value() == *when);
  if (const auto selector = model::Selector::parse(text)) {
    const std::string canonical = selector->text();
    CHECK(model::Selector::parse(canonical).value().text() == canonical, canonical);
    (void)selector->matches(model::Labels{{"a", "1"}, {"b", ""}});
  }
  (void)model::FieldSelector::parse(text);
  (void)model::qualified_name_errors(text);
  (void)model::label_value_errors(text);
  (void)model::dns1123_label_errors(text);
  return 0;
}
