#include "base/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <mutex>
#include <unordered_map>

namespace hekla {

struct Metrics::Impl {
  std::mutex mutex;
  prometheus::Registry registry;
  std::unordered_map<std::string, std::string> help;
  std::unordered_map<std::string, prometheus::Family<prometheus::Counter>*> counters;
  std::unordered_map<std::string, prometheus::Family<prometheus::Gauge>*> gauges;
  std::unordered_map<std::string, prometheus::Family<prometheus::Histogram>*> histograms;
  std::unordered_map<std::string, std::vector<double>> buckets;

  std::string help_of(const std::string& name) {
    auto found = help.find(name);
    return found == help.end() ? name : found->second;
  }
};

Metrics::Metrics() : impl_(std::make_unique<Impl>()) {}
Metrics::~Metrics() = default;

void Metrics::describe(const std::string& name, const std::string& help) {
  std::lock_guard lock(impl_->mutex);
  impl_->help[name] = help;
}

void Metrics::count(const std::string& name, const MetricLabels& labels, double by) {
  std::lock_guard lock(impl_->mutex);
  auto& family = impl_->counters[name];
  if (!family)
    family =
        &prometheus::BuildCounter().Name(name).Help(impl_->help_of(name)).Register(impl_->registry);
  family->Add(labels).Increment(by);
}

void Metrics::gauge(const std::string& name, double value, const MetricLabels& labels) {
  std::lock_guard lock(impl_->mutex);
  auto& family = impl_->gauges[name];
  if (!family)
    family =
        &prometheus::BuildGauge().Name(name).Help(impl_->help_of(name)).Register(impl_->registry);
  family->Add(labels).Set(value);
}

void Metrics::remove_gauge(const std::string& name, const MetricLabels& labels) {
  std::lock_guard lock(impl_->mutex);
  auto found = impl_->gauges.find(name);
  if (found != impl_->gauges.end() && found->second->Has(labels))
    found->second->Remove(&found->second->Add(labels));
}

void Metrics::remove_counter(const std::string& name, const MetricLabels& labels) {
  std::lock_guard lock(impl_->mutex);
  auto found = impl_->counters.find(name);
  if (found != impl_->counters.end() && found->second->Has(labels))
    found->second->Remove(&found->second->Add(labels));
}

void Metrics::observe(const std::string& name, double value, const MetricLabels& labels,
                      const std::vector<double>& buckets) {
  std::lock_guard lock(impl_->mutex);
  auto& family = impl_->histograms[name];
  auto& bounds = impl_->buckets[name];
  if (!family) {
    family = &prometheus::BuildHistogram()
                  .Name(name)
                  .Help(impl_->help_of(name))
                  .Register(impl_->registry);
    bounds = buckets.empty() ? std::vector<double>{0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1,
                                                   0.2,   0.5,   1,     2,    5,    10}
                             : buckets;
  }
  family->Add(labels, bounds).Observe(value);
}

std::string Metrics::text() const {
  return prometheus::TextSerializer().Serialize(impl_->registry.Collect());
}

}  // namespace hekla
