#include <gtest/gtest.h>

#include "admission/step.h"
#include "json/parse.h"

namespace hekla::admission {
namespace {

class MapReader final : public kube::AdmissionReader {
 public:
  void add(const kube::Resource& resource, const std::string& yaml) {
    Result<std::vector<json::YamlDocument>> parsed = json::parse_yaml(yaml);
    ASSERT_TRUE(parsed) << parsed.error().message;
    json::Value object = parsed->front().value;
    objects_[resource.plural][std::string(json::string_at(object, {"metadata", "name"}))] = object;
  }
  Result<json::Value> get(const kube::Resource& resource, const kube::Key& key) const override {
    auto table = objects_.find(resource.plural);
    if (table == objects_.end() || !table->second.contains(key.name))
      return fail(Code::not_found, key.name + " not found");
    return table->second.at(key.name);
  }
  Result<std::vector<json::Value>> list(const kube::Resource& resource,
                                        const std::string&) const override {
    std::vector<json::Value> all;
    if (auto table = objects_.find(resource.plural); table != objects_.end())
      for (const auto& [name, object] : table->second) all.push_back(object);
    return all;
  }

 private:
  std::map<std::string, std::map<std::string, json::Value>> objects_;
};

class Admission : public ::testing::Test {
 protected:
  Admission() {
    queue("{metadata: {name: default}, spec: {weight: 1, parent: root}, status: {state: Open}}");
    queue("{metadata: {name: root}, status: {state: Open}}");
  }
  void queue(const std::string& yaml) { reader_.add(kube::resources::queues, yaml); }

  static json::Value parse(const std::string& yaml) {
    Result<std::vector<json::YamlDocument>> parsed = json::parse_yaml(yaml);
    EXPECT_TRUE(parsed) << parsed.error().message;
    return parsed->front().value;
  }

  // The object as admitted, or the denial: "name: message".
  std::string admit(const kube::Resource& resource, kube::Operation operation, json::Value& object,
                    const json::Value* old = nullptr) {
    kube::AdmissionRequest request;
    request.operation = operation;
    request.resource = resource;
    request.key = {resource.namespaced ? "default" : "",
                   std::string(json::string_at(object, {"metadata", "name"}))};
    request.old_object = old;
    request.reader = &reader_;
    request.warnings = &warnings_;
    std::vector<kube::AdmissionStep> steps = admission_steps();
    for (const auto& step : steps)
      if (step.mutate && step.matches(resource, operation, ""))
        if (Result<void> done = step.mutate(request, object); !done) return done.error().message;
    for (const auto& step : steps)
      if (step.validate && step.matches(resource, operation, ""))
        if (Result<void> done = step.validate(request, object); !done) {
          EXPECT_EQ(done.error().code, Code::bad_request);
          return std::string(step.name) + ": " + done.error().message;
        }
    return "";
  }

  std::string create_job(const std::string& spec) {
    json::Value job = parse("{metadata: {name: j}, spec: " + spec + "}");
    return admit(kube::resources::vcjobs, kube::Operation::create, job);
  }
  std::string create_queue(const std::string& yaml) {
    json::Value object = parse(yaml);
    return admit(kube::resources::queues, kube::Operation::create, object);
  }
  std::string update_queue(const std::string& before, const std::string& after) {
    json::Value old = parse(before), object = parse(after);
    return admit(kube::resources::queues, kube::Operation::update, object, &old);
  }

  MapReader reader_;
  std::vector<std::string> warnings_;
};

const std::string kPod = "template: {spec: {containers: [{name: c, image: i}]}}";
const std::string kDenied = "validatejob.volcano.sh: ";
const std::string kLists =
    "valid events are [* PodFailed PodEvicted PodPending Unknown TaskCompleted TaskFailed "
    "JobUpdated], "
    "valid actions are [AbortJob RestartJob RestartTask RestartPod RestartPartition TerminateJob "
    "CompleteJob ResumeJob];";

TEST_F(Admission, FillsInWhatTheTutorialJobLeavesOut) {
  json::Value job = parse(R"(
metadata: {name: job-1}
spec:
  minAvailable: 1
  schedulerName: volcano
  queue: default
  policies: [{event: PodEvicted, action: RestartJob}]
  tasks:
  - replicas: 1
    name: nginx
    policies: [{event: TaskCompleted, action: CompleteJob}]
    template:
      spec:
        containers:
        - {command: [sleep, 10m], image: "nginx:latest", name: nginx, resources: {requests: {cpu: 1}, limits: {cpu: 1}}}
        restartPolicy: Never
)");
  ASSERT_EQ(admit(kube::resources::vcjobs, kube::Operation::create, job), "");
  json::Value wanted = parse(R"(
maxRetry: 3
minAvailable: 1
policies: [{action: RestartJob, event: PodEvicted}]
queue: default
schedulerName: volcano
tasks:
- maxRetry: 3
  minAvailable: 1
  name: nginx
  policies: [{action: CompleteJob, event: TaskCompleted}]
  replicas: 1
  template:
    metadata: {}
    spec:
      containers:
      - command: [sleep, 10m]
        image: "nginx:latest"
        name: nginx
        resources: {limits: {cpu: "1"}, requests: {cpu: "1"}}
      restartPolicy: Never
)");
  EXPECT_TRUE(json::equal(*json::find(job, "spec"), wanted)) << json::serialize(job);
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(Admission, DefaultsNamesGangsQueueAndPlugins) {
  json::Value job = parse(
      "{metadata: {name: j}, spec: {plugins: {mpi: []}, tasks: ["
      "{name: master, replicas: 1, " +
      kPod +
      "},"
      "{name: worker, replicas: 4, minAvailable: 2, template: {spec: {hostNetwork: true, "
      "containers: [{name: c, image: i}]}}},"
      "{replicas: 6, partitionPolicy: {totalPartitions: 3, partitionSize: 2, minPartitions: 2}, " +
      kPod + "}]}}");
  ASSERT_EQ(admit(kube::resources::vcjobs, kube::Operation::create, job), "");
  EXPECT_EQ(json::string_at(job, {"spec", "queue"}), "default");
  EXPECT_EQ(json::string_at(job, {"spec", "schedulerName"}), "volcano");
  EXPECT_EQ(json::int_at(job, {"spec", "minAvailable"}), 1 + 2 + 4);
  EXPECT_TRUE(json::find_path(job, {"spec", "plugins", "svc"}));
  EXPECT_TRUE(json::find_path(job, {"spec", "plugins", "ssh"}));
  const json::Array& tasks = *json::array_at(job, {"spec", "tasks"});
  EXPECT_EQ(json::string_at(tasks[2], {"name"}), "default2");
  EXPECT_EQ(json::int_at(tasks[2], {"minAvailable"}), 4);
  EXPECT_EQ(json::string_at(tasks[1], {"template", "spec", "dnsPolicy"}),
            "ClusterFirstWithHostNet");
}

TEST_F(Admission, DeniesJobsInTheWordsUsersKnow) {
  EXPECT_EQ(create_job("{}"), kDenied + "No task specified in job spec");
  EXPECT_EQ(create_job("{plugins: {mpi: []}, tasks: [{replicas: 1, " + kPod + "}]}"),
            kDenied + "The specified mpi master task was not found");
  EXPECT_EQ(create_job("{tasks: [{name: t, replicas: 1, minAvailable: 2, " + kPod + "}]}"),
            kDenied +
                "'minAvailable' is greater than 'replicas' in task: t, job: j; job 'minAvailable' "
                "should not be greater than total replicas in tasks;");
  EXPECT_EQ(create_job("{tasks: [{name: t, replicas: 1, " + kPod + "}, {name: t, replicas: 1, " +
                       kPod + "}]}"),
            kDenied + "duplicated task name t;");
  EXPECT_EQ(create_job("{minAvailable: 2, tasks: [{name: t, replicas: 1, " + kPod + "}]}"),
            kDenied + "job 'minAvailable' should not be greater than total replicas in tasks;");
  EXPECT_EQ(create_job("{plugins: {nope: []}, tasks: [{name: t, replicas: 1, " + kPod + "}]}"),
            kDenied + "unable to find job plugin: nope;");
  EXPECT_EQ(
      create_job("{tasks: [{name: t, replicas: 1, template: {spec: {containers: [{name: c}]}}}]}"),
      kDenied + "spec.task[0].template.spec.containers[0].image: Required value.");
  EXPECT_EQ(create_job("{tasks: [{name: t, replicas: 1}]}"),
            kDenied + "spec.task[0].template.spec.containers: Required value.");
  EXPECT_EQ(
      create_job("{tasks: [{name: t, replicas: 1, topologyPolicy: restricted, " + kPod + "}]}"),
      kDenied + "the cpu request isn't  an integer in spec.task[0] container[0].");
}

TEST_F(Admission, DeniesPolicies) {
  auto with = [&](const std::string& policies) {
    return create_job("{policies: " + policies + ", tasks: [{name: t, replicas: 1, " + kPod +
                      "}]}");
  };
  auto one = [](const std::string& error) {
    return kDenied + "1 error occurred:\n\t* " + error + "\n\n " + kLists;
  };
  EXPECT_EQ(with("[{event: PodFailed, exitCode: 1, action: AbortJob}]"),
            one("must not specify event and exitCode simultaneously"));
  EXPECT_EQ(with("[{action: AbortJob}]"), one("either event and exitCode should be specified"));
  EXPECT_EQ(with("[{event: OutOfSync, action: AbortJob}]"),
            one("spec.policies: Invalid value: \"OutOfSync\": invalid policy event"));
  EXPECT_EQ(with("[{event: PodFailed, action: SyncJob}]"),
            one("spec.policies: Invalid value: \"SyncJob\": invalid policy action"));
  EXPECT_EQ(
      with("[{event: PodFailed, action: AbortJob}, {events: [PodFailed], action: RestartJob}]"),
      one("duplicate event PodFailed  across different policy"));
  EXPECT_EQ(with("[{exitCode: 0, action: AbortJob}]"), one("0 is not a valid error code"));
  EXPECT_EQ(with("[{exitCode: 3, action: AbortJob}, {exitCode: 3, action: AbortJob}]"),
            one("duplicate exitCode 3"));
  EXPECT_EQ(with("[{event: '*', action: AbortJob}, {event: PodFailed, action: AbortJob}]"),
            one("if there's * here, no other policy should be here"));
  EXPECT_EQ(with("[{exitCode: 3, action: Nonsense}]"), "");
}

TEST_F(Admission, DeniesQueuesThatDoNotTakeJobs) {
  queue("{metadata: {name: closed}, spec: {parent: root}, status: {state: Closed}}");
  queue("{metadata: {name: fresh}, spec: {parent: root}}");
  queue("{metadata: {name: above}, spec: {parent: root}, status: {state: Open}}");
  queue("{metadata: {name: below}, spec: {parent: above}, status: {state: Open}}");
  auto in = [&](const std::string& name) {
    return create_job("{queue: " + name + ", tasks: [{name: t, replicas: 1, " + kPod + "}]}");
  };
  EXPECT_EQ(
      in("nowhere"),
      kDenied + "unable to find job queue: queue.scheduling.volcano.sh \"nowhere\" not found;");
  EXPECT_EQ(
      in("closed"),
      kDenied +
          "can only submit job to queue with state `Open`, queue `closed` status is `Closed`;");
  EXPECT_EQ(in("root"), kDenied + "can not submit job to root queue;");
  EXPECT_EQ(in("above"),
            kDenied + "can only submit job to leaf queue, queue `above` has 1 child queues;");
  EXPECT_EQ(in("below"), "");
  EXPECT_EQ(in("fresh"), "");
}

TEST_F(Admission, ChecksVolumes) {
  auto with = [&](const std::string& volumes) {
    warnings_.clear();
    return create_job("{volumes: " + volumes + ", tasks: [{name: t, replicas: 1, " + kPod + "}]}");
  };
  EXPECT_EQ(with("[{mountPath: ''}]"), kDenied + "mountPath is required;");
  EXPECT_EQ(with("[{mountPath: /a, volumeClaimName: one}, {mountPath: /a, volumeClaimName: two}]"),
            kDenied + "duplicated mountPath: /a;");
  EXPECT_EQ(with("[{mountPath: /a}]"),
            kDenied + "either VolumeClaim or VolumeClaimName must be specified;");
  EXPECT_EQ(with("[{mountPath: /myinput}, {mountPath: /myoutput, volumeClaimName: c, volumeClaim: "
                 "{accessModes: [ReadWriteOnce]}}]"),
            "");
  EXPECT_EQ(warnings_.size(), 2u);
}

TEST_F(Admission, DependenciesMustNotGoRound) {
  auto with = [&](const std::string& a, const std::string& b) {
    return create_job("{tasks: [{name: a, replicas: 1, dependsOn: {name: [" + a + "]}, " + kPod +
                      "}, {name: b, replicas: 1, dependsOn: {name: [" + b + "]}, " + kPod + "}]}");
  };
  EXPECT_EQ(with("", "a"), "");
  EXPECT_EQ(with("b", "a"), kDenied +
                                "job has dependencies between tasks, but doesn't form a directed "
                                "acyclic graph(DAG);");
}

TEST_F(Admission, UpdatesMayOnlyScale) {
  const std::string before =
      "{metadata: {name: j}, spec: {queue: default, minAvailable: 1, tasks: [{name: t, replicas: "
      "2, "
      "minAvailable: 1, template: {metadata: {}, spec: {containers: [{name: c, image: i, "
      "resources: {limits: {cpu: '1'}}}]}}}]}}";
  auto update = [&](const std::string& spec) {
    json::Value old = parse(before), object = parse("{metadata: {name: j}, spec: " + spec + "}");
    return admit(kube::resources::vcjobs, kube::Operation::update, object, &old);
  };
  const std::string pod =
      "template: {spec: {containers: [{name: c, image: i, resources: {limits: {cpu: 1}}}]}}";
  EXPECT_EQ(update("{queue: default, priorityClassName: high, minAvailable: 3, tasks: [{name: t, "
                   "replicas: 4, "
                   "minAvailable: 2, " +
                   pod + "}]}"),
            "");
  EXPECT_EQ(
      update("{queue: other, minAvailable: 1, tasks: [{name: t, replicas: 2, minAvailable: 1, " +
             pod + "}]}"),
      kDenied +
          "job updates may not change fields other than `minAvailable`, `tasks[*].replicas under "
          "spec` and `PriorityClassName`");
  EXPECT_EQ(update("{queue: default, minAvailable: 1, tasks: [{name: t, replicas: 2, " + pod +
                   "}, {name: u, " + pod + "}]}"),
            kDenied + "job updates may not add or remove tasks");
  EXPECT_EQ(
      update("{queue: default, minAvailable: 9, tasks: [{name: t, replicas: 2, " + pod + "}]}"),
      kDenied + "job 'minAvailable' must not be greater than total replicas");
  EXPECT_EQ(
      update("{queue: default, minAvailable: 1, tasks: [{name: t, replicas: 2, minAvailable: 3, " +
             pod + "}]}"),
      kDenied + "'minAvailable' must be <= 'replicas' in task: t");
}

TEST_F(Admission, PodGroupsGoToTheirNamespacesQueue) {
  reader_.add(kube::resources::namespaces,
              "{metadata: {name: default, annotations: {scheduling.volcano.sh/queue-name: team}}}");
  queue("{metadata: {name: team}, status: {state: Closing}}");
  json::Value group = parse("{metadata: {name: g}, spec: {queue: default, minMember: 1}}");
  EXPECT_EQ(admit(kube::resources::pod_groups, kube::Operation::create, group),
            "validatepodgroup.volcano.sh: can only submit PodGroup to queue with state `Open`, "
            "queue `team` "
            "status is `Closing`.");
  group = parse("{metadata: {name: g}, spec: {queue: gone}}");
  EXPECT_EQ(admit(kube::resources::pod_groups, kube::Operation::create, group),
            "validatepodgroup.volcano.sh: unable to find queue: queue.scheduling.volcano.sh "
            "\"gone\" not found");
  queue("{metadata: {name: team}, status: {state: Open}}");
  group = parse(
      "{metadata: {name: g}, spec: {queue: team, networkTopology: {highestTierAllowed: 1, "
      "highestTierName: r}}}");
  EXPECT_EQ(
      admit(kube::resources::pod_groups, kube::Operation::create, group),
      "validatepodgroup.volcano.sh: must not specify 'highestTierAllowed' and 'highestTierName' in "
      "networkTopology simultaneously.");
}

TEST_F(Admission, QueuesGetTheirDefaultsAtOnce) {
  json::Value object = parse(
      "{metadata: {name: test, annotations: {volcano.sh/hierarchy: a/b, "
      "volcano.sh/hierarchy-weights: 2/3}}, spec: {capability: {cpu: 2}}}");
  ASSERT_EQ(admit(kube::resources::queues, kube::Operation::create, object), "");
  EXPECT_EQ(json::serialize(*json::find(object, "spec")),
            R"({"capability":{"cpu":2},"parent":"root","weight":1,"reclaimable":true})");
  EXPECT_EQ(json::string_at(object, {"metadata", "annotations", "volcano.sh/hierarchy"}),
            "root/a/b");
  object = parse("{metadata: {name: root}, spec: {}}");
  ASSERT_EQ(admit(kube::resources::queues, kube::Operation::create, object), "");
  EXPECT_FALSE(json::find_path(object, {"spec", "parent"}));
  EXPECT_EQ(create_queue("{metadata: {name: heavy}, spec: {weight: 2147483647}}"), "");
}

TEST_F(Admission, DeniesQueues) {
  const std::string denied = "validatequeue.volcano.sh: ";
  EXPECT_EQ(create_queue("{metadata: {name: q}, spec: {guarantee: {resource: {cpu: 1}}}}"),
            denied +
                "requestBody.spec.deserved.cpu: Invalid value: \"<nil>\": deserved[cpu] must be >= "
                "guarantee[cpu]=1");
  EXPECT_EQ(create_queue("{metadata: {name: q}, spec: {deserved: {cpu: 4}, capability: {cpu: 2}}}"),
            denied +
                "requestBody.spec.deserved.cpu: Invalid value: \"4\": deserved[cpu]=4 must be <= "
                "capability[cpu]=2");
  EXPECT_EQ(
      create_queue("{metadata: {name: q}, spec: {capability: {cpu: -1}}, status: {state: Odd}}"),
      denied +
          "[requestBody.spec.capability.cpu: Invalid value: \"-1\": must be greater than or equal "
          "to 0, requestBody.spec.state: Invalid value: \"Odd\": queue state must be in [Open "
          "Closed]]");
  EXPECT_EQ(create_queue("{metadata: {name: q}, spec: {parent: q}}"),
            denied + "queue q cannot use itself as parent");
  EXPECT_EQ(
      create_queue("{metadata: {name: q}, spec: {parent: none}}"),
      denied +
          "failed to get parent queue of queue q: queue.scheduling.volcano.sh \"none\" not found");
  queue(
      "{metadata: {name: busy}, spec: {parent: root, capability: {cpu: 4}}, status: {state: Open, "
      "allocated: {pods: 2}}}");
  EXPECT_EQ(
      create_queue("{metadata: {name: q}, spec: {parent: busy}}"),
      denied + "queue busy cannot be the parent queue of queue q because it has allocated Pods: 2");
  queue("{metadata: {name: top}, spec: {parent: root, capability: {cpu: 4}, deserved: {cpu: 3}}}");
  EXPECT_EQ(create_queue("{metadata: {name: q}, spec: {parent: top, capability: {cpu: 8}}}"),
            denied + "queue q capability[cpu]=8 exceeds its ancestor's capability=4");
  EXPECT_EQ(
      create_queue("{metadata: {name: q}, spec: {parent: top, deserved: {cpu: 3500m}}}"),
      denied +
          "parent queue top validation failed: sum of children's deserved (cpu 3500.00, memory "
          "0.00) exceeds parent's deserved limit (cpu 3000.00, memory 0.00)");
  queue("{metadata: {name: leaf}, spec: {parent: top, capability: {cpu: 3}}}");
  EXPECT_EQ(
      update_queue("{metadata: {name: top}, spec: {parent: root, capability: {cpu: 4}}}",
                   "{metadata: {name: top}, spec: {parent: root, capability: {cpu: 2}}}"),
      denied + "queue top capability[cpu]=2 is smaller than its descendants' max capability=3");
  EXPECT_EQ(
      update_queue("{metadata: {name: root}}",
                   "{metadata: {name: root}, spec: {capability: {cpu: 1}}}"),
      denied +
          "root queue's resource attributes (capability, deserved, guarantee) cannot be modified");
  EXPECT_EQ(update_queue(
                "{metadata: {name: x}, spec: {parent: root}, status: {state: Closing}}",
                "{metadata: {name: x}, spec: {parent: root, weight: 3}, status: {state: Closing}}"),
            "");
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    std::string above =
        std::string(name) == "a" ? "root" : std::string(1, static_cast<char>(*name - 1));
    queue("{metadata: {name: " + std::string(name) + "}, spec: {parent: " + above + "}}");
  }
  EXPECT_EQ(create_queue("{metadata: {name: q}, spec: {parent: e}}"),
            denied + "queue q exceeds the maximum allowed depth of 5");
}

TEST_F(Admission, QueuesOthersNeedCannotBeDeleted) {
  queue("{metadata: {name: top}, spec: {parent: root}}");
  queue("{metadata: {name: one}, spec: {parent: top}}");
  queue("{metadata: {name: two}, spec: {parent: top}}");
  auto remove = [&](const std::string& name) {
    json::Value object = parse("{metadata: {name: " + name + "}}");
    return admit(kube::resources::queues, kube::Operation::remove, object, &object);
  };
  EXPECT_EQ(remove("default"), "validatequeue.volcano.sh: `default` queue can not be deleted");
  EXPECT_EQ(remove("root"), "validatequeue.volcano.sh: `root` queue can not be deleted");
  EXPECT_EQ(remove("top"),
            "validatequeue.volcano.sh: queue top can not be deleted because it has 2 child "
            "queues: one, two");
  EXPECT_EQ(remove("two"), "");
}

TEST_F(Admission, ChecksPodsFlowsAndHyperNodes) {
  auto pod = [&](const std::string& annotations) {
    json::Value object = parse("{metadata: {name: p, annotations: " + annotations +
                               "}, spec: {schedulerName: volcano}}");
    return admit(kube::resources::pods, kube::Operation::create, object);
  };
  EXPECT_EQ(pod("{volcano.sh/jdb-min-available: '3'}"), "");
  EXPECT_EQ(pod("{volcano.sh/jdb-min-available: 40%}"), "");
  EXPECT_EQ(pod("{volcano.sh/jdb-min-available: '0'}"),
            "validatepod.volcano.sh: invalid value <\"0\"> for volcano.sh/jdb-min-available, it "
            "must be a "
            "positive integer");
  EXPECT_EQ(pod("{volcano.sh/jdb-max-unavailable: 100%}"),
            "validatepod.volcano.sh: invalid value <\"100%\"> for volcano.sh/jdb-max-unavailable, "
            "it must be a "
            "valid percentage which between 1% ~ 99%");
  EXPECT_EQ(pod("{volcano.sh/jdb-min-available: '3', volcano.sh/jdb-max-unavailable: '1'}"),
            "validatepod.volcano.sh: not allow configure multiple annotations "
            "<[volcano.sh/jdb-min-available "
            "volcano.sh/jdb-max-unavailable]> at same time");

  auto flow = [&](const std::string& flows) {
    json::Value object = parse("{metadata: {name: f}, spec: {flows: " + flows + "}}");
    return admit(kube::resources::job_flows, kube::Operation::create, object);
  };
  EXPECT_EQ(flow("[{name: a}, {name: b, dependsOn: {targets: [a]}}]"), "");
  EXPECT_EQ(flow("[{name: a, dependsOn: {targets: [b]}}, {name: b, dependsOn: {targets: [a]}}]"),
            "validatejobflow.volcano.sh: jobflow Flow is not DAG");
  EXPECT_EQ(flow("[{name: a, dependsOn: {targets: [x]}}]"),
            "validatejobflow.volcano.sh: jobflow Flow is not DAG: vertex is not defined: x");

  json::Value node = parse("{metadata: {name: h}, spec: {tier: 1, members: []}}");
  EXPECT_EQ(admit(kube::resources::hyper_nodes, kube::Operation::create, node),
            "validatehypernode.volcano.sh: member must have at least one member");
}

TEST_F(Admission, ChecksCronJobs) {
  auto cron = [&](const std::string& name, const std::string& spec) {
    json::Value object = parse("{metadata: {name: " + name + "}, spec: {" + spec +
                               ", jobTemplate: {spec: {minAvailable: 1, tasks: [{name: t, "
                               "replicas: 1, " + kPod + "}]}}}}");
    return admit(kube::resources::vc_cron_jobs, kube::Operation::create, object);
  };
  const std::string denied = "validatecronjob.volcano.sh: ";
  EXPECT_EQ(cron("c", "schedule: '*/5 * * * *', timeZone: Europe/Berlin"), "");
  EXPECT_EQ(cron("c", "schedule: '@hourly'"), "");
  EXPECT_EQ(cron("c", "schedule: ''"), denied + "schedule is required, but got empty");
  EXPECT_EQ(cron("c", "schedule: 'TZ=UTC * * * * *'"),
            denied + "schedule should not contain TZ or CRON_TZ, TZ should only be set in the "
                     "timeZone field");
  EXPECT_EQ(cron("c", "schedule: '1 2 3'"),
            denied + "schedule is not a valid cron expression: expected exactly 5 fields, found 3: "
                     "[1 2 3]");
  EXPECT_EQ(cron("c", "schedule: '@daily', timeZone: ''"),
            denied + "timeZone must be nil or non-empty string, got empty string");
  EXPECT_EQ(cron("c", "schedule: '@daily', timeZone: Mars/Base"),
            denied + "unknown timeZone Mars/Base");
  EXPECT_EQ(cron("c", "schedule: '@daily', timeZone: Local"),
            denied + "timeZone can't be Local, and must be defined in "
                     "https://www.iana.org/time-zones");
  EXPECT_EQ(cron(std::string(53, 'c'), "schedule: '@daily'"),
            denied + "cronJob name must be no more than 52 characters to accommodate job name "
                     "suffix (max 63 total)");
  json::Value empty = parse("{metadata: {name: c}, spec: {schedule: '@daily', jobTemplate: {spec: {}}}}");
  EXPECT_EQ(admit(kube::resources::vc_cron_jobs, kube::Operation::create, empty),
            denied + "invalid jobTemplate: No task specified in job spec");
}

}  // namespace
}  // namespace hekla::admission
