// Requests and limits of a pod and its containers.
#include "apiserver/kinds/pod/pod_rules.h"
#include "apiserver/text/field_error.h"
#include "model/names.h"
#include "model/quantity.h"

namespace hekla::apiserver {
namespace {

bool is_overcommittable(std::string_view name) {
  bool native = name.find('/') == std::string_view::npos ||
                name.find("kubernetes.io/") != std::string_view::npos;
  return native && !name.starts_with("hugepages-");
}

bool is_huge_pages(std::string_view name) { return name.starts_with("hugepages-"); }

bool is_container_resource(std::string_view name) {
  return name == "cpu" || name == "memory" || name == "ephemeral-storage" ||
         name.starts_with("hugepages-");
}

bool is_whole_pages(std::string_view name, const model::Quantity& amount) {
  auto page = model::Quantity::parse(name.substr(std::string_view("hugepages-").size()));
  return page && page->nanos > 0 && amount.nanos % page->nanos == 0;
}

void validate_resource(const Field& entry, std::string_view name, Rules& rules) {
  for (const std::string& why : model::qualified_name_errors(name))
    rules.invalid(entry, json::Value(name), why);
  if (name.find('/') == std::string_view::npos) {
    static const std::set<std::string, std::less<>> kStandard{
        "cpu",      "memory",  "ephemeral-storage", "pods",
        "services", "storage", "requests.cpu",      "limits.cpu"};
    if (!is_container_resource(name)) {
      if (!kStandard.contains(name))
        rules.invalid(entry, json::Value(name),
                      "must be a standard resource type or fully qualified");
      rules.invalid(entry, json::Value(name), "must be a standard resource for containers");
    }
  }
  auto quantity = model::Quantity::from_json(entry.value());
  if (!quantity) return;
  if (quantity->nanos < 0)
    rules.invalid(entry, json::Value(quantity->text()), "must be greater than or equal to 0");
  bool whole = name.find('/') != std::string_view::npos || name.starts_with("hugepages-");
  if (whole && quantity->nanos % 1'000'000'000 != 0)
    rules.invalid(entry, json::Value(quantity->text()), "must be an integer");
  if (is_huge_pages(name) && !is_whole_pages(name, *quantity))
    rules.invalid(entry, json::Value(quantity->text()),
                  quantity->text() + " is not positive integer multiple of " + std::string(name));
}

void check_amounts(const Field& resources, Rules& rules) {
  Field limits = resources["limits"], requests = resources["requests"];
  for (const auto& limit : limits.members())
    validate_resource(limits.key(limit.key()), limit.key(), rules);
  for (const auto& request : requests.members()) {
    std::string_view name = request.key();
    validate_resource(requests.key(name), name, rules);
    auto wanted = model::Quantity::from_json(request.value());
    Field limit = limits.key(name);
    if (!limit.present()) {
      if (!is_overcommittable(name))
        rules.required(limits, "Limit must be set for non overcommitable resources");
      continue;
    }
    auto most = model::Quantity::from_json(limit.value());
    if (!wanted || !most) continue;
    if (*wanted != *most && !is_overcommittable(name))
      rules.invalid(requests, json::Value(wanted->text()),
                    "must be equal to " + std::string(name) + " limit of " + most->text());
    else if (*wanted > *most)
      rules.invalid(
          requests, json::Value(wanted->text()),
          "must be less than or equal to " + std::string(name) + " limit of " + most->text());
  }
  const auto any_of = [&](auto&& is) {
    for (const Field* list : {&limits, &requests})
      for (const auto& member : list->members())
        if (is(std::string_view(member.key()))) return true;
    return false;
  };
  if (any_of(is_huge_pages) &&
      !any_of([](std::string_view name) { return name == "cpu" || name == "memory"; }))
    rules.forbidden(resources, "HugePages require cpu or memory");
}

model::ResourceList amounts_in(const Field& list) {
  model::ResourceList found;
  for (const auto& member : list.members())
    if (auto amount = model::Quantity::from_json(member.value())) found[member.key()] = *amount;
  return found;
}

// The sum of what containers ask for: those that run at the same time, or an init container
// beside the sidecars that were started before it.
model::ResourceList sum_of_containers(const Field& spec, std::string_view list) {
  model::ResourceList running, at_start, sidecars;
  for (std::size_t i = 0; i < spec["containers"].items().size(); ++i)
    model::add(running, amounts_in(spec["containers"].at(i)["resources"][list]));
  for (std::size_t i = 0; i < spec["initContainers"].items().size(); ++i) {
    const Field container = spec["initContainers"].at(i);
    model::ResourceList together = amounts_in(container["resources"][list]);
    model::add(together, sidecars);
    if (container["restartPolicy"].text() == "Always") sidecars = together;
    for (const auto& [name, amount] : together) at_start[name] = std::max(at_start[name], amount);
  }
  model::add(running, sidecars);
  for (const auto& [name, amount] : at_start) running[name] = std::max(running[name], amount);
  return running;
}

bool is_pod_resource(std::string_view name) {
  return name == "cpu" || name == "memory" || is_huge_pages(name);
}

// Amounts of containers must fit into the pod's own.
void check_fit(const Field& spec, Rules& rules) {
  const Field resources = spec["resources"];
  for (std::string_view list : {"requests", "limits"}) {
    const model::ResourceList own = amounts_in(resources[list]);
    for (const auto& [name, sum] : sum_of_containers(spec, list))
      if (auto most = own.find(name);
          most != own.end() && sum > most->second && (list == "requests" || is_huge_pages(name)))
        rules.invalid(resources[list].key(name), json::Value(most->second.text()),
                      "must be greater than or equal to aggregate container " + std::string(list) +
                          " of " + sum.text());
  }
  const model::ResourceList limits = amounts_in(resources["limits"]);
  for (std::size_t i = 0; i < spec["containers"].items().size(); ++i)
    for (const auto& [name, amount] : amounts_in(spec["containers"].at(i)["resources"]["limits"]))
      if (auto most = limits.find(name); most != limits.end() && amount > most->second)
        rules.invalid(Field(nullptr, resources.path())["containers"].at(i).key(name)["limits"],
                      json::Value(amount.text()),
                      "must be less than or equal to pod limits of " + most->second.text());
}

}  // namespace

void validate_container_resources(const Field& resources, Rules& rules) {
  check_amounts(resources, rules);
}

void validate_pod_resources(const Field& spec, Rules& rules) {
  const Field resources = spec["resources"];
  if (!resources.present()) return;
  if (resources["claims"].present())
    rules.forbidden(resources["claims"], "claims may not be set for Resources at pod-level");
  for (std::string_view list : {"limits", "requests"})
    for (const auto& member : resources[list].members())
      if (!is_pod_resource(member.key()))
        rules.causes.push_back(unsupported_value(resources[list].key(member.key()).path(),
                                                 json::Value(member.key()), {"cpu", "memory"}));
  check_amounts(resources, rules);
  check_fit(spec, rules);
}

}  // namespace hekla::apiserver
