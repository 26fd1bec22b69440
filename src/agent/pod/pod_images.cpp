// How a pod worker gets its containers' images: pull policies, and the kubelet's words for what can
// go wrong.
#include <charconv>
#include <cstdio>

#include "agent/pod/pod_worker.h"
#include "base/bytes.h"
#include "base/log.h"

namespace hekla::agent {
namespace {

constexpr std::chrono::seconds kFirstPullDelay{10}, kLongestPullDelay{300};
constexpr const char* kLoginKeys[] = {".dockerconfigjson", ".dockercfg"};

Nanos pull_delay(int failures) {
  Nanos delay = kFirstPullDelay;
  for (int i = 1; i < failures && delay < kLongestPullDelay; ++i) delay *= 2;
  return std::min<Nanos>(delay, kLongestPullDelay);
}

std::set<SourceRef> pull_secrets(const model::Pod& pod) {
  std::set<SourceRef> out;
  for (const json::Value& secret : pod.spec.imagePullSecrets)
    if (std::string_view name = json::string_at(secret, {"name"}); !name.empty())
      out.insert({SourceKind::secret, std::string(name)});
  return out;
}

RegistryLogins logins_of(const PodSources& sources, const std::string& pod) {
  RegistryLogins logins;
  for (const auto& [name, secret] : sources.secrets) {
    for (const char* key : kLoginKeys) {
      auto found = secret.data.find(key);
      if (found == secret.data.end()) continue;
      std::optional<std::string> text = base64_decode(found->second);
      if (!text || !logins.add(*text))
        log_warn("agent", "read an image pull secret", {{"pod", pod}, {"secret", name}});
    }
  }
  return logins;
}

bool is_all_digits(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

}  // namespace

Result<void> PodWorker::check_non_root(const BundleSpec& bundle, const std::string& image_user,
                                       const std::string& container) const {
  if (!bundle.security.non_root_required) return {};
  const std::string where = " (pod: \"" + described() + "\", container: " + container + ")";
  const std::string user = image_user.substr(0, image_user.find(':'));
  if (!bundle.security.uid_given && !user.empty()) {
    if (!is_all_digits(user))
      return fail(Code::invalid, "container has runAsNonRoot and image has non-numeric user (" +
                                     user + "), cannot verify user is non-root" + where);
    if (user.find_first_not_of('0') != std::string::npos) return {};
  } else if (bundle.security.uid != 0) {
    return {};
  }
  if (bundle.security.uid_given)
    return fail(Code::invalid, "container's runAsUser breaks non-root policy" + where);
  return fail(Code::invalid, "container has runAsNonRoot and image will run as root" + where);
}

void PodWorker::launch_from_registry(std::size_t container) {
  const model::Container& spec = *container_spec(*pod_, record_.containers[container]);
  Result<ImageReference> image = parse_reference(spec.image);
  if (!image) {
    const std::string why = "Failed to apply default image tag \"" + spec.image +
                            "\": couldn't parse image name \"" + spec.image +
                            "\": " + image.error().message;
    return image_refused(container, "InvalidImageName", "InspectFailed", why);
  }
  // Time for the next try after a failure: people see that we wait before they see that we try.
  auto held = holds_.find(spec.name);
  if (held != holds_.end() && held->second.why.reason == "ErrImagePull") {
    event("Normal", "BackOff", "Back-off pulling image \"" + spec.image + "\"");
    event("Warning", "Failed", "Error: ImagePullBackOff");
    hold(spec.name,
         {"ImagePullBackOff", "Back-off pulling image \"" + spec.image +
                                  "\": ErrImagePull: " + held->second.why.message},
         pull_delay(pull_failures_[spec.name]));
    return step();
  }
  const std::string policy = pull_policy(spec.imagePullPolicy, *image);
  if (policy == "Always") return pull_image(container, *image);
  busy_ = true;
  context_.machine.find_image(*image, [self = weak_from_this(), container, policy,
                                       image = *image](Result<std::optional<StoredImage>> found) {
    auto worker = self.lock();
    if (!worker) return;
    worker->busy_ = false;
    if (worker->ending_ != Ending::no) return worker->step();
    const std::string text =
        container_spec(*worker->pod_, worker->record_.containers[container])->image;
    if (found && *found) {
      worker->image_ = std::move(**found);
      return worker->fetch_and_launch(container);
    }
    if (policy == "Never")
      return worker->image_refused(
          container, "ErrImageNeverPull", "ErrImageNeverPull",
          "Container image \"" + text + "\" is not present with pull policy of Never");
    worker->pull_image(container, image);
  });
}

// What no waiting changes by itself; it is said again, and tried again, all the same.
void PodWorker::image_refused(std::size_t container, const char* state, const char* reason,
                              const std::string& message) {
  const std::string& name = record_.containers[container].name;
  event("Warning", reason, message);
  event("Warning", "Failed", std::string("Error: ") + state);
  hold(name, {state, message}, kFirstPullDelay);
  step();
}

void PodWorker::pull_image(std::size_t container, const ImageReference& image) {
  const model::Container& spec = *container_spec(*pod_, record_.containers[container]);
  event("Normal", "Pulling", "Pulling image \"" + spec.image + "\"");
  busy_ = pulling_ = true;
  const int number = ++pulls_;
  SourceFetch fetch{record_.ns, pull_secrets(*pod_), {}};
  fetch_sources(context_.client, context_.token_source, std::move(fetch),
                [self = weak_from_this(), container, image, number](Result<PodSources> sources) {
                  auto worker = self.lock();
                  if (!worker || worker->pulls_ != number) return;
                  if (!sources) {
                    worker->busy_ = worker->pulling_ = false;
                    return worker->pull_failed(container, sources.error().message);
                  }
                  worker->context_.machine.pull_image(
                      image, logins_of(*sources, worker->described()),
                      [self, container, number, begun = worker->now()](Result<StoredImage> result) {
                        if (auto again = self.lock(); again && again->pulls_ == number)
                          again->pulled(container, begun, std::move(result));
                      });
                });
}

void PodWorker::pulled(std::size_t container, WallTime begun, Result<StoredImage> image) {
  busy_ = pulling_ = false;
  if (!image) return pull_failed(container, image.error().message);
  const model::Container& spec = *container_spec(*pod_, record_.containers[container]);
  const std::string took =
      model::format_go_duration(std::chrono::floor<std::chrono::milliseconds>(now() - begun));
  pulled_message_ = "Successfully pulled image \"" + spec.image + "\" in " + took + " (" + took +
                    " including waiting). Image size: " + std::to_string(image->size) + " bytes.";
  pull_failures_.erase(spec.name);
  image_ = std::move(*image);
  fetch_and_launch(container);
}

void PodWorker::pull_failed(std::size_t container, const std::string& why) {
  const model::Container& spec = *container_spec(*pod_, record_.containers[container]);
  ++pull_failures_[spec.name];
  event("Warning", "Failed", "Failed to pull image \"" + spec.image + "\": " + why);
  event("Warning", "Failed", "Error: ErrImagePull");
  hold(spec.name, {"ErrImagePull", why}, kFirstPullDelay);
  step();
}

}  // namespace hekla::agent
