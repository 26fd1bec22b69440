#include "apiserver/gates/service_account.h"

#include <algorithm>

#include "apiserver/gates/webhooks.h"
#include "apiserver/object/metadata.h"
#include "apiserver/text/errors.h"
#include "base/bytes.h"

namespace hekla::apiserver {

namespace {

using kube::AdmissionRequest;
using kube::Operation;

constexpr std::string_view kMountPath = "/var/run/secrets/kubernetes.io/serviceaccount";
constexpr std::string_view kTokenSecretType = "kubernetes.io/service-account-token";
constexpr std::int64_t kMountedTokenSeconds = 3607;

json::Value make_token_volume() {
  json::Object ca{
      {"name", "kube-root-ca.crt"},
      {"items", json::Array{json::Value(json::Object{{"key", "ca.crt"}, {"path", "ca.crt"}})}}};
  json::Object field{{"apiVersion", "v1"}, {"fieldPath", "metadata.namespace"}};
  json::Object ns{{"items", json::Array{json::Value(json::Object{
                                {"path", "namespace"}, {"fieldRef", std::move(field)}})}}};
  json::Array sources;
  sources.push_back(
      json::Object{{"serviceAccountToken",
                    json::Object{{"expirationSeconds", kMountedTokenSeconds}, {"path", "token"}}}});
  sources.push_back(json::Object{{"configMap", std::move(ca)}});
  sources.push_back(json::Object{{"downwardAPI", std::move(ns)}});
  return json::Object{
      {"name", ""},
      {"projected", json::Object{{"sources", std::move(sources)}, {"defaultMode", 420}}}};
}

bool has_mount_at(const json::Value& container, std::string_view path) {
  const json::Array* mounts = json::array_at(container, {"volumeMounts"});
  return mounts && std::any_of(mounts->begin(), mounts->end(), [&](const json::Value& mount) {
           return json::string_at(mount, {"mountPath"}) == path;
         });
}

// A volume of that name the user has written stays; containers that mount something there keep it.
void mount_token(json::Object& spec, std::string& suffix, Rng& rng) {
  std::string volume;
  if (const json::Value* volumes = json::find(spec, "volumes"); volumes && volumes->is_array())
    for (const json::Value& one : volumes->get_array())
      if (std::string_view name = json::string_at(one, {"name"});
          name.starts_with("kube-api-access-"))
        volume = name;
  const bool add_volume = volume.empty();
  if (add_volume) {
    if (suffix.empty()) suffix = name_suffix(rng, 5);
    volume = "kube-api-access-" + suffix;
  }
  bool mounted = false;
  for (std::string_view list : {"initContainers", "containers"}) {
    json::Value* containers = spec.if_contains(list);
    if (!containers || !containers->is_array()) continue;
    for (json::Value& container : containers->get_array()) {
      if (!container.is_object() || has_mount_at(container, kMountPath)) continue;
      json::Value& mounts = container.get_object()["volumeMounts"];
      if (!mounts.is_array()) mounts.emplace_array();
      mounts.get_array().push_back(
          json::Object{{"name", volume}, {"readOnly", true}, {"mountPath", kMountPath}});
      mounted = true;
    }
  }
  if (!mounted || !add_volume) return;
  json::Value& volumes = spec["volumes"];
  if (!volumes.is_array()) volumes.emplace_array();
  static const json::Value kTokenVolume = make_token_volume();
  json::Array& all = volumes.get_array();
  all.push_back(kTokenVolume);
  all.back().get_object()["name"] = volume;
}

Result<void> give_account(const AdmissionRequest& request, json::Value& pod, Rng& rng) {
  json::Value& spec_value = json::at_path(pod, {"spec"});
  if (!spec_value.is_object()) return {};
  json::Object& spec = spec_value.get_object();
  std::string name(json::string_at(spec_value, {"serviceAccountName"}));
  if (name.empty()) name = json::string_at(spec_value, {"serviceAccount"});
  if (name.empty()) name = "default";
  Result<kube::SharedValue> account =
      request.reader->get(kube::resources::service_accounts, {request.key.ns, name});
  // The default account appears a moment after its namespace; waiting for it helps nobody.
  if (!account && name != "default")
    return std::unexpected(forbidden_error(request.resource, request.key.name,
                                           "error looking up service account " + request.key.ns +
                                               "/" + name + ": serviceaccount \"" + name +
                                               "\" not found"));
  spec["serviceAccountName"] = name;
  spec["serviceAccount"] = name;
  const json::Array* given = json::array_at(spec_value, {"imagePullSecrets"});
  const json::Array* secrets = account ? json::array_at(**account, {"imagePullSecrets"}) : nullptr;
  if ((!given || given->empty()) && secrets) spec["imagePullSecrets"] = *secrets;
  bool automount = !account || json::bool_at(**account, {"automountServiceAccountToken"}, true);
  automount = json::bool_at(spec_value, {"automountServiceAccountToken"}, automount);
  if (automount) mount_token(spec, kept_for(request)["token volume"], rng);
  return {};
}

// Filled in where it is missing; an account that does not exist leaves the secret as it is.
Result<void> give_token(const AdmissionRequest& request, json::Value& secret, const Tokens& tokens,
                        Rng& rng) {
  if (json::string_at(secret, {"type"}) != kTokenSecretType) return {};
  const std::string name(
      json::string_at(secret, {"metadata", "annotations", "kubernetes.io/service-account.name"}));
  if (name.empty() || !json::string_at(secret, {"data", "token"}).empty()) return {};
  Result<kube::SharedValue> account =
      request.reader->get(kube::resources::service_accounts, {request.key.ns, name});
  if (!account) return {};
  TokenSubject subject;
  subject.ns = request.key.ns;
  subject.name = name;
  subject.uid = meta_string(**account, "uid");
  // The token names its secret. Drawn once, however often the request is prepared.
  std::string& drawn = kept_for(request)["token secret"];
  if (drawn.empty()) {
    generate_name(secret, rng);
    drawn = meta_string(secret, "name");
  }
  metadata_of(secret)["name"] = drawn;
  subject.secret_name = meta_string(secret, "name");
  std::string& token = kept_for(request)["token"];
  if (token.empty()) token = TRY(tokens.issue_lasting(subject));
  json::at_path(secret, {"metadata", "annotations", "kubernetes.io/service-account.uid"}) =
      subject.uid;
  json::at_path(secret, {"data", "token"}) = base64_encode(token);
  json::at_path(secret, {"data", "namespace"}) = base64_encode(subject.ns);
  if (!tokens.root_ca_pem().empty())
    json::at_path(secret, {"data", "ca.crt"}) = base64_encode(tokens.root_ca_pem());
  return {};
}

}  // namespace

std::vector<kube::AdmissionStep> service_account_admission(const Tokens& tokens, Rng& rng) {
  auto pods = [](const kube::Resource& resource, Operation operation,
                 std::string_view subresource) {
    return operation == Operation::create && resource.group.empty() && resource.plural == "pods" &&
           subresource.empty();
  };
  auto secrets = [](const kube::Resource& resource, Operation operation, std::string_view) {
    return operation != Operation::remove && resource.group.empty() && resource.plural == "secrets";
  };
  std::vector<kube::AdmissionStep> steps;
  steps.push_back({"ServiceAccount", pods,
                   [&rng](const AdmissionRequest& request, json::Value& pod) {
                     return give_account(request, pod, rng);
                   },
                   nullptr});
  steps.push_back({"ServiceAccountTokenSecret", secrets,
                   [&tokens, &rng](const AdmissionRequest& request, json::Value& secret) {
                     return give_token(request, secret, tokens, rng);
                   },
                   nullptr});
  return steps;
}

}  // namespace hekla::apiserver
