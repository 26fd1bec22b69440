#include "cli/kfctl/deployment.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/disk.h"
#include "cli/kfctl/applications.h"
#include "cli/workbench/workbench.h"
#include "json/parse.h"
#include "kube/http.h"

namespace hekla::cli {
namespace {

constexpr const char* kAppFile = "app.yaml";
constexpr const char* kUser = "anonymous";
// Labels by which kfctl shows itself on the namespace it installs into.
constexpr std::pair<const char*, const char*> kLabels[] = {
    {"control-plane", "kubeflow"}, {"katib-metricscollector-injection", "enabled"}};

// The releases whose applications are known by heart.
bool is_known_release(std::string_view file) {
  file = file.substr(std::min(file.rfind('/') + 1, file.size()));
  return file.ends_with(".yaml") &&
         (file.starts_with("kfctl_k8s_istio") || file.starts_with("kfctl_istio_dex"));
}

bool is_url(std::string_view file) {
  return file.starts_with("http://") || file.starts_with("https://");
}

Result<std::string> text_of(const std::string& file) {
  if (!is_url(file)) return read_file(file);
  std::unique_ptr<kube::Http> http = TRY(kube::make_http());
  const kube::HttpAnswer answer = TRY(http->fetch({.url = file}));
  if (answer.status == 200) return answer.body;
  return fail(Code::unavailable, file + ": the server says " + std::to_string(answer.status));
}

std::vector<std::string> known_applications() {
  std::vector<std::string> names;
  for (const KfApplication& one : kf_applications()) names.emplace_back(one.name);
  return names;
}

Result<std::vector<std::string>> parse_kf_def(const std::string& file, std::string_view text) {
  Result<std::vector<json::YamlDocument>> documents = json::parse_yaml(text);
  if (!documents) return fail(Code::bad_request, file + ": " + documents.error().message);
  for (const json::YamlDocument& document : *documents) {
    if (json::string_at(document.value, {"kind"}) != "KfDef") continue;
    std::vector<std::string> names;
    if (const json::Array* all = json::array_at(document.value, {"spec", "applications"}))
      for (const json::Value& one : *all) names.push_back(json::text_at(one, {"name"}));
    return names;
  }
  return fail(Code::bad_request, file + ": no document of kind KfDef");
}

Result<void> deploy_one(ApiSession& session, const std::string& name, bool verbose) {
  auto known = std::ranges::find(kf_applications(), name, &KfApplication::name);
  if (known == kf_applications().end() || known->sign.empty()) {
    std::printf("%s is not part of Hekla; skipped\n", name.c_str());
    return {};
  }
  std::printf("Deploying application %s\n", name.c_str());
  if (Result<json::Value> found = session.call("GET", std::string(known->sign)); !found)
    return fail(found.error().code,
                "failed to apply application " + name + ": " + found.error().message);
  if (verbose) std::printf("  %s is answered\n", std::string(known->sign).c_str());
  std::printf("Successfully applied application %s\n", name.c_str());
  return {};
}

json::Value label_patch(bool add) {
  json::Object labels;
  for (const auto& [name, value] : kLabels)
    labels[name] = add ? json::Value(value) : json::Value(nullptr);
  return json::Object{{"metadata", json::Object{{"labels", std::move(labels)}}}};
}

Result<void> label_namespace(ApiSession& session, bool add) {
  TRY(session.call("PATCH", "/api/v1/namespaces/kubeflow", json::serialize(label_patch(add)),
                   "application/merge-patch+json"));
  return {};
}

Result<void> make_profile(ApiSession& session) {
  json::Object owner{{"kind", "User"}, {"name", "anonymous@kubeflow.org"}};
  Result<void> made = create_one(session, kProfileKind, "",
                                 json::Object{{"metadata", json::Object{{"name", kUser}}},
                                              {"spec", json::Object{{"owner", std::move(owner)}}}});
  if (made || made.error().code == Code::already_exists) return {};
  return made;
}

// The namespace comes with the profile, a moment later.
Result<void> await_namespace(ApiSession& session) {
  constexpr int kAttempts = 150, kInterval = 200;  // milliseconds
  for (int i = 0; i < kAttempts; ++i) {
    Result<json::Value> got = session.call("GET", std::string("/api/v1/namespaces/") + kUser);
    if (got) return {};
    if (got.error().code != Code::not_found) return std::unexpected(got.error());
    ::poll(nullptr, 0, kInterval);
  }
  return fail(Code::timeout, "the profile " + std::string(kUser) + " has no namespace yet");
}

}  // namespace

Result<std::vector<std::string>> applications_of(const std::string& file) {
  Result<std::string> text = text_of(file);
  if (text) return parse_kf_def(file, *text);
  if (!is_url(file) || !is_known_release(file)) return std::unexpected(text.error());
  std::fprintf(stderr, "%s cannot be fetched; its applications are known: %s\n", file.c_str(),
               text.error().message.c_str());
  return known_applications();
}

Result<void> write_kf_app(const std::vector<std::string>& applications) {
  json::Array list;
  for (const std::string& name : applications) list.push_back(json::Object{{"name", name}});
  const json::Object app{{"apiVersion", "kfdef.apps.kubeflow.org/v1"},
                         {"kind", "KfDef"},
                         {"metadata", json::Object{{"namespace", "kubeflow"}}},
                         {"spec", json::Object{{"applications", std::move(list)}}}};
  return write_file_atomically(kAppFile, json::to_yaml(app), 0644);
}

Result<void> deploy(ApiSession& session, const std::vector<std::string>& applications,
                    bool verbose) {
  TRY(label_namespace(session, true));
  for (const std::string& name : applications) TRY(deploy_one(session, name, verbose));
  TRY(make_profile(session));
  TRY(await_namespace(session));
  std::printf("Applied the configuration successfully!\n");
  return {};
}

Result<void> undeploy(ApiSession& session) {
  TRY(label_namespace(session, false));
  Result<void> gone = delete_one(session, kProfileKind, {"", kUser});
  if (!gone && gone.error().code != Code::not_found) return gone;
  ::unlink(kAppFile);
  std::printf("The profile %s is removed; what is built into Hekla stays\n", kUser);
  return {};
}

}  // namespace hekla::cli
