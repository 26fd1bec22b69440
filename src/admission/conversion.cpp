#include "admission/conversion.h"

#include <algorithm>
#include <array>

#include "json/parse.h"
#include "json/patch.h"

namespace hekla::admission {
namespace {

using Translate = void (*)(json::Value& object);

json::Value spec_of(const json::Value& object) {
  const json::Value* spec = json::find(object, "spec");
  return spec ? *spec : json::Value(json::Object());
}

json::Value spec_after(json::Value object, Translate translate) {
  translate(object);
  return spec_of(object);
}

json::Value take_kept(json::Value& object, std::string_view version) {
  Result<json::Value> kept =
      json::parse(take_annotation(object, std::string(kKeptPrefix) + std::string(version)));
  return kept && kept->is_object() ? std::move(*kept) : json::Value();
}

struct Leg {
  std::string_view from, to;
  Translate there, back;
};

void translate(json::Value& object, const Leg& leg) {
  const json::Value before = spec_of(object);
  const json::Value kept = take_kept(object, leg.to);
  leg.there(object);
  if (!kept.is_null()) {
    json::Value whole = object;
    json::apply_merge_patch(json::at_path(whole, {"spec"}), kept);
    if (json::equal(spec_after(whole, leg.back), before)) object = std::move(whole);
  }
  const json::Value lost = json::diff_merge(spec_after(object, leg.back), before);
  if (!lost.is_object() || lost.get_object().empty()) return;
  const std::string name = std::string(kKeptPrefix) + std::string(leg.from);
  json::at_path(object, {"metadata", "annotations", name}) = json::serialize(lost);
}

constexpr std::array<kube::Conversion, 2> kConversions{
    {{"tfjobs.kubeflow.org", convert_tf_job}, {"mpijobs.kubeflow.org", convert_mpi_job}}};

}  // namespace

void convert_by(std::span<const Translation> translations, json::Value& object,
                std::string_view version) {
  const std::string api_version(json::string_at(object, {"apiVersion"}));
  const std::size_t slash = api_version.find('/');
  const std::string from = slash == std::string::npos ? api_version : api_version.substr(slash + 1);
  auto known = [&](std::string_view one) {
    return std::ranges::find(translations, one, &Translation::version);
  };
  const auto up = known(from), down = known(version);
  const bool understood = (from == kHubVersion || up != translations.end()) &&
                          (version == kHubVersion || down != translations.end());
  if (!understood || from == version) return;
  if (up != translations.end()) translate(object, {from, kHubVersion, up->to_hub, up->from_hub});
  if (down != translations.end())
    translate(object, {kHubVersion, version, down->from_hub, down->to_hub});
  object.get_object()["apiVersion"] = api_version.substr(0, slash + 1) + std::string(version);
}

std::span<const kube::Conversion> conversions() { return kConversions; }

json::Object* part_of(json::Value& object, std::string_view member) {
  json::Value* part = object.is_object() ? object.get_object().if_contains(member) : nullptr;
  return part && part->is_object() ? &part->get_object() : nullptr;
}

json::Value take(json::Object& object, std::string_view member) {
  auto found = object.find(member);
  if (found == object.end()) return nullptr;
  json::Value taken = std::move(found->value());
  json::erase_member(object, found);
  return taken;
}

void retain(json::Object& object, std::initializer_list<std::string_view> members) {
  json::erase_if(object, [&](const auto& member) {
    return std::ranges::find(members, std::string_view(member.key())) == members.end();
  });
}

std::string take_annotation(json::Value& object, std::string_view name) {
  std::string text(json::string_at(object, {"metadata", "annotations", name}));
  if (!json::find_path(object, {"metadata", "annotations", name})) return text;
  json::Object& metadata = object.at("metadata").get_object();
  json::Object& annotations = metadata["annotations"].get_object();
  take(annotations, name);
  if (annotations.empty()) take(metadata, "annotations");
  return text;
}

}  // namespace hekla::admission
