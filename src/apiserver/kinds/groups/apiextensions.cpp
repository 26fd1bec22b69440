// apiextensions.k8s.io/v1 CustomResourceDefinition (its rules are in rules/crd_rules.cpp) and
// apiregistration.k8s.io/v1 APIService.
#include "apiserver/kinds/api_service.h"
#include "apiserver/kinds/builtin.h"
#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/defaults.h"
#include "apiserver/kinds/rules/crd_rules.h"
#include "apiserver/kinds/rules/rules.h"
#include "apiserver/text/field_error.h"
#include "base/bytes.h"

namespace hekla::apiserver {
namespace {

void default_definition(json::Value& object) {
  json::Object& spec = object_in_place(object.get_object(), "spec");
  if (json::Value& conversion = spec["conversion"]; conversion.is_null())
    conversion = json::Object{{"strategy", "None"}};
  if (json::object_at(object, {"spec", "conversion", "webhook", "clientConfig", "service"}))
    set_default(json::at_path(object, {"spec", "conversion", "webhook", "clientConfig", "service"})
                    .get_object(),
                "port", 443);
  json::Object& names = object_in_place(spec, "names");
  std::string kind(json::string_at(object, {"spec", "names", "kind"}));
  if (kind.empty()) return;
  std::string singular = kind;
  for (char& c : singular) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  set_default(names, "singular", json::Value(singular));
  set_default(names, "listKind", json::Value(kind + "List"));
}

std::string available_cell(const json::Value& service) {
  if (const json::Array* conditions = json::array_at(service, {"status", "conditions"}))
    for (const json::Value& condition : *conditions)
      if (json::string_at(condition, {"type"}) == "Available") {
        std::string status(json::string_at(condition, {"status"}));
        if (status == "True") return status;
        return status + " (" + std::string(json::string_at(condition, {"reason"})) + ")";
      }
  return "Unknown";
}

std::vector<Cause> validate_api_service(const json::Value& object) {
  Rules rules;
  const Field one(object, ""), spec = one["spec"];
  const std::string group(spec["group"].text()), version(spec["version"].text());
  if (const std::string name = version + "." + group; one["metadata"]["name"].text() != name)
    rules.invalid(one["metadata"]["name"],
                  "must be `spec.version+\".\"+spec.group`: " + go_quote(name));
  if (!group.empty())
    rules.dns_subdomain(spec["group"]);
  else if (version != "v1")
    rules.required(spec["group"], "only v1 may have an empty group and it better be legacy kube");
  rules.dns_1035_label(spec["version"]);
  if (const std::int64_t priority = spec["groupPriorityMinimum"].number();
      priority <= 0 || priority > 20000)
    rules.invalid(spec["groupPriorityMinimum"], json::Value(priority),
                  "must be positive and less than 20000");
  if (const std::int64_t priority = spec["versionPriority"].number();
      priority <= 0 || priority > 1000)
    rules.invalid(spec["versionPriority"], json::Value(priority),
                  "must be positive and less than 1000");
  const Field target = spec["service"], bundle = spec["caBundle"],
              insecure = spec["insecureSkipTLSVerify"];
  if (!target.present()) {
    if (!bundle.text().empty())
      rules.invalid(
          bundle,
          json::Value(std::to_string(base64_decode(bundle.text()).value_or("").size()) + " bytes"),
          "local APIServices may not have a caBundle");
    if (insecure.flag())
      rules.invalid(insecure, "local APIServices may not have insecureSkipTLSVerify");
    return std::move(rules.causes);
  }
  rules.need_text(target["namespace"]);
  rules.need_text(target["name"]);
  if (const std::int64_t port = target["port"].number(); port < 1 || port > 65535)
    rules.invalid(target["port"], json::Value(port),
                  "port is not valid: must be between 1 and 65535, inclusive");
  if (insecure.flag() && !bundle.text().empty())
    rules.invalid(insecure, "may not be true if caBundle is present");
  return std::move(rules.causes);
}

void add_apiextensions_kinds(Kinds& kinds) {
  Kind definition = cluster_kind("apiextensions.k8s.io", "v1", "customresourcedefinitions",
                                 "CustomResourceDefinition",
                                 "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1");
  definition.short_names = {"crd", "crds"};
  definition.categories = {"api-extensions"};
  definition.traits.has_status = true;
  definition.traits.has_generation = true;
  definition.traits.unconditional_update = false;
  definition.traits.known_finalizers = false;
  definition.traits.staged_delete = true;
  definition.traits.brings_kinds = true;
  definition.rules.set_defaults = default_definition;
  definition.rules.accept = accept_crd;
  definition.rules.validate_among = validate_crd;
  definition.rules.begin_removal = begin_crd_removal;
  add(kinds, std::move(definition));

  Kind service = cluster_kind("apiregistration.k8s.io", "v1", "apiservices", "APIService",
                              "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1");
  service.categories = {"api-extensions"};
  service.traits.has_status = true;
  service.printing.columns = columns({"Service", "Available", "Age"});
  service.printing.cells = [](const json::Value& object, WallTime now) -> json::Array {
    std::string target = "Local";
    if (json::object_at(object, {"spec", "service"}) != nullptr)
      target = std::string(json::string_at(object, {"spec", "service", "namespace"})) + "/" +
               std::string(json::string_at(object, {"spec", "service", "name"}));
    return {json::Value(target), json::Value(available_cell(object)),
            json::Value(age(object, now))};
  };
  service.rules.set_defaults = [](json::Value& object) {
    json::Object& spec = object_in_place(object.get_object(), "spec");
    if (json::Value* target = spec.if_contains("service"); target != nullptr && target->is_object())
      set_default(target->get_object(), "port", 443);
  };
  service.traits.name_rule = NameRule::path_segment;
  service.rules.prepare_create = [](json::Value& object, const WriteContext& context) {
    if (json::object_at(object, {"spec", "service"})) return;
    json::Object& status = object_in_place(object.get_object(), "status");
    status["conditions"] = json::Array{local_condition(context.now)};
  };
  service.rules.validate = validate_api_service;
  add(kinds, std::move(service));
}

}  // namespace

extern const KindGroup kinds_apiextensions;
const KindGroup kinds_apiextensions{add_apiextensions_kinds};

}  // namespace hekla::apiserver
