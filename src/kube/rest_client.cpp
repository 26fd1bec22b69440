// kube::Client over HTTP. Answers are decoded on the HTTP client's threads and posted, ready to
// use, to the owner's executor.
#include "kube/rest_client.h"

#include <deque>
#include <map>
#include <mutex>

#include "base/check.h"
#include "base/log.h"
#include "json/parse.h"
#include "kube/rest/flow.h"
#include "kube/rest/rest_wire.h"

namespace hekla::kube {
namespace {

constexpr int kPageSize = 500;
constexpr int kTriesMax = 5;  // of a write that the server is too busy for
constexpr auto kFirstPause = std::chrono::milliseconds(250);
constexpr std::size_t kMaxEventBytes = 64u << 20;
constexpr std::size_t kMaxStatusBytes = 1u << 20;
constexpr std::size_t kMaxEventsWaiting = 100'000;  // for a loop that does not keep up

// The state that requests in flight share with their client.
struct Link {
  std::string server;
  std::string component;
  Executor& executor;
  std::shared_ptr<Flow> flow;
  // Null once the client is gone. Recursive: an answer may come before send() has returned.
  std::recursive_mutex mutex;
  net::Client* http = nullptr;
  bool alive = true;  // touched on the executor only

  // The last revision of watches that have ended, by set_of(): the list that follows need be no
  // newer, and is then no read of the server's store. Taken once, so that a server that was set
  // back is asked for what it has.
  std::map<std::string, std::uint64_t> seen;
  std::uint64_t take_seen(const std::string& set) {
    std::lock_guard lock(mutex);
    auto found = seen.extract(set);
    return found.empty() ? 0 : found.mapped();
  }

  void note_seen(const std::string& set, std::uint64_t revision) {
    std::lock_guard lock(mutex);
    seen[set] = revision;
  }

  // False, and `done` is never called: the client is gone.
  bool send(const net::ClientRequest& request, std::function<void(Result<net::Response>)> done) {
    std::lock_guard lock(mutex);
    if (http != nullptr) http->send(request, std::move(done));
    return http != nullptr;
  }

  net::ClientRequest addressed(net::ClientRequest request) const {
    request.url = server + request.url;
    request.headers.add("User-Agent", component);
    return request;
  }
  template <class T>
  void count(const char* verb, const Resource& resource, const Result<T>& result) const {
    if (flow->metrics() == nullptr) return;
    flow->metrics()->count(
        "hekla_api_requests_total",
        {{"verb", verb},
         {"resource", resource.plural},
         {"outcome", result ? "OK" : std::string(reason_of(result.error().code))}});
  }
};
using LinkPtr = std::shared_ptr<Link>;

// Runs `done` with `result` on the executor, unless the client is gone by then.
template <class Done, class T>
void deliver(const LinkPtr& link, std::shared_ptr<Done> done, T result) {
  link->executor.post([link, done = std::move(done), result = std::move(result)]() mutable {
    if (link->alive) (*done)(std::move(result));
  });
}

// One for each set of objects that is listed and watched.
std::string set_of(const Resource& resource, const std::string& ns, const std::string& labels,
                   const std::string& fields) {
  return resource_path(resource, ns) + "?" + labels + "&" + fields;
}

class ListRun : public std::enable_shared_from_this<ListRun> {
 public:
  using Done = std::move_only_function<void(Result<List>)>;
  ListRun(LinkPtr link, Resource resource, ListOptions options, Done done)
      : link_(std::move(link)),
        resource_(std::move(resource)),
        options_(std::move(options)),
        done_(std::make_shared<Done>(std::move(done))),
        no_older_than_(link_->take_seen(
            set_of(resource_, options_.ns, options_.label_selector, options_.field_selector))) {}

  void next() {
    net::ClientRequest request = link_->addressed(
        list_request(resource_, options_, limit_, continue_token_, no_older_than_));
    link_->send(request, [self = shared_from_this(), request](Result<net::Response> response) {
      self->on_page(decode_page(self->resource_, request, response));
    });
  }

 private:
  void on_page(Result<ListPage> page) {
    link_->count("list", resource_, page);
    if (!page && page.error().code == Code::expired && !continue_token_.empty()) {
      // The server has forgotten the revision of the first page: all of it in one piece, then.
      list_ = {};
      limit_ = 0;
      continue_token_.clear();
      return next();
    }
    if (!page) return deliver(link_, done_, Result<List>(std::unexpected(std::move(page).error())));
    list_.resource_version = page->resource_version;
    std::move(page->items.begin(), page->items.end(), std::back_inserter(list_.items));
    continue_token_ = std::move(page->continue_token);
    if (!continue_token_.empty()) return next();
    deliver(link_, done_, Result<List>(std::move(list_)));
  }

  LinkPtr link_;
  Resource resource_;
  ListOptions options_;
  std::shared_ptr<Done> done_;
  List list_;
  const std::uint64_t no_older_than_;
  int limit_ = kPageSize;
  std::string continue_token_;
};

// The stream's callbacks run one at a time on a net thread; the executor takes what they have
// gathered.
class WatchRun : public std::enable_shared_from_this<WatchRun> {
 public:
  WatchRun(LinkPtr link, Resource resource, const WatchOptions& options, WatchCallbacks callbacks)
      : link_(std::move(link)),
        resource_(std::move(resource)),
        set_(set_of(resource_, options.ns, options.label_selector, options.field_selector)),
        last_(options.resource_version),
        callbacks_(std::move(callbacks)) {}

  void on_head(int status, const net::Headers& headers) {
    refusal_.status = status;
    refusal_.headers = headers;
  }

  void on_data(std::string_view data) {
    if (refusal_.status != 200) {
      refusal_.body.append(
          data.substr(0, kMaxStatusBytes - std::min(kMaxStatusBytes, refusal_.body.size())));
      return;
    }
    std::vector<WatchEvent> events;
    std::optional<Error> error;
    while (!data.empty() && !error) {
      std::size_t newline = data.find('\n');
      std::string_view piece = data.substr(0, newline);
      data.remove_prefix(std::min(piece.size() + 1, data.size()));
      line_.append(piece);
      if (newline == std::string_view::npos) break;
      if (!line_.empty()) {
        Result<WatchEvent> event = decode_event(resource_, line_);
        if (event) {
          last_ = event->resource_version;
          events.push_back(std::move(*event));
        } else {
          error = std::move(event).error();
        }
      }
      line_.clear();
    }
    if (line_.size() > kMaxEventBytes)
      error = Error{Code::unavailable, "watching: an endless event"};
    gather(std::move(events), std::move(error));
  }

  void on_end(Result<void> outcome) {
    Error error;
    if (!outcome)
      error = outcome.error();
    else if (refusal_.status != 200)
      error = error_from("watching " + resource_.plural, refusal_);
    else
      error =
          Error{Code::unavailable, "watching " + resource_.plural + ": the server ended the watch"};
    gather({}, std::move(error));
  }

  // On the executor: no callback from here on.
  void stop() { stopped_ = true; }

 private:
  void gather(std::vector<WatchEvent> events, std::optional<Error> error) {
    std::lock_guard lock(mutex_);
    if (error_) return;
    std::move(events.begin(), events.end(), std::back_inserter(waiting_));
    if (waiting_.size() > kMaxEventsWaiting)
      error = Error{Code::unavailable,
                    "watching " + resource_.plural + ": too many events are waiting"};
    error_ = std::move(error);
    if (error_) link_->note_seen(set_, last_);
    if (posted_ || (waiting_.empty() && !error_)) return;
    posted_ = true;
    link_->executor.post([self = shared_from_this()] { self->hand_over(); });
  }

  void hand_over() {
    std::vector<WatchEvent> events;
    std::optional<Error> error;
    {
      std::lock_guard lock(mutex_);
      posted_ = false;
      events.swap(waiting_);
      error = error_;
    }
    if (!stopped_ && link_->alive && !events.empty()) callbacks_.on_events(std::move(events));
    if (!stopped_ && link_->alive && error) {
      stopped_ = true;
      callbacks_.on_error(std::move(*error));
    }
  }

  LinkPtr link_;
  Resource resource_;
  const std::string set_;
  std::uint64_t last_;  // seen; the stream's
  WatchCallbacks callbacks_;
  // The stream's.
  net::Response refusal_;
  std::string line_;
  // Between both.
  std::mutex mutex_;
  std::vector<WatchEvent> waiting_;
  std::optional<Error> error_;
  bool posted_ = false;
  // The executor's.
  bool stopped_ = false;
};

class RestWatch final : public Watch {
 public:
  RestWatch(std::shared_ptr<WatchRun> run, std::unique_ptr<net::StreamHandle> stream)
      : run_(std::move(run)), stream_(std::move(stream)) {}
  ~RestWatch() override { run_->stop(); }

 private:
  std::shared_ptr<WatchRun> run_;
  std::unique_ptr<net::StreamHandle> stream_;
};

const char* verb_of(const Write& write) {
  switch (write.verb) {
    case Write::Verb::create:
      return "create";
    case Write::Verb::update:
      return "update";
    case Write::Verb::patch:
      return "patch";
    case Write::Verb::remove:
      return "delete";
    case Write::Verb::bind:
      return "bind";
    case Write::Verb::evict:
      return "evict";
  }
  return "";
}

bool is_congestion(const WriteResult& result) {
  if (result) return false;
  const Code code = result.error().code;
  return code == Code::too_many_requests || code == Code::unavailable || code == Code::timeout;
}

// Writes as the process's flow lets them go. Those to one object go one after the other, in their
// order.
class BatchRun : public std::enable_shared_from_this<BatchRun> {
 public:
  BatchRun(LinkPtr link, std::vector<Write> writes, BatchDone done)
      : link_(std::move(link)),
        writes_(std::move(writes)),
        tries_(writes_.size()),
        results_(writes_.size(), WriteResult(ObjectPtr())),
        left_(writes_.size()),
        done_(std::make_shared<BatchDone>(std::move(done))) {}

  void start() {
    if (writes_.empty()) return deliver(link_, done_, std::move(results_));
    std::vector<std::size_t> first;
    for (std::size_t i = 0; i < writes_.size(); ++i) {
      std::deque<std::size_t>& line = lines_[object_key(writes_[i], i)];
      line.push_back(i);
      if (line.size() == 1) first.push_back(i);
    }
    for (std::size_t index : first) queue(index);
  }

 private:
  // An object that does not have its name yet is nobody else's.
  static std::string object_key(const Write& write, std::size_t index) {
    std::string path = resource_path(write.resource, write.key.ns, write.key.name);
    return write.key.name.empty() ? path + "#" + std::to_string(index) : path;
  }

  void queue(std::size_t index) {
    if (link_->flow->submit(lane_of(writes_[index]),
                            [self = shared_from_this(), index] { return self->send(index); }))
      return;
    settle(index, fail(Code::too_many_requests, "dropped: the server is busy with other writes"));
  }

  bool send(std::size_t index) {
    net::ClientRequest request = link_->addressed(write_request(writes_[index], link_->component));
    return link_->send(request, [self = shared_from_this(), index, request,
                                 started = link_->flow->now()](Result<net::Response> response) {
      self->on_answer(index, decode_write(self->writes_[index], request, response), started);
    });
  }

  void on_answer(std::size_t index, WriteResult result, MonoTime started) {
    const Write& write = writes_[index];
    link_->flow->finished(
        lane_of(write), started,
        is_congestion(result) ? Flow::Outcome::congested : Flow::Outcome::answered);
    link_->count(verb_of(write), write.resource, result);
    if (!result && result.error().code == Code::too_many_requests &&
        write.verb != Write::Verb::evict && ++tries_[index] < kTriesMax)
      return try_again(index, result.error());
    if (write.verb == Write::Verb::bind && !result && is_uncertain(result.error().code))
      return look_up(index, std::move(result));
    settle(index, std::move(result));
  }

  // The server has not touched it. (An eviction is refused so while its budget has no room.)
  void try_again(std::size_t index, const Error& refusal) {
    Nanos pause = kFirstPause * (1 << tries_[index]);
    if (int seconds = refusal.details.retry_after_seconds; seconds > 0)
      pause = std::chrono::seconds(seconds);
    link_->executor.post_after(pause, [self = shared_from_this(), index] {
      if (self->link_->alive) self->queue(index);
    });
  }

  // Whether the binding was made may be known only from the pod.
  static bool is_uncertain(Code code) {
    return code == Code::timeout || code == Code::unavailable || code == Code::internal ||
           code == Code::conflict;
  }

  void look_up(std::size_t index, WriteResult failed) {
    const Key& key = writes_[index].key;
    net::ClientRequest request = link_->addressed(
        net::ClientRequest{.url = resource_path(resources::pods, key.ns, key.name)});
    request.headers.add("Accept", "application/json");
    link_->send(request, [self = shared_from_this(), index, request,
                          failed = std::move(failed)](Result<net::Response> response) {
      Result<ObjectPtr> pod = decode_object(resources::pods, request, response);
      self->link_->count("get", resources::pods, pod);
      const bool bound = pod && self->is_bound_as_written(index, **pod);
      self->settle(index, bound ? WriteResult(ObjectPtr()) : failed);
    });
  }

  bool is_bound_as_written(std::size_t index, const Object& pod) const {
    Result<json::Value> value = json::parse(*pod.json);
    const json::Value& binding = writes_[index].body;
    const std::string_view uid = json::string_at(binding, {"metadata", "uid"});
    const std::string_view node = json::string_at(binding, {"target", "name"});
    return value && (uid.empty() || uid == pod.uid) && !node.empty() &&
           json::string_at(*value, {"spec", "nodeName"}) == node;
  }

  void settle(std::size_t index, WriteResult result) {
    std::optional<std::size_t> next;
    bool finished = false;
    {
      std::lock_guard lock(mutex_);
      results_[index] = std::move(result);
      auto line = lines_.find(object_key(writes_[index], index));
      line->second.pop_front();
      if (line->second.empty())
        lines_.erase(line);
      else
        next = line->second.front();
      finished = --left_ == 0;
    }
    if (next) queue(*next);
    if (finished) deliver(link_, done_, std::move(results_));
  }

  LinkPtr link_;
  const std::vector<Write> writes_;
  std::vector<int> tries_;
  std::mutex mutex_;
  std::vector<WriteResult> results_;
  std::size_t left_;
  std::map<std::string, std::deque<std::size_t>> lines_;
  std::shared_ptr<BatchDone> done_;
};

class RestClient final : public Client {
 public:
  RestClient(std::string server, std::unique_ptr<net::Client> http, Executor& executor,
             Identity identity, std::shared_ptr<Flow> flow)
      : link_(std::make_shared<Link>(std::move(server), std::move(identity.component), executor,
                                     std::move(flow))),
        http_(std::move(http)) {
    link_->http = http_.get();
  }
  ~RestClient() override {
    link_->alive = false;
    std::lock_guard lock(link_->mutex);
    link_->http = nullptr;
  }

  Executor& executor() override { return link_->executor; }

  void get(const Resource& resource, const Key& key,
           std::move_only_function<void(Result<ObjectPtr>)> done) override {
    net::ClientRequest request =
        link_->addressed(net::ClientRequest{.url = resource_path(resource, key.ns, key.name)});
    request.headers.add("Accept", "application/json");
    auto shared = std::make_shared<decltype(done)>(std::move(done));
    http_->send(request, [link = link_, resource, request, shared](Result<net::Response> response) {
      Result<ObjectPtr> object = decode_object(resource, request, response);
      link->count("get", resource, object);
      deliver(link, shared, std::move(object));
    });
  }

  void list(const Resource& resource, const ListOptions& options,
            std::move_only_function<void(Result<List>)> done) override {
    std::make_shared<ListRun>(link_, resource, options, std::move(done))->next();
  }

  std::unique_ptr<Watch> watch(const Resource& resource, const WatchOptions& options,
                               WatchCallbacks callbacks) override {
    link_->count("watch", resource, Result<void>());
    auto run = std::make_shared<WatchRun>(link_, resource, options, std::move(callbacks));
    net::StreamCallbacks stream;
    stream.on_head = [run](int status, const net::Headers& headers) {
      run->on_head(status, headers);
    };
    stream.on_data = [run](std::string_view data) { run->on_data(data); };
    stream.on_end = [run](Result<void> outcome) { run->on_end(std::move(outcome)); };
    std::unique_ptr<net::StreamHandle> handle =
        http_->stream(link_->addressed(watch_request(resource, options)), std::move(stream));
    return std::make_unique<RestWatch>(std::move(run), std::move(handle));
  }

  void batch(std::vector<Write> writes, BatchDone done) override {
    std::make_shared<BatchRun>(link_, std::move(writes), std::move(done))->start();
  }

 private:
  LinkPtr link_;
  std::unique_ptr<net::Client> http_;
};

}  // namespace

std::shared_ptr<Flow> make_flow(const Clock& clock, Metrics* metrics) {
  return std::make_shared<Flow>(clock, metrics);
}

Result<std::unique_ptr<Client>> make_rest_client(const ClusterAccess& access, Executor& executor,
                                                 Identity identity, std::shared_ptr<Flow> flow) {
  std::unique_ptr<net::Client> http = TRY(net::Client::make(access.http));
  std::string server = access.server;
  while (server.ends_with('/')) server.pop_back();
  if (!flow) flow = make_flow(executor.clock(), nullptr);
  return std::make_unique<RestClient>(std::move(server), std::move(http), executor,
                                      std::move(identity), std::move(flow));
}

}  // namespace hekla::kube
