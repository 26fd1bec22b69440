// The report of a simulation: a table for the terminal, a page with plots for the browser. The page
// holds everything itself: style, drawings, numbers.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "base/markup.h"
#include "model/time.h"
#include "scheduler/simulate/simulator.h"

namespace hekla::scheduler {

namespace {

constexpr double kWidth = 960, kLeft = 72, kRight = 16, kTop = 14, kBottom = 46;
constexpr std::size_t kMostBars = 120, kMostRows = 500, kMostPoints = 1200;
constexpr std::array<const char*, 8> kColours{"#4269d0", "#efb118", "#ff725c", "#6cc5b0",
                                              "#a463f2", "#3ca951", "#ff8ab7", "#9c6b4e"};

std::string number(double value, int digits = 1) {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  return text.data();
}

std::string percent(double part) { return number(part * 100) + " %"; }

std::string span_text(Nanos time) {
  if (time.count() < 0) return "–";
  if (time < std::chrono::seconds(1)) return time.count() == 0 ? "0 s" : "<1 s";
  return model::human_duration(time);
}

std::string padded(const std::string& text, std::size_t width) {
  return text.size() >= width ? text + " " : text + std::string(width - text.size(), ' ');
}

// A round step that divides `most` into about `parts`.
double round_step(double most, int parts) {
  if (most <= 0) return 1;
  double raw = most / parts;
  double power = std::pow(10.0, std::floor(std::log10(raw)));
  for (double factor : {1.0, 2.0, 5.0, 10.0})
    if (raw <= factor * power) return factor * power;
  return 10 * power;
}

Nanos time_step(Nanos most) {
  using std::chrono::hours, std::chrono::minutes, std::chrono::seconds;
  for (Nanos step : {Nanos(seconds(1)), Nanos(seconds(5)), Nanos(seconds(10)), Nanos(seconds(30)),
                     Nanos(minutes(1)), Nanos(minutes(5)), Nanos(minutes(10)), Nanos(minutes(30)),
                     Nanos(hours(1)), Nanos(hours(2)), Nanos(hours(6)), Nanos(hours(12))})
    if (most / 10 <= step) return step;
  return ((most / 10) / hours(24) + 1) * Nanos(hours(24));
}

// Marks of an axis are round: whole hours are said in hours.
std::string mark_text(Nanos at) {
  if (at.count() == 0) return "0";
  if (at % std::chrono::hours(1) == Nanos(0) && at < std::chrono::hours(24))
    return std::to_string(at / std::chrono::hours(1)) + "h";
  return model::human_duration(at);
}

// A drawing area with a time axis; what is drawn goes between open() and close().
class Plot {
 public:
  Plot(double height, Nanos span, double most)
      : height_(height), span_(std::max(span, Nanos(1))), most_(most > 0 ? most : 1) {
    out_ =
        "<svg viewBox=\"0 0 " + number(kWidth, 0) + " " + number(height_, 0) + "\" role=\"img\">";
  }
  double x(Nanos at) const {
    double part = static_cast<double>(at.count()) / static_cast<double>(span_.count());
    return kLeft + std::min(part, 1.0) * (kWidth - kLeft - kRight);
  }
  double y(double value) const {
    return height_ - kBottom - value / most_ * (height_ - kTop - kBottom);
  }
  // `along` names the time axis, `up` the other one; without a name it has no marks.
  void grid(const std::string& along, const std::string& up) {
    Nanos step = time_step(span_);
    for (Nanos at{0}; at <= span_; at += step) {
      line(x(at), kTop, x(at), height_ - kBottom, "grid");
      label(x(at), height_ - kBottom + 16, mark_text(at), "middle");
    }
    label(kWidth - kRight, height_ - 8, along, "end");
    if (up.empty()) return;
    double by = round_step(most_, 5);
    for (double v = 0; v <= most_ * 1.0001; v += by) {
      line(kLeft, y(v), kWidth - kRight, y(v), "grid");
      label(kLeft - 8, y(v) + 4, number(v, by < 1 ? 1 : 0), "end");
    }
    double middle = (height_ + kTop - kBottom) / 2;
    out_ += "<text text-anchor=\"middle\" transform=\"translate(14 " + number(middle) +
            ") rotate(-90)\">" + escape_markup(up) + "</text>";
  }
  void line(double x1, double y1, double x2, double y2, const std::string& kind) {
    out_ += "<line class=\"" + kind + "\" x1=\"" + number(x1) + "\" y1=\"" + number(y1) +
            "\" x2=\"" + number(x2) + "\" y2=\"" + number(y2) + "\"/>";
  }
  void label(double at_x, double at_y, const std::string& text, const std::string& anchor) {
    out_ += "<text x=\"" + number(at_x) + "\" y=\"" + number(at_y) + "\" text-anchor=\"" + anchor +
            "\">" + escape_markup(text) + "</text>";
  }
  void add(const std::string& svg) { out_ += svg; }
  std::string close() { return out_ + "</svg>"; }

 private:
  double height_;
  Nanos span_;
  double most_;
  std::string out_;
};

constexpr const char* kSinceStart = "time since the start";

// What amounts of a resource are counted in.
std::string unit_of(const std::string& resource) {
  if (resource == "cpu") return "cores";
  if (resource == "memory") return "GiB";
  return resource;
}

std::string colour(std::size_t queue) { return kColours[queue % kColours.size()]; }

// At most kMostPoints samples; of neighbours the last one stands for them.
std::vector<const SimulationSample*> thinned(const SimulationResult& result) {
  std::vector<const SimulationSample*> out;
  std::size_t every = result.samples.size() / kMostPoints + 1;
  for (std::size_t i = 0; i < result.samples.size(); ++i)
    if (i % every == every - 1 || i + 1 == result.samples.size() || i == 0)
      out.push_back(&result.samples[i]);
  return out;
}

// Queues stacked on each other, as steps; the dashed line is what the cluster has.
std::string usage_plot(const SimulationResult& result, std::size_t resource) {
  Plot plot(250, result.makespan, result.capacity[resource] * 1.05);
  plot.grid(kSinceStart, unit_of(result.resources[resource]));
  std::vector<const SimulationSample*> samples = thinned(result);
  std::vector<double> below(samples.size(), 0.0);
  for (std::size_t q = 0; q < result.queues.size(); ++q) {
    std::string top, bottom;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      double base = below[i], value = base + samples[i]->used[resource][q];
      Nanos until = i + 1 < samples.size() ? samples[i + 1]->at : result.makespan;
      double x1 = plot.x(samples[i]->at), x2 = plot.x(std::max(until, samples[i]->at));
      top += (i == 0 ? "M" : "L") + number(x1) + " " + number(plot.y(value)) + "L" + number(x2) +
             " " + number(plot.y(value));
      bottom = "L" + number(x2) + " " + number(plot.y(base)) + "L" + number(x1) + " " +
               number(plot.y(base)) + bottom;
      below[i] = value;
    }
    plot.add("<path fill=\"" + colour(q) + "\" fill-opacity=\".85\" d=\"" + top + bottom +
             "Z\"><title>" + escape_markup(result.queues[q]) + "</title></path>");
  }
  plot.line(kLeft, plot.y(result.capacity[resource]), kWidth - kRight,
            plot.y(result.capacity[resource]), "capacity");
  return plot.close();
}

std::string waiting_plot(const SimulationResult& result) {
  std::int64_t most = 1;
  for (const SimulationSample& one : result.samples) most = std::max(most, one.waiting);
  Plot plot(180, result.makespan, static_cast<double>(most));
  plot.grid(kSinceStart, "jobs");
  std::string path;
  for (const SimulationSample* one : thinned(result)) {
    if (!path.empty()) path += "H" + number(plot.x(one->at));
    path += (path.empty() ? "M" + number(plot.x(one->at)) + " " : "V") +
            number(plot.y(static_cast<double>(one->waiting)));
  }
  plot.add("<path class=\"waiting\" d=\"" + path + "\"/>");
  return plot.close();
}

// For each queue, how many of its jobs had started after having waited so long.
std::string wait_plot(const SimulationResult& result) {
  Nanos longest{std::chrono::minutes(1)};
  for (const SimulatedOutcome& job : result.jobs)
    if (job.started()) longest = std::max(longest, job.wait());
  Plot plot(220, longest, 100);
  plot.grid("time waited", "% of jobs started");
  for (std::size_t q = 0; q < result.queues.size(); ++q) {
    std::vector<Nanos> waits;
    std::size_t jobs = 0;
    for (const SimulatedOutcome& job : result.jobs) {
      if (job.queue != result.queues[q]) continue;
      ++jobs;
      if (job.started()) waits.push_back(job.wait());
    }
    if (waits.empty()) continue;
    std::sort(waits.begin(), waits.end());
    std::string path = "M" + number(plot.x(Nanos(0))) + " " + number(plot.y(0));
    std::size_t every = waits.size() / kMostPoints + 1;
    for (std::size_t i = 0; i < waits.size(); ++i) {
      if (i % every != 0 && i + 1 < waits.size()) continue;
      double part = 100 * static_cast<double>(i + 1) / static_cast<double>(jobs);
      path += "H" + number(plot.x(waits[i])) + "V" + number(plot.y(part));
    }
    path += "H" + number(plot.x(longest));
    plot.add("<path class=\"curve\" stroke=\"" + colour(q) + "\" d=\"" + path + "\"><title>" +
             escape_markup(result.queues[q]) + "</title></path>");
  }
  return plot.close();
}

// Two bars per queue: what it had, and what its weight would have given it.
std::string share_plot(const SimulationResult& result) {
  double used = 0, weights = 0;
  std::size_t rows = 0;
  for (const QueueFigures& one : result.figures) {
    used += one.used_hours;
    if (one.jobs == 0) continue;
    weights += one.weight;
    ++rows;
  }
  constexpr double kRow = 44, kName = 150, kRoom = kWidth - kName - 90;
  std::string out = "<svg viewBox=\"0 0 " + number(kWidth, 0) + " " +
                    number(kRow * static_cast<double>(rows), 0) + "\" role=\"img\">";
  auto bar = [&](double y, double part, const std::string& style, const std::string& words) {
    out += "<rect x=\"" + number(kName) + "\" y=\"" + number(y) + "\" width=\"" +
           number(std::max(part * kRoom, 1.0)) + "\" height=\"13\" rx=\"2\" " + style +
           "/><text x=\"" + number(kName + part * kRoom + 6) + "\" y=\"" + number(y + 10.5) +
           "\">" + words + "</text>";
  };
  double y = 4;
  for (std::size_t q = 0; q < result.figures.size(); ++q) {
    const QueueFigures& one = result.figures[q];
    if (one.jobs == 0) continue;
    double had = used > 0 ? one.used_hours / used : 0, due = one.weight / weights;
    out += "<text class=\"name\" x=\"" + number(kName - 10) + "\" y=\"" + number(y + 18) +
           "\" text-anchor=\"end\">" + escape_markup(one.name) + "</text>";
    bar(y, had, "fill=\"" + colour(q) + "\"", percent(had) + " used");
    bar(y + 16, due, "class=\"due\"", percent(due) + " by weight " + number(one.weight, 0));
    y += kRow;
  }
  return out + "</svg>";
}

// One line per job: thin while it waits, thick while it runs.
std::string job_plot(const SimulationResult& result, std::size_t every) {
  std::size_t bars = (result.jobs.size() + every - 1) / every;
  double row = std::clamp(1200.0 / static_cast<double>(std::max<std::size_t>(bars, 1)), 4.0, 14.0);
  Plot plot(kTop + kBottom + row * static_cast<double>(bars), result.makespan, 1);
  plot.grid(kSinceStart, "");
  for (std::size_t i = 0, line = 0; i < result.jobs.size(); i += every, ++line) {
    const SimulatedOutcome& job = result.jobs[i];
    std::size_t queue = static_cast<std::size_t>(
        std::find(result.queues.begin(), result.queues.end(), job.queue) - result.queues.begin());
    double y = kTop + row * (static_cast<double>(line) + 0.5);
    Nanos start = job.started() ? job.start : result.makespan;
    Nanos end = job.end.count() >= 0 ? job.end : result.makespan;
    std::string title =
        "<title>" + escape_markup(job.ns + "/" + job.name) + " in " + escape_markup(job.queue) +
        ": " + std::to_string(job.pods) + " pods, waits " + span_text(start - job.arrival) +
        (job.started() ? ", runs " + span_text(end - job.start) : ", never starts") + "</title>";
    auto bar = [&](Nanos from, Nanos to, double height, const char* opacity) {
      plot.add("<rect x=\"" + number(plot.x(from)) + "\" y=\"" + number(y - height / 2) +
               "\" width=\"" + number(std::max(plot.x(to) - plot.x(from), 1.0)) + "\" height=\"" +
               number(height) + "\" rx=\"1\" fill=\"" + colour(queue) + "\" fill-opacity=\"" +
               opacity + "\">" + title + "</rect>");
    };
    if (start > job.arrival) bar(job.arrival, start, std::max(row * 0.25, 1.5), ".6");
    if (job.started()) bar(job.start, end, row * 0.78, "1");
  }
  return plot.close();
}

constexpr const char* kStyle = R"(<style>
:root{color-scheme:light dark;--ink:#1c2024;--soft:#687076;--line:#e4e7ea;
--card:#fff;--page:#f6f7f9}
@media(prefers-color-scheme:dark){:root{--ink:#eceef0;--soft:#9ba1a6;
--line:#2f3336;--card:#1b1e20;--page:#111314}}
body{margin:0;background:var(--page);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
main{max-width:1020px;margin:0 auto;padding:32px 20px 60px}
h1{font-size:26px;margin:0 0 4px}h2{font-size:17px;margin:0 0 10px}p{margin:0 0 20px;color:var(--soft)}
section{background:var(--card);border:1px solid var(--line);border-radius:10px;
padding:18px 20px;margin:0 0 18px;overflow-x:auto}
.cards{display:grid;
grid-template-columns:repeat(auto-fit,minmax(210px,1fr));gap:12px;margin:0 0 18px}
.card{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:12px 16px}
.card b{display:block;font-size:22px;font-weight:600}.card span{color:var(--soft);font-size:13px}
svg{width:100%;height:auto;display:block}svg text{fill:var(--soft);font-size:11px}
.grid{stroke:var(--line)}.capacity{stroke:var(--ink);stroke-dasharray:5 4}
.waiting{fill:none;stroke:#ff725c;stroke-width:1.8}.curve{fill:none;stroke-width:2}
.due{fill:var(--line);stroke:var(--soft);stroke-width:.5}svg text.name{fill:var(--ink);font-size:13px}
.summary{color:var(--ink);font-size:16px;max-width:46em}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{text-align:right;padding:5px 10px;border-bottom:1px solid var(--line);white-space:nowrap}
th{color:var(--soft);font-weight:500}th:first-child,td:first-child{text-align:left}
td.why{text-align:left;white-space:normal;color:var(--soft);font-size:13px}
.key{margin:0 0 8px;color:var(--soft);font-size:13px}.key i{
display:inline-block;width:10px;height:10px;border-radius:2px;margin:0 5px 0 14px}
.key i.dash{height:0;width:16px;border-radius:0;border-top:2px dashed var(--ink);vertical-align:3px}
</style>)";

std::string card(const std::string& value, const std::string& name) {
  return "<div class=\"card\"><b>" + escape_markup(value) + "</b><span>" + escape_markup(name) +
         "</span></div>";
}

std::string key_of_queues(const SimulationResult& result, const std::string& more = "") {
  std::string out = "<div class=\"key\">queues";
  for (std::size_t q = 0; q < result.queues.size(); ++q)
    out += "<i style=\"background:" + colour(q) + "\"></i>" + escape_markup(result.queues[q]);
  return out + more + "</div>";
}

std::string queue_table(const SimulationResult& result) {
  double all = 0, weights = 0;
  for (const QueueFigures& one : result.figures) {
    all += one.used_hours;
    if (one.jobs > 0) weights += one.weight;
  }
  std::string out =
      "<table><tr><th>queue</th><th>weight</th><th>jobs</th><th>started</th><th>mean wait</th>"
      "<th>median</th><th>95 %</th><th>longest</th><th>" +
      escape_markup(result.resources.front()) + " hours</th><th>share</th><th>by weight</th></tr>";
  for (const QueueFigures& one : result.figures)
    out += "<tr><td>" + escape_markup(one.name) + "</td><td>" + number(one.weight, 0) +
           "</td><td>" + std::to_string(one.jobs) + "</td><td>" + std::to_string(one.started) +
           "</td><td>" + span_text(one.mean_wait) + "</td><td>" + span_text(one.median_wait) +
           "</td><td>" + span_text(one.p95_wait) + "</td><td>" + span_text(one.longest_wait) +
           "</td><td>" + number(one.used_hours) + "</td><td>" +
           percent(all > 0 ? one.used_hours / all : 0) + "</td><td>" +
           (one.jobs > 0 ? percent(one.weight / weights) : "–") + "</td></tr>";
  return out + "</table>";
}

std::string job_table(const SimulationResult& result) {
  std::vector<const SimulatedOutcome*> jobs;
  for (const SimulatedOutcome& job : result.jobs) jobs.push_back(&job);
  auto wait = [&](const SimulatedOutcome* job) {
    return job->started() ? job->wait() : Nanos::max();
  };
  std::stable_sort(jobs.begin(), jobs.end(),
                   [&](const auto* a, const auto* b) { return wait(a) > wait(b); });
  std::string out =
      "<table><tr><th>job</th><th>queue</th><th>pods</th><th>arrives</th><th>waits</th><th>runs</"
      "th>"
      "<th>evicted pods</th></tr>";
  for (std::size_t i = 0; i < jobs.size() && i < kMostRows; ++i) {
    const SimulatedOutcome& job = *jobs[i];
    out += "<tr><td>" + escape_markup(job.ns + "/" + job.name) + "</td><td>" +
           escape_markup(job.queue) + "</td><td>" + std::to_string(job.pods) + "</td><td>" +
           span_text(job.arrival) + "</td><td>" +
           (job.started() ? span_text(job.wait()) : "never started") + "</td><td>" +
           (job.end.count() >= 0 ? span_text(job.end - job.start) : "–") + "</td><td>" +
           std::to_string(job.evictions) + "</td></tr>";
    if (!job.started())
      out += "<tr><td class=\"why\" colspan=\"7\">" + escape_markup(job.waits) + "</td></tr>";
  }
  return out + "</table>";
}

struct Totals {
  std::size_t started = 0;
  Nanos mean{0}, p95{0}, longest{0};
};

Totals totals_of(const SimulationResult& result) {
  Totals out;
  std::vector<Nanos> waits;
  for (const SimulatedOutcome& job : result.jobs)
    if (job.started()) waits.push_back(job.wait());
  out.started = waits.size();
  if (waits.empty()) return out;
  std::sort(waits.begin(), waits.end());
  Nanos sum{0};
  for (Nanos one : waits) sum += one;
  out.mean = sum / static_cast<std::int64_t>(waits.size());
  out.p95 = waits[std::min(waits.size() - 1, waits.size() * 95 / 100)];
  out.longest = waits.back();
  return out;
}

// What a reader should take home, in a few sentences.
std::string summary(const SimulationResult& result, const Totals& totals) {
  std::string out = totals.started == result.jobs.size()
                        ? "All " + std::to_string(result.jobs.size()) + " jobs started"
                        : std::to_string(result.jobs.size() - totals.started) + " of " +
                              std::to_string(result.jobs.size()) + " jobs never started";
  out += "; the last one ended after " + span_text(result.makespan) + ".";
  std::size_t at_once = 0;
  const SimulatedOutcome* longest = nullptr;
  for (const SimulatedOutcome& job : result.jobs) {
    if (!job.started()) continue;
    at_once += job.wait() < std::chrono::seconds(1);
    if (longest == nullptr || job.wait() > longest->wait()) longest = &job;
  }
  if (longest != nullptr) {
    auto part = static_cast<double>(at_once) / static_cast<double>(totals.started);
    out += " " + number(part * 100, 0) + " % of those that started did so at once";
    if (longest->wait() >= std::chrono::seconds(1))
      out += "; the longest wait was " + span_text(longest->wait()) + ", for " + longest->ns + "/" +
             longest->name + " in queue " + longest->queue;
    out += ".";
  }
  if (!result.utilisation.empty()) {
    auto scarcest = static_cast<std::size_t>(
        std::max_element(result.utilisation.begin(), result.utilisation.end()) -
        result.utilisation.begin());
    out += " The scarcest resource was " + result.resources[scarcest] + ": " +
           percent(result.utilisation[scarcest]) + " in use on average.";
  }
  double used = 0, weights = 0;
  for (const QueueFigures& one : result.figures) {
    used += one.used_hours;
    if (one.jobs > 0) weights += one.weight;
  }
  const QueueFigures* most = nullptr;
  double largest = 0;
  for (const QueueFigures& one : result.figures) {
    if (one.jobs == 0 || used == 0) continue;
    double beyond = one.used_hours / used - one.weight / weights;
    if (beyond > largest) {
      largest = beyond;
      most = &one;
    }
  }
  if (most != nullptr && largest > 0.01)
    out += " Queue " + most->name + " used " + percent(most->used_hours / used) + " of all " +
           result.resources.front() + " hours that were used, its weight alone stands for " +
           percent(most->weight / weights) + ".";
  return out;
}

}  // namespace

std::string report_text(const SimulationResult& result) {
  Totals totals = totals_of(result);
  std::string out = std::to_string(totals.started) + " of " + std::to_string(result.jobs.size()) +
                    " jobs started; the last ended after " + span_text(result.makespan) +
                    " of virtual time, " + std::to_string(result.sessions) + " sessions\n";
  out += "wait: mean " + span_text(totals.mean) + ", 95 % within " + span_text(totals.p95) +
         ", longest " + span_text(totals.longest) + "\nutilisation:";
  for (std::size_t r = 0; r < result.resources.size(); ++r)
    out += std::string(r == 0 ? " " : ", ") + result.resources[r] + " " +
           percent(result.utilisation[r]);
  out +=
      "\nfairness between queues, by weight (1 is equal): " + number(result.fairness, 3) + "\n\n";
  out += padded("QUEUE", 18) + padded("WEIGHT", 8) + padded("JOBS", 7) + padded("STARTED", 9) +
         padded("MEAN WAIT", 11) + padded("MEDIAN", 9) + padded("95 %", 9) + padded("LONGEST", 9) +
         result.resources.front() + " HOURS\n";
  for (const QueueFigures& one : result.figures)
    out += padded(one.name, 18) + padded(number(one.weight, 0), 8) +
           padded(std::to_string(one.jobs), 7) + padded(std::to_string(one.started), 9) +
           padded(span_text(one.mean_wait), 11) + padded(span_text(one.median_wait), 9) +
           padded(span_text(one.p95_wait), 9) + padded(span_text(one.longest_wait), 9) +
           number(one.used_hours) + "\n";
  for (const SimulatedOutcome& job : result.jobs)
    if (!job.started())
      out += "\nnever started: " + job.ns + "/" + job.name + " (" + job.queue + "): " + job.waits;
  if (totals.started < result.jobs.size()) out += "\n";
  for (const auto& [what, sessions] : result.broken_invariants)
    out += "\nan invariant did not hold after " + std::to_string(sessions) + " sessions: " + what +
           "\n";
  return out;
}

std::string report_html(const SimulationResult& result, const std::string& title) {
  Totals totals = totals_of(result);
  std::string out =
      "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width\"><title>" +
      escape_markup(title) + "</title>" + kStyle + "</head><body><main><h1>" +
      escape_markup(title) + "</h1><p>" + std::to_string(result.jobs.size()) + " jobs in " +
      std::to_string(result.queues.size()) + " queues, simulated with Hekla's own scheduler (" +
      std::to_string(result.sessions) + " sessions)</p><p class=\"summary\">" +
      escape_markup(summary(result, totals)) + "</p><div class=\"cards\">";
  out += card(std::to_string(totals.started) + " / " + std::to_string(result.jobs.size()),
              "jobs started");
  out += card(span_text(result.makespan), "until the last ended");
  for (std::size_t r = 0; r < result.resources.size() && r < 3; ++r)
    out += card(percent(result.utilisation[r]), result.resources[r] + " in use");
  out += card(span_text(totals.mean), "mean wait");
  out += card(span_text(totals.p95), "95 % wait at most");
  out += card(number(result.fairness, 3), "fairness by weight (1 is equal)");
  out += "</div>";
  for (std::size_t r = 0; r < result.resources.size(); ++r)
    out += "<section><h2>" + escape_markup(result.resources[r]) + " in use, " +
           percent(result.utilisation[r]) + " on average</h2>" +
           key_of_queues(result, "<i class=\"dash\"></i>what the cluster has") +
           usage_plot(result, r) + "</section>";
  out += "<section><h2>Shares of the " + escape_markup(result.resources.front()) +
         " hours that were used</h2>" + share_plot(result) + "</section>";
  out += "<section><h2>How long jobs waited</h2>" + key_of_queues(result) + wait_plot(result) +
         "</section>";
  out += "<section><h2>Jobs waiting</h2>" + waiting_plot(result) + "</section>";
  out += "<section><h2>Queues</h2>" + queue_table(result) + "</section>";
  std::size_t every = (result.jobs.size() + kMostBars - 1) / kMostBars;
  out += "<section><h2>Jobs over time</h2>" + key_of_queues(result) +
         "<p>Thin while a job waits, thick "
         "while it runs" +
         (every > 1 ? "; one in " + std::to_string(every) + " jobs is shown" : std::string()) +
         ".</p>" + job_plot(result, std::max<std::size_t>(every, 1)) + "</section>";
  out += "<section><h2>Longest waits</h2>" + job_table(result) + "</section>";
  return out + "</main></body></html>\n";
}

}  // namespace hekla::scheduler
