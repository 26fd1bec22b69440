// Events: v1 and events.k8s.io/v1 are two shapes of one object, stored as v1. Members of the newer
// shape that v1 calls otherwise are renamed on the way in and out.
#include <algorithm>
#include <cctype>

#include "apiserver/kinds/builtin.h"
#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/rules/rules.h"
#include "model/time.h"

namespace hekla::apiserver {
namespace {

constexpr std::pair<std::string_view, std::string_view> kRenamed[] = {
    // v1, events.k8s.io
    {"involvedObject", "regarding"},
    {"message", "note"},
    {"source", "deprecatedSource"},
    {"firstTimestamp", "deprecatedFirstTimestamp"},
    {"lastTimestamp", "deprecatedLastTimestamp"},
    {"count", "deprecatedCount"},
    {"reportingComponent", "reportingController"},
};

void rename(json::Object& object, std::string_view from, std::string_view to) {
  auto found = object.find(from);
  if (found == object.end()) return;
  json::Value value = std::move(found->value());
  object.stable_erase(object.find(from));
  object.insert_or_assign(to, std::move(value));
}

void to_core(json::Value& object) {
  for (const auto& [core, newer] : kRenamed) rename(object.get_object(), newer, core);
}

void from_core(json::Value& object) {
  for (const auto& [core, newer] : kRenamed) rename(object.get_object(), core, newer);
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())))
    text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())))
    text.remove_suffix(1);
  return text;
}

std::string event_source(const json::Value& event) {
  std::string component =
      text_or(event, {"source", "component"}, json::string_at(event, {"reportingComponent"}));
  std::string host =
      text_or(event, {"source", "host"}, json::string_at(event, {"reportingInstance"}));
  return host.empty() ? component : component + ", " + host;
}

json::Array event_cells(const json::Value& event, WallTime now) {
  std::string first = json::string_at(event, {"firstTimestamp"}).empty()
                          ? since(event, {"eventTime"}, now)
                          : since(event, {"firstTimestamp"}, now);
  std::string last = json::string_at(event, {"lastTimestamp"}).empty()
                         ? first
                         : since(event, {"lastTimestamp"}, now);
  std::int64_t times = json::int_at(event, {"count"});
  if (const json::Object* series = json::object_at(event, {"series"}); series != nullptr) {
    last = since(event, {"series", "lastObservedTime"}, now);
    times = json::int_at(event, {"series", "count"});
  } else if (times == 0) {
    times = 1;
  }
  std::string target = lower(json::string_at(event, {"involvedObject", "kind"}));
  if (std::string_view name = json::string_at(event, {"involvedObject", "name"}); !name.empty())
    target += "/" + std::string(name);
  return {json::Value(last),
          json::Value(json::string_at(event, {"type"})),
          json::Value(json::string_at(event, {"reason"})),
          json::Value(target),
          json::Value(json::string_at(event, {"involvedObject", "fieldPath"})),
          json::Value(event_source(event)),
          json::Value(trimmed(json::string_at(event, {"message"}))),
          json::Value(first),
          times,
          json::Value(json::string_at(event, {"metadata", "name"}))};
}

std::vector<Cause> validate_event(const json::Value& object) {
  Rules rules;
  Field event(object, "");
  std::string_view place = event["involvedObject"]["namespace"].text();
  std::string_view ns = event["metadata"]["namespace"].text();
  if (!place.empty() && place != ns)
    rules.invalid(event["involvedObject"]["namespace"], "does not match event.namespace");
  if (place.empty() && ns != "default" && ns != "kube-system" && !ns.empty())
    rules.invalid(event["involvedObject"]["namespace"], json::Value(place),
                  "does not match event.namespace");
  return std::move(rules.causes);
}

std::vector<Cause> validate_new_event(const json::Value& object) {
  json::Value core = object;
  to_core(core);
  std::vector<Cause> causes = validate_event(core);
  Rules rules;
  Field event(object, "");
  for (std::string_view member :
       {"eventTime", "reportingController", "reportingInstance", "action", "reason"})
    if (!event["deprecatedFirstTimestamp"].present()) rules.need_text(event[member]);
  for (Cause& cause : causes) {
    if (cause.field.starts_with("involvedObject")) cause.field.replace(0, 14, "regarding");
    rules.causes.push_back(std::move(cause));
  }
  return std::move(rules.causes);
}

void set_selectable(Kind& kind, const std::string& target, const std::string& component) {
  for (const char* member :
       {"kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"})
    kind.selectable.emplace(target + "." + member, field_at({target, member}));
  kind.selectable.emplace("reason", field_at({"reason"}));
  kind.selectable.emplace("type", field_at({"type"}));
  kind.selectable.emplace(component, field_at({component}));
}

Kind event_kind(std::string_view group, std::string_view package) {
  Kind kind = builtin_kind(group, "v1", "events", "Event", package);
  kind.short_names = {"ev"};
  kind.traits.create_on_update = true;
  kind.printing.names_itself = true;
  kind.storage.bucket = "events";
  kind.storage.version = "v1";
  kind.printing.columns = columns({"Last Seen", "Type", "Reason", "Object", "Subobject*", "Source*",
                                   "Message", "First Seen*", "Count*", "Name*"});
  return kind;
}

void add_core_event_kinds(Kinds& kinds) {
  Kind core = event_kind("", kCorePackage);
  core.printing.cells = event_cells;
  core.traits.name_rule = NameRule::path_segment;
  core.traits.known_finalizers = false;
  set_selectable(core, "involvedObject", "reportingComponent");
  core.selectable.emplace("source", [](const json::Node& event) {
    const std::string_view component = json::string_at(event, {"source", "component"});
    return std::string(component.empty() ? json::string_at(event, {"reportingComponent"})
                                         : component);
  });
  core.rules.validate = validate_event;
  add(kinds, std::move(core));

  Kind newer = event_kind("events.k8s.io", "io.k8s.api.events.v1");
  newer.storage.from_stored = from_core;
  newer.storage.to_stored = to_core;
  newer.printing.cells = [](const json::Value& object, WallTime now) {
    json::Value core_shape = object;
    to_core(core_shape);
    return event_cells(core_shape, now);
  };
  set_selectable(newer, "regarding", "reportingController");
  newer.rules.validate = validate_new_event;
  add(kinds, std::move(newer));
}

}  // namespace

extern const KindGroup kinds_core_event;
const KindGroup kinds_core_event{add_core_event_kinds};

}  // namespace hekla::apiserver
