#include "agent/machine/recipe_builds.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "agent/os/process.h"
#include "base/clock.h"
#include "base/log.h"

namespace hekla::agent {
namespace {

constexpr std::chrono::milliseconds kLookPeriod{200};
constexpr std::chrono::seconds kWordEvery{10};
constexpr std::size_t kLongestLine = 400;

// A build's words as they come: the last line, and the last that tells of an error.
struct Words {
  std::string pending, last, error;

  void add(std::string_view bytes) {
    pending += bytes;
    for (std::size_t end = 0; (end = pending.find('\n')) != std::string::npos;) {
      std::string line = pending.substr(0, std::min(end, kLongestLine));
      pending.erase(0, end + 1);
      if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
      if (line.starts_with("hekla: ")) error = line.substr(7);
      last = std::move(line);
    }
    if (pending.size() > kLongestLine) pending.erase(0, pending.size() - kLongestLine);
  }
};

}  // namespace

RecipeBuilds::~RecipeBuilds() {
  life_.reset();
  stop();
  pool_.stop();
}

void RecipeBuilds::stop() { stopping_ = true; }

void RecipeBuilds::build(const std::string& recipe, BuildProgress progress, Done<void> done) {
  std::vector<Asker>& askers = askers_[recipe];
  askers.push_back({std::move(progress), std::move(done)});
  if (askers.size() > 1) return;
  queue_.push_back(recipe);
  if (queue_.size() == 1) begin_next();
}

void RecipeBuilds::begin_next() {
  if (queue_.empty()) return;
  Task task = [this, recipe = queue_.front()] { work(recipe); };
  if (!pool_.try_post(task)) log_warn("agent", "the agent is stopping: no recipe is built", {});
}

void RecipeBuilds::work(const std::string& recipe) {
  std::weak_ptr<const bool> life = life_;
  Result<void> outcome = run_build(recipe);
  executor_.post([this, life, recipe, outcome = std::move(outcome)] {
    if (life.lock()) finished(recipe, outcome);
  });
}

Result<void> RecipeBuilds::run_build(const std::string& recipe) {
  if (stopping_) return fail(Code::unavailable, "the agent is stopping");
  log_info("agent", "build a recipe", {{"recipe", recipe}});
  Pipe pipe = TRY(make_pipe());
  FileDescriptor nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const pid_t child =
      TRY(start_process({"/proc/self/exe", "image", "build", recipe, "--data-dir", data_dir_},
                        nothing.get(), pipe.write.get(), pipe.write.get()));
  pipe.write.close();
  Words words;
  auto told = real_clock().mono() - kWordEvery;
  char buffer[1 << 14];
  for (bool ended = false, open = true; open;) {
    pollfd ready{pipe.read.get(), POLLIN, 0};
    if (::poll(&ready, 1, static_cast<int>(kLookPeriod.count())) > 0) {
      const ssize_t n = ::read(pipe.read.get(), buffer, sizeof buffer);
      open = n > 0;
      if (n > 0) words.add({buffer, static_cast<std::size_t>(n)});
    }
    if (stopping_ && !std::exchange(ended, true)) ::kill(child, SIGTERM);
    if (const auto now = real_clock().mono(); !words.last.empty() && now - told >= kWordEvery) {
      told = now;
      tell(recipe, words.last);
    }
  }
  if (const int code = wait_for(child); code != 0)
    return fail(
        Code::unavailable,
        "recipe " + recipe + ": " +
            (words.error.empty() ? "the build ended with " + std::to_string(code) : words.error));
  return {};
}

void RecipeBuilds::tell(const std::string& recipe, const std::string& text) {
  std::weak_ptr<const bool> life = life_;
  executor_.post([this, life, recipe, text] {
    if (!life.lock()) return;
    std::vector<BuildProgress> all;  // one of them may bring another asker
    for (const Asker& asker : askers_[recipe]) all.push_back(asker.progress);
    for (const BuildProgress& progress : all) progress(text);
  });
}

void RecipeBuilds::finished(const std::string& recipe, const Result<void>& outcome) {
  std::vector<Asker> askers = std::move(askers_[recipe]);
  askers_.erase(recipe);
  queue_.pop_front();
  begin_next();
  for (Asker& asker : askers) asker.done(outcome);
}

}  // namespace hekla::agent
