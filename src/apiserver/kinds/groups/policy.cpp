// policy/v1 PodDisruptionBudget.
#include "apiserver/kinds/builtin.h"
#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/rules/rules.h"

namespace hekla::apiserver {
namespace {

std::string or_not_applicable(const json::Value& object, std::string_view member) {
  const json::Value* value = json::find_path(object, {"spec", member});
  return value == nullptr || value->is_null() ? "N/A" : scalar_text(*value);
}

std::vector<Cause> validate_budget(const json::Value& object) {
  Rules rules;
  Field spec = Field(object, "")["spec"];
  if (spec["minAvailable"].present() && spec["maxUnavailable"].present())
    rules.invalid(spec, "minAvailable and maxUnavailable cannot be both set");
  rules.count_or_percent(spec["minAvailable"]);
  rules.count_or_percent(spec["maxUnavailable"]);
  rules.selector(spec["selector"]);
  rules.one_of(spec["unhealthyPodEvictionPolicy"], {"AlwaysAllow", "IfHealthyBudget"});
  return std::move(rules.causes);
}

void add_policy_kinds(Kinds& kinds) {
  Kind budget = builtin_kind("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget",
                             "io.k8s.api.policy.v1");
  budget.short_names = {"pdb"};
  budget.traits.has_status = true;
  budget.traits.has_generation = true;
  budget.traits.unconditional_update = false;
  budget.traits.known_finalizers = false;
  budget.traits.name_rule = NameRule::path_segment;
  budget.printing.columns =
      columns({"Min Available", "Max Unavailable", "Allowed Disruptions:integer", "Age"});
  budget.printing.cells = [](const json::Value& object, WallTime now) -> json::Array {
    return {json::Value(or_not_applicable(object, "minAvailable")),
            json::Value(or_not_applicable(object, "maxUnavailable")),
            json::int_at(object, {"status", "disruptionsAllowed"}), json::Value(age(object, now))};
  };
  budget.rules.validate = validate_budget;
  add(kinds, std::move(budget));
}

}  // namespace

extern const KindGroup kinds_policy;
const KindGroup kinds_policy{add_policy_kinds};

}  // namespace hekla::apiserver
