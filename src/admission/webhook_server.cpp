#include "admission/webhook_server.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <set>

#include "admission/conversion_review.h"
#include "admission/pod_defaults.h"
#include "admission/resource_groups.h"
#include "json/parse.h"

namespace hekla::admission {
namespace {

// A watched resource as it was sent.
class ObjectCache {
 public:
  ObjectCache(kube::Client& client, const kube::Resource& resource, kube::ListOptions options = {})
      : resource_(resource),
        reflector_(client, resource, std::move(options),
                   {[this](kube::List list) {
                      objects_.clear();
                      for (kube::ObjectPtr& object : list.items) put(std::move(object));
                    },
                    [this](const kube::WatchEvent& event) {
                      if (!event.object) return;
                      if (event.type == kube::WatchEvent::Type::deleted)
                        objects_.erase({event.object->ns, event.object->name});
                      else
                        put(event.object);
                    },
                    [] {}}) {}
  void start() { reflector_.start(); }
  bool synced() const { return reflector_.synced(); }
  const kube::Resource& resource() const { return resource_; }
  kube::ObjectPtr get(const kube::Key& key) const {
    auto found = objects_.find(key);
    return found == objects_.end() ? nullptr : found->second;
  }
  const std::map<kube::Key, kube::ObjectPtr>& all() const { return objects_; }

 private:
  void put(kube::ObjectPtr object) {
    kube::Key key{object->ns, object->name};
    objects_[std::move(key)] = std::move(object);
  }
  kube::Resource resource_;
  std::map<kube::Key, kube::ObjectPtr> objects_;
  kube::Reflector reflector_;
};

using Asked = std::pair<kube::Resource, kube::Key>;

// What a step reads may tell it what else to read.
constexpr int kRoundsMax = 4;

// The caches, what was fetched for this review, and what was missed.
class CachedReader final : public kube::AdmissionReader {
 public:
  explicit CachedReader(const std::vector<const ObjectCache*>& caches) : caches_(caches) {}

  Result<kube::SharedValue> get(const kube::Resource& resource,
                                const kube::Key& key) const override {
    if (auto fetched = fetched_.find({resource.plural, key}); fetched != fetched_.end())
      return parsed(fetched->second);
    const ObjectCache* cache = cache_of(resource);
    if (kube::ObjectPtr object = cache ? cache->get(key) : nullptr) return parsed(object);
    missed_.push_back({resource, key});
    return fail(Code::not_found, resource.plural + " \"" + key.name + "\" not found");
  }
  Result<std::vector<kube::SharedValue>> list(const kube::Resource& resource,
                                              const std::string& ns) const override {
    const ObjectCache* cache = cache_of(resource);
    if (!cache) return fail(Code::internal, resource.plural + " are not watched here");
    std::vector<kube::SharedValue> all;
    for (const auto& [key, object] : cache->all())
      if (ns.empty() || key.ns == ns) all.push_back(TRY(parsed(object)));
    return all;
  }
  void fetched(const Asked& asked, Result<kube::ObjectPtr> object) {
    fetched_.insert_or_assign({asked.first.plural, asked.second}, std::move(object));
  }
  std::vector<Asked> take_missed() { return std::move(missed_); }

 private:
  static Result<kube::SharedValue> parsed(const Result<kube::ObjectPtr>& object) {
    if (!object) return std::unexpected(object.error());
    return std::make_shared<const json::Value>(TRY(json::parse(*(*object)->json)));
  }
  const ObjectCache* cache_of(const kube::Resource& resource) const {
    for (const ObjectCache* cache : caches_)
      if (cache->resource() == resource) return cache;
    return nullptr;
  }
  const std::vector<const ObjectCache*>& caches_;
  std::map<std::pair<std::string, kube::Key>, Result<kube::ObjectPtr>> fetched_;
  mutable std::vector<Asked> missed_;
};

net::Response respond_with(int status, std::string body, const char* type) {
  net::Response response;
  response.status = status;
  response.headers.set("Content-Type", type);
  response.body = std::move(body);
  return response;
}

}  // namespace

struct WebhookServer::State : std::enable_shared_from_this<State> {
  kube::Client& client;
  Settings settings;
  std::vector<const Step*> steps;
  ObjectCache queues, namespaces, configuration;
  ObjectCache defaults;  // need not be served, so nobody waits for them
  std::vector<ObjectCache*> started;
  std::vector<const ObjectCache*> caches;

  State(kube::Client& c, Settings s, std::vector<const Step*> st)
      : client(c),
        settings(std::move(s)),
        steps(std::move(st)),
        queues(c, kube::resources::queues),
        namespaces(c, kube::resources::namespaces),
        configuration(c, kube::resources::config_maps,
                      {std::string(kConfigurationNamespace), "",
                       "metadata.name=" + std::string(kConfigurationMap)}),
        defaults(c, pod_defaults) {
    // A server for training jobs alone need not be allowed to see all this.
    if (is_about([](const kube::Resource& one) { return one.group.ends_with("volcano.sh"); }))
      started = {&queues, &namespaces, &configuration};
    if (is_about([](const kube::Resource& one) { return one == kube::resources::pods; }))
      started = {&queues, &namespaces, &configuration, &defaults};
    caches.assign(started.begin(), started.end());
  }

  template <class Matches>
  bool is_about(Matches matches) const {
    return std::ranges::any_of(steps, [&](const Step* step) {
      return std::ranges::any_of(step->resources, [&](const kube::Resource* resource) {
        return resource != nullptr && matches(*resource);
      });
    });
  }

  bool synced() const {
    return std::all_of(caches.begin(), caches.end(), [this](const ObjectCache* cache) {
      return cache == &defaults || cache->synced();
    });
  }

  struct Review {
    const Step* step;
    json::Value body;
    CachedReader reader;
    std::shared_ptr<net::ResponseWriter> writer;
    int rounds = 0;
  };

  void take(const net::Request& request, const std::shared_ptr<net::ResponseWriter>& writer) {
    if (request.path == kConversionPath) return convert(request, writer);
    auto step = std::find_if(steps.begin(), steps.end(),
                             [&](const Step* one) { return one->path == request.path; });
    if (step == steps.end())
      return writer->respond(respond_with(404, "404 page not found\n", "text/plain"));
    if (request.method != "POST")
      return writer->respond(respond_with(405, "reviews are posted\n", "text/plain"));
    if (!synced())
      return writer->respond(respond_with(
          503, "still starting: queues and namespaces are not read yet\n", "text/plain"));
    Result<json::Value> body = json::parse(request.body);
    if (!body) return writer->respond(respond_with(400, body.error().message + "\n", "text/plain"));
    answer(std::make_shared<Review>(Review{*step, std::move(*body), CachedReader(caches), writer}));
  }

  static void convert(const net::Request& request,
                      const std::shared_ptr<net::ResponseWriter>& writer) {
    Result<json::Value> review = json::parse(request.body);
    Result<json::Value> answer =
        review ? answer_conversion(*review) : std::unexpected(review.error());
    writer->respond(answer ? respond_with(200, json::serialize(*answer), "application/json")
                           : respond_with(400, answer.error().message + "\n", "text/plain"));
  }

  void answer(const std::shared_ptr<Review>& review) {
    ReviewContext context{settings, review->reader, client.executor().clock().wall()};
    Result<json::Value> answered = answer_review(*review->step, review->body, context);
    std::vector<Asked> missed = review->reader.take_missed();
    if (!missed.empty() && review->rounds < kRoundsMax) return ask(review, std::move(missed));
    review->writer->respond(answered
                                ? respond_with(200, json::serialize(*answered), "application/json")
                                : respond_with(400, answered.error().message + "\n", "text/plain"));
  }

  void ask(const std::shared_ptr<Review>& review, std::vector<Asked> missed) {
    ++review->rounds;
    auto open = std::make_shared<std::size_t>(missed.size());
    for (const Asked& one : missed)
      client.get(one.first, one.second,
                 [weak = weak_from_this(), review, one, open](Result<kube::ObjectPtr> object) {
                   review->reader.fetched(one, std::move(object));
                   if (--*open > 0) return;
                   if (auto self = weak.lock()) self->answer(review);
                 });
  }
};

WebhookServer::WebhookServer(kube::Client& client, Settings settings,
                             std::vector<const Step*> steps)
    : state_(std::make_shared<State>(client, std::move(settings), std::move(steps))) {}

WebhookServer::~WebhookServer() = default;

void WebhookServer::start() {
  for (ObjectCache* cache : state_->started) cache->start();
}

bool WebhookServer::synced() const { return state_->synced(); }

net::Handler WebhookServer::handler() {
  return [weak = std::weak_ptr(state_), &executor = state_->client.executor()](
             net::Request request, std::shared_ptr<net::ResponseWriter> writer) {
    Task task = [weak, request = std::move(request), writer] {
      if (auto self = weak.lock()) self->take(request, writer);
    };
    if (!executor.try_post(task))
      writer->respond(respond_with(429, "too many reviews at once\n", "text/plain"));
  };
}

}  // namespace hekla::admission
