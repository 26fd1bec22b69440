// Objects for tests, briefly.
#pragma once

#include <string>

#include "json/codec.h"
#include "json/parse.h"
#include "scheduler/session/session.h"
#include "scheduler/shorthand_test.h"
#include "support/sim_executor.h"

namespace hekla::scheduler {

// A cluster and a session over it, filled by shorthand in YAML flow style: node("{name: n1, cpu:
// 4}").
struct Bench {
  sim::SimClock clock;
  Cluster cluster{{{"volcano", "default-scheduler"}, {"default-scheduler"}, "default"}};
  Session session{cluster};
  int order = 0;
  int sessions = 0;

  explicit Bench(std::string_view configuration = helm_default_configuration()) {
    session.configure(*parse_configuration(configuration));
    queue("{name: default}");
  }
  static json::Value yaml(std::string_view text) { return json::parse_yaml(text)->front().value; }

  Impact node(std::string_view text) {
    return cluster.put(*json::decode<model::Node>(shorthand::node(yaml(text))));
  }
  Impact queue(std::string_view text) {
    return cluster.put(*json::decode<model::Queue>(shorthand::queue(yaml(text))));
  }
  Impact group(std::string_view text) {
    json::Value value = yaml(text);
    Impact impact = cluster.put(*json::decode<model::PodGroup>(shorthand::group(value, order++)));
    for (const json::Value& one : shorthand::pods_of(value))
      cluster.put(*json::decode<model::Pod>(shorthand::pod(one, order++)));
    return impact;
  }
  Impact pod(std::string_view text) {
    return cluster.put(*json::decode<model::Pod>(shorthand::pod(yaml(text), order++)));
  }
  const Decisions& run() { return session.run(clock, "s" + std::to_string(++sessions)); }
  TaskId task(std::string_view name) const { return cluster.find_task("default", name); }
  JobId job(std::string_view name) const { return cluster.find_job("default", name); }
};

}  // namespace hekla::scheduler
