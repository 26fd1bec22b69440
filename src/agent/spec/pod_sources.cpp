#include "agent/spec/pod_sources.h"

namespace hekla::agent {
namespace {

void note(std::set<SourceRef>& refs, SourceKind kind, std::string_view name) {
  if (!name.empty()) refs.insert({kind, std::string(name)});
}

// Calls visit with each source of the pod's projected volumes.
template <class Visit>
void for_each_projection(const model::Pod& pod, Visit visit) {
  for (const json::Value& volume : pod.spec.volumes) {
    const json::Array* sources = json::array_at(volume, {"projected", "sources"});
    if (!sources) continue;
    for (const json::Value& source : *sources) visit(source);
  }
}

}  // namespace

std::set<SourceRef> volume_sources(const model::Pod& pod) {
  std::set<SourceRef> refs;
  for (const json::Value& volume : pod.spec.volumes) {
    note(refs, SourceKind::config_map, json::string_at(volume, {"configMap", "name"}));
    note(refs, SourceKind::secret, json::string_at(volume, {"secret", "secretName"}));
  }
  for_each_projection(pod, [&](const json::Value& source) {
    note(refs, SourceKind::config_map, json::string_at(source, {"configMap", "name"}));
    note(refs, SourceKind::secret, json::string_at(source, {"secret", "name"}));
  });
  return refs;
}

std::set<SourceRef> environment_sources(const model::Container& container) {
  std::set<SourceRef> refs;
  for (const json::Value& from : container.envFrom) {
    note(refs, SourceKind::config_map, json::string_at(from, {"configMapRef", "name"}));
    note(refs, SourceKind::secret, json::string_at(from, {"secretRef", "name"}));
  }
  for (const model::EnvVar& variable : container.env) {
    note(refs, SourceKind::config_map,
         json::string_at(variable.valueFrom, {"configMapKeyRef", "name"}));
    note(refs, SourceKind::secret, json::string_at(variable.valueFrom, {"secretKeyRef", "name"}));
  }
  return refs;
}

std::vector<TokenRequest> token_requests(const model::Pod& pod) {
  std::vector<TokenRequest> requests;
  for_each_projection(pod, [&](const json::Value& source) {
    const json::Value* token = json::find(source, "serviceAccountToken");
    if (!token || !token->is_object()) return;
    TokenRequest request;
    request.ns = pod.metadata.ns;
    request.service_account =
        pod.spec.serviceAccountName.empty() ? "default" : pod.spec.serviceAccountName;
    request.pod_name = pod.metadata.name;
    request.pod_uid = pod.metadata.uid;
    request.audience = std::string(json::string_at(*token, {"audience"}));
    request.expiration_seconds = json::int_at(*token, {"expirationSeconds"}, 3600);
    requests.push_back(std::move(request));
  });
  return requests;
}

}  // namespace hekla::agent
