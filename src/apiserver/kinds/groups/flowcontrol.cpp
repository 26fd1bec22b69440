// flowcontrol.apiserver.k8s.io/v1: kept and shown; requests are not queued by them.
#include "apiserver/kinds/builtin.h"
#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/defaults.h"
#include "apiserver/kinds/rules/rules.h"

namespace hekla::apiserver {
namespace {

constexpr std::string_view kGroup = "flowcontrol.apiserver.k8s.io";
constexpr std::string_view kPackage = "io.k8s.api.flowcontrol.v1";

json::Value number_or_none(const json::Value& object, Path path) {
  const json::Value* value = json::find_path(object, path);
  return value == nullptr || value->is_null() ? json::Value("<none>") : *value;
}

std::string missing_level(const json::Value& flow) {
  if (const json::Array* conditions = json::array_at(flow, {"status", "conditions"}))
    for (const json::Value& condition : *conditions)
      if (json::string_at(condition, {"type"}) == "Dangling")
        return std::string(json::string_at(condition, {"status"}));
  return "?";
}

Kind flow_schema_kind() {
  Kind kind = cluster_kind(kGroup, "v1", "flowschemas", "FlowSchema", kPackage);
  kind.traits.has_status = true;
  kind.traits.status_keeps = {"annotations", "finalizers", "labels", "ownerReferences"};
  kind.traits.has_generation = true;
  kind.printing.columns =
      columns({"PriorityLevel", "MatchingPrecedence", "DistinguisherMethod", "Age", "MissingPL"});
  kind.printing.cells = [](const json::Value& object, WallTime now) -> json::Array {
    return {json::Value(json::string_at(object, {"spec", "priorityLevelConfiguration", "name"})),
            json::int_at(object, {"spec", "matchingPrecedence"}),
            json::Value(text_or(object, {"spec", "distinguisherMethod", "type"}, "<none>")),
            json::Value(age(object, now)), json::Value(missing_level(object))};
  };
  kind.rules.set_defaults = [](json::Value& object) {
    set_default(object_in_place(object.get_object(), "spec"), "matchingPrecedence", 1000);
  };
  kind.rules.validate = [](const json::Value& object) {
    Rules rules;
    Field spec = Field(object, "")["spec"];
    std::int64_t precedence = spec["matchingPrecedence"].number();
    if (precedence <= 0) rules.invalid(spec["matchingPrecedence"], "must be a positive value");
    if (precedence > 10000)
      rules.invalid(spec["matchingPrecedence"], "must not be greater than 10000");
    rules.need_text(spec["priorityLevelConfiguration"]["name"]);
    return std::move(rules.causes);
  };
  return kind;
}

Kind priority_level_kind() {
  Kind kind = cluster_kind(kGroup, "v1", "prioritylevelconfigurations",
                           "PriorityLevelConfiguration", kPackage);
  kind.traits.has_status = true;
  kind.traits.status_keeps = {"annotations", "finalizers", "labels", "ownerReferences"};
  kind.traits.has_generation = true;
  kind.printing.columns = columns(
      {"Type", "NominalConcurrencyShares", "Queues", "HandSize", "QueueLengthLimit", "Age"});
  kind.printing.cells = [](const json::Value& object, WallTime now) -> json::Array {
    return {
        json::Value(json::string_at(object, {"spec", "type"})),
        number_or_none(object, {"spec", "limited", "nominalConcurrencyShares"}),
        number_or_none(object, {"spec", "limited", "limitResponse", "queuing", "queues"}),
        number_or_none(object, {"spec", "limited", "limitResponse", "queuing", "handSize"}),
        number_or_none(object, {"spec", "limited", "limitResponse", "queuing", "queueLengthLimit"}),
        json::Value(age(object, now))};
  };
  kind.rules.set_defaults = [](json::Value& object) {
    json::Value* spec = object.get_object().if_contains("spec");
    if (spec == nullptr || !spec->is_object()) return;
    json::Value* limited = spec->get_object().if_contains("limited");
    if (limited == nullptr || !limited->is_object()) return;
    set_default(limited->get_object(), "nominalConcurrencyShares", 30);
    set_default(limited->get_object(), "lendablePercent", 0);
    json::Value* response = limited->get_object().if_contains("limitResponse");
    if (response == nullptr || !response->is_object()) return;
    json::Value* queuing = response->get_object().if_contains("queuing");
    if (queuing == nullptr || !queuing->is_object()) return;
    set_default(queuing->get_object(), "queues", 64);
    set_default(queuing->get_object(), "handSize", 8);
    set_default(queuing->get_object(), "queueLengthLimit", 50);
  };
  return kind;
}

void add_flowcontrol_kinds(Kinds& kinds) {
  add(kinds, flow_schema_kind());
  add(kinds, priority_level_kind());
}

}  // namespace

extern const KindGroup kinds_flowcontrol;
const KindGroup kinds_flowcontrol{add_flowcontrol_kinds};

}  // namespace hekla::apiserver
