// Strategic merge patch, as apimachinery's strategicpatch (0.34) applies it: objects merge member
// by member, lists merge by key or as sets where the schema says so and are replaced otherwise.
// Directives: $patch (replace, delete) in objects and list items, $setElementOrder/<list>,
// $deleteFromPrimitiveList/<list>, $retainKeys.
#include <algorithm>
#include <set>
#include <unordered_map>

#include "apiserver/schema/schema.h"
#include "json/go_text.h"

namespace hekla::apiserver {
namespace {

constexpr std::string_view kPatch = "$patch";
constexpr std::string_view kRetainKeys = "$retainKeys";
constexpr std::string_view kOrderPrefix = "$setElementOrder";
constexpr std::string_view kDeletePrefix = "$deleteFromPrimitiveList";

std::unexpected<Error> no_merge_key(const json::Value& item, std::string_view key) {
  return fail(Code::bad_request, "map: " + json::go_print(item) +
                                     " does not contain declared merge key: " + std::string(key));
}

// A value new to the object: what it says about merging and deleting has nothing to act on.
bool without_directives(json::Value& value) {
  if (value.is_object()) {
    json::Object& object = value.get_object();
    if (object.contains(kPatch)) return false;
    json::erase_if(object, [](auto& pair) {
      std::string_view key = pair.key();
      return pair.value().is_null() || key == kRetainKeys || key.starts_with(kOrderPrefix) ||
             key.starts_with(kDeletePrefix) || !without_directives(pair.value());
    });
  } else if (value.is_array()) {
    json::erase_if(value.get_array(), [](json::Value& item) { return !without_directives(item); });
  }
  return true;
}

// How the elements of a merged list are told apart: by a member, or by themselves.
struct Identity {
  std::string_view key;  // empty: scalars

  const json::Value* of(const json::Value& item) const {
    return key.empty() ? &item : json::find(item, key);
  }
  bool same(const json::Value& a, const json::Value& b) const {
    const json::Value *left = of(a), *right = of(b);
    return left != nullptr && right != nullptr && json::equal(*left, *right);
  }
};

// Where the elements of a list stand, the first of those that are the same. Looking through the
// list for each one would take minutes when both are long.
class Places {
 public:
  explicit Places(Identity identity) : identity_(identity) {}
  Places(const json::Array& list, Identity identity) : identity_(identity) {
    for (const json::Value& item : list) add(item);
  }

  void add(const json::Value& item) {
    if (const json::Value* known_by = identity_.of(item))
      places_.try_emplace(json::serialize(*known_by), count_);
    ++count_;
  }
  std::ptrdiff_t of(const json::Value& item) const {
    const json::Value* known_by = identity_.of(item);
    const auto found = known_by ? places_.find(json::serialize(*known_by)) : places_.end();
    return found == places_.end() ? -1 : found->second;
  }
  bool has(const json::Value& item) const { return of(item) >= 0; }

 private:
  Identity identity_;
  std::unordered_map<std::string, std::ptrdiff_t> places_;
  std::ptrdiff_t count_ = 0;
};

void sort_by(json::Array& list, const json::Array& order, const Places& places) {
  std::vector<std::pair<std::ptrdiff_t, json::Value>> ranked;
  for (json::Value& item : list) {
    std::ptrdiff_t at = places.of(item);
    ranked.emplace_back(at < 0 ? static_cast<std::ptrdiff_t>(order.size()) : at, std::move(item));
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](auto& a, auto& b) { return a.first < b.first; });
  for (std::size_t i = 0; i < list.size(); ++i) list[i] = std::move(ranked[i].second);
}

// The patch's elements in the patch's order; the others keep the live order and stand before the
// first patched element that followed them.
json::Array in_order(json::Array merged, const json::Array& patch_order,
                     const json::Array& live_order, Identity identity) {
  json::Array patched, others, out;
  const Places in_patch(patch_order, identity), in_live(live_order, identity);
  for (json::Value& item : merged)
    (in_patch.has(item) ? patched : others).push_back(std::move(item));
  sort_by(patched, patch_order, in_patch);
  sort_by(others, live_order, in_live);
  std::size_t i = 0, j = 0;
  while (i < others.size() || j < patched.size()) {
    bool take_other = j == patched.size();
    if (!take_other && i < others.size()) {
      const std::ptrdiff_t left = in_live.of(others[i]), right = in_live.of(patched[j]);
      take_other = left >= 0 && right >= 0 && left < right;
    }
    out.push_back(take_other ? std::move(others[i++]) : std::move(patched[j++]));
  }
  return out;
}

const Schema* member_of(const Schema* schema, std::string_view name) {
  if (schema == nullptr) return nullptr;
  if (auto found = schema->properties.find(name); found != schema->properties.end())
    return found->second.get();
  return schema->additional.get();
}

bool has_strategy(const Schema* schema, std::string_view strategy) {
  if (schema == nullptr) return false;
  std::string_view all = schema->patch_strategy;
  while (!all.empty()) {
    std::size_t comma = std::min(all.find(','), all.size());
    if (all.substr(0, comma) == strategy) return true;
    all.remove_prefix(std::min(comma + 1, all.size()));
  }
  return false;
}

Result<void> merge_object(const Schema* schema, json::Value& original, json::Object patch);

Result<json::Array> merge_keyed(const Schema* schema, json::Array original,
                                const json::Array& patch, std::string_view key) {
  Identity identity{key};
  json::Array rest;
  Places deleted(identity);
  bool replace = false;
  for (const json::Value& item : patch) {
    if (!item.is_object())
      return fail(Code::bad_request,
                  "expected a map[string]interface {}, but received a " + json::serialize(item));
    const json::Value* directive = json::find(item, kPatch);
    if (directive == nullptr) {
      rest.push_back(item);
      continue;
    }
    std::string_view word = directive->is_string() ? json::sv(directive->get_string()) : "";
    if (word == "replace") {
      replace = true;
    } else if (word == "delete") {
      if (identity.of(item) == nullptr) return no_merge_key(item, key);
      deleted.add(item);
    } else if (word == "merge") {
      return fail(Code::bad_request, "merging lists cannot yet be specified in the patch");
    } else {
      return fail(Code::bad_request,
                  "unknown patch type: " + std::string(word) + " in map: " + json::go_print(item));
    }
  }
  if (replace) return rest;
  json::erase_if(original, [&](const json::Value& item) { return deleted.has(item); });
  json::Array live = original;
  Places places(original, identity);
  for (json::Value& item : rest) {
    if (identity.of(item) == nullptr) return no_merge_key(item, key);
    const std::ptrdiff_t at = places.of(item);
    if (at >= 0) {
      TRY(merge_object(schema == nullptr ? nullptr : schema->items.get(),
                       original[static_cast<std::size_t>(at)], item.get_object()));
    } else {
      json::Value added = item;
      without_directives(added);
      places.add(added);
      original.push_back(std::move(added));
    }
  }
  return in_order(std::move(original), rest, live, identity);
}

Result<json::Array> merge_list(const Schema* schema, const json::Array& original,
                               const json::Array& patch) {
  if (!has_strategy(schema, "merge")) return patch;
  if (original.empty() && patch.empty()) return original;
  bool objects = (original.empty() ? patch : original)[0].is_object();
  if (objects) {
    if (schema->patch_merge_key.empty())
      return fail(Code::bad_request, "cannot merge lists without merge key for " + schema->go_type);
    return merge_keyed(schema, original, patch, schema->patch_merge_key);
  }
  Identity identity{};
  json::Array merged;
  Places places(identity);
  for (const json::Array* list : {&original, &patch})
    for (const json::Value& item : *list) {
      if (places.has(item)) continue;
      places.add(item);
      merged.push_back(item);
    }
  return in_order(std::move(merged), patch, original, identity);
}

// $retainKeys: only the members it names survive, and the patch may set no others.
Result<void> apply_retain_keys(json::Object& original, json::Object& patch) {
  auto directive = patch.find(kRetainKeys);
  if (directive == patch.end()) return {};
  if (!directive->value().is_array())
    return fail(Code::bad_request, "invalid patch format of retainKeys");
  std::set<std::string, std::less<>> keep;
  for (const json::Value& one : directive->value().get_array())
    if (one.is_string()) keep.emplace(json::sv(one.get_string()));
  patch.erase(directive);
  const auto kept = [&](std::string_view key) { return keep.contains(key); };
  for (const auto& member : patch) {
    std::string_view key = member.key();
    bool exempt =
        member.value().is_null() || key.starts_with(kDeletePrefix) || key.starts_with(kOrderPrefix);
    if (!exempt && !kept(key)) return fail(Code::bad_request, "invalid patch format of retainKeys");
  }
  json::erase_if(original, [&](const auto& pair) { return !kept(pair.key()); });
  return {};
}

// The patched elements must be named by the order, in that order.
Result<void> check_order(const json::Array& patch, const json::Array& order, Identity identity) {
  std::size_t at = 0;
  for (const json::Value& item : patch) {
    if (item.is_object() && item.get_object().contains(kPatch)) continue;
    if (identity.of(item) == nullptr) return no_merge_key(item, identity.key);
    while (at < order.size() && !identity.same(order[at], item)) ++at;
    if (at == order.size() && !order.empty())
      return fail(Code::bad_request, "The order in patch list:\n" + json::serialize(patch) +
                                         "\n doesn't match $setElementOrder list:\n" +
                                         json::serialize(order) + "\n");
  }
  return {};
}

Result<void> apply_order(const Schema* schema, json::Object& original, json::Object& patch,
                         std::string_view name, const json::Value& directive) {
  const std::string_view bad_format = "invalid patch format of setElementOrder list";
  if (!directive.is_array() || name.empty())
    return fail(Code::bad_request, std::string(bad_format));
  auto live = original.find(name);
  auto change = patch.find(name);
  if ((live != original.end() && !live->value().is_array()) ||
      (change != patch.end() && !change->value().is_array()))
    return fail(Code::bad_request, std::string(bad_format));
  if (live == original.end() && change == patch.end()) return {};
  const Schema* list = member_of(schema, name);
  Identity identity{list == nullptr ? std::string_view() : std::string_view(list->patch_merge_key)};
  const json::Array& order = directive.get_array();
  json::Array before = live == original.end() ? json::Array() : live->value().get_array();
  json::Array merged = before;
  if (change != patch.end()) {
    TRY(check_order(change->value().get_array(), order, identity));
    if (live == original.end()) {
      json::Value fresh = change->value();
      without_directives(fresh);
      merged = fresh.get_array();
    } else {
      merged = TRY(merge_list(list, before, change->value().get_array()));
    }
  }
  original.insert_or_assign(name, in_order(std::move(merged), order, before, identity));
  if (change != patch.end()) patch.erase(name);
  return {};
}

Result<void> apply_orders(const Schema* schema, json::Object& original, json::Object& patch) {
  std::vector<std::pair<std::string, json::Value>> orders;
  json::erase_if(patch, [&](const auto& pair) {
    std::string_view name = pair.key();
    if (!name.starts_with(kOrderPrefix)) return false;
    name.remove_prefix(kOrderPrefix.size());
    if (name.starts_with('/')) name.remove_prefix(1);
    orders.emplace_back(std::string(name), pair.value());
    return true;
  });
  // Deletions from sets come before their order is settled.
  for (auto& [name, order] : orders) TRY(apply_order(schema, original, patch, name, order));
  return {};
}

Result<void> apply_deletions(json::Object& original, json::Object& patch) {
  for (const auto& pair : patch) {
    std::string_view key = pair.key();
    if (!key.starts_with(kDeletePrefix)) continue;
    if (!key.substr(kDeletePrefix.size()).starts_with('/') || !pair.value().is_array())
      return fail(Code::bad_request, "invalid patch format of primitive list");
    auto live = original.find(key.substr(kDeletePrefix.size() + 1));
    if (live == original.end() || !live->value().is_array()) continue;
    const Places deleted(pair.value().get_array(), Identity{});
    json::erase_if(live->value().get_array(),
                   [&](const json::Value& item) { return deleted.has(item); });
  }
  json::erase_if(patch, [](const auto& pair) {
    return std::string_view(pair.key()).starts_with(kDeletePrefix);
  });
  return {};
}

Result<void> merge_member(const Schema* schema, json::Object& original, std::string_view name,
                          json::Value& change) {
  if (change.is_null()) {
    if (auto found = original.find(name); found != original.end())
      json::erase_member(original, found);
    return {};
  }
  auto found = original.find(name);
  bool both_objects = found != original.end() && found->value().is_object() && change.is_object();
  bool both_lists = found != original.end() && found->value().is_array() && change.is_array();
  const Schema* member = member_of(schema, name);
  if (both_objects && !has_strategy(member, "replace"))
    return merge_object(member, found->value(), std::move(change.get_object()));
  if (both_lists) {
    found->value() = TRY(merge_list(member, found->value().get_array(), change.get_array()));
    return {};
  }
  if (!both_objects && !without_directives(change)) {
    if (found != original.end()) json::erase_member(original, found);
    return {};
  }
  original.insert_or_assign(name, std::move(change));
  return {};
}

Result<void> merge_object(const Schema* schema, json::Value& original, json::Object patch) {
  if (const json::Value* directive = json::find(patch, kPatch)) {
    std::string_view word = directive->is_string() ? json::sv(directive->get_string()) : "";
    if (word == "replace") {
      patch.stable_erase(patch.find(kPatch));
      original = std::move(patch);
      return {};
    }
    if (word == "delete") {
      original = json::Object();
      return {};
    }
    return fail(Code::bad_request, "unknown patch type: " + std::string(word) +
                                       " in map: " + json::go_print(json::Value(patch)));
  }
  if (!original.is_object()) original = json::Object();
  json::Object& object = original.get_object();
  TRY(apply_retain_keys(object, patch));
  TRY(apply_deletions(object, patch));
  TRY(apply_orders(schema, object, patch));
  for (auto& member : patch) {
    std::string name(member.key());
    TRY(merge_member(schema, object, name, member.value()));
  }
  return {};
}

}  // namespace

Result<void> strategic_merge(const Schema& schema, json::Value& target, const json::Value& patch) {
  if (!patch.is_object()) return fail(Code::bad_request, "invalid JSON document");
  return merge_object(&schema, target, patch.get_object());
}

}  // namespace hekla::apiserver
