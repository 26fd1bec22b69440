// Shared by the tests of the built-in kinds: an object through a kind's rules, the way the write
// pipeline sends it.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "apiserver/kinds/builtin.h"
#include "apiserver/object/kind.h"
#include "json/parse.h"
#include "model/time.h"

namespace hekla::apiserver::testing {

// "pods", "deployments.apps", "horizontalpodautoscalers.v1.autoscaling".
inline const Kind& kind_of(std::string_view name) {
  for (const KindPtr& kind : builtin_kinds()) {
    const kube::Resource& r = kind->resource;
    std::string short_form = r.group.empty() ? r.plural : r.plural + "." + r.group;
    std::string long_form = r.plural + "." + r.version + "." + r.group;
    if (name == short_form || name == long_form) return *kind;
  }
  ADD_FAILURE() << "no kind " << name;
  return *builtin_kinds().front();
}

inline json::Value parsed(std::string_view text) {
  auto value = json::parse(text);
  EXPECT_TRUE(value.has_value()) << text;
  return value ? std::move(*value) : json::Value();
}

inline WallTime test_now() { return *model::parse_rfc3339("2024-01-01T01:00:00Z"); }

inline json::Value defaulted(std::string_view kind, std::string_view text) {
  json::Value object = parsed(text);
  if (kind_of(kind).rules.set_defaults) kind_of(kind).rules.set_defaults(object);
  return object;
}

inline json::Value created(std::string_view kind, std::string_view text) {
  json::Value object = defaulted(kind, text);
  WriteContext context{test_now(), nullptr, ""};
  if (kind_of(kind).rules.prepare_create) kind_of(kind).rules.prepare_create(object, context);
  return object;
}

inline std::string text_of(const std::vector<Cause>& causes) {
  std::string out;
  for (const Cause& cause : causes)
    out += (out.empty() ? "" : "\n") + cause.field + ": " + cause.message;
  return out;
}

// The complaints about a new object; none is the empty string.
inline std::string complaints(std::string_view kind, std::string_view text) {
  json::Value object = created(kind, text);
  const KindRules& rules = kind_of(kind).rules;
  std::vector<Cause> causes = rules.validate ? rules.validate(object) : std::vector<Cause>();
  if (rules.validate_create)
    for (Cause& cause : rules.validate_create(object)) causes.push_back(std::move(cause));
  return text_of(causes);
}

// The complaints about an update from `old` to `now`, both created first.
inline std::string update_complaints(std::string_view kind, std::string_view now,
                                     std::string_view old) {
  json::Value before = created(kind, old), after = defaulted(kind, now);
  if (kind_of(kind).rules.prepare_update)
    kind_of(kind).rules.prepare_update(after, before, {test_now(), nullptr, ""});
  return kind_of(kind).rules.validate_update
             ? text_of(kind_of(kind).rules.validate_update(after, before))
             : "";
}

// The cells, joined by "|".
inline std::string cells(std::string_view kind, std::string_view text) {
  std::string out;
  for (const json::Value& cell : kind_of(kind).printing.cells(parsed(text), test_now())) {
    out += "|";
    out += cell.is_string() ? std::string(json::sv(cell.get_string())) : json::serialize(cell);
  }
  return out.empty() ? out : out.substr(1);
}

}  // namespace hekla::apiserver::testing
