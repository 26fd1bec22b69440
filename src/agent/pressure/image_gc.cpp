#include "agent/pressure/image_gc.h"

#include <algorithm>

#include "base/log.h"

namespace hekla::agent {
namespace {

constexpr std::chrono::minutes kPeriod{5};
constexpr std::chrono::minutes kReportPeriod{1};

}  // namespace

Result<void> check_image_gc(const ImageGcOptions& options) {
  auto percent = [](int value) { return value >= 0 && value <= 100; };
  if (!percent(options.high_percent))
    return fail(Code::bad_request, "invalid HighThresholdPercent " +
                                       std::to_string(options.high_percent) +
                                       ", must be in range [0-100]");
  if (!percent(options.low_percent))
    return fail(Code::bad_request, "invalid LowThresholdPercent " +
                                       std::to_string(options.low_percent) +
                                       ", must be in range [0-100]");
  if (options.low_percent > options.high_percent)
    return fail(Code::bad_request, "LowThresholdPercent " + std::to_string(options.low_percent) +
                                       " can not be higher than HighThresholdPercent " +
                                       std::to_string(options.high_percent));
  return {};
}

ImageGcPlan plan_image_gc(const ImageGcOptions& options, const SignalReading& disk,
                          const std::vector<StoredImage>& images,
                          const std::set<std::string>& in_use, WallTime now) {
  ImageGcPlan plan;
  if (disk.capacity <= 0) return plan;
  plan.usage_percent = 100 - disk.available * 100 / disk.capacity;
  if (options.high_percent == 100 || plan.usage_percent < options.high_percent) return plan;
  plan.bytes_to_free = disk.capacity * (100 - options.low_percent) / 100 - disk.available;
  std::vector<const StoredImage*> candidates;
  for (const StoredImage& image : images)
    if (!in_use.contains(image.id) && now - WallTime(Nanos(image.added_ns)) >= options.minimum_age)
      candidates.push_back(&image);
  std::ranges::stable_sort(candidates, [](const StoredImage* a, const StoredImage* b) {
    return a->last_used != b->last_used ? a->last_used < b->last_used : a->added_ns < b->added_ns;
  });
  for (const StoredImage* image : candidates) {
    if (plan.bytes_freed >= plan.bytes_to_free) break;
    plan.names.push_back(image->name);
    plan.bytes_freed += image->size;
  }
  return plan;
}

struct ImageGc::State : std::enable_shared_from_this<ImageGc::State> {
  State(Executor& executor, ImageGcOptions options, ImageGcHooks hooks)
      : executor(executor), options(options), hooks(std::move(hooks)) {}
  Executor& executor;
  ImageGcOptions options;
  ImageGcHooks hooks;
  WallTime last{};
  bool stopped = false;

  template <class T, class Next>
  Done<T> then(Next next) {
    return [self = weak_from_this(), next = std::move(next)](Result<T> result) mutable {
      auto state = self.lock();
      if (!state || state->stopped) return;
      if (!result) return state->failed(result.error().message);
      next(*state, std::move(*result));
    };
  }
  void failed(const std::string& why) {
    hooks.event("ImageGCFailed", why);
    later();
  }
  void later() {
    executor.post_after(kReportPeriod, [self = weak_from_this()] {
      auto state = self.lock();
      if (state && !state->stopped) state->look();
    });
  }
  void look() {
    hooks.list(then<std::vector<StoredImage>>([](State& state, std::vector<StoredImage> images) {
      state.hooks.report(images);
      const WallTime now = state.executor.clock().wall();
      if (now - state.last < kPeriod) return state.later();
      state.last = now;
      state.collect(std::move(images));
    }));
  }
  void collect(std::vector<StoredImage> images) {
    hooks.read_disk(
        then<SignalReading>([images = std::move(images)](State& state, SignalReading disk) {
          state.remove(plan_image_gc(state.options, disk, images, state.hooks.in_use(),
                                     state.executor.clock().wall()));
        }));
  }
  void remove(const ImageGcPlan& plan) {
    if (plan.bytes_to_free <= 0) return later();
    log_info("agent", "images make room",
             {{"usage", std::to_string(plan.usage_percent) + "%"},
              {"bytes", std::to_string(plan.bytes_to_free)}});
    if (plan.bytes_freed < plan.bytes_to_free)
      hooks.event("FreeDiskSpaceFailed",
                  "Failed to garbage collect required amount of images. Attempted to free " +
                      std::to_string(plan.bytes_to_free) + " bytes, but only found " +
                      std::to_string(plan.bytes_freed) + " bytes eligible to free.");
    if (plan.names.empty()) return later();
    hooks.remove(plan.names, then<Removed>([](State& state, const Removed&) { state.look(); }));
  }
};

ImageGc::ImageGc(Executor& executor, ImageGcOptions options, ImageGcHooks hooks)
    : state_(std::make_shared<State>(executor, options, std::move(hooks))) {}

ImageGc::~ImageGc() { state_->stopped = true; }

void ImageGc::start() { state_->look(); }

}  // namespace hekla::agent
