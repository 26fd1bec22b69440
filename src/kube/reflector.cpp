#include "base/log.h"
#include "kube/informer.h"

namespace hekla::kube {

// Shared with the callbacks of calls in flight, which hold it weakly: whatever answers after the
// reflector is gone finds nobody.
struct Reflector::State : std::enable_shared_from_this<State> {
  static constexpr Nanos kFirstBackoff = std::chrono::milliseconds(50);
  static constexpr Nanos kLongestBackoff = std::chrono::seconds(10);

  Client& client;
  Resource resource;
  ListOptions options;
  Sink sink;
  std::unique_ptr<Watch> watch;
  std::uint64_t resource_version = 0;
  Nanos backoff = kFirstBackoff;
  bool is_synced = false, is_absent = false, was_served = false;

  State(Client& c, Resource r, ListOptions o, Sink s)
      : client(c), resource(std::move(r)), options(std::move(o)), sink(std::move(s)) {}

  void list() {
    client.list(resource, options, [weak = weak_from_this()](Result<List> result) {
      if (auto self = weak.lock()) self->listed(std::move(result));
    });
  }

  void listed(Result<List> result) {
    if (!result) {
      if (result.error().code == Code::not_found) vanish();
      return retry(result.error());
    }
    if (is_absent && was_served)
      log_info("kube", "a resource is served again", {{"resource", name()}});
    backoff = kFirstBackoff;
    resource_version = result->resource_version;
    is_synced = was_served = true;
    is_absent = false;
    sink.replace(std::move(*result));
    sink.settled();
    open_watch();
  }

  std::string name() const {
    return resource.group.empty() ? resource.plural : resource.plural + "." + resource.group;
  }

  // The server does not know the resource: its CRD was deleted, or is not there yet. What was
  // listed is gone with it, and the rest of the component goes on; asked again until it is back.
  void vanish() {
    const bool is_first = !std::exchange(is_absent, true);
    if (is_synced && is_first) {
      log_warn("kube", "a resource is no longer served; going on without it until it is back",
               {{"resource", name()}});
      sink.replace({resource_version, {}});
    }
    sink.settled();
  }

  void open_watch() {
    WatchOptions watch_options{options.ns, options.label_selector, options.field_selector,
                               resource_version};
    WatchCallbacks callbacks;
    callbacks.on_events = [this](const std::vector<WatchEvent>& events) {
      backoff = kFirstBackoff;
      for (const WatchEvent& event : events) {
        resource_version = event.resource_version;
        sink.apply(event);
      }
      sink.settled();
    };
    callbacks.on_error = [this](const Error& error) { retry(error); };
    watch = client.watch(resource, watch_options, std::move(callbacks));
  }

  // An expired watch needs a new list; any other error resumes from the last seen revision.
  void retry(const Error& error) {
    const bool relist =
        !is_synced || is_absent || error.code == Code::expired || error.code == Code::not_found;
    if (error.code != Code::expired)
      log_debug("kube", "watch interrupted",
                {{"resource", resource.plural}, {"error", error.message}});
    Nanos delay = error.code == Code::expired ? Nanos(0) : backoff;
    backoff = std::min(backoff * 2, kLongestBackoff);
    client.executor().post_after(delay, [weak = weak_from_this(), relist] {
      auto self = weak.lock();
      if (!self) return;
      self->watch.reset();
      if (relist)
        self->list();
      else
        self->open_watch();
    });
  }
};

Reflector::Reflector(Client& client, Resource resource, ListOptions options, Sink sink)
    : state_(std::make_shared<State>(client, std::move(resource), std::move(options),
                                     std::move(sink))) {}

Reflector::~Reflector() = default;

void Reflector::start() { state_->list(); }

bool Reflector::synced() const { return state_->is_synced; }

bool Reflector::absent() const { return state_->is_absent; }

}  // namespace hekla::kube
