// Amounts of resources as fixed vectors over interned dimension names. Requests and node accounts
// are int64 (cpu in milli-cores, memory in bytes, pods whole, everything else in milli-units, as
// Volcano counts); shares and deserved amounts are double. Comparison rules are Volcano's: a
// tolerance of 0.1, and a dimension missing on the right means zero or infinity as the caller says.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "model/quantity.h"

namespace hekla::scheduler {

// A cluster knows at most this many resource names. Only nodes and queues add to them: users must
// not fill the table. Whatever else is asked for, by any name, stands in one dimension that no node
// has anything of.
inline constexpr std::size_t kMaxDimensions = 32;
using Dim = std::uint8_t;
inline constexpr Dim kCpu = 0, kMemory = 1, kPods = 2, kUnknown = 3;
inline constexpr Dim kFirstExtended = 4;
inline constexpr std::uint32_t kAlwaysPresent = 1u << kCpu | 1u << kMemory;
inline constexpr double kTolerance = 0.1;
// A pod that asks for more of something, a million times what nodes have, asks for what no node
// offers: it stands in the dimension of the unknown, so that accounts of pods neither overflow nor
// drift. (72 TB of ephemeral storage.)
inline constexpr std::int64_t kMostOfAPod = std::int64_t{1} << 56;

enum class Missing { zero, infinity };

template <class F>
void each_dim(std::uint32_t mask, F visit) {
  for (; mask != 0; mask &= mask - 1) visit(static_cast<Dim>(std::countr_zero(mask)));
}

// Integers stop at the largest and the smallest there are.
template <class T>
T sum(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    T out;
    if (__builtin_add_overflow(a, b, &out)) [[unlikely]]
      return b > 0 ? std::numeric_limits<T>::max() : std::numeric_limits<T>::min();
    return out;
  } else {
    return a + b;
  }
}
template <class T>
T difference(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    T out;
    if (__builtin_sub_overflow(a, b, &out)) [[unlikely]]
      return b < 0 ? std::numeric_limits<T>::max() : std::numeric_limits<T>::min();
    return out;
  } else {
    return a - b;
  }
}

// Values of absent dimensions are zero: that is the invariant every operation keeps.
template <class T>
struct Amounts {
  std::array<T, kMaxDimensions> value{};
  std::uint32_t present = kAlwaysPresent;

  T operator[](Dim dim) const { return value[dim]; }
  bool has(Dim dim) const { return (present >> dim & 1u) != 0; }
  void set(Dim dim, T amount) {
    value[dim] = amount;
    present |= 1u << dim;
  }
  template <class U>
  Amounts& operator+=(const Amounts<U>& other) {
    each_dim(other.present,
             [&](Dim d) { value[d] = sum(value[d], static_cast<T>(other.value[d])); });
    present |= other.present;
    return *this;
  }
  template <class U>
  Amounts& operator-=(const Amounts<U>& other) {
    each_dim(other.present,
             [&](Dim d) { value[d] = difference(value[d], static_cast<T>(other.value[d])); });
    present |= other.present;
    return *this;
  }
  bool operator==(const Amounts&) const = default;
  // No amount worth mentioning in any dimension but pods: a BestEffort request.
  bool is_empty() const {
    for (std::uint32_t mask = present & ~(1u << kPods); mask != 0; mask &= mask - 1)
      if (static_cast<double>(value[static_cast<std::size_t>(std::countr_zero(mask))]) >=
          kTolerance)
        return false;
    return true;
  }
};

using Resources = Amounts<std::int64_t>;
using Shares = Amounts<double>;

inline Shares to_shares(const Resources& from) {
  Shares to;
  to += from;
  return to;
}

template <class T, class U>
bool fits(T left, U right) {
  if constexpr (std::is_integral_v<T> && std::is_integral_v<U>) {
    return left <= right;
  } else {
    double l = static_cast<double>(left), r = static_cast<double>(right);
    return l < r || std::fabs(l - r) < kTolerance;
  }
}

template <class T, class U>
bool less_equal(const Amounts<T>& left, const Amounts<U>& right, Missing missing) {
  std::uint32_t compare = left.present;
  if (missing == Missing::infinity) {
    if ((right.present & ~left.present) != 0) return false;
    compare &= right.present;
  }
  for (; compare != 0; compare &= compare - 1) {
    auto d = static_cast<std::size_t>(std::countr_zero(compare));
    if (!fits(left.value[d], right.value[d])) return false;
  }
  return true;
}

// The first dimension of `left` that `right` (missing means zero) cannot cover.
template <class T, class U>
std::optional<Dim> first_lacking(const Amounts<T>& left, const Amounts<U>& right) {
  for (std::uint32_t mask = left.present; mask != 0; mask &= mask - 1) {
    auto d = static_cast<std::size_t>(std::countr_zero(mask));
    if (!fits(left.value[d], right.value[d])) return static_cast<Dim>(d);
  }
  return std::nullopt;
}

// Dimensions in which `amount` exceeds `limit`, looking only at those `request` asks for. Without
// tolerance, and pods do not count. A dimension missing in `limit` is zero.
template <class T, class U, class V>
std::uint32_t exceeded(const Amounts<T>& amount, const Amounts<U>& limit,
                       const Amounts<V>& request) {
  std::uint32_t over = 0;
  each_dim(request.present & ~(1u << kPods), [&](Dim d) {
    if (request.value[d] > 0 &&
        static_cast<double>(amount.value[d]) > static_cast<double>(limit.value[d]))
      over |= 1u << d;
  });
  return over;
}

// Per dimension max(a - b, 0).
template <class T, class U>
Amounts<T> excess(const Amounts<T>& a, const Amounts<U>& b) {
  Amounts<T> out;
  each_dim(a.present, [&](Dim d) {
    T rest = difference(a.value[d], static_cast<T>(b.value[d]));
    out.set(d, rest > 0 ? rest : 0);
  });
  return out;
}

// Largest allocated/total over the dimensions that `total` has anything of.
template <class T, class U>
double dominant_share(const Amounts<T>& allocated, const Amounts<U>& total) {
  double share = 0;
  each_dim(total.present, [&](Dim d) {
    double a = static_cast<double>(allocated.value[d]), t = static_cast<double>(total.value[d]);
    if (t >= kTolerance && a / t > share) share = a / t;
  });
  return share;
}

// The cluster's resource names. cpu, memory and pods have fixed places, and so has what no node
// offers: its name is empty, which is nobody's.
class Dimensions {
 public:
  Dimensions() : names_{"cpu", "memory", "pods", ""} {}
  // nullopt when the table is full.
  std::optional<Dim> intern(std::string_view name);
  std::optional<Dim> find(std::string_view name) const;
  const std::string& name(Dim dim) const { return names_[dim]; }
  std::size_t size() const { return names_.size(); }

  // Whether the scheduler counts this name at all: quota names ("limits.cpu", "count/pods") and
  // native names that are not schedulable do not count.
  static bool counts(std::string_view name);
  // Of nodes and queues. Names that found no place are added to `refused`.
  Resources convert(const model::ResourceList& list, std::vector<std::string>* refused = nullptr);
  // Of what users ask for: names that are not known, with an amount above zero, go to `unknown`,
  // and so do amounts above `most`.
  static constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();
  Resources request(const model::ResourceList& list, model::ResourceList& unknown,
                    std::int64_t most = kNoLimit) const;
  // Moves names that have become known since from `unknown` to the request; whether there were any.
  bool recognise(Resources& request, model::ResourceList& unknown,
                 std::int64_t most = kNoLimit) const;
  bool is_recognised(const std::string& name, const model::Quantity& quantity,
                     std::int64_t most) const {
    std::optional<Dim> dim = find(name);
    return dim && amount_of(*dim, quantity) <= most;
  }
  // The Kubernetes quantity of an amount in this dimension: "1", "500m", "1Gi".
  model::Quantity quantity(Dim dim, std::int64_t amount) const;
  // "cpu, memory" as "<word> cpu, <word> memory"; `unknown` are the names that stand in that
  // dimension.
  std::string list(std::uint32_t mask, std::string_view word,
                   const model::ResourceList& unknown) const;

 private:
  static std::int64_t amount_of(Dim dim, const model::Quantity& quantity);
  std::vector<std::string> names_;
};

}  // namespace hekla::scheduler
