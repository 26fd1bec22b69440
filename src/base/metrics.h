// Prometheus metrics. Names and labels are declared where they are used; the text form is served by
// whoever has an HTTP port. All calls are thread-safe.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace hekla {

using MetricLabels = std::map<std::string, std::string>;

class Metrics {
 public:
  Metrics();
  ~Metrics();

  void count(const std::string& name, const MetricLabels& labels = {}, double by = 1);
  void gauge(const std::string& name, double value, const MetricLabels& labels = {});
  // The gauge with these labels is no longer reported.
  void remove_gauge(const std::string& name, const MetricLabels& labels);
  // The same for a counter of something that is gone.
  void remove_counter(const std::string& name, const MetricLabels& labels);
  // Buckets are fixed by the first observation of a name; empty means seconds from 1 ms to 10 s.
  void observe(const std::string& name, double value, const MetricLabels& labels = {},
               const std::vector<double>& buckets = {});
  // The help line of a metric; without one the name stands in.
  void describe(const std::string& name, const std::string& help);

  std::string text() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hekla
