// kube::Client over HTTP. Answers are decoded on the HTTP client's threads and posted, ready to
// use, to the owner's executor.
#include "kube/rest_client.h"

#include <deque>
#include <map>
#include <mutex>

#include "base/check.h"
#include "base/log.h"
#include "kube/rest/rest_wire.h"

namespace hekla::kube {
namespace {

constexpr int kPageSize = 500;
constexpr std::size_t kBatchWindow = 64;
constexpr std::size_t kMaxEventBytes = 64u << 20;
constexpr std::size_t kMaxStatusBytes = 1u << 20;
constexpr std::size_t kMaxEventsWaiting = 100'000;  // for a loop that does not keep up

// The state that requests in flight share with their client.
struct Link {
  std::string server;
  std::string component;
  Executor& executor;
  net::Client* http = nullptr;  // outlives every request: its destructor waits for them
  bool alive = true;            // touched on the executor only

  net::ClientRequest addressed(net::ClientRequest request) const {
    request.url = server + request.url;
    request.headers.add("User-Agent", component);
    return request;
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

class ListRun : public std::enable_shared_from_this<ListRun> {
 public:
  using Done = std::move_only_function<void(Result<List>)>;
  ListRun(LinkPtr link, Resource resource, ListOptions options, Done done)
      : link_(std::move(link)),
        resource_(std::move(resource)),
        options_(std::move(options)),
        done_(std::make_shared<Done>(std::move(done))) {}

  void next() {
    net::ClientRequest request =
        link_->addressed(list_request(resource_, options_, limit_, continue_token_));
    link_->http->send(request,
                      [self = shared_from_this(), request](Result<net::Response> response) {
                        self->on_page(decode_page(self->resource_, request, response));
                      });
  }

 private:
  void on_page(Result<ListPage> page) {
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
  int limit_ = kPageSize;
  std::string continue_token_;
};

// The stream's callbacks run one at a time on a net thread; the executor takes what they have
// gathered.
class WatchRun : public std::enable_shared_from_this<WatchRun> {
 public:
  WatchRun(LinkPtr link, Resource resource, WatchCallbacks callbacks)
      : link_(std::move(link)), resource_(std::move(resource)), callbacks_(std::move(callbacks)) {}

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
        if (event)
          events.push_back(std::move(*event));
        else
          error = std::move(event).error();
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

// Up to kBatchWindow writes at a time. Writes to one object go one after the other, in their order.
class BatchRun : public std::enable_shared_from_this<BatchRun> {
 public:
  BatchRun(LinkPtr link, std::vector<Write> writes, BatchDone done)
      : link_(std::move(link)),
        writes_(std::move(writes)),
        results_(writes_.size(), WriteResult(ObjectPtr())),
        left_(writes_.size()),
        done_(std::make_shared<BatchDone>(std::move(done))) {}

  void start() {
    if (writes_.empty()) return deliver(link_, done_, std::move(results_));
    std::vector<std::size_t> first;
    {
      std::lock_guard lock(mutex_);
      for (std::size_t i = 0; i < writes_.size(); ++i) enqueue(i);
      first = take_ready();
    }
    for (std::size_t index : first) send(index);
  }

 private:
  // An object that does not have its name yet is nobody else's.
  static std::string object_key(const Write& write, std::size_t index) {
    std::string path = resource_path(write.resource, write.key.ns, write.key.name);
    return write.key.name.empty() ? path + "#" + std::to_string(index) : path;
  }

  void enqueue(std::size_t index) {
    std::deque<std::size_t>& line = lines_[object_key(writes_[index], index)];
    line.push_back(index);
    if (line.size() == 1) ready_.push_back(index);
  }

  std::vector<std::size_t> take_ready() {
    std::vector<std::size_t> taken;
    for (; !ready_.empty() && in_flight_ < kBatchWindow; ++in_flight_) {
      taken.push_back(ready_.front());
      ready_.pop_front();
    }
    return taken;
  }

  void send(std::size_t index) {
    net::ClientRequest request = link_->addressed(write_request(writes_[index], link_->component));
    link_->http->send(
        request, [self = shared_from_this(), index, request](Result<net::Response> response) {
          self->on_answer(index, decode_write(self->writes_[index], request, response));
        });
  }

  void on_answer(std::size_t index, WriteResult result) {
    std::vector<std::size_t> next;
    bool finished = false;
    {
      std::lock_guard lock(mutex_);
      results_[index] = std::move(result);
      auto line = lines_.find(object_key(writes_[index], index));
      line->second.pop_front();
      if (line->second.empty())
        lines_.erase(line);
      else
        ready_.push_front(line->second.front());
      --in_flight_;
      finished = --left_ == 0;
      next = take_ready();
    }
    for (std::size_t one : next) send(one);
    if (finished) deliver(link_, done_, std::move(results_));
  }

  LinkPtr link_;
  const std::vector<Write> writes_;
  std::mutex mutex_;
  std::vector<WriteResult> results_;
  std::size_t left_;
  std::size_t in_flight_ = 0;
  std::map<std::string, std::deque<std::size_t>> lines_;
  std::deque<std::size_t> ready_;
  std::shared_ptr<BatchDone> done_;
};

class RestClient final : public Client {
 public:
  RestClient(std::string server, std::unique_ptr<net::Client> http, Executor& executor,
             Identity identity)
      : link_(std::make_shared<Link>(std::move(server), std::move(identity.component), executor)),
        http_(std::move(http)) {
    link_->http = http_.get();
  }
  ~RestClient() override { link_->alive = false; }

  Executor& executor() override { return link_->executor; }

  void get(const Resource& resource, const Key& key,
           std::move_only_function<void(Result<ObjectPtr>)> done) override {
    net::ClientRequest request =
        link_->addressed(net::ClientRequest{.url = resource_path(resource, key.ns, key.name)});
    request.headers.add("Accept", "application/json");
    auto shared = std::make_shared<decltype(done)>(std::move(done));
    http_->send(request, [link = link_, resource, request, shared](Result<net::Response> response) {
      deliver(link, shared, decode_object(resource, request, response));
    });
  }

  void list(const Resource& resource, const ListOptions& options,
            std::move_only_function<void(Result<List>)> done) override {
    std::make_shared<ListRun>(link_, resource, options, std::move(done))->next();
  }

  std::unique_ptr<Watch> watch(const Resource& resource, const WatchOptions& options,
                               WatchCallbacks callbacks) override {
    auto run = std::make_shared<WatchRun>(link_, resource, std::move(callbacks));
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

Result<std::unique_ptr<Client>> make_rest_client(const ClusterAccess& access, Executor& executor,
                                                 Identity identity) {
  std::unique_ptr<net::Client> http = TRY(net::Client::make(access.http));
  std::string server = access.server;
  while (server.ends_with('/')) server.pop_back();
  return std::make_unique<RestClient>(std::move(server), std::move(http), executor,
                                      std::move(identity));
}

}  // namespace hekla::kube
