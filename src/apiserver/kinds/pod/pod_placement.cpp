// Where a pod may run: tolerations, affinity, spreading.
#include "apiserver/kinds/pod/pod_rules.h"
#include "apiserver/text/field_error.h"
#include "model/names.h"

namespace hekla::apiserver {
namespace {

void check_requirement(const Field& one, bool check_values, Rules& rules) {
  std::string_view op = one["operator"].text();
  std::size_t values = one["values"].items().size();
  if (op == "In" || op == "NotIn") {
    if (values == 0)
      rules.required(one["values"], "must be specified when `operator` is 'In' or 'NotIn'");
  } else if (op == "Exists" || op == "DoesNotExist") {
    if (values > 0)
      rules.forbidden(one["values"],
                      "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
  } else if (op == "Gt" || op == "Lt") {
    if (values != 1)
      rules.required(one["values"],
                     "must be specified single value when `operator` is 'Lt' or 'Gt'");
  } else {
    rules.invalid(one["operator"], json::Value(op), "not a valid selector operator");
  }
  rules.qualified_name(one["key"]);
  for (std::size_t i = 0; check_values && i < values; ++i)
    for (const std::string& why : model::label_value_errors(one["values"].at(i).text()))
      rules.invalid(one["values"].at(i), why);
}

void check_field_requirement(const Field& one, Rules& rules) {
  const Field values = one["values"];
  if (std::string_view op = one["operator"].text(); op != "In" && op != "NotIn")
    rules.invalid(one["operator"], json::Value(op), "not a valid selector operator");
  else if (values.items().size() != 1)
    rules.required(
        values,
        "must be only one value when `operator` is 'In' or 'NotIn' for node field selector");
  if (one["key"].text() != "metadata.name")
    rules.invalid(one["key"], json::Value(one["key"].text()), "not a valid field selector key");
  else
    for (std::size_t i = 0; i < values.items().size(); ++i) rules.dns_subdomain(values.at(i));
}

// Preferred terms may have values that no label can have.
void check_term(const Field& term, bool required, Rules& rules) {
  for (std::size_t i = 0; i < term["matchExpressions"].items().size(); ++i)
    check_requirement(term["matchExpressions"].at(i), required, rules);
  for (std::size_t i = 0; i < term["matchFields"].items().size(); ++i)
    check_field_requirement(term["matchFields"].at(i), rules);
}

void check_label_keys(const Field& keys, const Field& selector, Rules& rules) {
  if (keys.items().empty()) return;
  if (!selector.present()) {
    rules.forbidden(keys, "must not be specified when labelSelector is not set");
    return;
  }
  for (std::size_t i = 0; i < keys.items().size(); ++i) rules.qualified_name(keys.at(i));
}

void check_pod_term(const Field& term, Rules& rules) {
  const Field selector = term["labelSelector"], namespaces = term["namespaces"];
  rules.selector(selector);
  rules.selector(term["namespaceSelector"]);
  for (std::size_t i = 0; i < namespaces.items().size(); ++i)
    for (const std::string& why : model::dns1123_label_errors(namespaces.at(i).text()))
      rules.invalid(term["namespace"], namespaces.at(i).value(), why);
  const Field match = term["matchLabelKeys"], mismatch = term["mismatchLabelKeys"];
  check_label_keys(match, selector, rules);
  check_label_keys(mismatch, selector, rules);
  for (std::size_t i = 0; i < match.items().size(); ++i)
    for (const json::Value& other : mismatch.items())
      if (json::equal(other, match.items()[i]))
        rules.invalid(match.at(i), "exists in both matchLabelKeys and mismatchLabelKeys");
  if (term["topologyKey"].text().empty())
    rules.required(term["topologyKey"], "can not be empty");
  else
    rules.qualified_name(term["topologyKey"]);
}

void check_pod_affinity(const Field& affinity, Rules& rules) {
  Field hard = affinity["requiredDuringSchedulingIgnoredDuringExecution"];
  for (std::size_t i = 0; i < hard.items().size(); ++i) check_pod_term(hard.at(i), rules);
  Field soft = affinity["preferredDuringSchedulingIgnoredDuringExecution"];
  for (std::size_t i = 0; i < soft.items().size(); ++i) {
    if (std::int64_t weight = soft.at(i)["weight"].number(); weight <= 0 || weight > 100)
      rules.invalid(soft.at(i)["weight"], json::Value(weight), "must be in the range 1-100");
    check_pod_term(soft.at(i)["podAffinityTerm"], rules);
  }
}

}  // namespace

void validate_tolerations(const Field& tolerations, Rules& rules) {
  for (std::size_t i = 0; i < tolerations.items().size(); ++i) {
    Field one = tolerations.at(i);
    std::string_view key = one["key"].text(), op = one["operator"].text(),
                     effect = one["effect"].text();
    if (!key.empty()) rules.qualified_name(one["key"]);
    if (key.empty() && op != "Exists")
      rules.invalid(one["operator"], json::Value(op),
                    "operator must be Exists when `key` is empty, which means \"match all values "
                    "and all keys\"");
    if (one["tolerationSeconds"].present() && effect != "NoExecute")
      rules.invalid(one["effect"], json::Value(effect),
                    "effect must be 'NoExecute' when `tolerationSeconds` is set");
    if (op == "Exists") {
      if (!one["value"].text().empty())
        rules.invalid(one["operator"], one["value"].value(),
                      "value must be empty when `operator` is 'Exists'");
    } else if (op.empty() || op == "Equal") {
      for (const std::string& why : model::label_value_errors(one["value"].text()))
        rules.invalid(one["operator"], json::Value(one["value"].text()), why);
    } else {
      rules.unsupported(one["operator"], {"Equal", "Exists"});
    }
    rules.one_of(one["effect"], {"NoSchedule", "PreferNoSchedule", "NoExecute"});
  }
}

void validate_spread(const Field& constraints, Rules& rules) {
  std::set<std::string> seen;
  for (std::size_t i = 0; i < constraints.items().size(); ++i) {
    Field one = constraints.at(i);
    if (one["maxSkew"].number() <= 0)
      rules.invalid(one["maxSkew"], json::Value(one["maxSkew"].number()),
                    "must be greater than zero");
    if (one["topologyKey"].text().empty()) rules.required(one["topologyKey"], "can not be empty");
    if (std::string_view action = one["whenUnsatisfiable"].text();
        action != "DoNotSchedule" && action != "ScheduleAnyway")
      rules.unsupported(one["whenUnsatisfiable"], {"DoNotSchedule", "ScheduleAnyway"});
    std::string pair = "{" + std::string(one["topologyKey"].text()) + ", " +
                       std::string(one["whenUnsatisfiable"].text()) + "}";
    if (!seen.insert(pair).second)
      rules.causes.push_back(
          duplicate_value(one.path() + ".{topologyKey, whenUnsatisfiable}", json::Value(pair)));
    if (const Field domains = one["minDomains"]; domains.present()) {
      rules.positive(domains);
      if (std::string_view action = one["whenUnsatisfiable"].text(); action != "DoNotSchedule")
        rules.invalid(domains, "can only use minDomains if whenUnsatisfiable=DoNotSchedule, not " +
                                   std::string(action));
    }
    for (std::string_view policy : {"nodeAffinityPolicy", "nodeTaintsPolicy"})
      rules.one_of(one[policy], {"Honor", "Ignore"});
    check_label_keys(one["matchLabelKeys"], one["labelSelector"], rules);
    if (one["labelSelector"].present()) rules.selector(one["labelSelector"]);
  }
}

void validate_node_selector(const Field& selector, Rules& rules) {
  Field terms = selector["nodeSelectorTerms"];
  if (terms.items().empty()) rules.required(terms, "must have at least one node selector term");
  for (std::size_t i = 0; i < terms.items().size(); ++i) check_term(terms.at(i), true, rules);
}

void validate_affinity(const Field& affinity, Rules& rules) {
  Field node = affinity["nodeAffinity"];
  if (Field hard = node["requiredDuringSchedulingIgnoredDuringExecution"]; hard.present())
    validate_node_selector(hard, rules);
  Field soft = node["preferredDuringSchedulingIgnoredDuringExecution"];
  for (std::size_t i = 0; i < soft.items().size(); ++i) {
    if (std::int64_t weight = soft.at(i)["weight"].number(); weight <= 0 || weight > 100)
      rules.invalid(soft.at(i)["weight"], json::Value(weight), "must be in the range 1-100");
    check_term(soft.at(i)["preference"], false, rules);
  }
  check_pod_affinity(affinity["podAffinity"], rules);
  check_pod_affinity(affinity["podAntiAffinity"], rules);
}

}  // namespace hekla::apiserver
