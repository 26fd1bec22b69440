// bench/embedded: the whole platform with fake nodes, loaded over HTTPS like any user would. Prints
// one line:
//   {"first_post_to_last_bound_s","pods_per_s","latency_p50_ms","cpu_s","rss_mb"}
// Whoever counts bound pods watches over TLS (--observer tls: the real binary, another process) or
// from within (--observer process: the platform runs in this program). cpu_s is the platform's
// while the pods came, within also that of the load. With --kubeconfig a cluster that is there gets
// the same load, and
// --pids says which processes it consists of (bench/platform.py: the real Volcano).
// Latency: 20 one-pod jobs one after another on the otherwise idle platform, POST until the pod has
// a node.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <sstream>

#include "base/clock.h"
#include "base/log.h"
#include "base/loop.h"
#include "cli/up_options.h"
#include "json/value.h"
#include "kube/informer.h"
#include "kube/rest_client.h"
#include "main/platform.h"
#include "model/core.h"
#include "net/client.h"

extern char** environ;

namespace hekla {
namespace {

struct Options {
  std::string hekla, kubeconfig;
  std::vector<pid_t> pids;
  int jobs = 100, pods_per_job = 100, fake_nodes = 1000, latency_jobs = 20;
  bool within = false;  // the observer, and so the platform
};

[[noreturn]] void die(const std::string& text) {
  std::fprintf(stderr, "bench/embedded: %s\n", text.c_str());
  std::exit(1);
}

constexpr const char* kNodeResources = "cpu=32,memory=256Gi,pods=110";

double rss_mb(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  std::string line;
  while (std::getline(status, line))
    if (line.starts_with("VmRSS:")) return std::stod(line.substr(6)) / 1024;
  return 0;
}

double cpu_s(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  std::istringstream fields(text.substr(text.rfind(')') + 1));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  double user = 0, system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

// What is measured. Here: a cluster that is there, made of some processes of this machine.
class Subject {
 public:
  explicit Subject(const Options& options) : pids_(options.pids), kubeconfig_(options.kubeconfig) {}
  virtual ~Subject() = default;
  const std::string& kubeconfig() const { return kubeconfig_; }
  virtual std::unique_ptr<kube::Client> observer(Loop& loop, const kube::ClusterAccess& access) {
    Result<std::unique_ptr<kube::Client>> client = kube::make_rest_client(access, loop, {"bench"});
    if (!client) die(client.error().message);
    return std::move(*client);
  }
  double sum(double (*figure)(pid_t)) const {
    double total = 0;
    for (pid_t pid : pids_) total += figure(pid);
    return total;
  }

 protected:
  std::vector<pid_t> pids_;
  std::string kubeconfig_;
};

// Hekla, in a temporary directory, gone with this object.
class Hekla : public Subject {
 public:
  explicit Hekla(const Options& options) : Subject(options) {
    char name[] = "/tmp/hekla-bench.XXXXXX";
    dir_ = ::mkdtemp(name);
    kubeconfig_ = dir_ + "/admin.kubeconfig";
  }
  ~Hekla() override { std::filesystem::remove_all(dir_); }

 protected:
  std::string dir_;
};

class OtherProcess final : public Hekla {
 public:
  explicit OtherProcess(const Options& options) : Hekla(options) {
    int fds[2];
    if (::pipe2(fds, O_CLOEXEC) != 0) die("pipe failed");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
    std::vector<std::string> arguments{options.hekla,
                                       "up",
                                       "--no-agent",
                                       "--data-dir",
                                       dir_,
                                       "--listen",
                                       "127.0.0.1:0",
                                       "--fake-nodes",
                                       std::to_string(options.fake_nodes),
                                       "--fake-node-resources",
                                       kNodeResources};
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    if (::posix_spawn(&pid_, options.hekla.c_str(), &actions, nullptr, argv.data(), environ) != 0)
      die("cannot start " + options.hekla);
    pids_ = {pid_};
    posix_spawn_file_actions_destroy(&actions);
    ::close(fds[1]);
    char buffer[512];
    std::string line;
    while (line.find('\n') == std::string::npos) {
      ssize_t n = ::read(fds[0], buffer, sizeof buffer);
      if (n <= 0) die("hekla up ended before it was ready");
      line.append(buffer, static_cast<std::size_t>(n));
    }
    ::close(fds[0]);
  }
  ~OtherProcess() override {
    ::kill(pid_, SIGTERM);
    ::waitpid(pid_, nullptr, 0);
  }

 private:
  pid_t pid_ = 0;
};

class ThisProcess final : public Hekla {
 public:
  explicit ThisProcess(const Options& options) : Hekla(options) {
    pids_ = {::getpid()};
    set_log_level(LogLevel::warn);
    cli::UpOptions up;
    up.data_dir = dir_;
    up.listen = "127.0.0.1:0";
    up.no_agent = true;
    up.fake_nodes.count = options.fake_nodes;
    up.fake_nodes.resources = cli::parse_resource_list(kNodeResources).value();
    Result<std::unique_ptr<Platform>> started = Platform::start(up);
    if (!started) die(started.error().message);
    platform_ = std::move(*started);
  }
  std::unique_ptr<kube::Client> observer(Loop& loop, const kube::ClusterAccess&) override {
    return platform_->client(loop, {"bench"});
  }

 private:
  std::unique_ptr<Platform> platform_;
};

json::Value job(const std::string& name, int pods) {
  json::Object container{
      {"name", "main"},
      {"image", "busybox"},
      {"command", json::Array{"train"}},
      {"resources", json::Object{{"requests", json::Object{{"cpu", "1"}, {"memory", "1Gi"}}}}}};
  json::Object pod_spec{{"containers", json::Array{std::move(container)}},
                        {"restartPolicy", "Never"}};
  json::Object task{{"name", "worker"},
                    {"replicas", pods},
                    {"template", json::Object{{"spec", std::move(pod_spec)}}}};
  return json::Object{{"apiVersion", "batch.volcano.sh/v1alpha1"},
                      {"kind", "Job"},
                      {"metadata", json::Object{{"name", name}, {"namespace", "default"}}},
                      {"spec", json::Object{{"minAvailable", pods},
                                            {"schedulerName", "volcano"},
                                            {"queue", "default"},
                                            {"tasks", json::Array{std::move(task)}}}}};
}

// Counts bound pods as the API shows them.
class BoundPods {
 public:
  BoundPods(kube::Client& client) : pods_(client, kube::resources::pods) {
    pods_.on_change([this](const auto& before, const auto& after) {
      bool was = before && !before->spec.nodeName.empty();
      bool is = after && !after->spec.nodeName.empty();
      if (was || !is) return;
      std::lock_guard lock(mutex_);
      ++bound_;
      last_ = real_clock().mono();
      changed_.notify_all();
    });
    pods_.on_settled([this] {
      std::lock_guard lock(mutex_);
      synced_ = true;
      changed_.notify_all();
    });
  }
  void start() { pods_.start(); }
  void wait_synced() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return synced_; });
  }
  // The time at which the n-th pod was bound.
  MonoTime wait_for(int n) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, std::chrono::minutes(10), [&] { return bound_ >= n; }))
      die("only " + std::to_string(bound_) + " of " + std::to_string(n) +
          " pods were bound in ten minutes");
    return last_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int bound_ = 0;
  bool synced_ = false;
  MonoTime last_{};
  kube::Informer<model::Pod> pods_;
};

void post(net::Client& http, const kube::ClusterAccess& access, const json::Value& object) {
  net::ClientRequest request;
  request.method = "POST";
  request.url = access.server + "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs";
  request.headers.add("Content-Type", "application/json");
  request.body = json::serialize(object);
  http.send(std::move(request), [](Result<net::Response> response) {
    if (!response) die("POST: " + response.error().message);
    if (response->status != 201) die("POST: " + response->body);
  });
}

int run(const Options& options) {
  std::unique_ptr<Subject> subject;
  if (!options.kubeconfig.empty())
    subject = std::make_unique<Subject>(options);
  else if (options.within)
    subject = std::make_unique<ThisProcess>(options);
  else
    subject = std::make_unique<OtherProcess>(options);
  Result<kube::ClusterAccess> access = kube::load_kubeconfig(subject->kubeconfig());
  if (!access) die(access.error().message);
  Result<std::unique_ptr<net::Client>> http = net::Client::make(access->http);
  if (!http) die(http.error().message);
  Loop loop("observer");
  std::unique_ptr<kube::Client> client = subject->observer(loop, *access);
  BoundPods bound(*client);
  loop.post([&] { bound.start(); });
  bound.wait_synced();

  std::vector<double> latencies;
  int expected = 0;
  for (int i = 0; i < options.latency_jobs; ++i) {
    MonoTime begin = real_clock().mono();
    post(**http, *access, job("single-" + std::to_string(i), 1));
    MonoTime end = bound.wait_for(++expected);
    latencies.push_back(std::chrono::duration<double, std::milli>(end - begin).count());
  }
  std::sort(latencies.begin(), latencies.end());

  double cpu = subject->sum(cpu_s);
  MonoTime begin = real_clock().mono();
  for (int i = 0; i < options.jobs; ++i)
    post(**http, *access, job("gang-" + std::to_string(i), options.pods_per_job));
  int pods = options.jobs * options.pods_per_job;
  MonoTime end = bound.wait_for(expected + pods);
  double seconds = std::chrono::duration<double>(end - begin).count();
  cpu = subject->sum(cpu_s) - cpu;
  std::printf(
      "{\"jobs\":%d,\"pods\":%d,\"fake_nodes\":%d,\"first_post_to_last_bound_s\":%.3f,"
      "\"pods_per_s\":%.0f,\"latency_p50_ms\":%.2f,\"cpu_s\":%.2f,\"rss_mb\":%.0f}\n",
      options.jobs, pods, options.fake_nodes, seconds, pods / seconds,
      latencies.empty() ? 0 : latencies[latencies.size() / 2], cpu, subject->sum(rss_mb));
  loop.stop();
  return 0;
}

}  // namespace
}  // namespace hekla

int main(int argc, char** argv) {
  hekla::Options options;
  options.hekla = (std::filesystem::path(argv[0]).parent_path().parent_path() / "hekla").string();
  for (int i = 1; i < argc; ++i) {
    std::string flag = argv[i];
    if (i + 1 >= argc) hekla::die(flag + " needs a value");
    std::string value = argv[++i];
    if (flag == "--hekla")
      options.hekla = value;
    else if (flag == "--jobs")
      options.jobs = std::stoi(value);
    else if (flag == "--pods-per-job")
      options.pods_per_job = std::stoi(value);
    else if (flag == "--fake-nodes")
      options.fake_nodes = std::stoi(value);
    else if (flag == "--observer" && (value == "tls" || value == "process"))
      options.within = value == "process";
    else if (flag == "--kubeconfig")
      options.kubeconfig = value;
    else if (flag == "--pids")
      for (std::istringstream pids(value); std::getline(pids, value, ',');)
        options.pids.push_back(std::stoi(value));
    else
      hekla::die(
          "unknown flag " + flag + " " + value +
          "; use --jobs J --pods-per-job P --fake-nodes N --observer tls|process [--hekla FILE], "
          "or --jobs J --pods-per-job P --kubeconfig FILE --pids N,N");
  }
  return hekla::run(options);
}
