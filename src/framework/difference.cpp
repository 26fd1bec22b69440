#include "framework/difference.h"

#include <algorithm>

#include "base/check.h"
#include "json/patch.h"

namespace hekla::framework {
namespace {

bool is_empty(const json::Value& value) {
  if (value.is_null()) return true;
  if (value.is_string()) return value.get_string().empty();
  if (value.is_array()) return value.get_array().empty();
  if (value.is_object())
    return std::all_of(value.get_object().begin(), value.get_object().end(),
                       [](const auto& member) { return is_empty(member.value()); });
  return false;
}

bool contains(const json::Value* live, const json::Value& wanted) {
  if (live == nullptr) return is_empty(wanted);
  if (wanted.is_object()) {
    if (!live->is_object()) return false;
    return std::all_of(wanted.get_object().begin(), wanted.get_object().end(),
                       [&](const auto& member) {
                         return contains(json::find(*live, member.key()), member.value());
                       });
  }
  if (wanted.is_array()) {
    if (!live->is_array() || live->get_array().size() != wanted.get_array().size()) return false;
    return std::equal(
        wanted.get_array().begin(), wanted.get_array().end(), live->get_array().begin(),
        [](const json::Value& one, const json::Value& other) { return contains(&other, one); });
  }
  return wanted.is_null() || json::equal(*live, wanted);
}

json::Value narrowed(const json::Value* live, const json::Value& wanted) {
  if (live == nullptr) return nullptr;
  if (wanted.is_object() && live->is_object()) {
    json::Object members;
    for (const auto& member : wanted.get_object())
      members[member.key()] = narrowed(json::find(*live, member.key()), member.value());
    return members;
  }
  if (wanted.is_array() && live->is_array() &&
      wanted.get_array().size() == live->get_array().size()) {
    json::Array elements;
    for (std::size_t i = 0; i < wanted.get_array().size(); ++i)
      elements.push_back(narrowed(&live->get_array()[i], wanted.get_array()[i]));
    return elements;
  }
  return *live;
}

// Calls visit(name, live or null, wanted) for each part of the wanted body that counts.
template <class Visit>
void for_each_part(const AnyObject& live, const json::Value& wanted, Visit visit) {
  auto strings = [&](std::string_view member, const std::map<std::string, std::string>& have) {
    const json::Value* given = json::find_path(wanted, {"metadata", member});
    if (given == nullptr) return;
    json::Object texts;
    for (const auto& [key, value] : have) texts[key] = value;
    const json::Value as_value(std::move(texts));
    visit(member, &as_value, *given);
  };
  strings("labels", live.metadata.labels);
  strings("annotations", live.metadata.annotations);
  for (const auto& member : wanted.get_object()) {
    const std::string_view name = member.key();
    if (name == "apiVersion" || name == "kind" || name == "metadata" || name == "status") continue;
    const json::Value* have = name == "spec" ? &live.spec : json::find(live.rest, name);
    visit(name, have, member.value());
  }
}

}  // namespace

kube::Key child_key(const Child& child, const model::ObjectMeta& owner) {
  auto text = [&](std::string_view member) {
    std::string_view own = json::string_at(child.body, {"metadata", member});
    if (own.empty() && child.base) own = json::string_at(*child.base, {"metadata", member});
    return std::string(own);
  };
  kube::Key key{text("namespace"), text("name")};
  if (!child.resource.namespaced)
    key.ns.clear();
  else if (key.ns.empty())
    key.ns = owner.ns;
  return key;
}

json::Value child_body(const Child& child, const kube::Resource& owner_resource,
                       const model::ObjectMeta& owner) {
  json::Value body = child.base ? *child.base : child.body;
  if (child.base) json::apply_merge_patch(body, child.body);
  CHECK(body.is_object(), "a child has a body");
  const kube::Key key = child_key(child, owner);
  json::at_path(body, {"apiVersion"}) = child.resource.api_version();
  json::at_path(body, {"kind"}) = child.resource.kind;
  if (!key.ns.empty()) json::at_path(body, {"metadata", "namespace"}) = key.ns;
  if (child.ownership == Ownership::none) return body;
  model::OwnerReference reference =
      model::controller_reference(owner_resource.api_version(), owner_resource.kind, owner);
  if (child.ownership == Ownership::dependent)
    reference.controller = reference.blockOwnerDeletion = std::nullopt;
  json::at_path(body, {"metadata", "ownerReferences"}) = json::Array{json::encode(reference)};
  return body;
}

bool covers(const AnyObject& live, const json::Value& wanted) {
  bool all = true;
  for_each_part(live, wanted,
                [&](std::string_view, const json::Value* have, const json::Value& part) {
                  all = all && contains(have, part);
                });
  return all;
}

json::Value projection(const AnyObject& live, const json::Value& wanted) {
  json::Object parts;
  for_each_part(live, wanted,
                [&](std::string_view name, const json::Value* have, const json::Value& part) {
                  parts[name] = narrowed(have, part);
                });
  return parts;
}

}  // namespace hekla::framework
