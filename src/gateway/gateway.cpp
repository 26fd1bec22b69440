#include "gateway/gateway.h"

#include <map>
#include <set>

#include "base/bytes.h"
#include "base/crypto.h"
#include "base/log.h"
#include "base/loop.h"
#include "framework/any_object.h"
#include "gateway/activity/kernels.h"
#include "gateway/front_door.h"
#include "gateway/login/token_reviews.h"
#include "gateway/password.h"
#include "gateway/policies/members.h"
#include "gateway/proxy.h"
#include "gateway/request/content_origin.h"
#include "gateway/routes/route_source.h"
#include "json/parse.h"
#include "kube/cache_set.h"
#include "model/time.h"
#include "net/local_clients.h"

namespace hekla::gateway {
namespace {

constexpr const char* kSystemNamespace = "hekla-system";
constexpr const char* kSessionsSecret = "hekla-gateway-sessions";
constexpr const char* kLinkType = "hekla.io/login-link";
constexpr int kBcryptWaiting = 4;
constexpr Nanos kLinkLife = std::chrono::minutes(2);
constexpr Nanos kActivityEvery = std::chrono::minutes(1);
constexpr Nanos kKeepAfter = std::chrono::seconds(1);  // changes of a second are written together
using framework::AnyObject;

std::string link_name(std::string_view code) {
  return "login-link-" + sha256_hex(code).substr(0, 40);
}

std::string decoded_at(const json::Object& data, std::string_view key) {
  const json::Value* value = json::find(data, key);
  if (!value || !value->is_string()) return {};
  return base64_decode(json::sv(value->as_string())).value_or("");
}

}  // namespace

bool has_content_origin(std::string_view page_origin) {
  return !content_origin_of(page_origin).empty();
}

LoginLink make_login_link(const kube::User& user, WallTime now, Rng& rng) {
  LoginLink link;
  link.code = random_secret(rng);
  json::Array groups;
  for (const std::string& group : user.groups) groups.emplace_back(group);
  const json::Object data{{"user", base64_encode(user.name)},
                          {"groups", base64_encode(json::serialize(groups))},
                          {"expires", base64_encode(model::format_rfc3339(now + kLinkLife))}};
  link.secret = json::Object{
      {"apiVersion", "v1"},
      {"kind", "Secret"},
      {"type", kLinkType},
      {"metadata", json::Object{{"name", link_name(link.code)}, {"namespace", kSystemNamespace}}},
      {"data", data}};
  return link;
}

struct Gateway::State : std::enable_shared_from_this<State> {
  explicit State(Options given)
      : options(std::move(given)),
        client(*options.client),
        sessions({}, *options.clock, *options.rng),
        reviews(client),
        authorizer(client),
        caches(client) {}

  const Options options;
  kube::Client& client;
  WorkerPool worker{"bcrypt", 1, kBcryptWaiting};
  Sessions sessions;
  TokenReviews reviews;
  kube::ReviewAuthorizer authorizer;
  std::unique_ptr<Login> login;
  std::unique_ptr<FrontDoor> door;
  std::unique_ptr<net::LocalClients> pods;
  std::unique_ptr<RouteProxy> proxy;
  kube::CacheSet caches;
  std::unique_ptr<RouteSource> routes;
  kube::Informer<AnyObject>* configs = nullptr;
  kube::Informer<AnyObject>* secrets = nullptr;
  Activity activity;
  std::unique_ptr<KernelAsker> kernels;
  Members members;
  bool keeping = false;
  std::string seen_config;

  Result<void> assemble();
  Result<void> assemble_proxy();
  void run();
  void read_accounts();
  void make_first_account();
  void load_sessions(std::move_only_function<void()> then);
  void keep_sessions();
  void write_sessions();
  void write_activity();
  void redeem(const std::string& code, FrontDoorOptions::UserDone done);
  void take_link(const kube::ObjectPtr& object, FrontDoorOptions::UserDone done);
};

Result<void> Gateway::State::assemble() {
  LoginOptions login_options;
  login_options.clock = options.clock;
  login_options.rng = options.rng;
  login_options.work = [this](Task& task) { return worker.try_post(task); };
  login_options.redeem = [this](std::string code, FrontDoorOptions::UserDone done) {
    auto shared = std::make_shared<FrontDoorOptions::UserDone>(std::move(done));
    client.executor().post([weak = weak_from_this(), code = std::move(code), shared] {
      if (const auto self = weak.lock()) self->redeem(code, std::move(*shared));
    });
  };
  login = std::make_unique<Login>(std::move(login_options), sessions);
  FrontDoorOptions door_options;
  door_options.routes = options.routes;
  door_options.verify_token = options.verify_token;
  if (!door_options.verify_token)
    door_options.verify_token = [this](std::string token, FrontDoorOptions::UserDone done) {
      reviews.verify(std::move(token), std::move(done));
    };
  door_options.authorize = options.authorize;
  if (!door_options.authorize)
    door_options.authorize = [this](const kube::User& user, const kube::Access& access,
                                    kube::Authorizer::Done done) {
      auto shared = std::make_shared<kube::Authorizer::Done>(std::move(done));
      Task ask = [weak = weak_from_this(), user, access, shared] {
        if (const auto self = weak.lock()) self->authorizer.may(user, access, std::move(*shared));
      };
      if (!client.executor().try_post(ask))
        (*shared)(fail(Code::too_many_requests, "too many requests are waiting to be authorised"));
    };
  if (!options.login) {
    DexUser usual;
    usual.email = kDefaultEmail;
    door_options.everybody = local_user(usual);
  }
  door_options.is_sole_member = [this](const std::string& user, const std::string& ns) {
    return members.is_sole(user, ns);
  };
  door = TRY(FrontDoor::make(std::move(door_options), *login));
  sessions.on_change([weak = weak_from_this()](std::vector<std::string> ended) {
    const auto self = weak.lock();
    if (!self) return;
    self->door->end_streams(ended);
    self->client.executor().post([weak] {
      if (const auto owner = weak.lock()) owner->keep_sessions();
    });
  });
  configs = &caches.of<AnyObject>(kube::resources::config_maps, {.ns = kAuthNamespace});
  secrets = &caches.of<AnyObject>(kube::resources::secrets, {.ns = kAuthNamespace});
  configs->on_settled([this] { read_accounts(); });
  secrets->on_settled([this] { read_accounts(); });
  auto& bindings = caches.of<AnyObject>(kRoleBindings);
  bindings.on_change([this](const framework::AnyRef& before, const framework::AnyRef& after) {
    if (after)
      members.read(*after);
    else
      members.forget(framework::key_of(before->metadata));
  });
  return assemble_proxy();
}

Result<void> Gateway::State::assemble_proxy() {
  routes = std::make_unique<RouteSource>(caches, [this](std::string_view prefix) {
    return door->table().owns(prefix) || Login::claims(prefix);
  });
  if (options.ask_kernels)
    kernels = TRY(KernelAsker::make(options.pod_sockets, activity, *options.clock));
  net::ClientOptions client_options;
  client_options.open_socket = options.pod_sockets;
  pods = TRY(net::LocalClients::make(std::move(client_options)));
  ProxyOptions proxy_options;
  proxy_options.table = [this] { return routes->table(); };
  proxy_options.forward = [this](const net::Request& request,
                                 std::shared_ptr<net::ResponseWriter> writer,
                                 net::Forwarding forwarding) {
    net::forward(request, std::move(writer), pods->here(), std::move(forwarding));
  };
  proxy_options.rng = options.rng;
  proxy_options.clock = options.clock;
  proxy_options.activity = &activity;
  proxy = std::make_unique<RouteProxy>(std::move(proxy_options));
  door->set_proxy(proxy.get());
  return {};
}

void Gateway::State::run() {
  load_sessions([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    if (self->options.login) self->make_first_account();
    self->caches.start();
    self->write_activity();
  });
}

// At most once a minute for each notebook: every write wakes those who watch it.
void Gateway::State::write_activity() {
  std::vector<kube::Write> writes;
  for (const auto& [notebook, when] : activity.take_new())
    writes.push_back(last_activity(notebook, when));
  if (!writes.empty())
    client.batch(std::move(writes), [](const std::vector<kube::WriteResult>& results) {
      for (const kube::WriteResult& result : results)
        if (!result && result.error().code != Code::not_found)
          log_warn("gateway", "a notebook's last use could not be written down",
                   {{"error", result.error().message}});
    });
  if (kernels) kernels->ask(*routes->table());
  client.executor().post_after(kActivityEvery, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->write_activity();
  });
}

// Dex's own way: whoever edits the ConfigMap sees it obeyed, here without a restart. What cannot be
// read leaves the accounts as they were.
void Gateway::State::read_accounts() {
  if (!configs->synced() || !secrets->synced()) return;
  const auto object = configs->get({kAuthNamespace, kDexConfigMap});
  const json::Object* data = nullptr;
  if (object)
    if (const json::Value* found = json::find(object->rest, "data"); found && found->is_object())
      data = &found->as_object();
  const json::Value* text = data ? json::find(*data, kDexConfigKey) : nullptr;
  if (!text || !text->is_string()) return;
  const auto passwords = secrets->get({kAuthNamespace, kDexPasswords});
  const std::string version = object->metadata.resourceVersion + " " +
                              (passwords ? passwords->metadata.resourceVersion : "");
  if (version == seen_config) return;
  seen_config = version;
  Result<DexConfig> config =
      read_dex_config(json::sv(text->as_string()), [&](std::string_view name) -> std::string {
        const json::Value* values = passwords ? json::find(passwords->rest, "data") : nullptr;
        return values && values->is_object() ? decoded_at(values->as_object(), name) : "";
      });
  if (!config) {
    log_warn("gateway", "the ConfigMap auth/dex cannot be read; accounts stay as they were",
             {{"error", config.error().message}});
    return;
  }
  for (const std::string& remark : config->remarks)
    log_warn("gateway", "ConfigMap auth/dex: " + remark);
  login->set_config(std::make_shared<const DexConfig>(std::move(*config)));
}

// Once, where there is no ConfigMap yet: the account that Kubeflow's manifests begin with.
void Gateway::State::make_first_account() {
  client.get(
      kube::resources::config_maps, {kAuthNamespace, kDexConfigMap},
      [weak = weak_from_this()](const Result<kube::ObjectPtr>& found) {
        const auto self = weak.lock();
        if (!self || found || found.error().code != Code::not_found) return;
        Task hash = [weak, rng = self->options.rng, &executor = self->client.executor()] {
          Result<std::string> made = hash_password(kDefaultPassword, *rng);
          executor.post([weak, made = std::move(made)] {
            const auto owner = weak.lock();
            if (!owner || !made) return;
            const DexUser usual{std::string(kDefaultEmail), "user", "15841185641784", *made, {}};
            Result<std::string> text = with_user(first_dex_config(), usual);
            if (!text) return;
            std::vector<kube::Write> writes(2);
            writes[0].resource = kube::resources::namespaces;
            writes[0].key = {"", kAuthNamespace};
            writes[0].body = json::Object{{"apiVersion", "v1"},
                                          {"kind", "Namespace"},
                                          {"metadata", json::Object{{"name", kAuthNamespace}}}};
            writes[1].resource = kube::resources::config_maps;
            writes[1].key = {kAuthNamespace, kDexConfigMap};
            writes[1].body = json::Object{
                {"apiVersion", "v1"},
                {"kind", "ConfigMap"},
                {"metadata", json::Object{{"name", kDexConfigMap}, {"namespace", kAuthNamespace}}},
                {"data", json::Object{{kDexConfigKey, *text}}}};
            owner->client.batch(std::move(writes),
                                [](const std::vector<kube::WriteResult>& results) {
                                  for (const kube::WriteResult& result : results)
                                    if (!result && result.error().code != Code::already_exists)
                                      log_warn("gateway", "the first account could not be made",
                                               {{"error", result.error().message}});
                                });
          });
        };
        (void)self->worker.try_post(hash);
      });
}

void Gateway::State::load_sessions(std::move_only_function<void()> then) {
  client.get(kube::resources::secrets, {kSystemNamespace, kSessionsSecret},
             [weak = weak_from_this(),
              then = std::move(then)](const Result<kube::ObjectPtr>& found) mutable {
               const auto self = weak.lock();
               if (!self) return;
               Result<json::Value> object =
                   found ? json::parse(*(*found)->json) : std::unexpected(found.error());
               const json::Object* data = object ? json::object_at(*object, {"data"}) : nullptr;
               if (data)
                 if (Result<json::Value> dumped = json::parse(decoded_at(*data, "sessions")))
                   self->sessions.load(*dumped);
               then();
             });
}

void Gateway::State::keep_sessions() {
  if (std::exchange(keeping, true)) return;
  client.executor().post_after(kKeepAfter, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    self->keeping = false;
    self->write_sessions();
  });
}

void Gateway::State::write_sessions() {
  kube::Write write;
  write.verb = kube::Write::Verb::patch;
  write.patch_type = kube::PatchType::apply;
  write.force = true;
  write.resource = kube::resources::secrets;
  write.key = {kSystemNamespace, kSessionsSecret};
  write.body = json::Object{
      {"apiVersion", "v1"},
      {"kind", "Secret"},
      {"metadata", json::Object{{"name", kSessionsSecret}, {"namespace", kSystemNamespace}}},
      {"data", json::Object{{"sessions", base64_encode(json::serialize(sessions.dump()))}}}};
  client.write(std::move(write), [weak = weak_from_this()](const kube::WriteResult& result) {
    if (result) return;
    log_warn("gateway", "sessions could not be kept", {{"error", result.error().message}});
    if (const auto self = weak.lock()) self->keep_sessions();
  });
}

void Gateway::State::redeem(const std::string& code, FrontDoorOptions::UserDone done) {
  client.get(kube::resources::secrets, {kSystemNamespace, link_name(code)},
             [weak = weak_from_this(),
              done = std::move(done)](const Result<kube::ObjectPtr>& found) mutable {
               const auto self = weak.lock();
               if (!self || !found)
                 return done(fail(found ? Code::unavailable : found.error().code, "no such link"));
               self->take_link(*found, std::move(done));
             });
}

void Gateway::State::take_link(const kube::ObjectPtr& object, FrontDoorOptions::UserDone done) {
  Result<json::Value> secret = json::parse(*object->json);
  const json::Object* data = secret ? json::object_at(*secret, {"data"}) : nullptr;
  kube::User user;
  bool good = false;
  if (data && json::string_at(*secret, {"type"}) == kLinkType) {
    user.name = decoded_at(*data, "user");
    user.proof = kube::Proof::session;
    if (Result<json::Value> groups = json::parse(decoded_at(*data, "groups"));
        groups && groups->is_array())
      for (const json::Value& group : groups->as_array())
        if (group.is_string()) user.groups.emplace_back(json::sv(group.as_string()));
    Result<WallTime> expires = model::parse_rfc3339(decoded_at(*data, "expires"));
    good = !user.name.empty() && expires && options.clock->wall() < *expires;
  }
  // Removing it is using it; of two at the same time one fails.
  kube::Write removal;
  removal.verb = kube::Write::Verb::remove;
  removal.resource = kube::resources::secrets;
  removal.key = {object->ns, object->name};
  removal.precondition_uid = object->uid;
  client.write(std::move(removal), [user = std::move(user), good, done = std::move(done)](
                                       const kube::WriteResult& removed) mutable {
    if (!removed || !good) return done(fail(Code::not_found, "the link is used or too old"));
    done(std::move(user));
  });
}

Gateway::Gateway(Private, std::shared_ptr<State> state) : state_(std::move(state)) {}
Gateway::~Gateway() { state_->worker.stop(); }

Result<std::unique_ptr<Gateway>> Gateway::create(Options options) {
  auto state = std::make_shared<State>(std::move(options));
  TRY(state->assemble());
  return std::make_unique<Gateway>(Private{}, std::move(state));
}

void Gateway::start() {
  state_->client.executor().post([state = state_] { state->run(); });
}

net::Handler Gateway::handler(std::string scheme) {
  return [door = state_->door.get(), scheme = std::move(scheme)](
             net::Request request, std::shared_ptr<net::ResponseWriter> writer) {
    door->serve(std::move(request), std::move(writer), scheme);
  };
}

net::Router Gateway::router() {
  return [door = state_->door.get()](const net::Request& head) { return door->rules(head); };
}

bool Gateway::has_default_password() const { return state_->login->has_default_password(); }

}  // namespace hekla::gateway
