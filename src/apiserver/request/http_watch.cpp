#include "apiserver/request/http_watch.h"

#include <atomic>
#include <charconv>

#include "apiserver/crd/conversion.h"
#include "apiserver/object/storage.h"
#include "apiserver/read/protobuf.h"
#include "apiserver/read/reads.h"
#include "apiserver/text/status_error.h"
#include "base/fetch_ahead.h"
#include "json/parse.h"
#include "net/write_batch.h"

namespace hekla::apiserver {

namespace {

constexpr std::size_t kPullLimit = 512;
constexpr std::size_t kPendingLimit = 1u << 20;  // bytes a slow client may have waiting
constexpr Nanos kBookmarkPeriod = std::chrono::seconds(60);
constexpr std::int64_t kShortestDefault = 1800;  // seconds; the longest is twice that

class Stream;

// Events, and their bytes, while one commit is told to all who watch its bucket: most of them are
// shown the same.
class RenderedEvents {
 public:
  std::optional<HistoryPage> page;
  // Everything the bytes depend on.
  struct Key {
    const ServedKind* served;
    store::Revision revision;
    ObjectEvent::Type type;
    bool protobuf;
    auto operator<=>(const Key&) const = default;
  };
  struct Frame {
    net::SharedBytes bytes;
    bool broken = false;  // an error in place of the event: the watch ends with it
  };
  template <class Make>
  const Frame& find_or_make(const Key& key, Make&& make) {
    auto [found, fresh] = events_.try_emplace(key);
    if (fresh) found->second = make();
    return found->second;
  }

 private:
  std::map<Key, Frame> events_;
};

}  // namespace

struct HttpWatches::State : std::enable_shared_from_this<State> {
  // One subscription, which wakes at most once per turn of the executor.
  struct Bucket {
    std::unique_ptr<store::Store::Subscription> subscription;
    std::vector<std::shared_ptr<Stream>> streams;
  };

  store::Store& store;
  Registry& registry;
  Executor& loop;  // the executor
  Rng& rng;
  std::map<store::BucketId, Bucket> buckets;

  State(store::Store& s, Registry& known, Executor& l, Rng& r)
      : store(s), registry(known), loop(l), rng(r) {}
  void add(const std::shared_ptr<Stream>& stream, store::BucketId bucket);
  void drop(const std::shared_ptr<Stream>& stream, store::BucketId bucket);
  void wake(store::BucketId bucket);
  void end_unserved();
};

namespace {

class Stream : public std::enable_shared_from_this<Stream> {
 public:
  Stream(std::shared_ptr<HttpWatches::State> hub, HttpWatchRequest request,
         std::shared_ptr<net::ResponseWriter> writer)
      : writer_(std::move(writer)), request_(std::move(request)), hub_(hub), loop_(hub->loop) {}

  void begin() {
    std::shared_ptr<HttpWatches::State> hub = hub_.lock();
    if (!hub) return;
    auto later = [weak = weak_from_this()](void (Stream::*what)()) {
      if (std::shared_ptr<Stream> self = weak.lock()) self->post(what);
    };
    // Most writes drain at once; only a stream that stopped for its client has to hear of it.
    writer_->on_drained([later, held_back = held_back_] {
      if (held_back->exchange(false)) later(&Stream::pump);
    });
    writer_->on_closed([later] { later(&Stream::close); });
    writer_->begin(200, request_.headers);
    if (std::optional<Error> refused = place_cursor(*hub)) {
      std::string chunk;
      append_error(*refused, chunk);
      writer_->write(std::move(chunk));
      return writer_->end();
    }
    hub->add(shared_from_this(), request_.served->bucket);
    if (request_.served->kind->custom) {
      definition_ = definition(*hub);
      if (!is_served(*hub)) return close();
    }
    std::int64_t seconds = request_.options.timeout_seconds.value_or(0);
    if (seconds <= 0)
      seconds = kShortestDefault + static_cast<std::int64_t>(uniform(
                                       hub->rng, static_cast<std::uint64_t>(kShortestDefault)));
    // Longer timeouts serve no client, and a timer stays until its time has come.
    seconds = std::min(seconds, 4 * kShortestDefault);
    after(std::chrono::seconds(seconds), &Stream::time_out);
    if (request_.options.allow_bookmarks) after(kBookmarkPeriod, &Stream::bookmark_due);
    pump();
  }

  // Writes what there is, as long as the client takes it.
  void pump() {
    RenderedEvents rendered;
    pump(rendered);
  }
  void pump(RenderedEvents& rendered) {
    if (closed_ || converting_) return;
    while (writer_->pending_bytes() < kPendingLimit) {
      std::string chunk;
      if (initial_at_ < initial_.size()) {
        for (std::size_t i = 0; i < kPullLimit && initial_at_ < initial_.size(); ++i, ++initial_at_)
          append_event("ADDED", *initial_[initial_at_], initial_[initial_at_]->modified, chunk);
        if (initial_at_ == initial_.size() && !broken_) {
          initial_.clear();
          initial_at_ = 0;
          if (mark_initial_end_) append_bookmark(true, chunk);
          mark_initial_end_ = false;
        }
      } else if (mark_initial_end_) {
        append_bookmark(true, chunk);
        mark_initial_end_ = false;
      } else {
        bool caught_up = false;
        if (!pull(rendered, caught_up)) return;
        if (broken_) return close();
        if (caught_up) return;
        continue;
      }
      writer_->write(std::move(chunk));
      if (broken_) return close();
    }
    // The queue may have emptied between the look at it and the mark: then nobody would come back.
    *held_back_ = true;
    if (writer_->pending_bytes() == 0 && held_back_->exchange(false)) post(&Stream::pump);
  }

  // The kind that the stream shows is gone, or is no longer the same: after the last events, the
  // client begins anew.
  void end_if_unserved(HttpWatches::State& hub) {
    if (closed_ || !request_.served->kind->custom || is_served(hub)) return;
    pump();
    close();
  }

  void close() {
    if (closed_) return;
    closed_ = true;
    writer_->end();
    if (std::shared_ptr<HttpWatches::State> hub = hub_.lock())
      hub->drop(shared_from_this(), request_.served->bucket);
  }

 private:
  // The uid of the CRD; empty when there is none.
  std::string definition(HttpWatches::State& hub) const {
    const ServedPtr crds =
        hub.registry.catalog()->find(kube::resources::custom_resource_definitions);
    const store::ItemPtr crd =
        hub.store.snapshot().get(crds->bucket, request_.served->kind->storage.bucket);
    return crd ? header_of(*crd).uid : "";
  }
  bool is_served(HttpWatches::State& hub) const {
    return hub.registry.catalog()->find(request_.served->kind->resource) &&
           (request_.served->kind->platform || definition(hub) == definition_);
  }

  // Where to begin, and what is shown first; or why not.
  std::optional<Error> place_cursor(HttpWatches::State& hub) {
    const ListOptions& options = request_.options;
    store::Revision from = 0;
    std::from_chars(options.resource_version.data(),
                    options.resource_version.data() + options.resource_version.size(), from);
    const bool wants_state = options.send_initial_events.value_or(from == 0);
    if (wants_state || from == 0) {
      const store::Snapshot snapshot = hub.store.snapshot();
      if (from > snapshot.revision()) return too_large_error(from, snapshot.revision());
      from = snapshot.revision();
      if (wants_state)
        show_first(scan_objects(snapshot, *request_.served, request_.ns,
                                request_.filter.before_conversion(*request_.served->kind)));
      mark_initial_end_ = options.send_initial_events.value_or(false) && options.allow_bookmarks;
    }
    cursor_.emplace(hub.store, request_.served, request_.ns, request_.filter, from);
    if (judges_late()) cursor_->judge_nothing();
    return std::nullopt;
  }
  bool judges_late() const { return request_.filter.waits_for_conversion(*request_.served->kind); }

  bool pull(RenderedEvents& rendered, bool& caught_up) {
    Result<std::vector<ObjectEvent>> events = cursor_->pull(kPullLimit, caught_up, rendered.page);
    if (!events) {
      std::string chunk;
      append_error(events.error(), chunk);
      writer_->write(std::move(chunk));
      close();
      return false;
    }
    if (request_.served->kind->custom) {
      std::vector<store::ItemPtr> items;
      for (const ObjectEvent& event : *events) {
        items.push_back(event.item);
        if (event.previous) items.push_back(event.previous);
      }
      if (!request_.conversions->none_needed(*request_.served, items)) {
        show_converted(std::move(*events), std::move(items));
        return false;
      }
    }
    for (const ObjectEvent& event : *events) show_event(event, rendered);
    return true;
  }

  // In the version of this watch.
  void show_event(const ObjectEvent& event, RenderedEvents& rendered) {
    if (!judges_late()) return write_event(event, rendered);
    const bool removed = event.type == ObjectEvent::Type::deleted;
    if (const std::optional<ObjectEvent> told = watch_event_for(
            request_.filter, *request_.served, event.previous, event.item, removed, event.revision))
      write_event(*told, rendered);
  }
  void write_event(const ObjectEvent& event, RenderedEvents& rendered) {
    if (broken_) return;
    auto make = [&] {
      static constexpr std::string_view kTypes[]{"ADDED", "MODIFIED", "DELETED"};
      std::string bytes;
      bytes.reserve(event.item->value.size() + 64);
      append_event(kTypes[static_cast<int>(event.type)], *event.item, event.revision, bytes);
      return RenderedEvents::Frame{std::make_shared<const std::string>(std::move(bytes)), broken_};
    };
    // Tables are each watch's own: the first says what the columns are.
    if (request_.answer.shape != Answer::Shape::object) return writer_->write(make().bytes);
    const RenderedEvents::Frame& frame = rendered.find_or_make(
        {request_.served.get(), event.revision, event.type, request_.answer.protobuf}, make);
    broken_ = frame.broken;
    writer_->write(frame.bytes);
  }

  void show_first(std::vector<store::ItemPtr> items) {
    convert(std::move(items), [](Stream& self, std::vector<store::ItemPtr> converted) {
      if (self.judges_late())
        std::erase_if(converted, [&](const store::ItemPtr& item) {
          return !self.request_.filter.matches(*self.request_.served, *item);
        });
      self.initial_ = std::move(converted);
      if (self.cursor_) self.pump();  // otherwise begin() will
    });
  }
  void show_converted(std::vector<ObjectEvent> events, std::vector<store::ItemPtr> items) {
    convert(std::move(items), [events = std::move(events)](
                                  Stream& self, std::vector<store::ItemPtr> converted) mutable {
      auto next = converted.begin();
      RenderedEvents rendered;
      for (ObjectEvent& event : events) {
        event.item = std::move(*next++);
        if (event.previous) event.previous = std::move(*next++);
        self.show_event(event, rendered);
      }
      if (self.broken_) self.close();
      self.pump();
    });
  }
  // The stream writes nothing until the answer is there; `then` gets the items in the version of
  // this watch.
  void convert(std::vector<store::ItemPtr> items,
               std::move_only_function<void(Stream&, std::vector<store::ItemPtr>)> then) {
    converting_ = true;
    request_.conversions->convert(request_.served, std::move(items), loop_,
                                  [weak = weak_from_this(), then = std::move(then)](
                                      Result<std::vector<store::ItemPtr>> converted) mutable {
                                    std::shared_ptr<Stream> self = weak.lock();
                                    if (!self || self->closed_) return;
                                    self->converting_ = false;
                                    if (converted) return then(*self, std::move(*converted));
                                    std::string chunk;
                                    self->append_error(converted.error(), chunk);
                                    self->writer_->write(std::move(chunk));
                                    self->close();
                                  });
  }

  void append_event(std::string_view type, const store::Item& item, store::Revision revision,
                    std::string& out) {
    if (broken_) return;
    const std::size_t begin = out.size();
    out += R"({"type":")";
    out += type;
    out += R"(","object":)";
    const ServedKind& served = *request_.served;
    if (request_.answer.shape == Answer::Shape::object) {
      append_object(served, item, WireForm::whole, out, revision);
    } else {
      json::Value object = decode_object(served, item);
      if (revision != item.modified)
        json::at_path(object, {"metadata", "resourceVersion"}) = std::to_string(revision);
      if (request_.answer.shape == Answer::Shape::metadata) {
        append_partial_metadata(object, request_.answer.version, out);
      } else {
        TableWriter table(served, request_.answer.version, request_.include, loop_.clock().wall());
        table.begin(R"({"resourceVersion":")" + std::to_string(revision) + R"("})", first_frame_,
                    out);
        table.row(object, out);
        table.end(out);
        first_frame_ = false;
      }
    }
    end_frame(begin, out);
  }

  void append_error(const Error& error, std::string& out) {
    const std::size_t begin = out.size();
    out += R"({"type":"ERROR","object":)";
    json::serialize_to(status_of(error), out);
    end_frame(begin, out);
  }

  // Closes the event that began at `begin`, in the language of this watch. An event that cannot be
  // said in it is replaced by an error, and the watch ends: a client that misses an event must
  // know.
  void end_frame(std::size_t begin, std::string& out) {
    if (!request_.answer.protobuf) {
      out += "}\n";
      return;
    }
    out += '}';
    Result<json::Value> event = json::parse(std::string_view(out).substr(begin));
    out.resize(begin);
    Result<std::string> frame = event ? encode_watch_frame(*event) : std::unexpected(event.error());
    if (frame) {
      out += *frame;
    } else if (!std::exchange(broken_, true)) {
      append_error({Code::internal, "unable to encode watch object: " + frame.error().message},
                   out);
    }
  }

  void append_bookmark(bool initial_end, std::string& out) {
    const kube::Resource& r = request_.served->kind->resource;
    json::Object metadata{{"resourceVersion", std::to_string(cursor_->position())}};
    if (initial_end)
      metadata.emplace("annotations", json::Object{{"k8s.io/initial-events-end", "true"}});
    json::Object object{{"kind", r.kind}, {"apiVersion", r.api_version()}};
    if (request_.answer.shape != Answer::Shape::object) {
      object["kind"] = "PartialObjectMetadata";
      object["apiVersion"] = "meta.k8s.io/" + request_.answer.version;
    }
    object.emplace("metadata", std::move(metadata));
    const std::size_t begin = out.size();
    out += R"({"type":"BOOKMARK","object":)";
    json::serialize_to(json::Value(std::move(object)), out);
    end_frame(begin, out);
  }

  void bookmark_due() {
    if (closed_) return;
    pump();
    if (closed_) return;
    if (initial_.empty() && !converting_ && writer_->pending_bytes() < kPendingLimit)
      write_bookmark();
    after(kBookmarkPeriod, &Stream::bookmark_due);
  }

  void write_bookmark() {
    std::string chunk;
    append_bookmark(false, chunk);
    writer_->write(std::move(chunk));
  }

  void time_out() {
    if (closed_) return;
    pump();
    if (closed_) return;
    if (request_.options.allow_bookmarks && initial_.empty() && !converting_) write_bookmark();
    close();
  }

  // From any thread.
  void post(void (Stream::*what)()) {
    loop_.post([weak = weak_from_this(), what] {
      if (std::shared_ptr<Stream> self = weak.lock()) (self.get()->*what)();
    });
  }

  void after(Nanos delay, void (Stream::*what)()) {
    loop_.post_after(delay, [weak = weak_from_this(), what] {
      if (std::shared_ptr<Stream> self = weak.lock()) (self.get()->*what)();
    });
  }

  // Members that every event touches come first: hundreds of streams do not fit into the
  // processor's nearest cache.
  bool closed_ = false;
  bool broken_ = false;      // an event could not be encoded
  bool converting_ = false;  // nothing is written until the conversion webhook has answered
  bool mark_initial_end_ = false;
  bool first_frame_ = true;
  std::shared_ptr<net::ResponseWriter> writer_;
  std::size_t initial_at_ = 0;
  std::vector<store::ItemPtr> initial_;
  std::optional<WatchCursor> cursor_;
  HttpWatchRequest request_;
  std::weak_ptr<HttpWatches::State> hub_;
  Executor& loop_;
  std::shared_ptr<std::atomic<bool>> held_back_ = std::make_shared<std::atomic<bool>>(false);
  std::string definition_;  // of a custom kind: the CRD it came from
};

}  // namespace

void HttpWatches::State::add(const std::shared_ptr<Stream>& stream, store::BucketId id) {
  Bucket& bucket = buckets[id];
  bucket.streams.push_back(stream);
  if (bucket.subscription) return;
  auto scheduled = std::make_shared<std::atomic<bool>>(false);
  bucket.subscription = store.subscribe(id, [weak = weak_from_this(), scheduled, id, &loop = loop] {
    if (scheduled->exchange(true)) return;
    loop.post([weak, scheduled, id] {
      scheduled->store(false);
      if (std::shared_ptr<State> self = weak.lock()) self->wake(id);
    });
  });
}

void HttpWatches::State::drop(const std::shared_ptr<Stream>& stream, store::BucketId id) {
  auto bucket = buckets.find(id);
  if (bucket == buckets.end()) return;
  std::erase(bucket->second.streams, stream);
  if (bucket->second.streams.empty()) buckets.erase(bucket);
}

void HttpWatches::State::wake(store::BucketId id) {
  auto bucket = buckets.find(id);
  if (bucket == buckets.end()) return;
  const std::vector<std::shared_ptr<Stream>> streams = bucket->second.streams;  // some may end
  net::WriteBatch together;
  RenderedEvents rendered;
  for (std::size_t i = 0; i < streams.size(); ++i) {
    if (i + 4 < streams.size()) fetch_ahead(streams[i + 4].get(), 256);
    streams[i]->pump(rendered);
  }
}

void HttpWatches::State::end_unserved() {
  std::vector<std::shared_ptr<Stream>> streams;
  for (auto& [id, bucket] : buckets)
    streams.insert(streams.end(), bucket.streams.begin(), bucket.streams.end());
  for (const std::shared_ptr<Stream>& stream : streams) stream->end_if_unserved(*this);
}

HttpWatches::HttpWatches(store::Store& store, Registry& registry, ConnectionExecutors& executors,
                         Rng& rng)
    : store_(store), registry_(registry), executors_(executors), rng_(rng) {}

HttpWatches::~HttpWatches() {
  std::vector<std::shared_ptr<Stream>> streams;
  for (auto& [executor, state] : states_)
    for (auto& [id, bucket] : state->buckets)
      streams.insert(streams.end(), bucket.streams.begin(), bucket.streams.end());
  for (const std::shared_ptr<Stream>& stream : streams) stream->close();
}

void HttpWatches::start(HttpWatchRequest request, std::shared_ptr<net::ResponseWriter> writer) {
  Executor& executor = executors_.here();
  std::shared_ptr<State> state;
  {
    std::lock_guard lock(mutex_);
    std::shared_ptr<State>& known = states_[&executor];
    if (!known) {
      known = std::make_shared<State>(store_, registry_, executor, rng_);
      registry_.on_change(executor, [weak = std::weak_ptr(known)] {
        if (std::shared_ptr<State> served = weak.lock()) served->end_unserved();
      });
    }
    state = known;
  }
  auto stream = std::make_shared<Stream>(state, std::move(request), std::move(writer));
  executor.post([stream] { stream->begin(); });
}

}  // namespace hekla::apiserver
