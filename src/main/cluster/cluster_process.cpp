#include "main/cluster/cluster_process.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <future>
#include <thread>

#include "base/log.h"
#include "cli/verb.h"
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

int complain_of(const Error& error) {
  cli::complain(error.message);
  if (error.code == Code::bad_request) return cli::kUsage;
  return error.code == Code::unavailable ? cli::kUnreachable : cli::kFailed;
}

ClusterProcess::ClusterProcess(const cli::ComponentOptions& options, std::string component)
    : options_(options), component_(std::move(component)), loop_(component_) {
  set_log_level(log_level_of(options.log_level));
  for (const auto& [flag, why] : options.idle)
    log_info(component_, "a flag changes nothing here", {{"flag", flag}, {"reason", why}});
}

ClusterProcess::~ClusterProcess() { loop_.stop(); }

Result<void> ClusterProcess::open() {
  access_ = TRY(access_of(options_));
  client_ = TRY(make_client(loop_, {component_}));
  std::map<std::string, std::map<std::string, Page>> pages;  // by address
  auto text = [](std::string body) {
    net::Response response;
    response.headers.set("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
    response.body = std::move(body);
    return response;
  };
  if (options_.healthz) {
    pages[options_.healthz_address]["/healthz"] = [text] { return text("ok"); };
    pages[options_.healthz_address]["/readyz"] = [this] { return readiness(); };
  }
  if (options_.metrics)
    pages[options_.metrics_address]["/metrics"] = [this, text] { return text(metrics_.text()); };
  for (auto& [address, some] : pages) TRY(serve(address, std::move(some)));
  return {};
}

Result<std::unique_ptr<kube::Client>> ClusterProcess::make_client(Executor& executor,
                                                                  kube::Identity identity) {
  return kube::make_rest_client(access_, executor, std::move(identity), flow_);
}

void ClusterProcess::ready_when(std::function<bool()> ready) {
  std::lock_guard lock(ready_mutex_);
  ready_ = std::move(ready);
}

net::Response ClusterProcess::readiness() const {
  std::lock_guard lock(ready_mutex_);
  net::Response response;
  response.headers.set("Content-Type", "text/plain; charset=utf-8");
  const bool ready = !ending_ && (!ready_ || ready_());
  response.status = ready ? 200 : 503;
  response.body = ready ? "ok" : ending_ ? "ending" : "still starting";
  return response;
}

Result<void> ClusterProcess::serve(const std::string& address, std::map<std::string, Page> pages) {
  ListenAddress listen =
      TRY(choose_listen_address(address.starts_with(':') ? "0.0.0.0" + address : address, ""));
  net::ServerOptions options;
  options.address = listen.address;
  options.port = listen.port;
  options.threads = 1;
  options.tls = false;
  auto answer = [pages = std::move(pages)](const net::Request& request,
                                           const std::shared_ptr<net::ResponseWriter>& writer) {
    auto page = pages.find(request.path);
    if (page != pages.end()) return writer->respond(page->second());
    net::Response response;
    response.status = 404;
    response.headers.set("Content-Type", "text/plain; charset=utf-8");
    response.body = "404 page not found\n";
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

// The next one need not wait for the lease to run out.
void ClusterProcess::release_lease() {
  if (!election_ || !lost_.empty()) return;
  auto released = std::make_shared<std::promise<void>>();
  loop_.post([this, released] { election_->release([released] { released->set_value(); }); });
  released->get_future().wait_for(kReleaseTimeout);
}

int ClusterProcess::run(bool with_election, Work work) {
  if (with_election) {
    if (Result<void> begun = elect(std::move(work.start)); !begun)
      return complain_of(begun.error());
  } else {
    loop_.post([start = std::move(work.start)] { start(); });
  }
  std::printf("hekla %s runs\n", component_.c_str());
  std::fflush(stdout);
  end_.wait();
  ending_ = true;
  if (work.stop) work.stop();
  release_lease();
  if (lost_.empty() && work.linger > Nanos(0)) std::this_thread::sleep_for(work.linger);
  for (const auto& server : servers_) server->stop();
  loop_.stop();
  ready_when({});
  if (lost_.empty()) return 0;
  cli::complain("leadership lost: " + lost_);
  return cli::kFailed;
}

}  // namespace hekla
