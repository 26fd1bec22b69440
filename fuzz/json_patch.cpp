// Patches: the input is a JSON array [document, patch, other document]. No crash, all or nothing,
// and the laws of merge patches.
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "json/parse.h"
#include "json/patch.h"

namespace {

using namespace hekla;

// A merge patch cannot write a null member.
bool has_null_member(const json::Value& value) {
  if (const json::Object* object = value.if_object())
    for (const auto& member : *object)
      if (member.value().is_null() || has_null_member(member.value())) return true;
  return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Result<json::Value> input = json::parse({reinterpret_cast<const char*>(data), size});
  if (!input || !input->is_array() || input->get_array().size() != 3) return 0;
  const json::Array& parts = input->get_array();

  json::Value patched = parts[0];
  if (json::apply_json_patch(patched, parts[1])) {
    CHECK(json::parse(json::serialize(patched)).has_value(), "a patch built what cannot be read");
  } else {
    CHECK(json::equal(patched, parts[0]), "a failed patch changed the document");
  }

  json::Value merged = parts[0];
  json::apply_merge_patch(merged, parts[1]);
  json::Value twice = merged;
  json::apply_merge_patch(twice, parts[1]);
  CHECK(json::equal(merged, twice), "a merge patch applied twice differs");

  json::Value moved = parts[0];
  json::apply_merge_patch(moved, json::diff_merge(parts[0], parts[2]));
  if (!has_null_member(parts[2]))
    CHECK(json::equal(moved, parts[2]), "the diff does not lead there");
  return 0;
}
