#include "base/clock.h"

namespace hekla {
namespace {

class RealClock final : public Clock {
 public:
  WallTime wall() const override { return std::chrono::system_clock::now(); }
  MonoTime mono() const override { return std::chrono::steady_clock::now(); }
};

}  // namespace

const Clock& real_clock() {
  static const RealClock clock;
  return clock;
}

}  // namespace hekla
