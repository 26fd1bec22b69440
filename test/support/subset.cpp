#include "support/subset.h"

namespace hekla::test {

std::string subset_mismatch(const json::Value& wanted, const json::Value* actual,
                            const std::string& path) {
  if (wanted.is_null()) return actual && !actual->is_null() ? path + " should be absent" : "";
  if (!actual) return path + " is missing";
  if (wanted.is_object() && actual->is_object()) {
    for (const auto& member : wanted.get_object()) {
      std::string key(member.key());
      std::string error =
          subset_mismatch(member.value(), json::find(*actual, key), path + "." + key);
      if (!error.empty()) return error;
    }
    return "";
  }
  if (wanted.is_array() && actual->is_array()) {
    const json::Array& want = wanted.get_array();
    const json::Array& have = actual->get_array();
    if (want.size() != have.size())
      return path + " has " + std::to_string(have.size()) +
             " elements: " + json::serialize(*actual);
    for (std::size_t i = 0; i < want.size(); ++i) {
      std::string error = subset_mismatch(want[i], &have[i], path + "[" + std::to_string(i) + "]");
      if (!error.empty()) return error;
    }
    return "";
  }
  if (json::equal(wanted, *actual)) return "";
  return path + " is " + json::serialize(*actual) + ", wanted " + json::serialize(wanted);
}

}  // namespace hekla::test
