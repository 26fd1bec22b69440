#include "pipelines/page/page_routes.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "base/loop.h"
#include "json/parse.h"
#include "pipelines/object_sending.h"

namespace hekla::pipelines::page {
namespace {

using WriterPtr = std::shared_ptr<net::ResponseWriter>;

constexpr std::string_view kPods = "/k8s/pod/";
constexpr std::int64_t kPeekMax = 8 << 20;
constexpr std::size_t kListMax = 2000;
// A document of a step has an origin of its own: it can show itself, and reach nothing of ours.
constexpr const char* kDocumentPolicy =
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval' https: "
    "data: blob:; style-src 'unsafe-inline' https:; img-src https: data: blob:; font-src https: "
    "data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'";

void respond(const WriterPtr& writer, int status, std::string body,
             const char* type = "text/plain; charset=utf-8") {
  net::Response response;
  response.status = status;
  response.headers.add("Content-Type", type);
  response.headers.add("X-Content-Type-Options", "nosniff");
  response.headers.add("Content-Security-Policy", "default-src 'none'; sandbox");
  response.headers.add("Cache-Control", "no-store");
  response.body = std::move(body);
  writer->respond(std::move(response));
}

void refuse(const WriterPtr& writer, const Error& error) {
  respond(writer, http_status_of(error.code), error.message + "\n");
}

struct ArtifactPlace {
  std::string scheme, bucket, key;
};

// Of the query, or of upstream's other form: /artifacts/minio/BUCKET/KEY.
Result<ArtifactPlace> place_of(const net::Request& request, std::string_view rest) {
  ArtifactPlace place{std::string(request.query.get("source")),
                      std::string(request.query.get("bucket")),
                      std::string(request.query.get("key"))};
  if (rest != "get" && rest != "list") {
    for (std::string* part : {&place.scheme, &place.bucket}) {
      const std::size_t slash = std::min(rest.find('/'), rest.size());
      *part = rest.substr(0, slash);
      rest.remove_prefix(std::min(rest.size(), slash + 1));
    }
    place.key = rest;
  }
  if (place.scheme == "gcs") place.scheme = "gs";
  if (place.scheme != "minio" && place.scheme != "s3" && place.scheme != "gs")
    return fail(Code::bad_request, "source is \"" + place.scheme + "\": want minio, s3 or gcs");
  if (place.bucket.empty() || place.key.empty())
    return fail(Code::bad_request, "an artifact needs a bucket and a key");
  return place;
}

// The object is an artifact's, or lies in one that is a directory. Other namespaces' are theirs.
Result<bool> is_artifact(records::Database& database, const std::string& ns,
                         const ArtifactPlace& place) {
  const std::string head = place.scheme + "://" + place.bucket + "/";
  for (std::size_t end = 0; end != std::string::npos;) {
    end = place.key.find('/', end + 1);
    records::Statement* row = TRY(
        database.query("SELECT 1 FROM artifacts JOIN runs ON runs.id = artifacts.run_id"
                       " WHERE artifacts.uri IN (?1, ?1 || '/') AND runs.namespace = ?2 LIMIT 1",
                       {head + place.key.substr(0, end), ns}));
    if (TRY(row->step())) return true;
  }
  return false;
}

// Names of steps' pods begin with their run's.
Result<bool> is_step(records::Database& database, const std::string& ns, const std::string& run,
                     const std::string& pod) {
  records::Statement* row = TRY(
      database.query("SELECT resource_name FROM runs WHERE id = ?1 AND namespace = ?2", {run, ns}));
  return TRY(row->step()) && pod.starts_with(row->text(0) + "-");
}

net::Headers download_headers(const std::string& key) {
  net::Headers headers;
  const std::string name = key.substr(key.rfind('/') + 1);
  headers.add("Content-Type", "application/octet-stream");
  headers.add("Content-Disposition", "attachment; filename*=UTF-8''" + net::url_encode(name));
  headers.add("X-Content-Type-Options", "nosniff");
  headers.add("Content-Security-Policy", "default-src 'none'; sandbox");
  headers.add("Cache-Control", "no-store");
  return headers;
}

net::Headers document_headers() {
  net::Headers headers;
  headers.add("Content-Type", "text/html; charset=utf-8");
  headers.add("X-Content-Type-Options", "nosniff");
  headers.add("Content-Security-Policy", kDocumentPolicy);
  headers.add("Referrer-Policy", "no-referrer");
  headers.add("Cache-Control", "no-store");
  return headers;
}

std::string first_bytes(const OpenObject& object, std::int64_t most) {
  std::string text(std::min<std::uint64_t>(object.bytes, static_cast<std::uint64_t>(most)), '\0');
  std::size_t at = 0;
  while (at < text.size()) {
    const ssize_t got = ::read(object.descriptor, text.data() + at, text.size() - at);
    if (got <= 0) break;
    at += static_cast<std::size_t>(got);
  }
  text.resize(at);
  ::close(object.descriptor);
  return text;
}

void send_artifact(ObjectBytes& objects, const net::Request& request, const ArtifactPlace& place,
                   const WriterPtr& writer) {
  Result<OpenObject> object = objects.open(place.bucket, place.key);
  if (!object) return refuse(writer, object.error());
  const std::string_view peek = request.query.get("peek");
  if (peek.empty()) {
    const bool document = request.query.get("view") == "html";
    return send_object(*object, document ? document_headers() : download_headers(place.key),
                       writer);
  }
  std::int64_t most = 0;
  std::from_chars(peek.data(), peek.data() + peek.size(), most);
  respond(writer, 200, first_bytes(*object, std::clamp<std::int64_t>(most, 0, kPeekMax)));
}

void send_list(ObjectBytes& objects, const ArtifactPlace& place, const WriterPtr& writer) {
  std::string below = place.key;
  while (below.ends_with('/')) below.pop_back();
  const Result<std::vector<std::string>> keys =
      objects.list(place.bucket, below + "/", kListMax + 1);
  if (!keys) return refuse(writer, keys.error());
  json::Array found;
  for (const std::string& key : *keys)
    if (found.size() < kListMax) found.emplace_back(key);
  respond(
      writer, 200,
      json::serialize(json::Object{{"keys", std::move(found)}, {"more", keys->size() > kListMax}}),
      "application/json");
}

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= 253 && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
  });
}

}  // namespace

struct PageRoutes::State : std::enable_shared_from_this<PageRoutes::State> {
  explicit State(PageOptions given) : options(std::move(given)) {}

  void artifacts(const net::Request& request, std::string_view rest, const WriterPtr& writer) {
    if (request.method != "GET")
      return refuse(writer, {Code::method_not_allowed, "artifacts are only read here"});
    Result<ArtifactPlace> place = place_of(request, rest);
    if (!place) return refuse(writer, place.error());
    options.records->ask<bool>(
        [ns = options.ns, place = *place](records::Database& database) {
          return is_artifact(database, ns, place);
        },
        options.client->executor(),
        [self = shared_from_this(), request, list = rest == "list", place = *place,
         writer](Result<bool> known) {
          if (!known) return refuse(writer, known.error());
          if (!*known)
            return refuse(writer, {Code::not_found, "no run has an artifact " + place.scheme +
                                                        "://" + place.bucket + "/" + place.key});
          Task task = [self, request, list, place, writer] {
            list ? send_list(*self->options.objects, place, writer)
                 : send_artifact(*self->options.objects, request, place, writer);
          };
          if (!self->workers.try_post(task))
            refuse(writer, {Code::too_many_requests, "too many requests are waiting"});
        });
  }

  void pods(const net::Request& request, std::string_view rest, const WriterPtr& writer) {
    const std::string run(request.query.get("runid")), pod(request.query.get("podname"));
    if (!is_name(run) || !is_name(pod))
      return refuse(writer, {Code::bad_request, "want a runid and a podname"});
    if (rest != "logs" && rest != "events")
      return refuse(writer, {Code::not_found, "want logs or events of a pod"});
    const bool follow = request.query.get("follow") == "true";
    options.records->ask<bool>(
        [ns = options.ns, run, pod](records::Database& database) {
          return is_step(database, ns, run, pod);
        },
        options.client->executor(),
        [self = shared_from_this(), run, pod, writer, follow,
         wants_log = rest == "logs"](Result<bool> known) {
          if (!known) return refuse(writer, known.error());
          if (!*known)
            return refuse(writer, {Code::not_found, "run " + run + " has no pod " + pod});
          wants_log ? self->log(run, pod, follow, writer) : self->events(pod, writer);
        });
  }

  void log(const std::string& run, const std::string& pod, bool follow, const WriterPtr& writer) {
    options.client->get(
        kube::resources::pods, {options.ns, pod},
        [self = shared_from_this(), run, pod, follow,
         writer](const Result<kube::ObjectPtr>& found) {
          kube::PodRef ref{self->options.ns, pod, ""};
          Result<json::Value> object = found ? json::parse(*(*found)->json)
                                             : Result<json::Value>(std::unexpected(found.error()));
          // A pod of that name that is no step of the run is nobody's here.
          if (object && json::string_at(*object, {"metadata", "labels", "pipeline/runid"}) == run)
            ref.uid = json::text_at(*object, {"metadata", "uid"});
          self->options.logs->send(run, ref, follow, writer);
        });
  }

  void events(const std::string& pod, const WriterPtr& writer) {
    kube::ListOptions wanted;
    wanted.ns = options.ns;
    wanted.field_selector = "involvedObject.kind=Pod,involvedObject.name=" + pod;
    options.client->list(kube::resources::events, wanted, [writer](Result<kube::List> found) {
      if (!found) return refuse(writer, found.error());
      json::Array items;
      for (const kube::ObjectPtr& object : found->items)
        if (Result<json::Value> item = json::parse(*object->json))
          items.push_back(std::move(*item));
      respond(writer, 200, json::serialize(json::Object{{"items", std::move(items)}}),
              "application/json");
    });
  }

  PageOptions options;
  WorkerPool workers{"artifacts", 2};
};

PageRoutes::PageRoutes(PageOptions options) : state_(std::make_shared<State>(options)) {}
PageRoutes::~PageRoutes() { state_->workers.stop(); }

kube::WebRoutes PageRoutes::routes() {
  kube::WebRoutes routes;
  using Answer = void (State::*)(const net::Request&, std::string_view, const WriterPtr&);
  // `skip` bytes of the path stand before what the answer looks at.
  const auto add = [&](const std::string& prefix, std::size_t skip, Answer answer) {
    routes.push_back({.prefix = prefix,
                      .handler = [state = state_, answer, skip](const kube::WebExchange& exchange) {
                        const std::string_view path = exchange.request.path;
                        (state.get()->*answer)(exchange.request,
                                               path.substr(std::min(skip, path.size())),
                                               exchange.writer);
                      }});
  };
  for (const std::string base : {"", "/pipeline"}) {
    // Not all of /artifacts/: the page has places of its own there.
    const std::string artifacts = base + "/artifacts/", pods = base + std::string(kPods);
    for (const char* what : {"get", "list", "minio", "s3", "gcs"})
      add(artifacts + what, artifacts.size(), &State::artifacts);
    add(pods, pods.size(), &State::pods);
  }
  return routes;
}

void PageRoutes::serve_pods(const net::Request& request, WriterPtr writer) {
  state_->pods(request, std::string_view(request.path).substr(kPods.size()), writer);
}

}  // namespace hekla::pipelines::page
