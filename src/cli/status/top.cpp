// The bars of `hekla top`.
#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "cli/status/overview.h"
#include "model/time.h"

namespace hekla::cli {
namespace {

using model::ResourceList;

constexpr std::size_t kMostJobs = 20;

double amount_of(const ResourceList& list, const std::string& name) {
  auto found = list.find(name);
  return found == list.end() ? 0 : static_cast<double>(found->second.nanos);
}

Style style_of(double share) {
  return share > 0.95 ? Style::red : share > 0.75 ? Style::yellow : Style::green;
}

// The resources worth a bar: cpu and memory, and what else the cluster offers by name.
std::vector<std::string> shown_resources(const ResourceList& offered) {
  std::vector<std::string> names{"cpu", "memory"};
  for (const auto& [name, amount] : offered)
    if (name.find('/') != std::string::npos && !amount.is_zero()) names.push_back(name);
  return names;
}

std::string last_part(const std::string& name) { return name.substr(name.rfind('/') + 1); }

class Top {
 public:
  Top(const Overview& overview, const TopChoice& choice, std::size_t columns, const Paint& paint)
      : overview_(overview),
        choice_(choice),
        columns_(columns),
        paint_(paint),
        whole_(overview.allocatable()),
        names_(shown_resources(whole_)) {
    for (const NodeRow& node : overview.nodes)
      title_width_ = std::max(title_width_, node.name.size());
    for (const QueueRow& queue : overview.queues)
      title_width_ = std::max(title_width_, queue.name.size());
    title_width_ = std::min<std::size_t>(title_width_, 24);
    // Names first, then each bar with its numbers, and a few words.
    constexpr std::size_t kNumbers = 21, kWords = 12;
    const std::size_t taken = title_width_ + kWords + kNumbers * names_.size();
    const std::size_t left = columns_ > taken ? columns_ - taken : 0;
    bar_width_ = std::clamp<std::size_t>(left / names_.size(), 6, 30);
  }

  std::string text() {
    if (choice_.nodes) nodes();
    if (choice_.queues) queues();
    if (choice_.jobs) jobs();
    return out_;
  }

 private:
  void title(const std::string& text) {
    if (!out_.empty()) out_ += "\n";
    out_ += paint_(Style::bold, text) + "\n";
  }

  std::string measured(const std::string& name, const ResourceList& used, const ResourceList& of) {
    const double has = amount_of(of, name), holds = amount_of(used, name);
    const double share = has > 0 ? holds / has : 0;
    const auto quantity = [&](const ResourceList& list) {
      auto found = list.find(name);
      return short_amount(name, found == list.end() ? model::Quantity() : found->second);
    };
    return padded(last_part(name), 6) + " " + paint_(style_of(share), bar(share, bar_width_)) +
           " " + padded(quantity(used) + "/" + quantity(of), 13);
  }

  void nodes() {
    title("NODES");
    for (const NodeRow& node : overview_.nodes) {
      std::string line = "  " + padded(fitted(node.name, title_width_), title_width_) + " ";
      if (!node.ready)
        line += paint_(Style::red, "NotReady ");
      else if (node.cordoned)
        line += paint_(Style::yellow, "Cordoned ");
      for (const std::string& name : names_)
        if (node.allocatable.contains(name))
          line += measured(name, node.requested, node.allocatable);
      out_ += line + paint_(Style::dim, std::to_string(node.pods) + " pods") + "\n";
    }
    if (overview_.nodes.empty()) out_ += "  none that may be seen\n";
  }

  // A queue is measured by its limit where it has one, else by the cluster.
  ResourceList limit_of(const QueueRow& queue) const {
    ResourceList limit = whole_;
    for (const auto& [name, amount] : queue.capability) limit[name] = amount;
    return limit;
  }

  void queues() {
    title("QUEUES");
    for (const QueueRow& queue : overview_.queues) {
      if (queue.name == "root") continue;
      std::string line = "  " + padded(fitted(queue.name, title_width_), title_width_) + " ";
      for (const std::string& name : names_)
        line += measured(name, queue.allocated, limit_of(queue));
      line += paint_(Style::dim, "weight " + std::to_string(queue.weight));
      if (queue.running > 0) line += ", " + std::to_string(queue.running) + " running";
      if (queue.waiting > 0)
        line += ", " + paint_(Style::yellow, std::to_string(queue.waiting) + " waiting");
      if (!queue.state.empty() && queue.state != "Open")
        line += ", " + paint_(Style::red, queue.state);
      out_ += line + "\n";
    }
    if (overview_.queues.empty()) out_ += "  none that may be seen\n";
  }

  std::string job_line(const JobRow& job) const {
    const int whole = std::max(job.replicas, job.running + job.pending);
    const double share = whole > 0 ? static_cast<double>(job.running) / whole : 0;
    const Style style = !job.ended      ? (share >= 1 ? Style::green : Style::yellow)
                        : job.succeeded ? Style::dim
                                        : Style::red;
    std::string age = "?";
    if (Result<WallTime> created = model::parse_rfc3339(job.created))
      age = model::human_duration(real_clock().wall() - *created);
    const std::size_t names = columns_ >= 100 ? 28 : 20;
    std::string line = "  " + padded(fitted(job.name, names), names) + " " + padded(job.kind, 11) +
                       " " + paint_(style, padded(job.state, 11)) + " ";
    const std::size_t bars = std::min<std::size_t>(bar_width_, 12);
    line += job.ended ? padded("", bars + 6)
                      : paint_(style, bar(share, bars)) + " " +
                            padded(std::to_string(job.running) + "/" + std::to_string(whole), 5);
    line +=
        " " + padded(job.queue, 10) + " " + (columns_ >= 100 ? padded(job.ns, 10) + " " : "") + age;
    return line;
  }

  void jobs() {
    std::vector<const JobRow*> shown;
    int ended = 0;
    for (const JobRow& job : overview_.jobs) {
      if (!choice_.ns.empty() && job.ns != choice_.ns) continue;
      if (job.ended) ++ended;
      if (!job.ended || choice_.ended) shown.push_back(&job);
    }
    title("JOBS");
    for (std::size_t i = 0; i < std::min(shown.size(), kMostJobs); ++i)
      out_ += job_line(*shown[i]) + "\n";
    if (shown.size() > kMostJobs)
      out_ += "  and " + std::to_string(shown.size() - kMostJobs) + " more\n";
    if (shown.empty()) out_ += "  none runs or waits\n";
    if (ended > 0 && !choice_.ended)
      out_ += paint_(Style::dim, "  " + std::to_string(ended) + " ended (--all shows them)") + "\n";
  }

  const Overview& overview_;
  const TopChoice& choice_;
  const std::size_t columns_;
  const Paint& paint_;
  const ResourceList whole_;
  const std::vector<std::string> names_;
  std::size_t title_width_ = 8, bar_width_ = 12;
  std::string out_;
};

}  // namespace

std::string top_text(const Overview& overview, const TopChoice& choice, std::size_t columns,
                     const Paint& paint) {
  return Top(overview, choice, columns, paint).text();
}

}  // namespace hekla::cli
