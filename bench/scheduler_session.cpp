// Times one full scheduling session (enqueue, allocate, backfill with the Helm chart's configuration unless
// --scheduler-conf names another) over a made-up cluster of equal nodes and equal gangs whose pod groups start
// Pending. Prints one line of JSON.
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "base/clock.h"
#include "base/disk.h"
#include "scheduler/session/session.h"

namespace {

using namespace hekla;

struct Flags {
  std::map<std::string, std::string> given;
  std::string text(const std::string& name, const std::string& otherwise) const {
    auto found = given.find(name);
    return found == given.end() ? otherwise : found->second;
  }
  int number(const std::string& name, int otherwise) const {
    return std::atoi(text(name, std::to_string(otherwise)).c_str());
  }
};

[[noreturn]] void usage(const std::string& why) {
  std::fprintf(stderr,
               "%s\nusage: scheduler_session --nodes N --jobs J --pods-per-job P [--min-available M] "
               "[--queues Q]\n  [--node-cpu 32 --node-mem 256Gi --node-pods 110 --pod-cpu 1 --pod-mem "
               "1Gi] [--scheduler-conf FILE]\n",
               why.c_str());
  std::exit(2);
}

Flags read_flags(int argc, char** argv) {
  static constexpr const char* kKnown[] = {"--nodes",    "--jobs",      "--pods-per-job", "--min-available",
                                           "--queues",   "--node-cpu",  "--node-mem",     "--node-pods",
                                           "--pod-cpu",  "--pod-mem",   "--scheduler-conf"};
  Flags flags;
  for (int i = 1; i < argc; i += 2) {
    bool known = false;
    for (const char* name : kKnown) known |= std::strcmp(name, argv[i]) == 0;
    if (!known || i + 1 >= argc) usage(std::string("bad flag ") + argv[i]);
    flags.given[argv[i]] = argv[i + 1];
  }
  return flags;
}

model::Quantity quantity(const std::string& text) {
  Result<model::Quantity> parsed = model::Quantity::parse(text);
  if (!parsed) usage(parsed.error().message);
  return *parsed;
}

double ms(Nanos time) { return std::chrono::duration<double, std::milli>(time).count(); }

void add_nodes(scheduler::Cluster& cluster, const Flags& flags) {
  for (int i = 0; i < flags.number("--nodes", 1000); ++i) {
    model::Node node;
    node.metadata.name = "kwok-node-" + std::to_string(i);
    node.metadata.labels = {{"kubernetes.io/hostname", node.metadata.name},
                            {"kubernetes.io/os", "linux"},
                            {"kubernetes.io/arch", "amd64"},
                            {"type", "kwok"}};
    node.status.allocatable = {{"cpu", quantity(flags.text("--node-cpu", "32"))},
                               {"memory", quantity(flags.text("--node-mem", "256Gi"))},
                               {"pods", quantity(flags.text("--node-pods", "110"))}};
    node.status.capacity = node.status.allocatable;
    cluster.put(node);
  }
}

void add_jobs(scheduler::Cluster& cluster, const Flags& flags) {
  int queues = flags.number("--queues", 1), pods = flags.number("--pods-per-job", 100);
  int min_available = flags.number("--min-available", pods);
  auto queue_name = [&](int i) { return queues == 1 ? "default" : "q" + std::to_string(i % queues); };
  for (int i = 0; i < queues; ++i) {
    model::Queue queue;
    queue.metadata.name = queue_name(i);
    queue.metadata.uid = queue.metadata.name;
    queue.spec.weight = 1;
    queue.status.state = "Open";
    cluster.put(queue);
  }
  model::Quantity cpu = quantity(flags.text("--pod-cpu", "1")), memory = quantity(flags.text("--pod-mem", "1Gi"));
  for (int j = 0; j < flags.number("--jobs", 100); ++j) {
    std::string name = "job-" + std::to_string(j);
    model::PodGroup group;
    group.metadata.name = name;
    group.metadata.ns = "default";
    group.metadata.uid = "pg-" + name;
    group.metadata.creationTimestamp = WallTime(std::chrono::seconds(1700000000 + j));
    group.spec.minMember = min_available;
    group.spec.minTaskMember = {{"worker", min_available}};
    group.spec.queue = queue_name(j);
    group.spec.minResources =
        model::ResourceList{{"cpu", cpu * min_available}, {"memory", memory * min_available}};
    group.status.phase = "Pending";
    cluster.put(group);
    model::Pod pod;
    pod.metadata.ns = "default";
    pod.metadata.creationTimestamp = group.metadata.creationTimestamp;
    pod.metadata.annotations = {{model::keys::group_name, name}, {model::keys::task_spec, "worker"}};
    pod.spec.schedulerName = "volcano";
    pod.spec.containers.resize(1);
    pod.spec.containers[0].name = "main";
    pod.spec.containers[0].image = "busybox";
    pod.spec.containers[0].resources.requests = {{"cpu", cpu}, {"memory", memory}};
    pod.status.phase = "Pending";
    for (int p = 0; p < pods; ++p) {
      pod.metadata.name = name + "-worker-" + std::to_string(p);
      pod.metadata.uid = pod.metadata.name;
      cluster.put(pod);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  Flags flags = read_flags(argc, argv);
  std::string text(scheduler::helm_default_configuration());
  if (std::string path = flags.text("--scheduler-conf", ""); !path.empty()) {
    Result<std::string> file = read_file(path);
    if (!file) usage(file.error().message);
    text = *file;
  }
  Result<scheduler::Configuration> configuration = scheduler::parse_configuration(text);
  if (!configuration) usage(configuration.error().message);

  const Clock& clock = real_clock();
  MonoTime start = clock.mono();
  scheduler::Cluster cluster;
  add_nodes(cluster, flags);
  add_jobs(cluster, flags);
  MonoTime loaded = clock.mono();
  scheduler::Session session(cluster);
  session.configure(std::move(*configuration));
  const scheduler::Decisions& decisions = session.run(clock, "bench");
  double session_ms = ms(clock.mono() - loaded);

  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  int jobs = flags.number("--jobs", 100);
  std::printf("{\"nodes\":%d,\"pods\":%d,\"jobs\":%d,\"load_ms\":%.3f,\"session_ms\":%.3f,"
              "\"allocated\":%zu,\"pods_per_s\":%.0f,\"max_rss_mb\":%.1f}\n",
              flags.number("--nodes", 1000), jobs * flags.number("--pods-per-job", 100), jobs,
              ms(loaded - start), session_ms, decisions.binds.size(),
              static_cast<double>(decisions.binds.size()) / (session_ms / 1000),
              static_cast<double>(usage.ru_maxrss) / 1024);
  return 0;
}
