#include "cli/up_front.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <optional>
#include <sstream>

#include "base/build_info.h"
#include "base/environment.h"
#include "base/log.h"
#include "base/log_ring.h"
#include "base/loop.h"
#include "cli/live/screen.h"
#include "cli/live/terminal.h"
#include "cli/status/merged_kubeconfig.h"
#include "cli/status/overview.h"
#include "cli/status/running.h"
#include "cli/verb.h"
#include "model/time.h"

namespace hekla::cli {
namespace {

constexpr std::chrono::milliseconds kTurning{120}, kLooking{1000};
constexpr std::size_t kShownJobs = 8;

bool has_kubectl() {
  std::istringstream directories(environment_variable("PATH"));
  for (std::string one; std::getline(directories, one, ':');)
    if (!one.empty() && ::access((one + "/kubectl").c_str(), X_OK) == 0) return true;
  return false;
}

// The first thing to type: with kubectl where it is, else with what is in this binary.
std::string first_steps(const UpFacts& facts) {
  if (has_kubectl()) return "export KUBECONFIG=" + facts.kubeconfig + "; kubectl get vcjob,pods";
  return "kubectl is not on this machine (apt install kubernetes-client brings it); hekla get, "
         "apply, logs and wait do its work without it";
}

using Facts = std::vector<std::pair<std::string, std::string>>;
Facts told(const UpFacts& facts) {
  Facts lines{{"address", facts.url}, {"kubeconfig", facts.kubeconfig}};
  if (!facts.web.empty())
    lines.emplace_back("page", facts.web + " (hekla dashboard opens it, logged in)");
  if (!facts.objects.empty()) lines.emplace_back("objects", facts.objects + " (S3)");
  lines.emplace_back("try", first_steps(facts));
  return lines;
}

void print_plainly(const UpFacts& facts) {
  const double ms = std::chrono::duration<double, std::milli>(facts.took).count();
  std::printf("hekla is ready at %s after %.0f ms: %s; KUBECONFIG=%s\n", facts.url.c_str(), ms,
              facts.nodes.c_str(), facts.kubeconfig.c_str());
  if (!facts.web.empty())
    std::printf("the dashboard is at %s (hekla dashboard opens it)\n", facts.web.c_str());
  if (!facts.objects.empty())
    std::printf(
        "the object store (S3) is at %s; its keys are in Secret mlpipeline-minio-artifact of "
        "kubeflow\n",
        facts.objects.c_str());
  if (!has_kubectl()) std::printf("%s\n", first_steps(facts).c_str());
  std::fflush(stdout);
}

void merge(const std::string& kubeconfig, const std::string& data_dir) {
  Result<Merged> merged = merge_into_users_kubeconfig(kubeconfig, data_dir);
  if (!merged) return complain("--merge-kubeconfig: " + merged.error().message);
  std::fprintf(stderr, "context %s is in %s%s\n", merged->context.c_str(), merged->file.c_str(),
               merged->is_current
                   ? " and is the current one"
                   : ("; kubectl config use-context " + merged->context + " chooses it").c_str());
}

}  // namespace

// Draws on a thread of its own, which alone asks the API server.
class UpFront::View {
 public:
  View() : screen_(stdout, true), paint_(Paint::of(stdout)), begin_(real_clock().mono()) {
    set_log_writer([this](std::string_view line) {
      std::lock_guard lock(mutex_);
      screen_.say(paint_(Style::dim, line));
    });
    loop_.post([this] { tick(); });
  }
  ~View() {
    loop_.stop();
    set_log_writer(nullptr);
    std::lock_guard lock(mutex_);
    screen_.clear();
  }

  void ready(const UpFacts& facts) {
    std::lock_guard lock(mutex_);
    const double seconds = std::chrono::duration<double>(facts.took).count();
    char took[32];
    std::snprintf(took, sizeof took, "%.1f s", seconds);
    screen_.say(paint_(Style::green, "✓") + " " +
                paint_(Style::bold, std::string("hekla ") + build_info().version) +
                " is ready after " + took + " with " + facts.nodes);
    for (const auto& [name, text] : told(facts))
      screen_.say("  " + paint_(Style::dim, padded(name, 11)) + text);
    if (!facts.notice.empty()) screen_.say(paint_(Style::yellow, facts.notice));
    screen_.say("");
    kubeconfig_ = facts.kubeconfig;
    phase_ = Phase::running;
  }
  void say(const std::string& line) {
    std::lock_guard lock(mutex_);
    screen_.say(line);
  }
  void stopping(const std::string& what) {
    std::lock_guard lock(mutex_);
    phase_ = Phase::stopping;
    doing_ = what;
    begin_ = real_clock().mono();
  }
  int running_pods() {
    std::lock_guard lock(mutex_);
    return overview_ ? overview_->pods["Running"] : 0;
  }

 private:
  enum class Phase { starting, running, stopping };

  void tick() {
    Phase phase;
    {
      std::lock_guard lock(mutex_);
      phase = phase_;
    }
    if (phase == Phase::running) look();
    {
      std::lock_guard lock(mutex_);
      phase = phase_;
      screen_.draw(phase == Phase::running ? block() : turning());
    }
    ++tick_;
    // A large cluster takes long to look at: most of the time it is left in peace.
    loop_.post_after(
        phase == Phase::running ? std::max<Nanos>(kLooking, 10 * looked_for_) : Nanos(kTurning),
        [this] { tick(); });
  }

  void look() {
    const MonoTime begin = real_clock().mono();
    if (!session_) {
      Result<kube::ClusterAccess> access = kube::load_kubeconfig(kubeconfig_);
      Result<std::unique_ptr<ApiSession>> session =
          access ? ApiSession::open(*access) : std::unexpected(access.error());
      if (session) session_ = std::move(*session);
    }
    Result<Overview> seen = session_ ? read_overview(*session_) : fail(Code::unavailable, "");
    looked_for_ = real_clock().mono() - begin;
    std::lock_guard lock(mutex_);
    if (seen) overview_ = std::move(*seen);
  }

  std::string turning() {
    const auto seconds =
        std::chrono::duration_cast<std::chrono::seconds>(real_clock().mono() - begin_).count();
    return paint_(Style::cyan, wheel(tick_)) + " " + doing_ + " " +
           paint_(Style::dim, std::to_string(seconds) + " s") + "\n";
  }

  std::string block() {
    std::string text;
    if (!overview_) return text;
    for (const auto& [name, line] : overview_lines(*overview_))
      text += "  " + paint_(Style::dim, padded(name, 11)) + line + "\n";
    const std::size_t width = terminal_size(stdout).columns;
    TopChoice choice{.queues = false, .nodes = false};
    Overview shown = *overview_;
    std::erase_if(shown.jobs, &JobRow::ended);
    if (!shown.jobs.empty()) {
      const std::size_t rest = shown.jobs.size() - std::min(shown.jobs.size(), kShownJobs);
      shown.jobs.resize(shown.jobs.size() - rest);
      text += "\n" + top_text(shown, choice, width, paint_);
      if (rest > 0) text += "  and " + std::to_string(rest) + " more (hekla top)\n";
    }
    return text + "\n  " +
           paint_(Style::dim,
                  "Ctrl-C ends pods gracefully and stops; hekla up --detach runs in the "
                  "background") +
           "\n";
  }

  std::mutex mutex_;
  Screen screen_;
  const Paint paint_;
  MonoTime begin_;
  Phase phase_ = Phase::starting;
  std::string doing_ = "hekla starts", kubeconfig_;
  std::optional<Overview> overview_;
  std::uint64_t tick_ = 0;
  Nanos looked_for_{};
  std::unique_ptr<ApiSession> session_;
  Loop loop_{"view"};
};

UpFront::UpFront(const UpOptions& options) : options_(options) {
  if (!options.quiet && !options.end_with_output && !options.only_stop && is_live(stdout))
    view_ = std::make_unique<View>();
}

UpFront::~UpFront() {
  if (told_) forget_running(options_.data_dir);
  const bool lived = view_ != nullptr;
  view_.reset();
  if (told_ && lived) std::printf("hekla is stopped\n");
}

void UpFront::ready(const UpFacts& facts) {
  const Running running{.pid = ::getpid(),
                        .version = build_info().version,
                        .url = facts.url,
                        .kubeconfig = facts.kubeconfig,
                        .web = facts.web,
                        .objects = facts.objects,
                        .log = place_of_log(),
                        .since = model::format_rfc3339(real_clock().wall())};
  told_ = true;
  if (Result<void> written = write_running(options_.data_dir, running); !written)
    log_warn("main", "hekla status will not find it", {{"error", written.error().message}});
  if (view_) {
    view_->ready(facts);
  } else {
    print_plainly(facts);
    if (!facts.notice.empty()) std::fprintf(stderr, "%s\n", facts.notice.c_str());
  }
  if (options_.merge_kubeconfig && !options_.only_stop) merge(facts.kubeconfig, options_.data_dir);
}

void UpFront::failed() { view_.reset(); }

void UpFront::stopping(bool keep_pods) {
  if (!view_) return;
  const int pods = view_->running_pods();
  if (keep_pods)
    view_->stopping("stopping; pods run on");
  else if (pods == 0)
    view_->stopping("stopping");
  else
    view_->stopping("waiting for " + std::to_string(pods) + (pods == 1 ? " pod" : " pods") +
                    " to end; Ctrl-C again ends them now");
}

void UpFront::hurried() {
  if (view_) view_->stopping("ending pods now");
}

}  // namespace hekla::cli
