#include "agent/volumes/volume_plan.h"

#include "agent/volumes/claim_match.h"
#include "base/bytes.h"

namespace hekla::agent {
namespace {

// Steps of pipelines get their launcher by a volume of this driver.
constexpr std::string_view kLauncherDriver = "launcher.hekla.io";

constexpr unsigned kDefaultMode = 0644;

class Planner {
 public:
  Planner(const model::Pod& pod, const PodFacts& facts, const PodSources& sources,
          const VolumePlanOptions& options)
      : pod_(pod), facts_(facts), sources_(sources), options_(options) {}

  Result<VolumePlan> plan(const json::Value& volume) {
    VolumePlan plan;
    plan.name = std::string(json::string_at(volume, {"name"}));
    if (const json::Value* group = json::find(pod_.spec.securityContext, "fsGroup");
        group && group->is_number())
      plan.group = static_cast<std::uint32_t>(json::int_at(pod_.spec.securityContext, {"fsGroup"}));
    plan.group_on_mismatch =
        json::string_at(pod_.spec.securityContext, {"fsGroupChangePolicy"}) == "OnRootMismatch";
    if (const json::Value* source = member(volume, "configMap")) {
      plan.kind = VolumePlan::Kind::files;
      TRY(add_config_map(*source, json::string_at(*source, {"name"}), default_mode(*source), plan));
    } else if (const json::Value* source = member(volume, "secret")) {
      plan.kind = VolumePlan::Kind::files;
      TRY(add_secret(*source, json::string_at(*source, {"secretName"}), default_mode(*source),
                     plan));
    } else if (const json::Value* source = member(volume, "downwardAPI")) {
      plan.kind = VolumePlan::Kind::files;
      TRY(add_downward(*source, default_mode(*source), plan));
    } else if (const json::Value* source = member(volume, "projected")) {
      plan.kind = VolumePlan::Kind::files;
      TRY(add_projected(*source, plan));
    } else if (const json::Value* source = member(volume, "csi");
               source && !options_.launcher.empty() &&
               json::string_at(*source, {"driver"}) == kLauncherDriver) {
      plan.kind = VolumePlan::Kind::files;
      plan.files.push_back({"hekla-launch", std::string(options_.launcher), 0555});
    } else if (const json::Value* source = member(volume, "hostPath")) {
      plan.kind = VolumePlan::Kind::host_path;
      plan.host_path = std::string(json::string_at(*source, {"path"}));
      plan.host_path_type = std::string(json::string_at(*source, {"type"}));
    } else if (const std::string claim = claim_behind(pod_, volume); !claim.empty()) {
      auto found = sources_.claims.find(claim);
      if (found == sources_.claims.end())
        return fail(Code::not_found, "persistentvolumeclaim \"" + claim + "\" not found");
      plan.kind = VolumePlan::Kind::claim;
      plan.host_path = found->second.path;
      plan.provisioned = found->second.provisioned;
      plan.must_exist = found->second.must_exist;
      plan.read_only = found->second.read_only;
    } else if (const json::Value* source = member(volume, "emptyDir")) {
      bool memory = json::string_at(*source, {"medium"}) == "Memory";
      plan.kind = memory ? VolumePlan::Kind::memory : VolumePlan::Kind::directory;
      if (const json::Value* limit = json::find(*source, "sizeLimit"); limit && !limit->is_null())
        plan.size_limit_bytes = TRY(model::Quantity::from_json(*limit)).value();
    } else {
      TRY(refuse(volume));  // an absent source is an emptyDir
    }
    return plan;
  }

 private:
  static const json::Value* member(const json::Value& volume, std::string_view name) {
    const json::Value* found = json::find(volume, name);
    return found && found->is_object() ? found : nullptr;
  }
  static unsigned default_mode(const json::Value& source) {
    return static_cast<unsigned>(json::int_at(source, {"defaultMode"}, kDefaultMode));
  }
  static bool is_optional(const json::Value& source) { return json::bool_at(source, {"optional"}); }

  Result<void> refuse(const json::Value& volume) {
    for (const auto& entry : volume.as_object()) {
      std::string_view kind(entry.key().data(), entry.key().size());
      if (kind == "name") continue;
      return fail(Code::invalid, "volumes of type " + std::string(kind) + " are not supported");
    }
    return {};
  }

  Result<void> add_config_map(const json::Value& source, std::string_view name, unsigned mode,
                              VolumePlan& plan) {
    auto found = sources_.config_maps.find(std::string(name));
    std::map<std::string, std::string> content;
    if (found != sources_.config_maps.end()) {
      content = found->second.data;
      for (const auto& [key, value] : found->second.binaryData)
        content[key] = base64_decode(value).value_or("");
    } else if (name == "kube-root-ca.crt" && !options_.ca_pem.empty()) {
      content["ca.crt"] = options_.ca_pem;
    } else if (!is_optional(source)) {
      return fail(Code::not_found, "configmap \"" + std::string(name) + "\" not found");
    }
    return add_items(source, content, mode, plan);
  }

  Result<void> add_secret(const json::Value& source, std::string_view name, unsigned mode,
                          VolumePlan& plan) {
    auto found = sources_.secrets.find(std::string(name));
    std::map<std::string, std::string> content;
    if (found != sources_.secrets.end()) {
      for (const auto& [key, value] : found->second.data)
        content[key] = base64_decode(value).value_or("");
    } else if (!is_optional(source)) {
      return fail(Code::not_found, "secret \"" + std::string(name) + "\" not found");
    }
    return add_items(source, content, mode, plan);
  }

  Result<void> add_items(const json::Value& source,
                         const std::map<std::string, std::string>& content, unsigned mode,
                         VolumePlan& plan) {
    const json::Array* items = json::array_at(source, {"items"});
    if (!items || items->empty()) {
      for (const auto& [key, value] : content) TRY(add_file(plan, {key, value, mode}));
      return {};
    }
    for (const json::Value& item : *items) {
      const std::string key(json::string_at(item, {"key"}));
      auto found = content.find(key);
      if (found == content.end()) {
        if (is_optional(source)) continue;
        return fail(Code::not_found, "references non-existent config key: " + key);
      }
      unsigned own = static_cast<unsigned>(json::int_at(item, {"mode"}, mode));
      TRY(add_file(plan, {std::string(json::string_at(item, {"path"})), found->second, own}));
    }
    return {};
  }

  Result<void> add_downward(const json::Value& source, unsigned mode, VolumePlan& plan) {
    const json::Array* items = json::array_at(source, {"items"});
    if (!items) return {};
    for (const json::Value& item : *items) {
      VolumeFile file;
      file.path = std::string(json::string_at(item, {"path"}));
      file.mode = static_cast<unsigned>(json::int_at(item, {"mode"}, mode));
      if (const json::Value* field = member(item, "fieldRef")) {
        file.content =
            TRY(field_value(pod_, facts_, std::string(json::string_at(*field, {"fieldPath"}))));
      } else if (const json::Value* resource = member(item, "resourceFieldRef")) {
        file.content = TRY(resource_value(container_named(*resource), facts_, *resource));
      }
      TRY(add_file(plan, std::move(file)));
    }
    return {};
  }

  Result<void> add_projected(const json::Value& projected, VolumePlan& plan) {
    const json::Array* sources = json::array_at(projected, {"sources"});
    if (!sources) return {};
    const unsigned mode = default_mode(projected);
    std::vector<TokenRequest> requests = token_requests(pod_);
    for (const json::Value& source : *sources) {
      if (const json::Value* map = member(source, "configMap")) {
        TRY(add_config_map(*map, json::string_at(*map, {"name"}), mode, plan));
      } else if (const json::Value* secret = member(source, "secret")) {
        TRY(add_secret(*secret, json::string_at(*secret, {"name"}), mode, plan));
      } else if (const json::Value* downward = member(source, "downwardAPI")) {
        TRY(add_downward(*downward, mode, plan));
      } else if (const json::Value* token = member(source, "serviceAccountToken")) {
        TRY(add_token(*token, requests, mode, plan));
      }
    }
    return {};
  }

  Result<void> add_token(const json::Value& token, const std::vector<TokenRequest>& requests,
                         unsigned mode, VolumePlan& plan) {
    std::string_view audience = json::string_at(token, {"audience"});
    std::int64_t expiration = json::int_at(token, {"expirationSeconds"}, 3600);
    for (const TokenRequest& request : requests) {
      if (request.audience != audience || request.expiration_seconds != expiration) continue;
      auto found = sources_.tokens.find(request);
      if (found == sources_.tokens.end()) continue;
      return add_file(plan, {std::string(json::string_at(token, {"path"})), found->second, mode});
    }
    return {};
  }

  static Result<void> add_file(VolumePlan& plan, VolumeFile file) {
    bool bad = file.path.empty() || file.path.front() == '/' || file.path == ".." ||
               file.path.starts_with("../") || file.path.find("/../") != std::string::npos ||
               file.path.ends_with("/..");
    if (bad) return fail(Code::invalid, "invalid path in volume: \"" + file.path + "\"");
    // In a projection the later source wins.
    std::erase_if(plan.files, [&](const VolumeFile& old) { return old.path == file.path; });
    plan.files.push_back(std::move(file));
    return {};
  }

  model::Container container_named(const json::Value& reference) const {
    std::string_view name = json::string_at(reference, {"containerName"});
    for (const model::Container& container : pod_.spec.containers)
      if (container.name == name) return container;
    return {};
  }

  const model::Pod& pod_;
  const PodFacts& facts_;
  const PodSources& sources_;
  const VolumePlanOptions& options_;
};

}  // namespace

Result<std::vector<VolumePlan>> plan_volumes(const model::Pod& pod, const PodFacts& facts,
                                             const PodSources& sources,
                                             const VolumePlanOptions& options) {
  std::vector<VolumePlan> plans;
  Planner planner(pod, facts, sources, options);
  for (const json::Value& volume : pod.spec.volumes) {
    if (!volume.is_object()) continue;
    Result<VolumePlan> plan = planner.plan(volume);
    if (!plan)
      return fail(plan.error().code, "MountVolume.SetUp failed for volume \"" +
                                         std::string(json::string_at(volume, {"name"})) +
                                         "\" : " + plan.error().message);
    plans.push_back(std::move(*plan));
  }
  return plans;
}

}  // namespace hekla::agent
