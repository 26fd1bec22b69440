#include "agent/spec/environment.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/log.h"

namespace hekla::agent {
namespace {

const std::string* find_in(const Environment& env, const std::string& name) {
  for (auto at = env.rbegin(); at != env.rend(); ++at)
    if (at->first == name) return &at->second;
  return nullptr;
}

void set_in(Environment& env, const std::string& name, std::string value) {
  for (auto& [key, old] : env) {
    if (key != name) continue;
    old = std::move(value);
    return;
  }
  env.emplace_back(name, std::move(value));
}

std::string variable_name(const std::string& service) {
  std::string out;
  for (char c : service)
    out += c == '-' ? '_' : static_cast<char>(::toupper(static_cast<unsigned char>(c)));
  return out;
}

struct NamedPort {
  std::string name, protocol;
  int port = 0;
};

// The Docker-links variables of one service.
void add_links(Environment& out, const std::string& service, const std::string& address,
               const std::vector<NamedPort>& ports) {
  if (ports.empty()) return;
  const std::string prefix = variable_name(service);
  out.emplace_back(prefix + "_SERVICE_HOST", address);
  out.emplace_back(prefix + "_SERVICE_PORT", std::to_string(ports.front().port));
  for (const NamedPort& port : ports)
    if (!port.name.empty())
      out.emplace_back(prefix + "_SERVICE_PORT_" + variable_name(port.name),
                       std::to_string(port.port));
  bool first = true;
  for (const NamedPort& port : ports) {
    std::string protocol = port.protocol.empty() ? "TCP" : port.protocol;
    std::string scheme = protocol;
    for (char& c : scheme) c = static_cast<char>(::tolower(static_cast<unsigned char>(c)));
    const std::string number = std::to_string(port.port);
    const std::string url = scheme + "://" + address + ":" + number;
    if (std::exchange(first, false)) out.emplace_back(prefix + "_PORT", url);
    const std::string member = prefix + "_PORT_" + number + "_" + protocol;
    out.emplace_back(member, url);
    out.emplace_back(member + "_PROTO", scheme);
    out.emplace_back(member + "_PORT", number);
    out.emplace_back(member + "_ADDR", address);
  }
}

// Since Kubernetes 1.34 whatever can be printed is, but for the sign that ends a name.
bool is_variable_name(const std::string& name) {
  return !name.empty() &&
         std::ranges::all_of(name, [](char c) { return c >= ' ' && c <= '~' && c != '='; });
}

class EnvironmentBuilder {
 public:
  EnvironmentBuilder(const model::Pod& pod, const model::Container& container,
                     const PodFacts& facts, const PodSources& sources, const Environment& services)
      : pod_(pod), container_(container), facts_(facts), sources_(sources), services_(services) {}

  Result<Environment> build() {
    for (const json::Value& from : container_.envFrom) TRY(add_from(from));
    for (const model::EnvVar& variable : container_.env) TRY(add(variable));
    for (const auto& [name, value] : services_)
      if (!find_in(env_, name)) env_.emplace_back(name, value);
    return std::move(env_);
  }

 private:
  Result<void> add_from(const json::Value& from) {
    const std::string prefix(json::string_at(from, {"prefix"}));
    if (const json::Value* reference = json::find(from, "configMapRef")) {
      const std::string name(json::string_at(*reference, {"name"}));
      auto found = sources_.config_maps.find(name);
      if (found == sources_.config_maps.end()) return missing("configmap", name, *reference);
      for (const auto& [key, value] : found->second.data)
        if (is_variable_name(prefix + key)) set_in(env_, prefix + key, value);
    } else if (const json::Value* reference = json::find(from, "secretRef")) {
      const std::string name(json::string_at(*reference, {"name"}));
      auto found = sources_.secrets.find(name);
      if (found == sources_.secrets.end()) return missing("secret", name, *reference);
      for (const auto& [key, value] : found->second.data)
        if (is_variable_name(prefix + key))
          set_in(env_, prefix + key, base64_decode(value).value_or(""));
    }
    return {};
  }

  Result<void> add(const model::EnvVar& variable) {
    if (variable.valueFrom.is_null()) {
      set_in(env_, variable.name, expand(variable.value, [&](const std::string& name) {
               const std::string* own = find_in(env_, name);
               return own ? own : find_in(services_, name);
             }));
      return {};
    }
    std::optional<std::string> value = TRY(value_from(variable.valueFrom));
    if (value) set_in(env_, variable.name, std::move(*value));
    return {};
  }

  // Empty when an optional reference leads nowhere: the variable is then not set at all.
  Result<std::optional<std::string>> value_from(const json::Value& from) {
    if (const json::Value* field = json::find(from, "fieldRef"))
      return TRY(field_value(pod_, facts_, std::string(json::string_at(*field, {"fieldPath"}))));
    if (const json::Value* resource = json::find(from, "resourceFieldRef"))
      return TRY(resource_value(container_named(*resource), facts_, *resource));
    if (const json::Value* reference = json::find(from, "configMapKeyRef"))
      return from_config_map(*reference);
    if (const json::Value* reference = json::find(from, "secretKeyRef"))
      return from_secret(*reference);
    return std::optional<std::string>();
  }

  Result<std::optional<std::string>> from_config_map(const json::Value& reference) {
    const std::string name(json::string_at(reference, {"name"}));
    const std::string key(json::string_at(reference, {"key"}));
    auto found = sources_.config_maps.find(name);
    if (found == sources_.config_maps.end()) {
      TRY(missing("configmap", name, reference));
      return std::optional<std::string>();
    }
    auto value = found->second.data.find(key);
    if (value != found->second.data.end()) return std::optional<std::string>(value->second);
    return missing_key("ConfigMap", name, key, reference);
  }

  Result<std::optional<std::string>> from_secret(const json::Value& reference) {
    const std::string name(json::string_at(reference, {"name"}));
    const std::string key(json::string_at(reference, {"key"}));
    auto found = sources_.secrets.find(name);
    if (found == sources_.secrets.end()) {
      TRY(missing("secret", name, reference));
      return std::optional<std::string>();
    }
    auto value = found->second.data.find(key);
    if (value != found->second.data.end())
      return std::optional<std::string>(base64_decode(value->second).value_or(""));
    return missing_key("Secret", name, key, reference);
  }

  Result<void> missing(const char* kind, const std::string& name, const json::Value& reference) {
    if (json::bool_at(reference, {"optional"})) return {};
    return fail(Code::not_found, std::string(kind) + " \"" + name + "\" not found");
  }
  Result<std::optional<std::string>> missing_key(const char* kind, const std::string& name,
                                                 const std::string& key,
                                                 const json::Value& reference) {
    if (json::bool_at(reference, {"optional"})) return std::optional<std::string>();
    return fail(Code::not_found,
                "couldn't find key " + key + " in " + kind + " " + pod_.metadata.ns + "/" + name);
  }
  const model::Container& container_named(const json::Value& reference) const {
    std::string_view name = json::string_at(reference, {"containerName"});
    for (const model::Container& container : pod_.spec.containers)
      if (container.name == name) return container;
    return container_;
  }

  const model::Pod& pod_;
  const model::Container& container_;
  const PodFacts& facts_;
  const PodSources& sources_;
  const Environment& services_;
  Environment env_;
};

}  // namespace

std::string expand(const std::string& text,
                   const std::function<const std::string*(const std::string&)>& lookup) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    if (text[i + 1] == '$') {
      out += '$';
      ++i;
      continue;
    }
    if (text[i + 1] != '(') {
      out += '$';
      continue;
    }
    std::size_t close = text.find(')', i + 2);
    if (close == std::string::npos) {
      out += '$';
      continue;
    }
    std::string name = text.substr(i + 2, close - i - 2);
    const std::string* value = lookup(name);
    out += value ? *value : "$(" + name + ")";
    i = close;
  }
  return out;
}

std::vector<std::string> expand_all(const std::vector<std::string>& texts, const Environment& env) {
  std::vector<std::string> out;
  for (const std::string& text : texts)
    out.push_back(expand(text, [&](const std::string& name) { return find_in(env, name); }));
  return out;
}

Environment service_environment(const ApiEndpoint& api, bool links,
                                const std::vector<const model::Service*>& services) {
  Environment out;
  if (!api.host.empty()) add_links(out, "kubernetes", api.host, {{"https", "TCP", api.port}});
  if (!links) return out;
  for (const model::Service* service : services) {
    const std::string& address = service->spec.clusterIP;
    if (address.empty() || address == "None" || service->metadata.name == "kubernetes") continue;
    std::vector<NamedPort> ports;
    for (const model::ServicePort& port : service->spec.ports)
      ports.push_back({port.name, port.protocol, port.port});
    add_links(out, service->metadata.name, address, ports);
  }
  return out;
}

Result<Environment> container_environment(const model::Pod& pod, const model::Container& container,
                                          const PodFacts& facts, const PodSources& sources,
                                          const Environment& services) {
  return EnvironmentBuilder(pod, container, facts, sources, services).build();
}

}  // namespace hekla::agent
