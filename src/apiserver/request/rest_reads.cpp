#include "apiserver/request/rest_reads.h"

#include "apiserver/crd/conversion.h"
#include "apiserver/object/storage.h"
#include "apiserver/object/subresources.h"
#include "apiserver/read/reads.h"
#include "apiserver/read/render.h"
#include "apiserver/text/errors.h"
#include "apiserver/text/field_error.h"
#include "apiserver/text/status_error.h"
#include "apiserver/write/scale.h"
#include "model/time.h"

namespace hekla::apiserver {

namespace {

void show_object(const Exchange& exchange, const store::Item& item) {
  const ServedKind& served = *exchange.served;
  IncludeObject include = parse_include_object(exchange.request.query.get("includeObject"));
  const Subresource* part = find_subresource(*served.kind, exchange.info.subresource);
  if (part && part->form == Subresource::Form::scale) {
    Result<json::Value> scale = scale_of(*served.kind, decode_object(served, item));
    if (!scale) return exchange.respond(scale.error());
    return exchange.respond(render_view(shown_scale(), *scale, exchange.answer, include, 200,
                                        exchange.serving.clock->wall()));
  }
  if (part && part->show)
    if (std::optional<json::Value> shown =
            part->show(decode_object(served, item), exchange.request.headers.get("User-Agent")))
      return exchange.respond(render_value(*shown, exchange.answer, 200));
  exchange.respond(
      render_object(served, item, exchange.answer, include, 200, exchange.serving.clock->wall()));
}

void serve_get(const ExchangePtr& exchange) {
  const RequestInfo& info = exchange->info;
  const ServedKind& served = *exchange->served;
  if (Result<void> version = check_version(exchange->request.query.get("resourceVersion"));
      !version)
    return exchange->respond(version.error());
  Result<store::ItemPtr> item = get_object(*exchange->serving.store, served, {info.ns, info.name},
                                           exchange->request.query.get("resourceVersion"));
  if (!item) return exchange->respond(item.error());
  exchange->serving.conversions->convert(exchange->served, {*item}, *exchange->serving.loop,
                                         [exchange](Result<std::vector<store::ItemPtr>> items) {
                                           if (!items) return exchange->respond(items.error());
                                           show_object(*exchange, *items->front());
                                         });
}

void serve_list(const ExchangePtr& exchange) {
  Result<ListOptions> options = parse_list_options(exchange->request.query, false);
  if (!options) return exchange->respond(options.error());
  Result<ListPage> page =
      list_objects(*exchange->serving.store, *exchange->served, exchange->info.ns, *options);
  if (!page) {
    std::string token;
    if (page.error().code == Code::expired && !options->continue_token.empty())
      token = inconsistent_token(options->continue_token);
    return exchange->respond(error_response(page.error(), exchange->answer.pretty, token));
  }
  show_list(exchange, std::move(*page));
}

void serve_watch(const ExchangePtr& exchange, OpenWatch open) {
  Result<ListOptions> options = parse_list_options(exchange->request.query, true);
  if (!options) return exchange->respond(options.error());
  Result<ObjectFilter> filter = ObjectFilter::parse(
      *exchange->served->kind, options->label_selector, options->field_selector);
  if (!filter) return exchange->respond(filter.error());
  if (!exchange->info.name.empty()) filter->require_name(exchange->info.name);
  HttpWatchRequest watch{exchange->served,
                         exchange->info.ns,
                         std::move(*filter),
                         std::move(*options),
                         exchange->answer,
                         parse_include_object(exchange->request.query.get("includeObject")),
                         {}};
  watch.headers.set("Content-Type", exchange->answer.protobuf
                                        ? "application/vnd.kubernetes.protobuf;stream=watch"
                                        : "application/json");
  watch.conversions = exchange->serving.conversions;
  exchange->add_headers(watch.headers);
  Result<std::shared_ptr<net::ResponseWriter>> writer = open(exchange);
  if (!writer) return exchange->respond(writer.error());
  const bool plain = *writer == exchange->writer;
  if (!plain) watch.answer.protobuf = false;
  exchange->count(plain ? 200 : 101);
  exchange->serving.watches->start(std::move(watch), std::move(*writer));
}

// Bytes of a log on their way to the client; headers go out with the first sign of success.
class LogSink final : public LogAnswer {
 public:
  explicit LogSink(ExchangePtr exchange) : exchange_(std::move(exchange)) {}

  void begin() override {
    net::Headers headers;
    headers.set("Content-Type", "text/plain");
    exchange_->add_headers(headers);
    exchange_->count(200);
    exchange_->writer->begin(200, std::move(headers));
  }
  void write(std::string bytes) override { exchange_->writer->write(std::move(bytes)); }
  void end() override { exchange_->writer->end(); }
  bool is_closed() const override { return exchange_->writer->is_closed(); }
  std::size_t pending_bytes() const override { return exchange_->writer->pending_bytes(); }

 private:
  ExchangePtr exchange_;
};

// The container a log request means: the one it names, or the only one there is.
Result<std::string> log_container(const json::Value& pod, std::string_view wanted) {
  std::string name(json::string_at(pod, {"metadata", "name"})), all;
  std::vector<std::string> found;
  bool known = false;
  for (std::string_view list : {"containers", "initContainers", "ephemeralContainers"}) {
    const json::Array* containers = json::array_at(pod, {"spec", list});
    if (!containers) continue;
    for (const json::Value& container : *containers) {
      std::string_view one = json::string_at(container, {"name"});
      known |= one == wanted;
      if (list == "containers") {
        found.emplace_back(one);
        all += (all.empty() ? "" : " ") + std::string(one);
      }
    }
  }
  if (!wanted.empty()) {
    if (known) return std::string(wanted);
    return fail(Code::bad_request,
                "container " + std::string(wanted) + " is not valid for pod " + name);
  }
  if (found.size() == 1) return found.front();
  return fail(Code::bad_request, "a container name must be specified for pod " + name +
                                     ", choose one of: [" + all + "]");
}

Result<kube::LogOptions> log_options(const net::Query& query) {
  kube::LogOptions options;
  options.follow = query_flag(query, "follow");
  options.previous = query_flag(query, "previous");
  options.timestamps = query_flag(query, "timestamps");
  options.since_seconds = query_integer(query, "sinceSeconds");
  options.tail_lines = query_integer(query, "tailLines");
  options.limit_bytes = query_integer(query, "limitBytes");
  if (std::string_view since = query.get("sinceTime"); !since.empty()) {
    Result<WallTime> at = model::parse_rfc3339(since);
    if (!at) return fail(Code::bad_request, "sinceTime: " + at.error().message);
    options.since_time = *at;
  }
  const std::string_view stream = query.get("stream");
  if (stream.empty() || stream == "All") return options;
  const std::string invalid = "PodLogOptions \"\" is invalid: ";
  if (stream != "Stdout" && stream != "Stderr")
    return fail(Code::invalid, invalid + "stream: Unsupported value: \"" + std::string(stream) +
                                   "\": supported values: \"All\", \"Stderr\", \"Stdout\"");
  if (options.tail_lines)
    return fail(Code::invalid, invalid +
                                   "tailLines: Forbidden: `tailLines` and specific `stream` are "
                                   "mutually exclusive for now");
  options.stream = stream == "Stdout" ? "stdout" : "stderr";
  return options;
}

// The node agent says whether there is such a log: that of a gone pod may have been kept.
void start_log(const ExchangePtr& exchange, OpenLog open, kube::PodStreams& streams,
               const std::string& uid, const kube::LogOptions& options) {
  Result<std::shared_ptr<LogAnswer>> answer = open(exchange);
  if (!answer) return exchange->respond(answer.error());
  streams.logs({exchange->info.ns, exchange->info.name, uid}, options, *answer,
               [exchange, sink = *answer](Result<void> started) {
                 if (started) return sink->begin();
                 if (started.error().code != Code::not_found)
                   return exchange->respond(started.error());
                 exchange->respond(not_found_error(kube::resources::pods, exchange->info.name));
               });
}

}  // namespace

void convert_page(const ExchangePtr& exchange, ListPage page,
                  std::move_only_function<void(ListPage)> then) {
  std::vector<store::ItemPtr> items = std::exchange(page.items, {});
  auto done = [exchange, page = std::move(page),
               then = std::move(then)](Result<std::vector<store::ItemPtr>> converted) mutable {
    if (!converted) return exchange->respond(converted.error());
    page.items = std::move(*converted);
    const ServedKind& served = *exchange->served;
    const net::Query& query = exchange->request.query;
    if (served.kind->storage.conversion)
      if (Result<ObjectFilter> filter = ObjectFilter::parse(
              *served.kind, query.get("labelSelector"), query.get("fieldSelector"));
          filter && filter->waits_for_conversion(*served.kind))
        std::erase_if(page.items,
                      [&](const store::ItemPtr& item) { return !filter->matches(served, *item); });
    then(std::move(page));
  };
  exchange->serving.conversions->convert(exchange->served, std::move(items),
                                         *exchange->serving.loop, std::move(done));
}

void show_list(const ExchangePtr& exchange, ListPage page) {
  convert_page(exchange, std::move(page), [exchange](ListPage shown) {
    IncludeObject include = parse_include_object(exchange->request.query.get("includeObject"));
    exchange->respond(render_list(exchange->served, std::move(shown), exchange->answer, include,
                                  exchange->serving.clock->wall()));
  });
}

Result<std::shared_ptr<net::ResponseWriter>> plain_watch(const ExchangePtr& exchange) {
  return exchange->writer;
}

Result<std::shared_ptr<LogAnswer>> plain_log(const ExchangePtr& exchange) {
  return std::make_shared<LogSink>(exchange);
}

void serve_read(const ExchangePtr& exchange, OpenWatch open) {
  const std::string_view include = exchange->request.query.get("includeObject");
  if (exchange->answer.shape == Answer::Shape::table && !include.empty() && include != "Metadata" &&
      include != "Object" && include != "None")
    return exchange->respond(bad_request_error(
        "Unable to convert to Table as requested: includeObject: Invalid value: " +
        go_quote(include) + ": must be 'Metadata', 'Object', 'None', or empty"));
  if (exchange->info.verb == "get") return serve_get(exchange);
  if (exchange->info.verb == "watch") return serve_watch(exchange, open);
  serve_list(exchange);
}

void serve_pod_log(const ExchangePtr& exchange, OpenLog open) {
  const RequestInfo& info = exchange->info;
  kube::PodStreams* streams = exchange->serving.pod_streams.load();
  if (!streams)
    return exchange->respond(Error{Code::unavailable, "no node agent serves logs on this server"});
  Result<store::ItemPtr> item =
      get_object(*exchange->serving.store, *exchange->served, {info.ns, info.name});
  Result<kube::LogOptions> options = log_options(exchange->request.query);
  if (!options) return exchange->respond(options.error());
  options->container = exchange->request.query.get("container");
  // Hekla's own: which of several pods that had the name, one after the other.
  std::string uid(exchange->request.query.get("podUID"));
  if (!item || (!uid.empty() && uid != header_of(**item).uid))
    return start_log(exchange, open, *streams, uid, *options);
  json::Value pod = decode_object(*exchange->served, **item);
  Result<std::string> container = log_container(pod, options->container);
  if (!container) return exchange->respond(container.error());
  options->container = std::move(*container);
  if (json::string_at(pod, {"spec", "nodeName"}).empty())
    return exchange->respond(
        Error{Code::bad_request, "pod " + info.name + " does not have a host assigned"});
  start_log(exchange, open, *streams, header_of(**item).uid, *options);
}

}  // namespace hekla::apiserver
