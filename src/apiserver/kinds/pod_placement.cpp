// Where a pod may run and what it may mount: volumes, tolerations, affinity.
#include "apiserver/kinds/pod_rules.h"
#include "model/names.h"
#include "model/quantity.h"

namespace hekla::apiserver {
namespace {

constexpr std::string_view kFileMode =
    "must be a number between 0 and 0777 (octal), both inclusive";

void check_mode(const Field& mode, Rules& rules) {
  if (mode.present() && (mode.number() < 0 || mode.number() > 0777))
    rules.invalid(mode, std::string(kFileMode));
}

void check_no_backsteps(const Field& path, Rules& rules) {
  std::string_view text = path.text();
  for (std::size_t at = 0; at <= text.size();) {
    std::size_t end = std::min(text.find('/', at), text.size());
    if (text.substr(at, end - at) == "..") {
      rules.invalid(path, "must not contain '..'");
      return;
    }
    at = end + 1;
  }
}

void check_items(const Field& source, Rules& rules) {
  check_mode(source["defaultMode"], rules);
  for (std::size_t i = 0; i < source["items"].items().size(); ++i) {
    Field item = source["items"].at(i);
    rules.need_text(item["key"]);
    rules.need_text(item["path"]);
    if (item["path"].text().starts_with('/'))
      rules.invalid(item["path"], "must be a relative path");
    check_no_backsteps(item["path"], rules);
    if (item["path"].text().starts_with("..") && item["path"].text() != ".." &&
        !item["path"].text().starts_with("../"))
      rules.invalid(item["path"], "must not start with '..'");
    check_mode(item["mode"], rules);
  }
}

void check_projected(const Field& projected, Rules& rules) {
  check_mode(projected["defaultMode"], rules);
  for (std::size_t i = 0; i < projected["sources"].items().size(); ++i) {
    Field source = projected["sources"].at(i);
    if (source.members().empty())
      rules.required(
          source,
          "must specify one of: `secret`, `configMap`, `downwardAPI`, `serviceAccountToken` or "
          "`clusterTrustBundle`");
    for (std::string_view kind : {"secret", "configMap"})
      if (source[kind].present()) rules.need_text(source[kind]["name"]);
    if (source["serviceAccountToken"].present())
      rules.need_text(source["serviceAccountToken"]["path"]);
  }
}

void check_source(const Field& volume, std::string_view kind, Rules& rules) {
  Field source = volume[kind];
  if (kind == "hostPath") {
    if (rules.need_text(source["path"])) check_no_backsteps(source["path"], rules);
    rules.one_of(source["type"], {"", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate",
                                  "File", "FileOrCreate", "Socket"});
  } else if (kind == "secret") {
    rules.need_text(source["secretName"]);
    check_items(source, rules);
  } else if (kind == "configMap") {
    rules.need_text(source["name"]);
    check_items(source, rules);
  } else if (kind == "downwardAPI") {
    check_mode(source["defaultMode"], rules);
  } else if (kind == "projected") {
    check_projected(source, rules);
  } else if (kind == "persistentVolumeClaim") {
    rules.need_text(source["claimName"]);
  } else if (kind == "nfs") {
    rules.need_text(source["server"]);
    if (rules.need_text(source["path"]) && !source["path"].text().starts_with('/'))
      rules.invalid(source["path"], "must be an absolute path");
  } else if (kind == "emptyDir") {
    auto limit = model::Quantity::from_json(source["sizeLimit"].value());
    if (source["sizeLimit"].present() && limit && limit->nanos < 0)
      rules.forbidden(source["sizeLimit"], "SizeLimit field must be a valid resource quantity");
  }
}

void check_requirement(const Field& one, Rules& rules) {
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
}

void check_term(const Field& term, Rules& rules) {
  for (std::size_t i = 0; i < term["matchExpressions"].items().size(); ++i)
    check_requirement(term["matchExpressions"].at(i), rules);
}

void check_pod_term(const Field& term, Rules& rules) {
  rules.selector(term["labelSelector"]);
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

void validate_volumes(const Field& volumes, std::set<std::string>& names, Rules& rules) {
  for (std::size_t i = 0; i < volumes.items().size(); ++i) {
    Field volume = volumes.at(i);
    std::size_t before = rules.causes.size();
    int sources = 0;
    for (const auto& member : volume.members()) {
      if (member.key() == "name" || member.value().is_null()) continue;
      if (++sources > 1)
        rules.forbidden(volume[member.key()], "may not specify more than 1 volume type");
      else
        check_source(volume, member.key(), rules);
    }
    if (sources == 0) rules.required(volume, "must specify a volume type");
    if (rules.need_text(volume["name"])) rules.dns_label(volume["name"]);
    if (names.contains(std::string(volume["name"].text()))) rules.duplicate(volume["name"]);
    if (rules.causes.size() == before) names.emplace(volume["name"].text());
  }
}

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
    if (one["labelSelector"].present()) rules.selector(one["labelSelector"]);
  }
}

void validate_node_selector(const Field& selector, Rules& rules) {
  Field terms = selector["nodeSelectorTerms"];
  if (terms.items().empty()) rules.required(terms, "must have at least one node selector term");
  for (std::size_t i = 0; i < terms.items().size(); ++i) check_term(terms.at(i), rules);
}

void validate_affinity(const Field& affinity, Rules& rules) {
  Field node = affinity["nodeAffinity"];
  if (Field hard = node["requiredDuringSchedulingIgnoredDuringExecution"]; hard.present())
    validate_node_selector(hard, rules);
  Field soft = node["preferredDuringSchedulingIgnoredDuringExecution"];
  for (std::size_t i = 0; i < soft.items().size(); ++i) {
    if (std::int64_t weight = soft.at(i)["weight"].number(); weight <= 0 || weight > 100)
      rules.invalid(soft.at(i)["weight"], json::Value(weight), "must be in the range 1-100");
    check_term(soft.at(i)["preference"], rules);
  }
  check_pod_affinity(affinity["podAffinity"], rules);
  check_pod_affinity(affinity["podAntiAffinity"], rules);
}

}  // namespace hekla::apiserver
