// task-topology: roles of a job that belong together, or apart, by the pod group's annotations
// volcano.sh/task-topology-affinity ("ps,worker;a,b": each list together; a role alone: with its
// own kind), -anti-affinity (the same, apart) and -task-order ("ps,worker"). Pods are put into
// buckets by affinity; a bucket's pods go one after another, the largest bucket first, to the node
// that has or can take most of the bucket. Argument: task-topology.weight (1).
//
// Differs from Volcano: a placement that is taken back leaves its bucket as it was; of a bucket
// that does not fit a node the pods are left out by name, not by chance.
#include <algorithm>
#include <map>
#include <set>

#include "scheduler/session/session.h"

namespace hekla::scheduler {

namespace {

constexpr int kSelfAnti = 4, kInter = 3, kSelf = 2, kInterAnti = 1;

using RoleLists = std::vector<std::vector<std::string>>;

std::vector<std::string> split_at(std::string_view text, char separator) {
  std::vector<std::string> out;
  while (true) {
    std::size_t end = text.find(separator);
    out.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return out;
    text.remove_prefix(end + 1);
  }
}

struct Bucket {
  std::vector<TaskId> waiting;  // by name
  std::map<NodeId, int> placed;
  std::map<std::uint16_t, int> roles;
  Resources request;  // of those waiting
  double weight = 0;  // 1 cpu, 1Gi and 1 of anything else weigh the same

  void weigh(const Resources& amount, int sign) {
    double sum = 0;
    each_dim(amount.present & ~(1u << kPods), [&](Dim d) {
      double value = static_cast<double>(amount[d]);
      sum += d == kMemory ? value / 1024 / 1024 : value;
    });
    weight += sign * sum;
    if (sign > 0)
      request += amount;
    else
      request -= amount;
  }
};

struct Plan {
  std::map<std::uint16_t, int> importance;  // of roles with a topology
  std::map<std::uint16_t, int> order;       // the user's, the larger the earlier
  std::set<std::uint16_t> self, self_anti;
  std::set<std::pair<std::uint16_t, std::uint16_t>> inter, inter_anti;
  std::vector<Bucket> buckets;
  std::map<TaskId, std::size_t> bucket_of;
  std::map<NodeId, std::map<std::uint16_t, int>> roles_on;  // placed in this session
  int largest = 0;

  int attraction(std::uint16_t role, const std::map<std::uint16_t, int>& others,
                 bool only_anti) const {
    int sum = 0;
    for (const auto& [other, count] : others) {
      bool same = other == role;
      if (!only_anti && (same ? self.contains(role) : inter.contains({role, other}))) sum += count;
      if (same ? self_anti.contains(role) : inter_anti.contains({role, other})) sum -= count;
    }
    return sum;
  }
};

class TaskTopology final : public Plugin {
 public:
  explicit TaskTopology(const Arguments& arguments)
      : weight_(arguments.number("task-topology.weight", 1)) {}
  Hooks hooks() const override {
    return hooks_of({Hook::task_order, Hook::batch_node_order, Hook::events});
  }

  void open(Session& session) override {
    session_ = &session;
    plans_.clear();
    node_of_.clear();
    for (JobId id : session.jobs())
      if (session.at(id).of(TaskStatus::pending) > 0) make_plan(id);
  }

  int task_order(TaskId a, TaskId b) const override {
    const Plan *x = plan_of(a), *y = plan_of(b);
    if (x == nullptr || y == nullptr) return 0;
    auto p = x->bucket_of.find(a), q = y->bucket_of.find(b);
    bool in = p != x->bucket_of.end(), other_in = q != y->bucket_of.end();
    if (in != other_in) return in ? -1 : 1;
    if (!in || x != y) return 0;
    std::size_t left = x->buckets[p->second].waiting.size();
    std::size_t right = x->buckets[q->second].waiting.size();
    if (left != right) return left > right ? -1 : 1;
    if (p->second == q->second)
      return -compare_roles(*x, session_->at(a).role, session_->at(b).role);
    return p->second < q->second ? -1 : 1;
  }

  bool concerns(TaskId id) const override {
    const Plan* plan = plan_of(id);
    return plan != nullptr && plan->bucket_of.contains(id);
  }
  void score_task(TaskId id, std::span<const NodeId> nodes, std::span<double> scores) override {
    const Plan& plan = *plan_of(id);
    for (std::size_t i = 0; i < nodes.size(); ++i)
      scores[i] += weight_ * 100 * bucket_score(plan, id, nodes[i]) / plan.largest;
  }

  void on_allocate(TaskId id) override {
    Plan* plan = edit_plan(id);
    if (plan == nullptr) return;
    const Task& task = session_->at(id);
    node_of_[id] = task.node;
    ++plan->roles_on[task.node][task.role];
    auto in = plan->bucket_of.find(id);
    if (in == plan->bucket_of.end()) return;
    Bucket& bucket = plan->buckets[in->second];
    std::erase(bucket.waiting, id);
    ++bucket.placed[task.node];
    bucket.weigh(session_->cluster().class_of(task).request, -1);
  }
  void on_release(TaskId id) override {
    Plan* plan = edit_plan(id);
    auto known = node_of_.find(id);
    if (plan == nullptr || known == node_of_.end()) return;
    NodeId node = known->second;
    node_of_.erase(known);
    --plan->roles_on[node][session_->at(id).role];
    auto in = plan->bucket_of.find(id);
    if (in == plan->bucket_of.end()) return;
    Bucket& bucket = plan->buckets[in->second];
    --bucket.placed[node];
    add_waiting(bucket, id);
  }

 private:
  // ---- reading

  // Every name must be a role of the job, once per list; otherwise the annotations count for
  // nothing.
  bool resolve(const Job& job, const RoleLists& lists,
               std::vector<std::vector<std::uint16_t>>& out) const {
    for (const std::vector<std::string>& list : lists) {
      std::vector<std::uint16_t> roles;
      for (const std::string& name : list) {
        if (name.empty()) continue;
        auto role = std::find_if(job.roles.begin(), job.roles.end(), [&](const Role& one) {
          return session_->cluster().names().text(one.name) == name &&
                 std::any_of(one.count.begin(), one.count.end(), [](int n) { return n > 0; });
        });
        if (role == job.roles.end()) return false;
        auto index = static_cast<std::uint16_t>(role - job.roles.begin());
        if (std::find(roles.begin(), roles.end(), index) != roles.end()) return false;
        roles.push_back(index);
      }
      out.push_back(std::move(roles));
    }
    return true;
  }
  static RoleLists lists_of(std::string_view text) {
    RoleLists out;
    if (text.empty()) return out;
    for (const std::string& list : split_at(text, ';')) out.push_back(split_at(list, ','));
    return out;
  }

  void make_plan(JobId id) {
    const Job& job = session_->at(id);
    std::string_view together = job.annotation("volcano.sh/task-topology-affinity");
    std::string_view apart = job.annotation("volcano.sh/task-topology-anti-affinity");
    std::string_view order = job.annotation("volcano.sh/task-topology-task-order");
    if (together.empty() && apart.empty() && order.empty()) return;
    std::vector<std::vector<std::uint16_t>> affinity, anti, ordered;
    RoleLists order_list;
    if (!order.empty()) order_list.push_back(split_at(order, ','));
    if (!resolve(job, lists_of(together), affinity) || !resolve(job, lists_of(apart), anti) ||
        !resolve(job, order_list, ordered))
      return;
    Plan plan;
    apply(affinity, plan.self, plan.inter, kSelf, kInter, plan);
    apply(anti, plan.self_anti, plan.inter_anti, kSelfAnti, kInterAnti, plan);
    if (!ordered.empty())
      for (std::size_t i = 0; i < ordered.front().size(); ++i)
        plan.order[ordered.front()[i]] = static_cast<int>(ordered.front().size() - i);
    fill_buckets(job, plan);
    plans_.emplace(id, std::move(plan));
  }
  static void apply(const std::vector<std::vector<std::uint16_t>>& lists,
                    std::set<std::uint16_t>& self,
                    std::set<std::pair<std::uint16_t, std::uint16_t>>& inter, int self_importance,
                    int inter_importance, Plan& plan) {
    for (const std::vector<std::uint16_t>& list : lists) {
      if (list.size() == 1) self.insert(list.front());
      for (std::uint16_t a : list) {
        int& importance = plan.importance[a];
        importance = std::max(importance, list.size() == 1 ? self_importance : inter_importance);
        for (std::uint16_t b : list)
          if (a != b) inter.insert({a, b});
      }
    }
  }

  // ---- buckets

  static int compare_roles(const Plan& plan, std::uint16_t a, std::uint16_t b) {
    auto value = [](const std::map<std::uint16_t, int>& in, std::uint16_t role) {
      auto found = in.find(role);
      return found == in.end() ? 0 : found->second;
    };
    if (a == b) return 0;
    int x = value(plan.order, a), y = value(plan.order, b);
    if (x == y) x = value(plan.importance, a), y = value(plan.importance, b);
    return x == y ? 0 : x > y ? 1 : -1;
  }

  void fill_buckets(const Job& job, Plan& plan) const {
    std::vector<TaskId> tasks;
    for (TaskId id : job.tasks)
      if (plan.importance.contains(session_->at(id).role)) tasks.push_back(id);
    // Placed ones first, by node; then the more important roles; then by name.
    std::sort(tasks.begin(), tasks.end(), [&](TaskId a, TaskId b) {
      const Task &x = session_->at(a), &y = session_->at(b);
      if (x.node.valid() != y.node.valid()) return x.node.valid();
      if (x.node != y.node) return x.node < y.node;
      int roles = x.node.valid() ? 0 : compare_roles(plan, x.role, y.role);
      return roles != 0 ? roles > 0 : x.name < y.name;
    });
    std::map<NodeId, std::size_t> by_node;
    for (TaskId id : tasks) {
      const Task& task = session_->at(id);
      std::size_t into = plan.buckets.size();
      if (task.node.valid())
        into = by_node.emplace(task.node, into).first->second;
      else
        into = best_bucket(plan, task.role);
      if (into == plan.buckets.size()) plan.buckets.emplace_back();
      Bucket& bucket = plan.buckets[into];
      plan.bucket_of[id] = into;
      ++bucket.roles[task.role];
      if (task.node.valid())
        ++bucket.placed[task.node];
      else
        add_waiting(bucket, id);
      int size = static_cast<int>(bucket.waiting.size());
      for (const auto& [node, count] : bucket.placed) size += count;
      plan.largest = std::max(plan.largest, size);
    }
  }
  // The one that attracts most, the lighter among equals; a new one if all repel.
  static std::size_t best_bucket(const Plan& plan, std::uint16_t role) {
    std::size_t best = plan.buckets.size();
    int most = 0;
    for (std::size_t i = 0; i < plan.buckets.size(); ++i) {
      int pull = plan.attraction(role, plan.buckets[i].roles, false);
      if (pull < 0) continue;
      bool better = best == plan.buckets.size() || pull > most ||
                    (pull == most && plan.buckets[i].weight < plan.buckets[best].weight);
      if (better) best = i, most = pull;
    }
    return best;
  }
  void add_waiting(Bucket& bucket, TaskId id) const {
    auto at = std::lower_bound(
        bucket.waiting.begin(), bucket.waiting.end(), id,
        [&](TaskId a, TaskId b) { return session_->at(a).name < session_->at(b).name; });
    bucket.waiting.insert(at, id);
    bucket.weigh(session_->cluster().class_of(session_->at(id)).request, +1);
  }

  // How much of the task's bucket the node has, or could take.
  int bucket_score(const Plan& plan, TaskId id, NodeId node_id) const {
    const Node& node = session_->cluster().at(node_id);
    const Task& task = session_->at(id);
    const Bucket& bucket = plan.buckets[plan.bucket_of.at(id)];
    Resources room = node.idle;
    room += node.releasing;
    int score = 0;
    if (auto placed = bucket.placed.find(node_id); placed != bucket.placed.end())
      score += placed->second;
    if (auto there = plan.roles_on.find(node_id); there != plan.roles_on.end())
      score += std::min(0, plan.attraction(task.role, there->second, true));
    score += static_cast<int>(bucket.waiting.size());
    Resources rest = bucket.request;
    for (TaskId other : bucket.waiting) {
      if (less_equal(rest, room, Missing::zero)) break;
      if (other == id) continue;
      rest -= session_->cluster().class_of(session_->at(other)).request;
      --score;
    }
    return score;
  }

  const Plan* plan_of(TaskId id) const {
    auto found = plans_.find(session_->at(id).job);
    return found == plans_.end() ? nullptr : &found->second;
  }
  Plan* edit_plan(TaskId id) {
    auto found = plans_.find(session_->at(id).job);
    return found == plans_.end() ? nullptr : &found->second;
  }

  const Session* session_ = nullptr;
  double weight_;
  std::map<JobId, Plan> plans_;
  std::map<TaskId, NodeId> node_of_;
};

}  // namespace

extern const PluginInfo plugin_task_topology;
const PluginInfo plugin_task_topology{"task-topology", "roles of a job together or apart",
                                      "task-topology.weight (1)",
                                      [](const PluginOption& option) -> std::unique_ptr<Plugin> {
                                        return std::make_unique<TaskTopology>(option.arguments);
                                      }};

}  // namespace hekla::scheduler
