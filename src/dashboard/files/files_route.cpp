#include "dashboard/files/files_route.h"

#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "dashboard/files/file_tree.h"
#include "dashboard/page/answer.h"
#include "json/parse.h"

namespace hekla::dashboard {

namespace {

constexpr std::size_t kPiece = std::size_t{256} << 10, kPendingMax = std::size_t{1} << 20;
const kube::Resource kVolumes{"", "v1", "persistentvolumes", "PersistentVolume", false};

// The parts of "/hekla/v1/files/NS/CLAIM/PATH"; the gateway has normalised it.
struct Place {
  std::string ns, claim, path;
};
Result<Place> place_of(std::string_view path) {
  path.remove_prefix(std::min(path.size(), kFiles.size() + 1));
  Place out;
  for (std::string* part : {&out.ns, &out.claim}) {
    const std::size_t end = std::min(path.find('/'), path.size());
    *part = path.substr(0, end);
    path.remove_prefix(std::min(path.size(), end + 1));
    if (part->empty()) return fail(Code::not_found, "want /hekla/v1/files/NAMESPACE/CLAIM/PATH");
  }
  while (path.ends_with('/')) path.remove_suffix(1);
  out.path = path;
  return out;
}

// Feeds a client from a file as fast as it reads, on workers. Lives as long as the connection's
// callbacks.
struct Download : std::enable_shared_from_this<Download> {
  WorkerPool& workers;
  std::shared_ptr<net::ResponseWriter> writer;
  std::mutex mutex;  // one step may begin while another has not ended
  OpenFile file;
  std::uint64_t left = 0;
  explicit Download(WorkerPool& pool) : workers(pool) {}

  void begin(net::Headers headers) {
    writer->on_drained([self = shared_from_this()] {
      Task task = [self] { self->pump(); };
      if (!self->workers.try_post(task)) self->writer->abort();
    });
    writer->begin_sized(200, std::move(headers), left);
    pump();
  }
  void pump() {
    std::lock_guard lock(mutex);
    while (left > 0 && !writer->is_closed() && writer->pending_bytes() < kPendingMax) {
      std::string piece(std::min<std::uint64_t>(left, kPiece), '\0');
      const ssize_t got = ::read(file.get(), piece.data(), piece.size());
      if (got <= 0) return writer->abort();  // it has become shorter
      piece.resize(static_cast<std::size_t>(got));
      left -= piece.size();
      writer->write(std::move(piece));
    }
    if (left > 0 || !file) return;
    file = OpenFile();
    writer->end();
    writer->on_drained({});
  }
};

struct Visit : std::enable_shared_from_this<Visit> {
  kube::WebExchange exchange;
  Place place;
  kube::Client& client;
  WorkerPool& workers;
  json::Value claim;
  Visit(kube::Client& by, WorkerPool& pool) : client(by), workers(pool) {}

  void refuse(const Error& error) { exchange.writer->respond(error_response(error)); }

  void find_claim() {
    client.get(kube::resources::persistent_volume_claims, {place.ns, place.claim},
               [self = shared_from_this()](const Result<kube::ObjectPtr>& got) {
                 Result<json::Value> read = got ? json::parse(*(*got)->json)
                                                : Result<json::Value>(std::unexpected(got.error()));
                 if (!read) return self->refuse(read.error());
                 self->claim = std::move(*read);
                 self->find_volume();
               });
  }
  void find_volume() {
    const std::string name = json::text_at(claim, {"spec", "volumeName"});
    if (name.empty())
      return refuse({Code::not_found, "the volume is made when the first pod uses it"});
    client.get(
        kVolumes, {"", name}, [self = shared_from_this()](const Result<kube::ObjectPtr>& got) {
          Result<json::Value> volume =
              got ? json::parse(*(*got)->json) : Result<json::Value>(std::unexpected(got.error()));
          Result<ClaimDirectory> found =
              volume ? directory_of(self->claim, *volume)
                     : Result<ClaimDirectory>(std::unexpected(volume.error()));
          if (!found) return self->refuse(found.error());
          Task task = [self, found = std::move(*found)] { self->answer(found); };
          if (!self->workers.try_post(task))
            self->refuse({Code::too_many_requests, "too many files are asked for; come again"});
        });
  }
  void answer(const ClaimDirectory& directory) {
    Result<FileTree> tree = FileTree::open(directory.path);
    if (!tree) return refuse(tree.error());
    const std::string& method = exchange.request.method;
    if (method == "GET") return read(*tree, directory);
    if (method != "PUT" && method != "DELETE")
      return refuse({Code::method_not_allowed, "want GET, PUT or DELETE"});
    if (directory.read_only)
      return refuse({Code::forbidden, "this volume was made by hand: it is only read here"});
    Result<void> done =
        method == "PUT" ? tree->write(place.path, exchange.request.body) : tree->remove(place.path);
    if (!done) return refuse(done.error());
    exchange.writer->respond(json_response(json::Object{{"path", place.path}}));
  }
  void read(const FileTree& tree, const ClaimDirectory& directory) {
    Result<FileTree::Found> found = tree.find(place.path);
    if (!found) return refuse(found.error());
    if (found->directory) {
      Result<json::Object> listed = FileTree::list(found->file);
      if (!listed) return refuse(listed.error());
      (*listed)["path"] = place.path;
      (*listed)["readOnly"] = directory.read_only;
      return exchange.writer->respond(json_response(*listed));
    }
    // Files are users': no browser shows one on the page's origin.
    const std::string name = place.path.substr(place.path.rfind('/') + 1);
    net::Headers headers;
    headers.set("Content-Type", "application/octet-stream");
    headers.set("Content-Disposition", "attachment; filename*=UTF-8''" + net::url_encode(name));
    headers.set("X-Content-Type-Options", "nosniff");
    headers.set("Content-Security-Policy", "default-src 'none'; sandbox");
    headers.set("Cache-Control", "no-store");
    auto download = std::make_shared<Download>(workers);
    download->writer = exchange.writer;
    download->file = std::move(found->file);
    download->left = found->size;
    download->begin(std::move(headers));
  }
};

}  // namespace

Result<ClaimDirectory> directory_of(const json::Value& claim, const json::Value& volume) {
  // Anybody may write another claim's volume into theirs; only the volume says whose it is.
  const std::string uid = json::text_at(claim, {"metadata", "uid"});
  if (uid.empty() || json::string_at(volume, {"spec", "claimRef", "uid"}) != uid)
    return fail(Code::not_found, "the claim is not bound");
  ClaimDirectory out;
  out.path = json::text_at(volume, {"spec", "hostPath", "path"});
  // Volumes of the kind `local` may be another machine's.
  if (out.path.empty())
    return fail(Code::invalid, "the volume is no directory of this machine: mount it in a pod");
  out.read_only =
      json::string_at(volume, {"metadata", "annotations", "pv.kubernetes.io/provisioned-by"}) !=
      "rancher.io/local-path";
  return out;
}

kube::WebRoute files_route(Executor& loop, kube::Client& client, WorkerPool& workers) {
  kube::WebRoute out;
  out.prefix = std::string(kFiles);
  out.gate = kube::WebGate::object;
  out.access = [](const net::Request& request) -> Result<kube::Access> {
    const Place place = TRY(place_of(request.path));
    return kube::Access{"create", kube::resources::pods, {place.ns, ""}};
  };
  out.limits = {.max_body_bytes = kUploadMax};
  out.handler = [&loop, &client, &workers](kube::WebExchange exchange) {
    Result<Place> place = place_of(exchange.request.path);
    if (!place) return exchange.writer->respond(error_response(place.error()));
    auto visit = std::make_shared<Visit>(client, workers);
    visit->place = std::move(*place);
    auto writer = exchange.writer;
    visit->exchange = std::move(exchange);
    on_loop(loop, writer, [visit] { visit->find_claim(); });
  };
  return out;
}

}  // namespace hekla::dashboard
