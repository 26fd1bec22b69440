// scheduling.k8s.io/v1 PriorityClass and node.k8s.io/v1 RuntimeClass.
#include "apiserver/kinds/builtin.h"
#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/defaults.h"
#include "apiserver/kinds/rules/rules.h"

namespace hekla::apiserver {
namespace {

constexpr std::int64_t kHighestUserPriority = 1'000'000'000;

std::vector<Cause> validate_priority_class(const json::Value& object) {
  Rules rules;
  Field one(object, "");
  std::string_view name = one["metadata"]["name"].text();
  std::int64_t value = one["value"].number();
  if (name.starts_with("system-")) {
    bool known = (name == "system-node-critical" && value == 2'000'001'000) ||
                 (name == "system-cluster-critical" && value == 2'000'000'000);
    if (!known)
      rules.forbidden(
          one["metadata"]["name"],
          "priority class names with 'system-' prefix are reserved for system use only. error: " +
              std::string(name) + " is not a known system priority class");
  } else if (value > kHighestUserPriority) {
    rules.forbidden(one["value"], "maximum allowed value of a user defined priority is 1000000000");
  }
  rules.one_of(one["preemptionPolicy"], {"PreemptLowerPriority", "Never"});
  return std::move(rules.causes);
}

std::vector<Cause> validate_changed_priority_class(const json::Value& object,
                                                   const json::Value& old) {
  Rules rules;
  Field now(object, ""), before(old, "");
  if (!same(now["value"], before["value"]))
    rules.forbidden(now["value"], "may not be changed in an update.");
  rules.immutable(now["preemptionPolicy"], before["preemptionPolicy"]);
  return std::move(rules.causes);
}

void add_scheduling_kinds(Kinds& kinds) {
  Kind priority = cluster_kind("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass",
                               "io.k8s.api.scheduling.v1");
  priority.short_names = {"pc"};
  priority.traits.has_generation = true;
  priority.printing.columns =
      columns({"Value:integer", "Global-Default:boolean", "Age", "PreemptionPolicy"});
  priority.printing.cells = [](const json::Value& object, WallTime now) -> json::Array {
    return {json::int_at(object, {"value"}), json::bool_at(object, {"globalDefault"}),
            json::Value(age(object, now)),
            json::Value(json::string_at(object, {"preemptionPolicy"}))};
  };
  priority.rules.set_defaults = [](json::Value& object) {
    set_default(object.get_object(), "preemptionPolicy", "PreemptLowerPriority");
  };
  priority.rules.validate = validate_priority_class;
  priority.rules.validate_update = validate_changed_priority_class;
  add(kinds, std::move(priority));

  Kind runtime =
      cluster_kind("node.k8s.io", "v1", "runtimeclasses", "RuntimeClass", "io.k8s.api.node.v1");
  runtime.traits.create_on_update = true;
  runtime.traits.unconditional_update = false;
  runtime.traits.known_finalizers = false;
  runtime.printing.columns = columns({"Handler", "Age"});
  runtime.printing.cells = [](const json::Value& object, WallTime now) -> json::Array {
    return {json::Value(json::string_at(object, {"handler"})), json::Value(age(object, now))};
  };
  runtime.rules.validate = [](const json::Value& object) {
    Rules rules;
    rules.dns_label(Field(object, "")["handler"]);
    return std::move(rules.causes);
  };
  runtime.rules.validate_update = [](const json::Value& object, const json::Value& old) {
    Rules rules;
    rules.immutable(Field(object, "")["handler"], Field(old, "")["handler"]);
    return std::move(rules.causes);
  };
  add(kinds, std::move(runtime));
}

}  // namespace

extern const KindGroup kinds_scheduling;
const KindGroup kinds_scheduling{add_scheduling_kinds};

}  // namespace hekla::apiserver
