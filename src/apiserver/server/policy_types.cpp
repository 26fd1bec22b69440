#include "apiserver/server/policy_types.h"

#include <algorithm>
#include <map>

#include "apiserver/auth/policy_expression.h"
#include "apiserver/object/storage.h"
#include "apiserver/schema/facts.h"

namespace hekla::apiserver {
namespace {

constexpr std::size_t kMostTypes = 10;  // of one rule
const std::string kPolicyGroup = "admissionregistration.k8s.io";

// The schemas of kinds as types, built-in ones as well, each made when it is first met.
class KindShapes {
 public:
  // Null where OpenAPI gives no type: quantities, and lists and maps of them.
  std::optional<cel::Type> type_of(const Schema& schema, const std::string& name);
  std::optional<cel::Type> type_of(const Kind& kind) {
    return type_of(*kind.schema, kind.resource.kind);
  }

 private:
  class Fields;
  std::map<const Schema*, std::unique_ptr<Fields>> made_;
};

class KindShapes::Fields final : public cel::Shape {
 public:
  Fields(KindShapes& all, const Schema& schema, std::string name)
      : all_(all), schema_(schema), name_(std::move(name)) {}

  std::string_view name() const override { return name_; }
  cel::Type cel_type() const override {
    cel::Type out = cel::simple_type(cel::Type::Kind::object);
    out.shape = this;
    return out;
  }
  Reading reading() const override { return Reading::plain; }
  const cel::Shape* member(std::string_view) const override { return nullptr; }
  const cel::Shape* element() const override { return nullptr; }
  bool has_fields() const override { return true; }
  std::optional<cel::Type> field(std::string_view name) const override {
    if (auto found = schema_.properties.find(name); found != schema_.properties.end())
      return all_.type_of(*found->second, name_ + "." + std::string(name));
    // Every object has these, whether its CRD says so or not.
    const bool root = name_.find('.') == std::string::npos;
    if (root && (name == "apiVersion" || name == "kind"))
      return cel::simple_type(cel::Type::Kind::string);
    if (root && name == "metadata")
      return all_.type_of(*builtin_type("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"),
                          name_ + ".metadata");
    return std::nullopt;
  }

 private:
  KindShapes& all_;
  const Schema& schema_;
  std::string name_;
};

std::optional<cel::Type> KindShapes::type_of(const Schema& schema, const std::string& name) {
  using CelKind = cel::Type::Kind;
  switch (schema.type) {
    case Schema::Type::int_or_string:
      return cel::Type();
    case Schema::Type::boolean:
      return cel::simple_type(CelKind::boolean);
    case Schema::Type::integer:
      return cel::simple_type(CelKind::integer);
    case Schema::Type::number:
      return cel::simple_type(CelKind::floating);
    case Schema::Type::string:
      if (schema.format == "quantity") return std::nullopt;
      if (schema.format == "date-time" || schema.format == "micro-time" || schema.format == "date")
        return cel::simple_type(CelKind::timestamp);
      if (schema.format == "byte") return cel::simple_type(CelKind::bytes);
      return cel::simple_type(schema.format == "duration" ? CelKind::duration : CelKind::string);
    case Schema::Type::array: {
      std::optional<cel::Type> items =
          schema.items ? type_of(*schema.items, name + ".@idx") : cel::Type();
      if (!items) return std::nullopt;
      return cel::list_of(std::move(*items));
    }
    default:
      break;
  }
  if (schema.properties.empty() && schema.additional) {
    std::optional<cel::Type> values = type_of(*schema.additional, name + ".@prop");
    if (!values) return std::nullopt;
    return cel::map_of(cel::simple_type(CelKind::string), std::move(*values));
  }
  std::unique_ptr<Fields>& fields = made_[&schema];
  if (!fields) fields = std::make_unique<Fields>(*this, schema, name);
  return fields->cel_type();
}

// The names in the rule's member, sorted: nothing at all with a wildcard, but resources are known
// one by one.
std::vector<std::string> named_in(const json::Value& rule, std::string_view member) {
  std::vector<std::string> out;
  if (const json::Array* list = json::array_at(rule, {member}))
    for (const json::Value& one : *list) {
      const std::string text = one.is_string() ? std::string(json::sv(one.get_string())) : "";
      const bool wild = text.find('*') != std::string::npos;
      if (member == "resources" && (wild || text.find('/') != std::string::npos)) continue;
      if (wild) return {};
      out.push_back(text);
    }
  std::sort(out.begin(), out.end());
  return out;
}

using KindKey = std::tuple<std::string, std::string, std::string>;  // group, version, kind

// Without a group, a resource of that name in any group is meant.
void kinds_of_rule(const json::Value& rule, const Catalog& catalog,
                   std::map<KindKey, ServedPtr>& out) {
  std::size_t count = 0;
  const std::vector<std::string> versions = named_in(rule, "apiVersions"),
                                 plurals = named_in(rule, "resources");
  for (const std::string& group : named_in(rule, "apiGroups"))
    for (const std::string& version : versions)
      for (const std::string& plural : plurals)
        for (const ServedPtr& served : catalog.all()) {
          const kube::Resource& one = served->kind->resource;
          if (one.plural != plural || one.version != version ||
              (!group.empty() && one.group != group))
            continue;
          out.emplace(KindKey{one.group, one.version, one.kind}, served);
          if (++count == kMostTypes) return;
        }
}

class TypeCheck {
 public:
  TypeCheck(const json::Value& policy, const Catalog& catalog) : policy_(policy) {
    if (const json::Array* rules =
            json::array_at(policy, {"spec", "matchConstraints", "resourceRules"}))
      for (const json::Value& rule : *rules) kinds_of_rule(rule, catalog, kinds_);
    const std::string_view version = json::string_at(policy, {"spec", "paramKind", "apiVersion"}),
                           kind = json::string_at(policy, {"spec", "paramKind", "kind"});
    for (const ServedPtr& served : catalog.all())
      if (served->kind->resource.kind == kind && served->kind->resource.api_version() == version)
        parameters_ = served;
  }

  void check(const std::string& field, const std::string& expression) {
    std::string warning;
    for (const auto& [key, served] : kinds_) {
      if (!served->kind->schema) continue;
      const Result<void> checked = check_against(*served->kind, expression);
      if (checked) continue;
      if (!warning.empty()) warning += "\n";
      const auto& [group, version, kind] = key;
      warning += group + "/" + version + ", Kind=" + kind + ": " + checked.error().message + "\n";
    }
    if (!warning.empty())
      warnings.push_back(json::Object{{"fieldRef", field}, {"warning", std::move(warning)}});
  }

  json::Array warnings;

 private:
  Result<void> check_against(const Kind& kind, const std::string& expression) {
    KindShapes shapes;
    FieldsShape variables("kubernetes.variables");
    ExpressionScope scope;
    scope.object = shapes.type_of(kind).value_or(cel::Type());
    scope.has_parameters = parameters_ && parameters_->kind->schema;
    if (scope.has_parameters)
      scope.parameters = shapes.type_of(*parameters_->kind).value_or(cel::Type());
    scope.has_request_resource = false;
    scope.variables = &variables;
    if (const json::Array* list = json::array_at(policy_, {"spec", "variables"}))
      for (const json::Value& one : *list)
        add_variable(variables, json::text_at(one, {"name"}),
                     check_admission_expression(json::text_at(one, {"expression"}), scope));
    TRY(check_admission_expression(expression, scope));
    return {};
  }

  const json::Value& policy_;
  std::map<KindKey, ServedPtr> kinds_;
  ServedPtr parameters_;
};

WriteRequest say(const ServedPtr& policies, const std::string& name, std::int64_t generation,
                 json::Array warnings) {
  WriteRequest request = own_write(policies, name);
  request.verb = WriteRequest::Verb::patch;
  request.patch_type = kube::PatchType::apply;
  request.force = true;
  request.subresource = "status";
  json::Object types;
  if (!warnings.empty()) types.emplace("expressionWarnings", std::move(warnings));
  request.body = json::Object{{"apiVersion", policies->kind->resource.api_version()},
                              {"kind", policies->kind->resource.kind},
                              {"metadata", json::Object{{"name", name}}},
                              {"status", json::Object{{"observedGeneration", generation},
                                                      {"typeChecking", std::move(types)}}}};
  return request;
}

std::vector<WriteRequest> look(const Catalog& catalog, const store::Snapshot& snapshot, WallTime) {
  std::vector<WriteRequest> requests;
  const ServedPtr policies = catalog.find(kPolicyGroup, "v1", "validatingadmissionpolicies");
  snapshot.scan(policies->bucket, "", "", [&](const store::ItemPtr& item) {
    const json::Value policy = decode_object(*policies, *item);
    const std::int64_t generation = json::int_at(policy, {"metadata", "generation"});
    if (generation > json::int_at(policy, {"status", "observedGeneration"}))
      requests.push_back(say(policies, item->key, generation, policy_warnings(policy, catalog)));
    return true;
  });
  return requests;
}

}  // namespace

json::Array policy_warnings(const json::Value& policy, const Catalog& catalog) {
  TypeCheck check(policy, catalog);
  if (const json::Array* validations = json::array_at(policy, {"spec", "validations"}))
    for (std::size_t i = 0; i < validations->size(); ++i) {
      const std::string field = "spec.validations[" + std::to_string(i) + "].";
      check.check(field + "expression", json::text_at((*validations)[i], {"expression"}));
      if (const std::string text = json::text_at((*validations)[i], {"messageExpression"});
          !text.empty())
        check.check(field + "messageExpression", text);
    }
  return std::move(check.warnings);
}

ReconcileRule policy_types_rule() {
  return {{{kPolicyGroup, "v1", "validatingadmissionpolicies", ""}},
          "validatingadmissionpolicy-status",
          look};
}

}  // namespace hekla::apiserver
