#include "pipelines/driver/platform_settings.h"

#include <charconv>
#include <map>

#include "pipelines/engine/cache_key.h"
#include "pipelines/engine/inputs.h"
#include "pipelines/ir/text.h"

namespace hekla::pipelines::driver {
namespace {

class Settings {
 public:
  Settings(const ir::Pipeline& pipeline, const engine::Run& run, const engine::Node& node,
           json::Value& pod)
      : pipeline_(pipeline), run_(run), node_(node), pod_(pod) {}

  Result<void> apply(const json::Object& all) {
    using Apply = Result<void> (Settings::*)(const json::Value&);
    static const std::map<std::string_view, Apply> known = {
        {"pvcMount", &Settings::claims},
        {"secretAsVolume", &Settings::secret_volumes},
        {"secretAsEnv", &Settings::secret_env},
        {"configMapAsVolume", &Settings::config_volumes},
        {"configMapAsEnv", &Settings::config_env},
        {"nodeSelector", &Settings::node_selector},
        {"tolerations", &Settings::tolerations},
        {"nodeAffinity", &Settings::node_affinity},
        {"podMetadata", &Settings::metadata},
        {"imagePullPolicy", &Settings::pull_policy},
        {"imagePullSecret", &Settings::pull_secrets},
        {"activeDeadlineSeconds", &Settings::deadline},
        {"fieldPathAsEnv", &Settings::field_env},
        {"genericEphemeralVolume", &Settings::ephemeral},
        {"emptyDirMounts", &Settings::empty_dirs},
        {"enabledSharedMemory", &Settings::shared_memory},
        {"securityContext", &Settings::security},
    };
    for (const auto& member : all) {
      const auto found = known.find(member.key());
      if (found == known.end())
        return fail(Code::bad_request,
                    "the Kubernetes setting " + std::string(member.key()) + " is not supported");
      TRY((this->*found->second)(member.value()));
    }
    return {};
  }

 private:
  json::Object& main() {
    return json::at_path(pod_, {"spec", "containers"}).as_array()[0].as_object();
  }
  json::Array& list_in(json::Object& object, std::string_view name) {
    json::Value& value = json::member_of(object, name);
    if (!value.is_array()) value = json::Array{};
    return value.get_array();
  }
  json::Array& list_at(json::Value& value, std::string_view member, std::string_view name) {
    json::Value& inner = json::at_path(value, {member});
    if (!inner.is_object()) inner = json::Object{};
    return list_in(inner.get_object(), name);
  }
  json::Array& spec_list(std::string_view name) {
    return list_in(json::at_path(pod_, {"spec"}).as_object(), name);
  }
  void mount(const std::string& volume, const json::Value& setting, json::Object source) {
    source.emplace("name", volume);
    bool there = false;
    for (const json::Value& one : spec_list("volumes"))
      there = there || json::string_at(one, {"name"}) == volume;
    if (!there) spec_list("volumes").push_back(std::move(source));
    json::Object made{{"name", volume}, {"mountPath", json::text_at(setting, {"mountPath"})}};
    if (std::string sub = json::text_at(setting, {"subPath"}); !sub.empty())
      made.emplace("subPath", sub);
    list_in(main(), "volumeMounts").push_back(std::move(made));
  }
  void env(const std::string& name, json::Object source) {
    list_in(main(), "env")
        .push_back(json::Object{{"name", name}, {"valueFrom", std::move(source)}});
  }

  // The value of a "...Parameter" member, else the plain one; nothing: the item is left out.
  Result<std::optional<std::string>> named(const json::Value& setting, const char* parameter,
                                           const char* plain) {
    if (const json::Value* given = json::find(setting, parameter)) {
      const ir::ParameterSource source = TRY(ir::read_parameter_source(*given, parameter));
      std::optional<json::Value> value =
          TRY(engine::resolve_source(run_, engine::scope_of(run_, node_), source));
      if (!value) return std::nullopt;
      return ir::text_of(*value);
    }
    return json::text_at(setting, {plain});
  }

  Result<void> claims(const json::Value& settings) {
    const std::vector<std::string> names = TRY(engine::mounted_claims(pipeline_, run_, node_));
    for (std::size_t i = 0; settings.is_array() && i < names.size(); ++i)
      if (!names[i].empty())
        mount(names[i], settings.get_array()[i],
              {{"persistentVolumeClaim", json::Object{{"claimName", names[i]}}}});
    return {};
  }
  Result<void> volumes_of(const json::Value& settings, const char* parameter, const char* plain,
                          const char* kind, const char* member) {
    if (!settings.is_array()) return {};
    for (const json::Value& one : settings.get_array()) {
      const std::optional<std::string> name = TRY(named(one, parameter, plain));
      if (!name || name->empty()) continue;
      mount(
          *name, one,
          {{kind, json::Object{{member, *name}, {"optional", json::bool_at(one, {"optional"})}}}});
    }
    return {};
  }
  Result<void> secret_volumes(const json::Value& settings) {
    return volumes_of(settings, "secretNameParameter", "secretName", "secret", "secretName");
  }
  Result<void> config_volumes(const json::Value& settings) {
    return volumes_of(settings, "configMapNameParameter", "configMapName", "configMap", "name");
  }
  Result<void> env_of(const json::Value& settings, const char* parameter, const char* plain,
                      const char* key, const char* reference) {
    if (!settings.is_array()) return {};
    for (const json::Value& one : settings.get_array()) {
      const std::optional<std::string> name = TRY(named(one, parameter, plain));
      const json::Array* keys = json::array_at(one, {"keyToEnv"});
      for (std::size_t i = 0; name && !name->empty() && keys && i < keys->size(); ++i)
        env(json::text_at((*keys)[i], {"envVar"}),
            {{reference, json::Object{{"name", *name},
                                      {"key", json::text_at((*keys)[i], {key})},
                                      {"optional", json::bool_at(one, {"optional"})}}}});
    }
    return {};
  }
  Result<void> secret_env(const json::Value& settings) {
    return env_of(settings, "secretNameParameter", "secretName", "secretKey", "secretKeyRef");
  }
  Result<void> config_env(const json::Value& settings) {
    return env_of(settings, "configMapNameParameter", "configMapName", "configMapKey",
                  "configMapKeyRef");
  }

  // JSON given by a parameter: a value, or text of one.
  Result<std::optional<json::Value>> structured(const json::Value& setting, const char* parameter) {
    const json::Value* given = json::find(setting, parameter);
    if (given == nullptr) return std::nullopt;
    const ir::ParameterSource source = TRY(ir::read_parameter_source(*given, parameter));
    return engine::resolve_source(run_, engine::scope_of(run_, node_), source);
  }

  Result<void> node_selector(const json::Value& setting) {
    std::optional<json::Value> dynamic = TRY(structured(setting, "nodeSelectorJson"));
    const json::Object* labels = dynamic && dynamic->is_object()
                                     ? &dynamic->get_object()
                                     : json::object_at(setting, {"labels"});
    if (labels)
      for (const auto& label : *labels)
        json::at_path(pod_, {"spec", "nodeSelector", label.key()}) =
            json::Value(ir::text_of(label.value()));
    return {};
  }
  Result<void> tolerations(const json::Value& settings) {
    if (!settings.is_array()) return {};
    for (const json::Value& one : settings.get_array()) {
      std::optional<json::Value> dynamic = TRY(structured(one, "tolerationJson"));
      if (dynamic && dynamic->is_array()) {
        for (const json::Value& each : dynamic->get_array())
          spec_list("tolerations").push_back(each);
        continue;
      }
      if (json::find(one, "tolerationJson") && !dynamic) continue;
      json::Object made;
      const json::Value& from = dynamic ? *dynamic : one;
      for (const char* member : {"key", "operator", "value", "effect"})
        if (std::string text = json::text_at(from, {member}); !text.empty())
          made.emplace(member, text);
      if (const json::Value* seconds = json::find(from, "tolerationSeconds"))
        made.emplace("tolerationSeconds", number_of(*seconds));
      spec_list("tolerations").push_back(std::move(made));
    }
    return {};
  }
  static std::int64_t number_of(const json::Value& value) {
    const std::string text = ir::text_of(value);
    std::int64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
  }
  Result<void> node_affinity(const json::Value& settings) {
    if (!settings.is_array()) return {};
    for (const json::Value& one : settings.get_array()) {
      std::optional<json::Value> dynamic = TRY(structured(one, "nodeAffinityJson"));
      if (dynamic) {
        json::at_path(pod_, {"spec", "affinity", "nodeAffinity"}) = *dynamic;
        continue;
      }
      json::Object term;
      for (const char* member : {"matchExpressions", "matchFields"})
        if (const json::Value* list = json::find(one, member)) term.emplace(member, *list);
      json::Value& affinity = json::at_path(pod_, {"spec", "affinity", "nodeAffinity"});
      if (!affinity.is_object()) affinity = json::Object{};
      if (const json::Value* weight = json::find(one, "weight"))
        list_in(affinity.get_object(), "preferredDuringSchedulingIgnoredDuringExecution")
            .push_back(
                json::Object{{"weight", number_of(*weight)}, {"preference", std::move(term)}});
      else
        list_at(affinity, "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
            .push_back(std::move(term));
    }
    return {};
  }
  Result<void> metadata(const json::Value& setting) {
    for (const char* kind : {"labels", "annotations"})
      if (const json::Object* all = json::object_at(setting, {kind}))
        for (const auto& member : *all)
          json::at_path(pod_, {"metadata", kind, member.key()}) = member.value();
    return {};
  }
  Result<void> pull_policy(const json::Value& setting) {
    main().insert_or_assign("imagePullPolicy", setting);
    return {};
  }
  Result<void> pull_secrets(const json::Value& settings) {
    if (!settings.is_array()) return {};
    for (const json::Value& one : settings.get_array()) {
      const std::optional<std::string> name = TRY(named(one, "secretNameParameter", "secretName"));
      if (name && !name->empty())
        spec_list("imagePullSecrets").push_back(json::Object{{"name", *name}});
    }
    return {};
  }
  Result<void> deadline(const json::Value& setting) {
    if (const std::int64_t seconds = number_of(setting); seconds > 0)
      json::at_path(pod_, {"spec", "activeDeadlineSeconds"}) = seconds;
    return {};
  }
  Result<void> field_env(const json::Value& settings) {
    if (!settings.is_array()) return {};
    for (const json::Value& one : settings.get_array())
      env(json::text_at(one, {"name"}),
          {{"fieldRef", json::Object{{"fieldPath", json::text_at(one, {"fieldPath"})}}}});
    return {};
  }
  Result<void> ephemeral(const json::Value& settings) {
    if (!settings.is_array()) return {};
    for (const json::Value& one : settings.get_array()) {
      json::Object spec{
          {"resources",
           json::Object{{"requests", json::Object{{"storage", json::text_at(one, {"size"})}}}}}};
      if (const json::Value* modes = json::find(one, "accessModes"))
        spec.emplace("accessModes", *modes);
      if (!json::bool_at(one, {"defaultStorageClass"}))
        spec.emplace("storageClassName", json::text_at(one, {"storageClassName"}));
      json::Object claim{{"spec", std::move(spec)}};
      if (const json::Value* metadata = json::find(one, "metadata"))
        claim.emplace("metadata", *metadata);
      mount(json::text_at(one, {"volumeName"}), one,
            {{"ephemeral", json::Object{{"volumeClaimTemplate", std::move(claim)}}}});
    }
    return {};
  }
  Result<void> empty_dirs(const json::Value& settings) {
    if (!settings.is_array()) return {};
    for (const json::Value& one : settings.get_array()) {
      json::Object source;
      for (const char* member : {"medium", "sizeLimit"})
        if (std::string text = json::text_at(one, {member}); !text.empty())
          source.emplace(member, text);
      mount(json::text_at(one, {"volumeName"}), one, {{"emptyDir", std::move(source)}});
    }
    return {};
  }
  Result<void> shared_memory(const json::Value& setting) {
    json::Object source{{"medium", "Memory"}};
    if (std::string size = json::text_at(setting, {"size"}); !size.empty())
      source.emplace("sizeLimit", size);
    std::string name = json::text_at(setting, {"volumeName"});
    if (name.empty()) name = "shm";
    mount(name, json::Object{{"mountPath", "/dev/shm"}}, {{"emptyDir", std::move(source)}});
    return {};
  }
  Result<void> security(const json::Value& setting) {
    json::Object made;
    for (const char* member : {"runAsUser", "runAsGroup"})
      if (const json::Value* value = json::find(setting, member))
        made.emplace(member, number_of(*value));
    if (const json::Value* value = json::find(setting, "runAsNonRoot"))
      made.emplace("runAsNonRoot", *value);
    main().insert_or_assign("securityContext", std::move(made));
    return {};
  }

  const ir::Pipeline& pipeline_;
  const engine::Run& run_;
  const engine::Node& node_;
  json::Value& pod_;
};

}  // namespace

Result<void> apply_settings(const ir::Pipeline& pipeline, const engine::Run& run,
                            const engine::Node& node, json::Value& pod) {
  const auto found =
      pipeline.kubernetes.find(engine::component_of(pipeline, node.component).executor);
  if (found == pipeline.kubernetes.end()) return {};
  return Settings(pipeline, run, node, pod).apply(found->second);
}

}  // namespace hekla::pipelines::driver
