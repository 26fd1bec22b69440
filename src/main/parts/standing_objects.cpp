#include "main/parts/standing_objects.h"

#include "base/log.h"
#include "framework/writes.h"

namespace hekla {
namespace {

using framework::AnyObject;

// Clients that delete something and wait for its end must have time to see it gone.
constexpr std::chrono::seconds kReturnAfter{2};
constexpr std::chrono::milliseconds kLookAgain{250};

kube::CacheOptions in_namespace(const std::string& ns) { return {.ns = ns}; }

}  // namespace

StandingObjects::StandingObjects(kube::Client& client) : client_(client), caches_(client) {}

void StandingObjects::add(const kube::Resource& resource, json::Object object, bool alone) {
  const json::Value whole(object);
  const kube::Key key{json::text_at(whole, {"metadata", "namespace"}),
                      json::text_at(whole, {"metadata", "name"})};
  kube::Informer<AnyObject>& cache = caches_.of<AnyObject>(resource, in_namespace(key.ns));
  Standing one{.resource = resource, .key = key, .body = std::move(object)};
  one.there = [&cache, key] { return cache.get(key) != nullptr; };
  if (alone) one.wanted = [&cache, ns = key.ns] { return cache.in_namespace(ns).empty(); };
  all_.push_back(std::move(one));
}

void StandingObjects::add_endpoints(const std::string& ns, const std::string& service,
                                    json::Array subsets) {
  const kube::Key key{ns, service};
  kube::Informer<AnyObject>& services =
      caches_.of<AnyObject>(kube::resources::services, in_namespace(ns));
  kube::Informer<AnyObject>& endpoints =
      caches_.of<AnyObject>(kube::resources::endpoints, in_namespace(ns));
  const json::Value wanted(subsets);
  Standing one{.resource = kube::resources::endpoints, .key = key};
  one.body = {{"apiVersion", "v1"},
              {"kind", "Endpoints"},
              {"metadata", json::Object{{"name", service}, {"namespace", ns}}},
              {"subsets", std::move(subsets)}};
  one.applied = true;
  one.wanted = [&services, key] {
    const auto found = services.get(key);
    const json::Object* selector = found ? json::object_at(found->spec, {"selector"}) : nullptr;
    return found && (!selector || selector->empty());
  };
  one.there = [&endpoints, key, wanted] {
    const auto found = endpoints.get(key);
    const json::Value* held = found ? found->rest.if_contains("subsets") : nullptr;
    return held && json::equal(*held, wanted);
  };
  all_.push_back(std::move(one));
}

void StandingObjects::start() {
  for (const Standing& one : all_)
    caches_.of<AnyObject>(one.resource, in_namespace(one.key.ns)).on_settled([this] { look(); });
  caches_.start();
}

// Objects that are made for the first time are not waited for.
void StandingObjects::look() {
  if (!caches_.synced()) return;
  const MonoTime now = client_.executor().clock().mono();
  bool waiting = false;
  for (Standing& one : all_) {
    if (one.there() || (one.wanted && !one.wanted())) {
      one.seen = true;
      one.missing_since.reset();
      continue;
    }
    if (!one.missing_since) one.missing_since = now;
    if (!one.seen || one.applied || now - *one.missing_since >= kReturnAfter) make(one);
    waiting = true;
  }
  if (!waiting || std::exchange(looking_, true)) return;
  client_.executor().post_after(kLookAgain, [this, alive = std::weak_ptr(alive_)] {
    if (!alive.lock()) return;
    looking_ = false;
    look();
  });
}

// The namespace may be gone for a while, and somebody else may be quicker: the next look is right.
void StandingObjects::make(const Standing& one) {
  const auto report = [name = one.key.name](const kube::WriteResult& result) {
    if (!result && result.error().code != Code::already_exists)
      log_debug("main", "an object of the platform's own was not written",
                {{"name", name}, {"error", result.error().message}});
  };
  client_.write(one.applied ? framework::apply_patch(one.resource, one.key.ns, one.body)
                            : framework::create(one.resource, one.key.ns, one.body),
                report);
}

}  // namespace hekla
