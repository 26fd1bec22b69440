#include "main/api_only.h"

#include <algorithm>
#include <cstdio>
#include <future>

#include "apiserver/api_server.h"
#include "base/disk.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/metrics.h"
#include "base/rng.h"
#include "cli/end_signal.h"
#include "cli/instance.h"
#include "cli/verb.h"
#include "kube/rest_client.h"
#include "main/audit_options.h"
#include "main/listen.h"
#include "main/pki.h"
#include "main/server_names.h"
#include "main/store_disk.h"
#include "main/token_file.h"
#include "main/up.h"
#include "net/server.h"
#include "store/store.h"

namespace hekla {
namespace {

// Members are destroyed in reverse order.
struct LoneApi {
  std::unique_ptr<cli::InstanceLock> lock;
  Metrics metrics;
  Loop committer{"store"}, snapshots{"snapshots"}, loop{"api"};
  std::unique_ptr<Disk> disk;
  std::unique_ptr<store::Store> store;
  std::unique_ptr<apiserver::ApiServer> api;
  std::unique_ptr<net::Server> server;

  ~LoneApi() {
    if (server) server->stop();
    for (Loop* one : {&loop, &committer, &snapshots}) one->stop();
  }
};

Result<KeyPair> server_certificate(const cli::ApiServerOptions& options, const Pki& pki) {
  if (!options.tls_cert_file.empty())
    return KeyPair{TRY(read_file(options.tls_cert_file)), TRY(read_file(options.tls_key_file))};
  if (options.cert_dir.empty()) return pki.server;
  Result<std::string> certificate = read_file(options.cert_dir + "/apiserver.crt");
  Result<std::string> key = read_file(options.cert_dir + "/apiserver.key");
  return certificate && key ? KeyPair{*certificate, *key} : pki.server;
}

Result<apiserver::AuthOptions> auth_options(const cli::ApiServerOptions& options, const Pki& pki) {
  apiserver::AuthOptions auth;
  auth.root_ca_pem = pki.ca.certificate_pem;
  auth.signing_key_pem = options.service_account_signing_key_file.empty()
                             ? pki.token_key
                             : TRY(read_file(options.service_account_signing_key_file));
  for (const std::string& path : options.service_account_key_files)
    auth.verify_key_pems.push_back(TRY(read_file(path)));
  if (!options.service_account_issuer.empty()) auth.issuer = options.service_account_issuer;
  if (!options.token_auth_file.empty())
    auth.static_tokens = TRY(parse_token_file(TRY(read_file(options.token_auth_file))));
  // One mode that allows everything decides, as in kube-apiserver's union of authorizers.
  const std::vector<std::string>& modes = options.authorization_modes;
  auth.anonymous = options.anonymous_auth;
  auth.allow_everything = std::find(modes.begin(), modes.end(), "AlwaysAllow") != modes.end();
  return auth;
}

// The administrator of the data directory is known whoever else's certificates are.
Result<std::string> client_ca(const cli::ApiServerOptions& options, const Pki& pki) {
  if (options.client_ca_file.empty()) return pki.ca.certificate_pem;
  return pki.ca.certificate_pem + "\n" + TRY(read_file(options.client_ca_file));
}

Result<void> bootstrap(LoneApi& lone) {
  std::promise<Result<void>> promise;
  lone.api->bootstrap([&promise](Result<void> result) { promise.set_value(std::move(result)); });
  return promise.get_future().get();
}

// One of the two limits alone means upstream's default for the other.
std::size_t max_requests(const cli::ApiServerOptions& options) {
  constexpr int kReading = 400, kWriting = 200;
  const int reading = options.max_requests_inflight,
            writing = options.max_mutating_requests_inflight;
  if (reading == 0 && writing == 0) return 0;
  return static_cast<std::size_t>((reading > 0 ? reading : kReading) +
                                  (writing > 0 ? writing : kWriting));
}

Result<apiserver::Options> api_options(LoneApi& lone, const cli::ApiServerOptions& options,
                                       const Pki& pki) {
  apiserver::Options api;
  api.store = lone.store.get();
  api.loop = &lone.loop;
  api.clock = &real_clock();
  api.rng = &real_rng();
  api.metrics = &lone.metrics;
  api.auth = TRY(auth_options(options, pki));
  api.front_proxy = {pki.front_proxy_ca.certificate_pem, pki.front_proxy};
  api.client_ca_pem = TRY(client_ca(options, pki));
  api.audit = TRY(audit_options(options.audit));
  api.service_cidr = options.service_cidr;
  api.advertise_address = options.advertise_address.empty()
                              ? advertised_address(options.bind_address)
                              : options.advertise_address;
  api.max_requests = max_requests(options);
  api.pod_security_default = apiserver::parse_pod_security_level(options.pod_security_default)
                                 .value_or(apiserver::PodSecurityLevel::restricted);
  api.disabled_admission = options.disable_admission;
  api.platform_objects = false;
  return api;
}

// Writes the kubeconfig for `hekla backup --data-dir` and clients without credentials. A
// certificate that was given is trusted as it is: who signed it need not be known here.
Result<void> write_kubeconfig(const std::string& data_dir, const std::string& url,
                              const KeyPair& certificate, const Pki& pki) {
  const bool own = certificate.certificate_pem == pki.server.certificate_pem;
  return write_file_atomically(
      data_dir + "/admin.kubeconfig",
      kube::make_kubeconfig("hekla", url,
                            own ? pki.ca.certificate_pem : certificate.certificate_pem, pki.admin),
      0600);
}

void tell_of_flags(const cli::ApiServerOptions& options) {
  for (const std::string& flag : options.without_meaning)
    log_warn("main", flag + " is accepted and has no meaning here");
  if (!options.etcd_servers.empty())
    log_warn("main", "--etcd-servers is not used: objects are kept in Hekla's own store",
             {{"etcd-servers", options.etcd_servers}});
}

Result<void> start(LoneApi& lone, const cli::ApiServerOptions& options) {
  if (options.data_dir.empty() && options.cert_dir.empty())
    return fail(Code::bad_request, "say where to keep the objects: --data-dir or --cert-dir");
  tell_of_flags(options);
  const std::string data_dir =
      options.data_dir.empty() ? options.cert_dir + "/hekla-data" : options.data_dir;
  lone.lock = TRY(cli::InstanceLock::take(data_dir));
  const store::Options store_options{.was_in_use = store_was_in_use(data_dir)};
  lone.disk = TRY(open_store_disk(data_dir + "/store"));
  lone.store = TRY(store::Store::open(store_options, *lone.disk, lone.committer, lone.snapshots,
                                      apiserver::attach_header, &lone.metrics));
  std::vector<std::string> names = server_names(options.bind_address, options.tls_sans);
  if (!options.advertise_address.empty()) names.push_back(options.advertise_address);
  const Pki pki = TRY(load_or_make_pki(data_dir, names, real_clock()));
  const KeyPair certificate = TRY(server_certificate(options, pki));
  net::Socket listener = TRY(net::listen_on(options.bind_address, options.secure_port));
  const std::uint16_t port = net::local_port(listener);
  apiserver::Options api = TRY(api_options(lone, options, pki));
  api.advertise_port = port;
  lone.api = TRY(apiserver::ApiServer::create(std::move(api)));
  TRY(bootstrap(lone));

  net::ServerOptions server;
  server.certificate = certificate;
  server.client_ca_pem = TRY(client_ca(options, pki));
  lone.server = TRY(net::Server::start(server, lone.api->handler(), std::move(listener)));
  return write_kubeconfig(data_dir, local_url(options.bind_address, port), certificate, pki);
}

}  // namespace

int run_apiserver(const cli::ApiServerOptions& options) {
  set_log_level(log_level_of(options.log_level));
  cli::EndSignal end;
  LoneApi lone;
  if (Result<void> started = start(lone, options); !started) {
    cli::complain(started.error().message);
    return cli::kFailed;
  }
  std::printf("hekla apiserver is ready at %s\n",
              local_url(options.bind_address, lone.server->port()).c_str());
  std::fflush(stdout);
  end.wait();
  return 0;
}

int run_etcd_stand_in(const std::string& url) {
  cli::EndSignal end;
  constexpr std::string_view kScheme = "http://";
  if (!url.starts_with(kScheme)) {
    cli::complain("--listen-client-urls " + url + ": write http://ADDR:PORT");
    return cli::kFailed;
  }
  net::ServerOptions options;
  options.tls = false;
  Result<ListenAddress> listen = choose_listen_address(url.substr(kScheme.size()), "");
  if (!listen) {
    cli::complain(listen.error().message);
    return cli::kFailed;
  }
  options.address = listen->address == "localhost" ? "127.0.0.1" : listen->address;
  options.port = listen->port;
  auto answer = [](const net::Request& request,
                   const std::shared_ptr<net::ResponseWriter>& writer) {
    net::Response response;
    response.status = request.path == "/health" ? 200 : 404;
    response.headers.set("Content-Type", "application/json");
    response.body = request.path == "/health" ? R"({"health":"true"})"
                                              : R"({"error":"nothing is stored here"})";
    writer->respond(std::move(response));
  };
  Result<std::unique_ptr<net::Server>> server = net::Server::start(options, answer);
  if (!server) {
    cli::complain(server.error().message);
    return cli::kFailed;
  }
  end.wait();
  return 0;
}

}  // namespace hekla
