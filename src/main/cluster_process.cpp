#include "main/cluster_process.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <future>

#include "base/log.h"
#include "cli/verb.h"
#include "kube/rest_client.h"
#include "main/listen.h"
#include "main/up.h"
#include "model/time.h"

namespace hekla {
namespace {

constexpr auto kReleaseTimeout = std::chrono::seconds(2);

Result<kube::ClusterAccess> access_of(const cli::ComponentOptions& options) {
  kube::ClusterAccess access;
  const char* host = std::getenv("KUBERNETES_SERVICE_HOST");
  const char* port = std::getenv("KUBERNETES_SERVICE_PORT");
  if (!options.kubeconfig.empty()) {
    access = TRY(kube::load_kubeconfig(options.kubeconfig));
  } else if (options.master.empty() && host) {
    std::string name = host;
    if (name.find(':') != std::string::npos) name = "[" + name + "]";
    access = TRY(kube::in_cluster_access("https://" + name + ":" + (port ? port : "443")));
  } else if (options.master.empty()) {
    return fail(Code::bad_request,
                "which cluster? name one with --kubeconfig or --master, or run in one of its pods");
  }
  if (!options.master.empty()) access.server = options.master;
  return access;
}

std::string identity() {
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) != 0) name[0] = '\0';
  char number[24];
  std::snprintf(number, sizeof number, "%016llx",
                static_cast<unsigned long long>(real_rng().next()));
  return std::string(name) + "_" + number;
}

}  // namespace

ClusterProcess::ClusterProcess(const cli::ComponentOptions& options, std::string component)
    : options_(options), component_(std::move(component)), loop_(component_) {
  set_log_level(log_level_of(options.log_level));
  for (const auto& [flag, why] : options.idle)
    log_info(component_, "a flag changes nothing here", {{"flag", flag}, {"reason", why}});
}

ClusterProcess::~ClusterProcess() { loop_.stop(); }

Result<void> ClusterProcess::open() {
  client_ = TRY(kube::make_rest_client(TRY(access_of(options_)), loop_, {component_}));
  if (options_.healthz)
    TRY(serve(options_.healthz_address, "/healthz", [] { return std::string("ok"); }));
  if (options_.metrics)
    TRY(serve(options_.metrics_address, "/metrics", [this] { return metrics_.text(); }));
  return {};
}

Result<void> ClusterProcess::serve(const std::string& address, const std::string& path,
                                   std::function<std::string()> text) {
  ListenAddress listen =
      TRY(choose_listen_address(address.starts_with(':') ? "0.0.0.0" + address : address, ""));
  net::ServerOptions options;
  options.address = listen.address;
  options.port = listen.port;
  options.threads = 1;
  options.tls = false;
  auto answer = [path, text = std::move(text)](const net::Request& request,
                                               const std::shared_ptr<net::ResponseWriter>& writer) {
    net::Response response;
    response.status = request.path == path ? 200 : 404;
    response.headers.set("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
    response.body = request.path == path ? text() : "404 page not found\n";
    writer->respond(std::move(response));
  };
  servers_.push_back(TRY(net::Server::start(options, answer)));
  return {};
}

void ClusterProcess::lose(const std::string& reason) {
  lost_ = reason;
  ::kill(::getpid(), SIGTERM);
}

Result<void> ClusterProcess::elect(std::function<void()> start) {
  kube::LeaderElectionOptions options;
  options.lease = {options_.lease_namespace, options_.lease_name};
  options.identity = identity();
  options.lease_duration = TRY(model::parse_go_duration(options_.lease_duration));
  options.renew_deadline = TRY(model::parse_go_duration(options_.renew_deadline));
  options.retry_period = TRY(model::parse_go_duration(options_.retry_period));
  if (options.renew_deadline >= options.lease_duration)
    return fail(Code::bad_request,
                "--leader-elect-lease-duration must be longer than --leader-elect-renew-deadline");
  election_ = std::make_unique<kube::LeaderElection>(
      *client_, options, std::move(start), [this](const std::string& reason) { lose(reason); });
  loop_.post([this] { election_->start(); });
  return {};
}

int ClusterProcess::run(bool with_election, std::function<void()> start) {
  if (with_election) {
    if (Result<void> begun = elect(std::move(start)); !begun) {
      cli::complain(begun.error().message);
      return cli::kUsage;
    }
  } else {
    loop_.post([start = std::move(start)] { start(); });
  }
  std::printf("hekla %s runs\n", component_.c_str());
  std::fflush(stdout);
  end_.wait();
  if (election_ && lost_.empty()) {
    // The next one need not wait for the lease to run out.
    auto released = std::make_shared<std::promise<void>>();
    loop_.post([this, released] { election_->release([released] { released->set_value(); }); });
    released->get_future().wait_for(kReleaseTimeout);
  }
  for (const auto& server : servers_) server->stop();
  loop_.stop();
  if (lost_.empty()) return 0;
  cli::complain("leadership lost: " + lost_);
  return cli::kFailed;
}

}  // namespace hekla
