#include "agent/pod/worker/image_pull.h"

#include <set>

#include "base/bytes.h"
#include "base/check.h"
#include "base/log.h"
#include "model/program_image.h"
#include "model/time.h"

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

// Docker's registry goes without saying.
std::string_view usual_name(std::string_view image) {
  for (std::string_view prefix : {"docker.io/", "index.docker.io/"})
    if (image.starts_with(prefix)) image.remove_prefix(prefix.size());
  return image;
}

// A mapping's words count for more than the image's.
void lay_over(const ImageConfig& said, ImageConfig& config) {
  if (!said.user.empty()) config.user = said.user;
  if (!said.working_dir.empty()) config.working_dir = said.working_dir;
  if (!said.entrypoint.empty()) {
    config.entrypoint = said.entrypoint;
    config.cmd.clear();
  }
  if (!said.cmd.empty()) config.cmd = said.cmd;
  for (const std::string& entry : said.env) {
    const std::string name = entry.substr(0, entry.find('=') + 1);
    std::erase_if(config.env, [&](const std::string& old) { return old.starts_with(name); });
    config.env.push_back(entry);
  }
}

}  // namespace

void ImagePull::prepare(std::size_t container, std::function<void()> next) {
  const model::Container& spec = *state_.spec_of(container);
  next_ = std::move(next);
  image_.reset();
  message_ = "Container image \"" + spec.image + "\" already present on machine";
  const HostImageSpec* mapped = state_.context.images.find(spec.image);
  if (mapped && mapped->is_host()) return go_on();
  Result<ImageReference> image = parse_reference(spec.image);
  if (!image)
    return refuse(container,
                  {"InvalidImageName", "Failed to apply default image tag \"" + spec.image +
                                           "\": couldn't parse image name \"" + spec.image +
                                           "\": " + image.error().message},
                  "InspectFailed");
  if (announce_back_off(spec)) return state_.step();
  if (mapped && !mapped->recipe.empty()) return make(container, *mapped);
  const HostImageSpec* usual =
      mapped ? nullptr : state_.context.usual_images.find(usual_name(spec.image));
  const std::string policy = pull_policy(spec.imagePullPolicy, *image);
  if (policy == "Always" && !usual) return pull(container, *image);
  find(container, *image, policy, usual);
}

// Time for the next try after a failure: people see that we wait before they see that we try.
bool ImagePull::announce_back_off(const model::Container& spec) {
  auto held = state_.holds.find(spec.name);
  if (held == state_.holds.end() || held->second.why.reason != "ErrImagePull") return false;
  state_.event("Normal", "BackOff", "Back-off pulling image \"" + spec.image + "\"");
  state_.event("Warning", "Failed", "Error: ImagePullBackOff");
  state_.hold(spec.name,
              {"ImagePullBackOff", "Back-off pulling image \"" + spec.image +
                                       "\": ErrImagePull: " + held->second.why.message},
              pull_delay(failures_[spec.name]));
  return true;
}

void ImagePull::find(std::size_t container, const ImageReference& image, const std::string& policy,
                     const HostImageSpec* otherwise) {
  state_.begin_work();
  auto found = [this, container, policy, image,
                otherwise](Result<std::optional<StoredImage>> here) {
    state_.end_work();
    if (state_.ending != Ending::no) return state_.step();
    if (here && !*here && otherwise) return make(container, *otherwise);
    if (here && *here && policy != "Always") {
      image_ = std::move(**here);
      return go_on();
    }
    if (policy != "Never") return pull(container, image);
    refuse(container,
           {"ErrImageNeverPull", "Container image \"" + state_.spec_of(container)->image +
                                     "\" is not present with pull policy of Never"},
           "ErrImageNeverPull");
  };
  state_.context.machine.find_image(image, state_.guarded(std::move(found)));
}

void ImagePull::make(std::size_t container, const HostImageSpec& mapped) {
  state_.begin_work();
  pulling_ = true;
  const int number = ++number_;
  auto progress = [this, container, number](const std::string& text) {
    if (number_ == number) make_progress(container, text);
  };
  auto done = [this, container, number, &mapped](Result<StoredImage> image) {
    if (number_ == number) made(container, mapped, std::move(image));
  };
  state_.context.machine.make_image(mapped.recipe, state_.guarded(std::move(progress)),
                                    state_.guarded(std::move(done)));
}

// The first word is what it will cost; each is the reason why the container waits.
void ImagePull::make_progress(std::size_t container, const std::string& text) {
  const model::Container& spec = *state_.spec_of(container);
  auto held = state_.holds.find(spec.name);
  if (held == state_.holds.end() || held->second.why.reason != model::kImageBuilding)
    state_.event("Normal", "Building",
                 "Building image \"" + spec.image + "\" by a recipe: " + text);
  state_.holds[spec.name] = {state_.now(), {std::string(model::kImageBuilding), text}};
  state_.report();
}

void ImagePull::made(std::size_t container, const HostImageSpec& mapped,
                     Result<StoredImage> image) {
  const model::Container& spec = *state_.spec_of(container);
  if (auto held = state_.holds.find(spec.name);
      held != state_.holds.end() && held->second.why.reason == model::kImageBuilding)
    state_.holds.erase(held);
  state_.end_work();
  pulling_ = false;
  if (!image) return pull_failed(container, image.error().message);
  failures_.erase(spec.name);
  image_ = std::move(*image);
  message_ = "Container image \"" + spec.image + "\" is " + image_->name;
  lay_over(mapped.config, image_->config);
  go_on();
}

// No waiting changes it by itself; it is said again, and tried again, all the same.
void ImagePull::refuse(std::size_t container, const Refusal& why, const char* event) {
  state_.event("Warning", event, why.message);
  state_.event("Warning", "Failed", "Error: " + why.reason);
  state_.hold(state_.record.containers[container].name, {why.reason, why.message}, kFirstPullDelay);
  state_.step();
}

void ImagePull::pull(std::size_t container, const ImageReference& image) {
  state_.event("Normal", "Pulling", "Pulling image \"" + state_.spec_of(container)->image + "\"");
  state_.begin_work();
  pulling_ = true;
  const int number = ++number_;
  auto pull_with = [this, container, image, number](Result<PodSources> sources) {
    if (number_ != number) return;
    if (!sources) return pulled(container, {}, std::unexpected(sources.error()));
    auto done = [this, container, number, begun = state_.now()](Result<StoredImage> result) {
      if (number_ == number) pulled(container, begun, std::move(result));
    };
    state_.context.machine.pull_image(image, logins_of(*sources, state_.described()),
                                      state_.guarded(std::move(done)));
  };
  fetch_sources(state_.context.client, state_.context.token_source,
                SourceFetch{state_.record.ns, pull_secrets(*state_.pod), {}},
                state_.guarded(std::move(pull_with)));
}

// The next container may be prepared before `next` returns.
void ImagePull::go_on() { std::exchange(next_, nullptr)(); }

void ImagePull::give_up() {
  CHECK(pulling_, "a pull that is given up has begun");
  ++number_;
  pulling_ = false;
  state_.end_work();
}

void ImagePull::pulled(std::size_t container, WallTime begun, Result<StoredImage> image) {
  state_.end_work();
  pulling_ = false;
  if (!image) return pull_failed(container, image.error().message);
  const model::Container& spec = *state_.spec_of(container);
  const std::string took = model::format_go_duration(
      std::chrono::floor<std::chrono::milliseconds>(state_.now() - begun));
  message_ = "Successfully pulled image \"" + spec.image + "\" in " + took + " (" + took +
             " including waiting). Image size: " + std::to_string(image->size) + " bytes.";
  failures_.erase(spec.name);
  image_ = std::move(*image);
  go_on();
}

void ImagePull::pull_failed(std::size_t container, const std::string& why) {
  const model::Container& spec = *state_.spec_of(container);
  ++failures_[spec.name];
  state_.event("Warning", "Failed", "Failed to pull image \"" + spec.image + "\": " + why);
  state_.event("Warning", "Failed", "Error: ErrImagePull");
  state_.hold(spec.name, {"ErrImagePull", why}, kFirstPullDelay);
  state_.step();
}

}  // namespace hekla::agent
