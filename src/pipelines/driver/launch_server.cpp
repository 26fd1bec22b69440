#include "pipelines/driver/launch_server.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "base/crypto.h"
#include "pipelines/object_sending.h"

namespace hekla::pipelines::driver {
namespace {

constexpr std::size_t kListMax = 100'000;
constexpr std::size_t kResultMax = std::size_t{256} << 20;

using WriterPtr = std::shared_ptr<net::ResponseWriter>;
using GrantPtr = std::shared_ptr<const LaunchGrant>;

void respond(const WriterPtr& writer, int status, std::string text,
             const char* type = "text/plain") {
  net::Response response;
  response.status = status;
  response.headers.add("Content-Type", type);
  response.body = std::move(text);
  writer->respond(std::move(response));
}

void respond(const WriterPtr& writer, const Error& error) {
  respond(writer, http_status_of(error.code), error.message);
}

bool covers(const std::vector<ObjectPlace>& places, const ObjectPlace& asked) {
  return std::ranges::any_of(places, [&](const ObjectPlace& place) {
    return place.bucket == asked.bucket &&
           (asked.key == place.key || asked.key.starts_with(place.key + "/"));
  });
}

// "/v1/objects/b/k/l" behind its prefix, decoded by the server.
std::optional<ObjectPlace> place_in(std::string_view path, std::string_view prefix) {
  if (!path.starts_with(prefix)) return std::nullopt;
  path.remove_prefix(prefix.size());
  const std::size_t slash = path.find('/');
  if (slash == std::string_view::npos || slash == 0 || slash + 1 == path.size())
    return std::nullopt;
  return ObjectPlace{std::string(path.substr(0, slash)), std::string(path.substr(slash + 1))};
}

Result<void> write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(fd, bytes.data(), bytes.size());
    if (done <= 0) return fail(Code::unavailable, "an object's bytes cannot be written");
    bytes.remove_prefix(static_cast<std::size_t>(done));
  }
  return {};
}

// An object on its way in, into a scratch file.
struct Receiving {
  std::string file;
  int fd = -1;
  bool failed = false;
  ~Receiving() {
    if (fd >= 0) ::close(fd);
    if (!file.empty()) ::unlink(file.c_str());
  }
};

}  // namespace

struct LaunchServer::State : std::enable_shared_from_this<LaunchServer::State> {
  explicit State(ObjectBytes& kept) : objects(kept) {}

  GrantPtr find(const net::Request& request) {
    std::string_view token = request.headers.get("Authorization");
    if (!token.starts_with("Bearer ")) return nullptr;
    token.remove_prefix(7);
    std::lock_guard lock(mutex);
    const auto found = grants.find(std::string(token));
    return found == grants.end() ? nullptr : found->second;
  }

  void in_background(const WriterPtr& writer, Task task) {
    if (!workers.try_post(task)) respond(writer, 429, "too many requests are waiting");
  }

  void get_object(const ObjectPlace& place, const WriterPtr& writer) {
    in_background(writer, [self = shared_from_this(), place, writer] {
      Result<OpenObject> object = self->objects.open(place.bucket, place.key);
      if (!object) return respond(writer, object.error());
      send_object(*object, {}, writer);
    });
  }

  void list_objects(const ObjectPlace& place, const WriterPtr& writer) {
    in_background(writer, [self = shared_from_this(), place, writer] {
      json::Array keys;
      if (Result<OpenObject> object = self->objects.open(place.bucket, place.key)) {
        ::close(object->descriptor);
        keys.emplace_back(place.key);
      } else {
        auto below = self->objects.list(place.bucket, place.key + "/", kListMax);
        if (!below) return respond(writer, below.error());
        for (const std::string& key : *below) keys.emplace_back(key);
      }
      respond(writer, 200, json::serialize(keys), "application/json");
    });
  }

  void put_object(const ObjectPlace& place, const WriterPtr& writer) {
    auto into = std::make_shared<Receiving>();
    Result<std::string> file = objects.scratch_file();
    if (!file) return respond(writer, file.error());
    into->file = *file;
    into->fd = ::open(file->c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (into->fd < 0) return respond(writer, 503, "a file for the object cannot be made");
    net::InputCallbacks input;
    input.on_data = [into](std::string_view bytes) {
      if (!into->failed) into->failed = !write_all(into->fd, bytes);
    };
    input.on_end = [self = shared_from_this(), into, place, writer](Result<void> ended) {
      if (!ended) return;
      if (into->failed) return respond(writer, 503, "the object's bytes cannot be written");
      self->in_background(writer, [self, into, place, writer] {
        Result<void> stored = self->objects.put(place.bucket, place.key, into->file);
        if (!stored) return respond(writer, stored.error());
        into->file.clear();
        respond(writer, 200, "");
      });
    };
    writer->read_body(std::move(input));
  }

  void put_result(const GrantPtr& grant, std::string body, const WriterPtr& writer) {
    in_background(writer, [self = shared_from_this(), grant, body = std::move(body), writer] {
      Receiving into;
      Result<std::string> file = self->objects.scratch_file();
      if (!file) return respond(writer, file.error());
      into.file = *file;
      into.fd = ::open(file->c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
      if (into.fd < 0 || !write_all(into.fd, body))
        return respond(writer, 503, "the result cannot be written");
      Result<void> stored = self->objects.put(grant->result.bucket, grant->result.key, into.file);
      if (!stored) return respond(writer, stored.error());
      into.file.clear();
      respond(writer, 200, json::serialize(json::Object{{"sha256", sha256_hex(body)}}),
              "application/json");
    });
  }

  ObjectBytes& objects;
  std::mutex mutex;
  std::map<std::string, GrantPtr> grants;
  WorkerPool workers{"launch", 4};
};

LaunchServer::LaunchServer(ObjectBytes& objects) : state_(std::make_shared<State>(objects)) {}
LaunchServer::~LaunchServer() { state_->workers.stop(); }

void LaunchServer::grant(const std::string& token, LaunchGrant grant) {
  auto shared = std::make_shared<const LaunchGrant>(std::move(grant));
  std::lock_guard lock(state_->mutex);
  state_->grants[token] = std::move(shared);
}

void LaunchServer::revoke(const std::string& token) {
  std::lock_guard lock(state_->mutex);
  state_->grants.erase(token);
}

net::RouteRules LaunchServer::rules(const net::Request& head) {
  net::RouteRules rules;
  rules.body_timeout = std::chrono::milliseconds(0);
  rules.stall_timeout = std::chrono::minutes(5);
  rules.stream_body = head.path.starts_with("/v1/objects/");
  rules.max_body_bytes = rules.stream_body ? std::size_t{1} << 40 : kResultMax;
  return rules;
}

void LaunchServer::handle(net::Request request, WriterPtr writer) {
  const GrantPtr grant = state_->find(request);
  // Perhaps the platform has just started and not looked at its runs yet: ask again.
  if (!grant) return respond(writer, 503, "no step has this token");
  if (request.path == "/v1/task" && request.method == "GET")
    return respond(writer, 200, json::serialize(grant->task), "application/json");
  if (request.path == "/v1/result" && request.method == "PUT")
    return state_->put_result(grant, std::move(request.body), writer);
  const bool put = request.method == "PUT";
  std::optional<ObjectPlace> place = place_in(request.path, "/v1/objects/");
  if (place && (put || request.method == "GET")) {
    if (!covers(put ? grant->writes : grant->reads, *place))
      return respond(writer, 403, "this step may not touch " + place->bucket + "/" + place->key);
    return put ? state_->put_object(*place, writer) : state_->get_object(*place, writer);
  }
  place = place_in(request.path, "/v1/list/");
  if (place && request.method == "GET") {
    if (!covers(grant->reads, *place))
      return respond(writer, 403, "this step may not read " + place->bucket + "/" + place->key);
    return state_->list_objects(*place, writer);
  }
  respond(writer, 404, "nothing is served at " + request.path);
}

}  // namespace hekla::pipelines::driver
