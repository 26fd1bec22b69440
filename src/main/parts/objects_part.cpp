#include "main/parts/objects_part.h"

#include <mutex>
#include <optional>

#include "base/bytes.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/rng.h"
#include "kube/cache_set.h"
#include "main/listen.h"
#include "main/parts/artifact_bytes.h"
#include "main/parts/own_service.h"
#include "main/server_names.h"
#include "model/core.h"
#include "net/server.h"
#include "objects/object_store.h"
#include "objects/s3.h"

namespace hekla {
namespace {

constexpr const char* kNamespace = "kubeflow";
constexpr const char* kService = "minio-service";
constexpr std::uint16_t kServicePort = 9000;
constexpr std::uint16_t kPodsPort = 6445;
// The keys that every tutorial types; whoever changes the Secret changes them.
constexpr const char* kSecret = "mlpipeline-minio-artifact";
constexpr const char *kAccessKey = "minio", *kSecretKey = "minio123";
constexpr const char* kBucket = "mlpipeline";

// The key that the Secret holds, for net threads.
class RootKey {
 public:
  void set(const model::Secret* secret) {
    std::optional<objects::Credential> made;
    if (secret) {
      const std::optional<std::string> access = value(*secret, "accesskey"),
                                       key = value(*secret, "secretkey");
      if (access && key && !access->empty() && !key->empty())
        made = objects::Credential{.access_key = *access, .secret = *key, .everything = true};
    }
    std::lock_guard lock(mutex_);
    credential_ = std::move(made);
  }
  std::optional<objects::Credential> find(std::string_view access_key) const {
    std::lock_guard lock(mutex_);
    if (credential_ && credential_->access_key == access_key) return credential_;
    return std::nullopt;
  }

 private:
  static std::optional<std::string> value(const model::Secret& secret, const char* name) {
    const auto found = secret.data.find(name);
    return found == secret.data.end() ? std::nullopt : base64_decode(found->second);
  }

  mutable std::mutex mutex_;
  std::optional<objects::Credential> credential_;
};

void add_surroundings(StandingObjects& standing, const std::string& gateway) {
  standing.add(kube::resources::secrets,
               {{"metadata", json::Object{{"name", kSecret}, {"namespace", kNamespace}}},
                {"data", json::Object{{"accesskey", base64_encode(kAccessKey)},
                                      {"secretkey", base64_encode(kSecretKey)}}}});
  add_own_service(standing, kNamespace, kService, {{"http", kServicePort, kPodsPort}}, gateway);
}

void make_bucket(objects::ObjectStore& store) {
  store.ask<bool>(
      [&store](objects::Catalog& catalog) -> Result<objects::Outcome<bool>> {
        return TRY(catalog.make_bucket(kBucket, store.clock().wall()));
      },
      [](const objects::Outcome<bool>& made) {
        if (!made) log_error("objects", "make the first bucket: " + made.error().message);
      });
}

}  // namespace

struct ObjectsPart::State {
  Loop loop{"objects-keys"};
  RootKey key;
  std::unique_ptr<objects::ObjectStore> store;
  std::unique_ptr<pipelines::ObjectBytes> artifacts;
  std::unique_ptr<kube::Client> client;
  std::unique_ptr<kube::CacheSet> caches;
  std::unique_ptr<net::Server> for_pods, for_host;
  std::string url;

  Result<std::unique_ptr<net::Server>> serve(net::Socket socket);
  void watch_key();
  void stop() {
    if (for_host) for_host->stop();
    if (for_pods) for_pods->stop();
    loop.stop();
  }
};

Result<std::unique_ptr<net::Server>> ObjectsPart::State::serve(net::Socket socket) {
  objects::S3Options s3;
  s3.credentials = [this](std::string_view access_key) { return key.find(access_key); };
  const std::string name = std::string(kService) + "." + kNamespace;
  s3.hosts = {kService, name, name + ".svc", name + ".svc.cluster.local", "localhost"};
  net::ServerOptions serving;
  serving.name = "objects";
  serving.tls = false;
  serving.router = objects::s3_router();
  return net::Server::start(serving, objects::s3_handler(*store, std::move(s3)), std::move(socket));
}

void ObjectsPart::State::watch_key() {
  caches = std::make_unique<kube::CacheSet>(*client);
  caches
      ->of<model::Secret>(
          kube::resources::secrets,
          {.ns = kNamespace, .field_selector = std::string("metadata.name=") + kSecret})
      .on_change([this](const auto&, const auto& after) { key.set(after.get()); });
  caches->start();
}

Result<std::unique_ptr<ObjectsPart>> ObjectsPart::start(ObjectsOptions options) {
  auto state = std::make_unique<State>();
  state->store =
      TRY(objects::ObjectStore::open(options.data_dir + "/objects", real_clock(), real_rng()));
  make_bucket(*state->store);
  state->artifacts = artifact_bytes(*state->store);
  state->client = options.make_client(state->loop, {"hekla-objects"});
  state->for_pods = TRY(state->serve(TRY(options.listen_for_pods(kPodsPort))));
  ListenAddress listen;
  net::Socket listener = TRY(listen_on_kept({"--objects-listen", "objects-port", kServicePort},
                                            options.listen, options.data_dir, listen));
  state->for_host = TRY(state->serve(std::move(listener)));
  state->url = "http://" + local_address(listen.address) + ":" + std::to_string(listen.port);
  // Where a Service with a selector leads that somebody has installed.
  state->for_pods->serve_on(TRY(options.listen_for_pods(kServicePort)));
  add_surroundings(*options.standing, options.gateway);
  state->loop.post([state = state.get()] { state->watch_key(); });
  log_info("objects", "serving", {{"url", state->url}});
  return std::make_unique<ObjectsPart>(Private{}, std::move(state));
}

ObjectsPart::ObjectsPart(Private, std::unique_ptr<State> state) : state_(std::move(state)) {}
ObjectsPart::~ObjectsPart() { stop(); }
void ObjectsPart::stop() { state_->stop(); }
pipelines::ObjectBytes& ObjectsPart::artifacts() { return *state_->artifacts; }
const std::string& ObjectsPart::url() const { return state_->url; }

}  // namespace hekla
