// apiextensions.k8s.io/v1 CustomResourceDefinition (its rules are in crd_rules.cpp) and
// apiregistration.k8s.io/v1 APIService.
#include "apiserver/kinds/builtin.h"
#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/defaults.h"

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

}  // namespace

void add_apiextensions_kinds(Kinds& kinds) {
  Kind definition = cluster_kind("apiextensions.k8s.io", "v1", "customresourcedefinitions",
                                 "CustomResourceDefinition",
                                 "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1");
  definition.short_names = {"crd", "crds"};
  definition.categories = {"api-extensions"};
  definition.has_status = true;
  definition.has_generation = true;
  definition.unconditional_update = false;
  definition.known_finalizers = false;
  definition.staged_delete = true;
  definition.set_defaults = default_definition;
  add(kinds, std::move(definition));

  Kind service = cluster_kind("apiregistration.k8s.io", "v1", "apiservices", "APIService",
                              "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1");
  service.categories = {"api-extensions"};
  service.has_status = true;
  service.columns = columns({"Service", "Available", "Age"});
  service.cells = [](const json::Value& object, WallTime now) -> json::Array {
    std::string target = "Local";
    if (json::object_at(object, {"spec", "service"}) != nullptr)
      target = std::string(json::string_at(object, {"spec", "service", "namespace"})) + "/" +
               std::string(json::string_at(object, {"spec", "service", "name"}));
    return {json::Value(target), json::Value(available_cell(object)),
            json::Value(age(object, now))};
  };
  service.set_defaults = [](json::Value& object) {
    json::Object& spec = object_in_place(object.get_object(), "spec");
    if (json::Value* target = spec.if_contains("service"); target != nullptr && target->is_object())
      set_default(target->get_object(), "port", 443);
  };
  add(kinds, std::move(service));
}

}  // namespace hekla::apiserver
