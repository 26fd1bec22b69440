#include "session_workloads.h"

#include <algorithm>
#include <cstdio>
#include <random>

namespace hekla::bench {

namespace {

constexpr int kGang = 100;
constexpr int kZones = 10;

std::string text(std::string_view value) { return "\"" + std::string(value) + "\""; }
std::string number(long long value) { return std::to_string(value); }

// Kubernetes' time for a second of a day long ago.
std::string stamp(int second) {
  char out[32];
  std::snprintf(out, sizeof out, "2026-01-%02dT%02d:%02d:%02dZ", 1 + second / 86400 % 28,
                second / 3600 % 24, second / 60 % 60, second % 60);
  return out;
}

struct PodShape {
  int cpu_milli = 1000;
  int memory_mib = 1024;
  int gpus = 0;
  int priority = 0;
  std::string labels;  // more members of metadata.labels
  std::string spec;    // more members of the pod's spec, each with a comma in front
};

std::string requests(const PodShape& shape, int times = 1) {
  std::string out = "{\"cpu\":\"" + number(1LL * shape.cpu_milli * times) + "m\",\"memory\":\"" +
                    number(1LL * shape.memory_mib * times) + "Mi\"";
  if (shape.gpus > 0) out += ",\"nvidia.com/gpu\":\"" + number(1LL * shape.gpus * times) + "\"";
  return out + "}";
}

class Maker {
 public:
  Maker(WorkloadSize size, const std::function<void(const std::string&)>& emit)
      : size_(size), emit_(emit) {}

  // Volcano takes pods of one role for equal: a node that refused one is not asked for the next.
  // Where they are not, it has to be told.
  enum class Roles { equal, differing };
  void configuration(std::string_view actions, bool gang_preemptable = false,
                     Roles roles = Roles::equal) {
    std::string switched = gang_preemptable ? "" : "\\n    enablePreemptable: false";
    std::string told = roles == Roles::equal
                           ? ""
                           : "configurations:\\n- name: allocate\\n  arguments:\\n"
                             "    predicateErrorCacheEnable: false\\n";
    emit_(
        "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"volcano-scheduler-"
        "configmap\"},"
        "\"data\":{\"volcano-scheduler.conf\":\"actions: \\\"" +
        std::string(actions) + "\\\"\\ntiers:\\n- plugins:\\n  - name: priority\\n  - name: gang" +
        switched +
        "\\n  - name: conformance\\n- plugins:\\n  - name: overcommit\\n  - name: drf\\n"
        "    enablePreemptable: false\\n  - name: predicates\\n  - name: proportion\\n  - name: "
        "nodeorder\\n"
        "  - name: binpack\\n" +
        told + "\"}}");
  }

  // 32 cores, 256 GiB, 110 pods; every seventh has a taint and every fifth eight GPUs where it is
  // asked for.
  void nodes(bool taints = false, bool gpus = false, int cpu = 32) {
    for (int i = 0; i < size_.nodes; ++i) {
      std::string name = "node-" + number(i);
      std::string amounts =
          "{\"cpu\":\"" + number(cpu) + "\",\"memory\":\"256Gi\",\"pods\":\"110\"";
      if (gpus && i % 5 == 0) amounts += ",\"nvidia.com/gpu\":\"8\"";
      amounts += "}";
      std::string spec = taints && i % 7 == 3
                             ? "{\"taints\":[{\"key\":\"team\",\"value\":\"t" + number(i % 3) +
                                   "\",\"effect\":\"NoSchedule\"}]}"
                             : "{}";
      emit_("{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":" + text(name) +
            ",\"uid\":" + text(name) + ",\"labels\":{\"kubernetes.io/hostname\":" + text(name) +
            ",\"kubernetes.io/os\":\"linux\",\"zone\":\"z" + number(i % kZones) +
            "\",\"disk\":\"d" + number(i / kZones % 4) + "\"}},\"spec\":" + spec +
            ",\"status\":{\"allocatable\":" + amounts + ",\"capacity\":" + amounts +
            ",\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}");
    }
  }

  void priority_class(std::string_view name, int value) {
    emit_(
        "{\"apiVersion\":\"scheduling.k8s.io/"
        "v1\",\"kind\":\"PriorityClass\",\"metadata\":{\"name\":" +
        text(name) + "},\"value\":" + number(value) + "}");
  }

  void queue(const std::string& name, int weight = 1) {
    emit_(
        "{\"apiVersion\":\"scheduling.volcano.sh/"
        "v1beta1\",\"kind\":\"Queue\",\"metadata\":{\"name\":" +
        text(name) + ",\"uid\":" + text("queue-" + name) + ",\"creationTimestamp\":" +
        text(stamp(next_second_++)) + "},\"spec\":{\"weight\":" + number(weight) +
        ",\"reclaimable\":true},\"status\":{\"state\":\"Open\"}}");
  }

  void group(const std::string& name, const std::string& queue, int members, const PodShape& shape,
             std::string_view phase = "Pending", std::string_view priority_class = {}) {
    group_ = name;
    created_ = stamp(next_second_++);
    std::string spec = "{\"minMember\":" + number(members) + ",\"queue\":" + text(queue) +
                       ",\"minTaskMember\":{\"worker\":" + number(members) +
                       "},\"minResources\":" + requests(shape, members);
    if (!priority_class.empty()) spec += ",\"priorityClassName\":" + text(priority_class);
    emit_(
        "{\"apiVersion\":\"scheduling.volcano.sh/"
        "v1beta1\",\"kind\":\"PodGroup\",\"metadata\":{\"name\":" +
        text(name) + ",\"namespace\":\"default\",\"uid\":" + text("group-" + name) +
        ",\"creationTimestamp\":" + text(created_) + "},\"spec\":" + spec +
        "},\"status\":{\"phase\":" + text(phase) + "}}");
  }

  // A pod of the group made last; with a node it runs there.
  void pod(int index, const PodShape& shape, int node = -1) {
    std::string name = group_ + "-worker-" + number(index);
    std::string placed = node < 0 ? "" : ",\"nodeName\":" + text("node-" + number(node));
    emit_("{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":" + text(name) +
          ",\"namespace\":\"default\",\"uid\":" + text(name) + ",\"creationTimestamp\":" +
          text(created_) + ",\"labels\":{\"volcano.sh/task-spec\":\"worker\"" + shape.labels +
          "},\"annotations\":{\"scheduling.k8s.io/group-name\":" + text(group_) +
          ",\"volcano.sh/"
          "task-spec\":\"worker\"}},\"spec\":{\"schedulerName\":\"volcano\",\"priority\":" +
          number(shape.priority) + placed + shape.spec +
          ",\"containers\":[{\"name\":\"main\",\"image\":\"busybox\",\"resources\":{\"requests\":" +
          requests(shape) + "}}]},\"status\":{\"phase\":" + text(node < 0 ? "Pending" : "Running") +
          "}}");
  }

  int pods() const { return size_.pods; }
  int gangs() const { return std::max(size_.pods / kGang, 1); }
  int per_gang() const { return size_.pods / gangs(); }
  int node_count() const { return size_.nodes; }

 private:
  WorkloadSize size_;
  const std::function<void(const std::string&)>& emit_;
  int next_second_ = 0;
  std::string group_, created_;
};

constexpr std::string_view kChart = "enqueue, allocate, backfill";

void make_equal(Maker& make) {
  make.configuration(kChart);
  make.nodes();
  make.queue("default");
  for (int j = 0; j < make.gangs(); ++j) {
    make.group("job-" + number(j), "default", make.per_gang(), {});
    for (int p = 0; p < make.per_gang(); ++p) make.pod(p, {});
  }
}

// No two pods ask for the same.
void make_distinct(Maker& make) {
  make.configuration(kChart, false, Maker::Roles::differing);
  make.nodes(true);
  make.queue("default");
  for (int j = 0; j < make.gangs(); ++j) {
    make.group("job-" + number(j), "default", make.per_gang(), {});
    for (int p = 0; p < make.per_gang(); ++p) {
      int i = j * make.per_gang() + p;
      PodShape shape;
      shape.cpu_milli = 200 + i % 1301;
      shape.memory_mib = 512 + i;
      if (i % 3 != 0)
        shape.spec += ",\"nodeSelector\":{\"zone\":\"z" + number(i % kZones) + "\"" +
                      (i % 3 == 1 ? "" : ",\"disk\":\"d" + number(i / 7 % 4) + "\"") + "}";
      if (i % 2 == 0)
        shape.spec += ",\"tolerations\":[{\"key\":\"team\",\"operator\":\"Equal\",\"value\":\"t" +
                      number(i % 3) + "\",\"effect\":\"NoSchedule\"},{\"key\":\"pod-" + number(i) +
                      "\",\"operator\":\"Exists\"}]";
      make.pod(p, shape);
    }
  }
}

// Gangs whose pods must not share a node, and gangs spread evenly over the zones.
void make_spread(Maker& make) {
  make.configuration(kChart, false, Maker::Roles::differing);
  make.nodes();
  make.queue("default");
  for (int j = 0; j < make.gangs(); ++j) {
    PodShape shape;
    std::string app = "app-" + number(j);
    std::string selector = "\"labelSelector\":{\"matchLabels\":{\"app\":" + text(app) + "}}";
    shape.labels = ",\"app\":" + text(app);
    if (j % 2 == 0)
      shape.spec =
          ",\"affinity\":{\"podAntiAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":["
          "{"
          "\"topologyKey\":\"kubernetes.io/hostname\"," +
          selector + "}]}}";
    else
      shape.spec =
          ",\"topologySpreadConstraints\":[{\"maxSkew\":1,\"topologyKey\":\"zone\","
          "\"whenUnsatisfiable\":\"DoNotSchedule\"," +
          selector +
          "},{\"maxSkew\":2,\"topologyKey\":\"kubernetes.io/hostname\","
          "\"whenUnsatisfiable\":\"DoNotSchedule\"," +
          selector + "}]";
    make.group("job-" + number(j), "default", make.per_gang(), shape);
    for (int p = 0; p < make.per_gang(); ++p) make.pod(p, shape);
  }
}

// Gangs of 10 to 500 pods in 20 shapes over 50 queues.
void make_mixed(Maker& make) {
  constexpr int kShapes = 20, kQueues = 50;
  make.configuration(kChart);
  make.nodes(false, true);
  for (int q = 0; q < kQueues; ++q) make.queue("q" + number(q), 1 + q % 4);
  std::mt19937 random(7);
  // Many small and few large, a hundred on average.
  std::vector<int> sizes;
  for (int left = make.pods(); left > 0;) {
    int size = random() % 8 == 0 ? 200 + static_cast<int>(random() % 301)
                                 : 10 + static_cast<int>(random() % 99);
    sizes.push_back(std::min(size, left));
    left -= sizes.back();
  }
  for (std::size_t j = 0; j < sizes.size(); ++j) {
    int s = static_cast<int>(random() % kShapes);
    PodShape shape;
    shape.cpu_milli = 250 * (1 + s % 8);
    shape.memory_mib = 512 * (1 + s % 5);
    shape.gpus = s == 7 ? 1 : 0;
    if (s % 4 == 1) shape.spec = ",\"nodeSelector\":{\"disk\":\"d" + number(s % 3) + "\"}";
    std::string queue = "q" + number(static_cast<int>(random() % kQueues));
    make.group("job-" + number(static_cast<int>(j)), queue, sizes[j], shape);
    for (int p = 0; p < sizes[j]; ++p) make.pod(p, shape);
  }
}

// One pod on every node, in groups of a hundred of which one must stay.
void make_running(Maker& make, const std::string& name, const std::string& queue,
                  const PodShape& shape, std::string_view priority_class) {
  for (int n = 0; n < make.node_count(); ++n) {
    if (n % kGang == 0)
      make.group(name + "-" + number(n / kGang), queue, 1, shape, "Running", priority_class);
    make.pod(n % kGang, shape, n);
  }
}

// A cluster full of unimportant pods, one per node, and as many important ones that want their
// places.
void make_preempt(Maker& make) {
  make.configuration("enqueue, allocate, preempt", true);
  make.nodes(false, false, 4);
  make.priority_class("low", 1);
  make.priority_class("high", 100);
  make.queue("default");
  PodShape shape;
  shape.cpu_milli = 3000;
  make_running(make, "low", "default", shape, "low");
  shape.priority = 100;
  int gangs = std::max(make.pods() / 10, 1);
  for (int j = 0; j < gangs; ++j) {
    make.group("high-" + number(j), "default", 10, shape, "Inqueue", "high");
    for (int p = 0; p < 10; ++p) make.pod(p, shape);
  }
}

// One queue holds the whole cluster, another deserves half of it.
void make_reclaim(Maker& make) {
  make.configuration("enqueue, allocate, reclaim", true);
  make.nodes(false, false, 4);
  make.queue("rich");
  make.queue("poor");
  PodShape shape;
  shape.cpu_milli = 3000;
  make_running(make, "rich", "rich", shape, {});
  int gangs = std::max(make.pods() / 10, 1);
  for (int j = 0; j < gangs; ++j) {
    make.group("poor-" + number(j), "poor", 10, shape, "Inqueue");
    for (int p = 0; p < 10; ++p) make.pod(p, shape);
  }
}

// Running gangs everywhere, and one new gang of a hundred pods of a shape not seen before.
void make_steady(Maker& make) {
  constexpr int kQueues = 50;
  make.configuration(kChart);
  make.nodes();
  for (int q = 0; q < kQueues; ++q) make.queue("q" + number(q));
  PodShape shape;
  shape.cpu_milli = 2000;
  int node = 0;
  for (int j = 0; j < make.gangs(); ++j) {
    make.group("job-" + number(j), "q" + number(j % kQueues), make.per_gang(), shape, "Running");
    for (int p = 0; p < make.per_gang(); ++p, node = (node + 1) % make.node_count())
      make.pod(p, shape, node);
  }
  shape.cpu_milli = 1500;
  make.group(std::string(kArrival), "q0", kGang, shape, "Inqueue");
  for (int p = 0; p < kGang; ++p) make.pod(p, shape);
}

struct Known : Workload {
  void (*make)(Maker&);
};

const Known kKnown[] = {
    {{"equal", "gangs of equal pods", {1000, 10000}}, make_equal},
    {{"distinct", "every pod different in requests, selectors and tolerations", {1000, 10000}},
     make_distinct},
    {{"spread", "required anti-affinity and topology spread", {1000, 10000}}, make_spread},
    {{"mixed", "gangs of 10 to 500 pods in 20 shapes over 50 queues", {10000, 100000}}, make_mixed},
    {{"preempt",
      "important pods for nodes that are each full of a less important one",
      {1000, 1000}},
     make_preempt},
    {{"reclaim", "a queue that deserves half of what another one holds", {1000, 1000}},
     make_reclaim},
    {{"steady", "a cluster of running gangs, and one new gang of 100 pods", {10000, 100000}},
     make_steady},
};

}  // namespace

std::vector<Workload> workloads() { return {std::begin(kKnown), std::end(kKnown)}; }

bool make_workload(std::string_view name, WorkloadSize size,
                   const std::function<void(const std::string&)>& emit) {
  for (const Known& known : kKnown) {
    if (known.name != name) continue;
    Maker make(size, emit);
    known.make(make);
    return true;
  }
  return false;
}

}  // namespace hekla::bench
