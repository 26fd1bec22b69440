// bench/api_load: load for any Kubernetes API server, with prepared bodies so that the client is not
// the limit. One mode per run, one line of JSON:
//   --mode create --kind configmap|pod|pod4k   creates over 64 connections: {"per_s","p50_ms","p99_ms",...}
//   --mode list                          lists of all pods as JSON, one after another: {"p50_ms",...}
//   --mode watch                         updates of one object to many watchers: {"events_per_s",...}
// Connections and watches are open before the clock starts. Every line carries the program's own CPU time per request
// and, with --server-pids P,P, that of those processes meanwhile.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <mutex>
#include <optional>
#include <sstream>

#include "base/clock.h"
#include "kube/rest_client.h"
#include "net/client.h"

namespace hekla {
namespace {

struct LoadOptions {
  std::string kubeconfig, mode = "create", kind = "configmap", space = "default";
  int count = 10000, connections = 64, watchers = 200;
  std::vector<int> server_pids;
};

[[noreturn]] void give_up(const std::string& text) {
  std::fprintf(stderr, "bench/api_load: %s\n", text.c_str());
  std::exit(1);
}

double own_cpu_us() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  auto us = [](const timeval& time) {
    return 1e6 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec);
  };
  return us(usage.ru_utime) + us(usage.ru_stime);
}

// CPU time of the servers until now, to the kernel's tick.
double server_cpu_us(const LoadOptions& options) {
  double ticks = 0;
  for (int pid : options.server_pids) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string text((std::istreambuf_iterator<char>(file)), {});
    std::istringstream fields(text.substr(std::min(text.size(), text.rfind(')') + 1)));
    std::string skipped;
    for (int i = 0; i < 11; ++i) fields >> skipped;
    double user = 0, system = 0;
    fields >> user >> system;
    ticks += user + system;
  }
  return 1e6 * ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

// What was used since it was made, of CPU and of time.
class Meter {
 public:
  explicit Meter(const LoadOptions& options) : options_(options) {}
  double seconds() const { return std::chrono::duration<double>(real_clock().mono() - start_).count(); }
  double client_us() const { return own_cpu_us() - client_; }
  double server_us() const { return server_cpu_us(options_) - server_; }

 private:
  const LoadOptions& options_;
  double client_ = own_cpu_us();
  double server_ = server_cpu_us(options_);
  MonoTime start_ = real_clock().mono();
};

double ms_since(MonoTime start) {
  return std::chrono::duration<double, std::milli>(real_clock().mono() - start).count();
}

double percentile(std::vector<double>& values, double p) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  auto last = static_cast<double>(values.size() - 1);
  return values[static_cast<std::size_t>(p / 100 * last)];
}

// A 2 KB ConfigMap, or a pod as a tutorial would write it.
std::string body_of(const LoadOptions& options, int number) {
  std::string name = options.kind + "-" + std::to_string(number);
  if (options.kind == "configmap")
    return R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":")" + name +
           R"("},"data":{"text":")" + std::string(1900, 'x') + R"("}})";
  // Stored with what the server adds, a pod4k is about 4 KB.
  std::string note = options.kind == "pod4k" ? std::string(2000, 'x') : "none";
  return R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + name +
         R"(","labels":{"app":"load"},"annotations":{"note":")" + note + R"("}},)"
         R"("spec":{"schedulerName":"nobody","containers":[{"name":"main",)"
         R"("image":"busybox","command":["sleep","600"],"env":[{"name":"A","value":"1"}],)"
         R"("resources":{"requests":{"cpu":"1","memory":"1Gi"},"limits":{"cpu":"1"}}}]}})";
}

// `count` requests with `connections` of them under way at any time.
class Pump {
 public:
  using Make = std::function<net::ClientRequest(int)>;
  Pump(net::Client& client, int count, Make make)
      : client_(client), count_(count), make_(std::move(make)) {}

  // Latencies in ms, one per request.
  std::vector<double> run(int connections) {
    for (int i = 0; i < connections; ++i) {
      std::unique_lock lock(mutex_);
      std::optional<int> number = take();
      lock.unlock();
      if (number) send(*number);
    }
    std::unique_lock lock(mutex_);
    finished_.wait(lock, [this] { return static_cast<int>(latencies_.size()) == count_; });
    return std::move(latencies_);
  }

 private:
  // Takes the next number, if there is one left. Whoever has one keeps this object alive; nobody else may touch it.
  std::optional<int> take() { return sent_ == count_ ? std::nullopt : std::optional(sent_++); }

  void send(int number) {
    MonoTime start = real_clock().mono();
    client_.send(make_(number), [this, start](Result<net::Response> answer) {
      if (!answer) give_up(answer.error().message);
      if (answer->status >= 300) give_up(answer->body.substr(0, 400));
      std::optional<int> another;
      {
        std::lock_guard lock(mutex_);
        latencies_.push_back(ms_since(start));
        another = take();
        if (static_cast<int>(latencies_.size()) == count_) finished_.notify_all();
      }
      if (another) send(*another);
    });
  }

  net::Client& client_;
  int count_, sent_ = 0;
  Make make_;
  std::mutex mutex_;
  std::condition_variable finished_;
  std::vector<double> latencies_;
};

void print_requests(const char* mode, std::vector<double> latencies, const Meter& meter) {
  double seconds = meter.seconds(), client = meter.client_us(), server = meter.server_us();
  auto n = static_cast<double>(latencies.size());
  std::printf("{\"mode\":\"%s\",\"requests\":%.0f,\"per_s\":%.0f,\"p50_ms\":%.3f,\"p99_ms\":%.3f,"
              "\"client_cpu_us\":%.1f,\"server_cpu_us\":%.1f}\n",
              mode, n, n / seconds, percentile(latencies, 50), percentile(latencies, 99), client / n, server / n);
}

// Handshakes are not what is measured here.
void open_connections(net::Client& client, const std::string& server, int connections) {
  Pump(client, connections, [&](int) { return net::ClientRequest{.url = server + "/version"}; }).run(connections);
}

void create(net::Client& client, const std::string& server, const LoadOptions& options) {
  std::string url = server + "/api/v1/namespaces/" + options.space + "/" +
                    (options.kind == "configmap" ? "configmaps" : "pods");
  Pump pump(client, options.count, [&](int number) {
    net::ClientRequest request{.method = "POST", .url = url, .body = body_of(options, number)};
    request.headers.add("Content-Type", "application/json");
    request.headers.add("Accept", "application/json");
    return request;
  });
  open_connections(client, server, options.connections);
  Meter meter(options);
  std::vector<double> latencies = pump.run(options.connections);
  print_requests("create", std::move(latencies), meter);
}

void list(net::Client& client, const std::string& server, const LoadOptions& options) {
  Pump pump(client, options.count, [&](int) {
    net::ClientRequest request{.url = server + "/api/v1/pods"};
    request.headers.add("Accept", "application/json");
    request.headers.add("Accept-Encoding", "identity");
    return request;
  });
  open_connections(client, server, 1);
  Meter meter(options);
  std::vector<double> latencies = pump.run(1);
  print_requests("list", std::move(latencies), meter);
}

// Counts the events each update causes. An event's own time is that of the update before it: the
// next update is sent only when every watcher has seen the last one.
struct Delivery {
  std::mutex mutex;
  std::condition_variable changed;
  MonoTime sent{};
  int seen = 0;
  std::vector<double> latencies;
};

std::vector<std::unique_ptr<net::StreamHandle>> open_watches(net::Client& client,
                                                             const std::string& url, int watchers,
                                                             Delivery& delivery) {
  std::vector<std::unique_ptr<net::StreamHandle>> streams;
  for (int i = 0; i < watchers; ++i) {
    net::StreamCallbacks callbacks;
    callbacks.on_data = [&delivery](std::string_view data) {
      auto lines = static_cast<int>(std::count(data.begin(), data.end(), '\n'));
      std::lock_guard lock(delivery.mutex);
      delivery.seen += lines;
      for (int k = 0; k < lines; ++k) delivery.latencies.push_back(ms_since(delivery.sent));
      delivery.changed.notify_all();
    };
    net::ClientRequest request{.url = url, .timeout = std::chrono::milliseconds(0)};
    request.headers.add("Accept", "application/json");
    streams.push_back(client.stream(std::move(request), std::move(callbacks)));
  }
  return streams;
}

void watch(net::Client& client, const std::string& server, const LoadOptions& options) {
  std::string base = server + "/api/v1/namespaces/" + options.space + "/configmaps";
  LoadOptions one = options;
  one.kind = "configmap";
  net::ClientRequest make{.method = "POST", .url = base, .body = body_of(one, 0)};
  make.headers.add("Content-Type", "application/json");
  if (auto answer = client.fetch(make); !answer || answer->status >= 300)
    if (!answer || answer->status != 409) give_up("cannot create the object to watch");
  Delivery delivery;
  auto streams = open_watches(client, base + "?watch=true&fieldSelector=metadata.name%3Dconfigmap-0",
                              options.watchers, delivery);
  auto wait_for = [&](int events) {
    std::unique_lock lock(delivery.mutex);
    if (!delivery.changed.wait_for(lock, std::chrono::seconds(60),
                                   [&] { return delivery.seen >= events; }))
      give_up("an update did not reach every watcher");
  };
  wait_for(options.watchers);  // the object as it is, once to each
  {
    std::lock_guard lock(delivery.mutex);
    delivery.latencies.clear();
  }
  Meter meter(options);
  for (int update = 1; update <= options.count; ++update) {
    net::ClientRequest patch{.method = "PATCH", .url = base + "/configmap-0"};
    patch.body = R"({"metadata":{"annotations":{"n":")" + std::to_string(update) + R"("}}})";
    patch.headers.add("Content-Type", "application/merge-patch+json");
    {
      std::lock_guard lock(delivery.mutex);
      delivery.sent = real_clock().mono();
    }
    if (auto answer = client.fetch(patch); !answer || answer->status != 200) give_up("patch failed");
    wait_for(options.watchers * (update + 1));
  }
  double seconds = meter.seconds(), cpu = meter.client_us(), server_cpu = meter.server_us();
  std::vector<double> latencies = delivery.latencies;
  auto events = static_cast<double>(latencies.size());
  std::printf("{\"mode\":\"watch\",\"events\":%.0f,\"events_per_s\":%.0f,\"p50_ms\":%.3f,"
              "\"p99_ms\":%.3f,\"client_cpu_us\":%.1f,\"server_cpu_us\":%.1f}\n",
              events, events / seconds, percentile(latencies, 50), percentile(latencies, 99),
              cpu / events, server_cpu / events);
}

LoadOptions parse_arguments(int argc, char** argv) {
  LoadOptions options;
  for (int i = 1; i + 1 < argc; i += 2) {
    std::string_view flag = argv[i];
    std::string value = argv[i + 1];
    if (flag == "--kubeconfig") options.kubeconfig = value;
    else if (flag == "--mode") options.mode = value;
    else if (flag == "--kind") options.kind = value;
    else if (flag == "--namespace") options.space = value;
    else if (flag == "--count") options.count = std::atoi(value.c_str());
    else if (flag == "--connections") options.connections = std::atoi(value.c_str());
    else if (flag == "--watchers") options.watchers = std::atoi(value.c_str());
    else if (flag == "--server-pids") {
      std::istringstream pids(value);
      for (std::string pid; std::getline(pids, pid, ',');) options.server_pids.push_back(std::atoi(pid.c_str()));
    }
    else give_up("unknown flag " + std::string(flag));
  }
  if (options.kubeconfig.empty()) give_up("--kubeconfig FILE is needed");
  return options;
}

}  // namespace
}  // namespace hekla

int main(int argc, char** argv) {
  using namespace hekla;
  LoadOptions options = parse_arguments(argc, argv);
  auto access = kube::load_kubeconfig(options.kubeconfig);
  if (!access) give_up(access.error().message);
  access->http.max_connections_per_origin = static_cast<std::size_t>(options.connections);
  auto client = net::Client::make(access->http);
  if (!client) give_up(client.error().message);
  if (options.mode == "create") create(**client, access->server, options);
  else if (options.mode == "list") list(**client, access->server, options);
  else if (options.mode == "watch") watch(**client, access->server, options);
  else give_up("--mode is create, list or watch");
  return 0;
}
