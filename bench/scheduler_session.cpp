// Times one scheduling session over a made-up cluster, or over a file of objects. Prints one line
// of JSON per session. `steady` times the session in which a gang of 100 pods comes to a cluster at
// rest, from the last pod's delta to the list of binds; everything else the first session over the
// whole cluster.
//
// --write FILE writes the cluster instead, one object per line: test/oracle's Volcano reads it with
// -session.
// --growth times a quarter of the pods, and of the nodes, too, and prints the exponents: 1 is
// linear.
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>

#include "base/clock.h"
#include "json/codec.h"
#include "scheduler/session/session.h"
#include "session_workloads.h"

namespace {

using namespace hekla;

[[noreturn]] void usage(const std::string& why) {
  std::fprintf(stderr,
               "%s\nusage: scheduler_session --workload NAME [--nodes N] [--pods P] [--write FILE] "
               "[--growth]\n"
               "       scheduler_session --read FILE\n",
               why.c_str());
  for (const bench::Workload& one : bench::workloads())
    std::fprintf(stderr, "  %-9s %s (%d nodes, %d pods)\n", one.name.data(), one.what.data(),
                 one.usual.nodes, one.usual.pods);
  std::exit(2);
}

struct Flags {
  std::string workload, read, write;
  bench::WorkloadSize size;
  bool growth = false;
};

Flags read_flags(int argc, char** argv) {
  std::map<std::string, std::string> given;
  for (int i = 1; i < argc; ++i) {
    std::string flag = argv[i];
    if (flag == "--growth")
      given[flag] = "yes";
    else if (flag == "--workload" || flag == "--nodes" || flag == "--pods" || flag == "--write" ||
             flag == "--read")
      given[flag] = ++i < argc ? argv[i] : "";
    else
      usage("no such flag: " + flag);
  }
  Flags flags{
      given["--workload"], given["--read"], given["--write"], {}, !given["--growth"].empty()};
  if (!flags.read.empty()) return flags;
  for (const bench::Workload& one : bench::workloads())
    if (one.name == flags.workload) flags.size = one.usual;
  if (const std::string& nodes = given["--nodes"]; !nodes.empty())
    flags.size.nodes = std::atoi(nodes.c_str());
  if (const std::string& pods = given["--pods"]; !pods.empty())
    flags.size.pods = std::atoi(pods.c_str());
  return flags;
}

double ms(Nanos time) { return std::chrono::duration<double, std::milli>(time).count(); }

double max_rss_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

struct Head {
  struct Meta {
    std::string name;
    std::map<std::string, std::string> annotations;
  };
  std::string kind;
  Meta metadata;
  std::map<std::string, std::string> data;
};
BOOST_DESCRIBE_STRUCT(Head::Meta, (), (name, annotations))
BOOST_DESCRIBE_STRUCT(Head, (), (kind, metadata, data))

template <class T>
T decoded(const std::string& line) {
  Result<T> object = json::decode_text<T>(line);
  if (!object) usage(object.error().message + " in " + line);
  return std::move(*object);
}

// The cluster, and what comes to it later.
class Loader {
 public:
  explicit Loader(scheduler::Cluster& cluster) : cluster_(cluster) {}

  void take(const std::string& line) {
    Head head = decoded<Head>(line);
    bool later = head.metadata.name == bench::kArrival ||
                 head.metadata.annotations["scheduling.k8s.io/group-name"] == bench::kArrival;
    if (head.kind == "ConfigMap")
      configuration = head.data["volcano-scheduler.conf"];
    else if (later)
      arrival.push_back(line);
    else
      put(head.kind, line);
  }
  void put(const std::string& kind, const std::string& line) {
    if (kind == "Node")
      cluster_.put(decoded<model::Node>(line));
    else if (kind == "Queue")
      cluster_.put(decoded<model::Queue>(line));
    else if (kind == "PriorityClass")
      cluster_.put(decoded<model::PriorityClass>(line));
    else if (kind == "PodGroup")
      cluster_.put(decoded<model::PodGroup>(line));
    else if (kind == "Pod")
      cluster_.put(decoded<model::Pod>(line));
    else
      usage("an object of no known kind: " + line);
  }

  void remove(const std::string& kind, const std::string& line) {
    if (kind == "PodGroup")
      cluster_.remove(decoded<model::PodGroup>(line));
    else
      cluster_.remove(decoded<model::Pod>(line));
  }

  std::string configuration;
  std::vector<std::string> arrival;

 private:
  scheduler::Cluster& cluster_;
};

// Of this process, the time on a processor: what a busy machine does not distort.
double cpu_ms() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

struct Figures {
  double session_ms = 0, cpu_ms = 0;
  std::size_t binds = 0, evictions = 0, pipelined = 0;
};

// The gang that comes to a cluster at rest comes so often; the median counts.
constexpr int kRounds = 9;

Figures timed(scheduler::Session& session) {
  const Clock& clock = real_clock();
  MonoTime start = clock.mono();
  double cpu = cpu_ms();
  const scheduler::Decisions& decisions = session.run(clock, "timed");
  cpu = cpu_ms() - cpu;
  return {ms(clock.mono() - start), cpu, decisions.binds.size(), decisions.evictions.size(),
          decisions.pipelined.size()};
}

template <class Fill>
Figures measure(Fill fill) {
  const Clock& clock = real_clock();
  scheduler::Cluster cluster;
  Loader loader(cluster);
  fill(loader);
  Result<scheduler::Configuration> configuration =
      scheduler::parse_configuration(loader.configuration);
  if (!configuration) usage(configuration.error().message);
  scheduler::Session session(cluster);
  session.configure(std::move(*configuration));
  if (loader.arrival.empty()) return timed(session);
  session.run(clock, "at rest");
  std::vector<Figures> rounds;
  for (int round = 0; round < kRounds; ++round) {
    for (const std::string& line : loader.arrival) loader.put(decoded<Head>(line).kind, line);
    rounds.push_back(timed(session));
    for (const std::string& line : loader.arrival) loader.remove(decoded<Head>(line).kind, line);
    session.run(clock, "at rest again");
  }
  std::sort(rounds.begin(), rounds.end(),
            [](const Figures& a, const Figures& b) { return a.session_ms < b.session_ms; });
  return rounds[rounds.size() / 2];
}

Figures measure(const std::string& workload, bench::WorkloadSize size) {
  return measure([&](Loader& loader) {
    bench::make_workload(workload, size, [&](const std::string& line) { loader.take(line); });
  });
}

Figures measure_file(const std::string& path) {
  return measure([&](Loader& loader) {
    std::ifstream file(path);
    if (!file) usage("cannot read " + path);
    for (std::string line; std::getline(file, line);) loader.take(line);
  });
}

void print(const Figures& figures) {
  std::printf(
      "{\"scheduler\":\"hekla\",\"session_ms\":%.3f,\"cpu_ms\":%.3f,\"binds\":%zu,"
      "\"evictions\":%zu,\"pipelined\":%zu,\"pods_per_s\":%.0f,\"max_rss_mb\":%.1f}\n",
      figures.session_ms, figures.cpu_ms, figures.binds, figures.evictions, figures.pipelined,
      static_cast<double>(figures.binds) / (figures.session_ms / 1000), max_rss_mb());
}

// The exponent between a quarter and the whole.
void print_growth(const std::string& workload, bench::WorkloadSize size, double whole_ms) {
  double fewer_pods = measure(workload, {size.nodes, size.pods / 4}).cpu_ms;
  double fewer_nodes = measure(workload, {size.nodes / 4, size.pods}).cpu_ms;
  std::printf("{\"growth_with_pods\":%.2f,\"growth_with_nodes\":%.2f}\n",
              std::log2(whole_ms / fewer_pods) / 2, std::log2(whole_ms / fewer_nodes) / 2);
}

}  // namespace

int main(int argc, char** argv) {
  Flags flags = read_flags(argc, argv);
  if (!flags.read.empty()) {
    print(measure_file(flags.read));
    return 0;
  }
  if (!flags.write.empty()) {
    std::ofstream file(flags.write);
    bool known = bench::make_workload(flags.workload, flags.size,
                                      [&](const std::string& line) { file << line << '\n'; });
    if (!known || !file.flush()) usage("cannot write " + flags.workload + " to " + flags.write);
    return 0;
  }
  if (!bench::make_workload(flags.workload, {0, 0}, [](const std::string&) {}))
    usage("no such workload: " + flags.workload);
  Figures whole = measure(flags.workload, flags.size);
  print(whole);
  if (flags.growth) print_growth(flags.workload, flags.size, whole.cpu_ms);
  return 0;
}
