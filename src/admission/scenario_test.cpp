// Runs test/scenarios/admission/*.yaml: a request in, the admitted object or the denial out. The
// format stands in that directory's README.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "admission/conversion.h"
#include "admission/pod_defaults.h"
#include "admission/step.h"
#include "base/disk.h"
#include "json/parse.h"
#include "json/patch.h"
#include "support/pod_templates.h"
#include "support/subset.h"

namespace hekla::admission {
namespace {

namespace resources = kube::resources;

const kube::Resource* resource_of(std::string_view kind) {
  for (const kube::Resource* one : {&resources::vcjobs,
                                    &resources::queues,
                                    &resources::pod_groups,
                                    &resources::pods,
                                    &resources::hyper_nodes,
                                    &resources::job_flows,
                                    &resources::vc_cron_jobs,
                                    &resources::namespaces,
                                    &resources::config_maps,
                                    &resources::priority_classes,
                                    &resources::persistent_volume_claims,
                                    &resources::tf_jobs,
                                    &resources::pytorch_jobs,
                                    &resources::mpi_jobs,
                                    &resources::xgboost_jobs,
                                    &resources::paddle_jobs,
                                    &resources::jax_jobs,
                                    &resources::train_jobs,
                                    &resources::training_runtimes,
                                    &resources::cluster_training_runtimes,
                                    &resources::job_sets,
                                    &pod_defaults})
    if (one->kind == kind) return one;
  return nullptr;
}

kube::Key key_of(const kube::Resource& resource, const json::Value& object) {
  std::string ns(json::string_at(object, {"metadata", "namespace"}));
  if (resource.namespaced && ns.empty()) ns = "default";
  return {resource.namespaced ? ns : "",
          std::string(json::string_at(object, {"metadata", "name"}))};
}

class GivenObjects final : public kube::AdmissionReader {
 public:
  void add(const json::Value& object) {
    const kube::Resource* resource = resource_of(json::string_at(object, {"kind"}));
    ASSERT_TRUE(resource) << "no such kind: " << json::serialize(object);
    objects_[{resource->plural, key_of(*resource, object)}] = object;
  }
  Result<kube::SharedValue> get(const kube::Resource& resource,
                                const kube::Key& key) const override {
    auto found = objects_.find({resource.plural, key});
    if (found == objects_.end()) return fail(Code::not_found, key.name + " not found");
    return std::make_shared<const json::Value>(found->second);
  }
  Result<std::vector<kube::SharedValue>> list(const kube::Resource& resource,
                                              const std::string&) const override {
    std::vector<kube::SharedValue> all;
    for (const auto& [key, object] : objects_)
      if (key.first == resource.plural) all.push_back(std::make_shared<const json::Value>(object));
    return all;
  }

 private:
  std::map<std::pair<std::string, kube::Key>, json::Value> objects_;
};

Settings settings_of(const json::Value& document) {
  Settings settings;
  settings.pod_template_errors = test::pod_template_errors;
  if (const json::Array* names = json::array_at(document, {"settings", "schedulerNames"})) {
    settings.scheduler_names.clear();
    for (const json::Value& name : *names)
      settings.scheduler_names.emplace_back(json::sv(name.get_string()));
  }
  settings.queue_depth_max = static_cast<int>(
      json::int_at(document, {"settings", "queueDepthMax"}, settings.queue_depth_max));
  settings.queue_allocated_pods_check =
      json::bool_at(document, {"settings", "queueAllocatedPodsCheck"});
  settings.root_queue_protection =
      json::bool_at(document, {"settings", "rootQueueProtection"}, true);
  if (std::string text(json::string_at(document, {"settings", "configuration"})); !text.empty())
    settings.read_configuration = [text] { return text; };
  return settings;
}

// A leading * wants only the beginning.
bool says(std::string_view wanted, std::string_view text) {
  return wanted.starts_with('*') ? text.starts_with(wanted.substr(1)) : text == wanted;
}

struct Verdict {
  json::Value object;
  std::string denial;  // "webhook: text"
  std::vector<std::string> warnings;
};

class Scenario {
 public:
  explicit Scenario(const json::Value& document)
      : document_(document), steps_(admission_steps(settings_of(document))) {
    given_.add(parse(
        "{kind: Queue, metadata: {name: default}, spec: {parent: root}, status: {state: Open}}"));
    given_.add(parse("{kind: Queue, metadata: {name: root}, status: {state: Open}}"));
    if (const json::Array* given = json::array_at(document, {"given"}))
      for (const json::Value& object : *given) given_.add(object);
  }

  void run() {
    const json::Array* cases = json::array_at(document_, {"cases"});
    const json::Array* conversions = json::array_at(document_, {"conversions"});
    ASSERT_TRUE(cases || conversions) << "a scenario needs cases or conversions";
    if (conversions)
      for (const json::Value& one : *conversions) {
        SCOPED_TRACE(json::serialize(one));
        convert(one);
      }
    if (!cases) return;
    for (const json::Value& one : *cases) {
      SCOPED_TRACE(json::serialize(one));
      run(one);
    }
  }

 private:
  static json::Value parse(const std::string& yaml) {
    return json::parse_yaml(yaml)->front().value;
  }

  void run(const json::Value& one) {
    Verdict verdict;
    if (const json::Value* object = json::find(one, "create"))
      verdict = admit(kube::Operation::create, *object, nullptr);
    else if (const json::Value* update = json::find(one, "update"))
      verdict = admit(kube::Operation::update, *update, json::find(one, "from"));
    else if (const json::Value* removed = json::find(one, "delete"))
      verdict = admit(kube::Operation::remove, *removed, removed);
    else
      FAIL() << "create, update or delete?";
    if (const json::Value* wanted = json::find(one, "denied")) {
      std::string_view wording = json::sv(wanted->get_string());
      std::string text(wording.starts_with('*') ? "*" : "");
      text.append(json::string_at(document_, {"by"})).append(": ");
      text.append(wording.substr(text.starts_with('*') ? 1 : 0));
      text.append(json::string_at(document_, {"ending"}));
      EXPECT_TRUE(says(text, verdict.denial)) << verdict.denial;
    } else {
      const json::Value* admitted = json::find(one, "admitted");
      ASSERT_TRUE(admitted) << "admitted or denied?";
      EXPECT_EQ(verdict.denial, "");
      EXPECT_EQ(test::subset_mismatch(*admitted, &verdict.object, "object"), "");
    }
    if (const json::Array* warnings = json::array_at(one, {"warnings"})) {
      ASSERT_EQ(verdict.warnings.size(), warnings->size());
      for (std::size_t i = 0; i < warnings->size(); ++i)
        EXPECT_TRUE(says(json::sv((*warnings)[i].get_string()), verdict.warnings[i]))
            << verdict.warnings[i];
    }
  }

  // There and back again: the object comes out as it was, unless it was edited in between.
  void convert(const json::Value& one) const {
    const kube::Resource& resource = *resource_of(json::string_at(document_, {"kind"}));
    auto conversion = std::ranges::find(conversions(), resource.plural + "." + resource.group,
                                        &kube::Conversion::crd);
    ASSERT_NE(conversion, conversions().end());
    const json::Value from = completed(one.at("from"));
    const std::string version = json::text_at(one, {"to"});
    json::Value object = from;
    conversion->convert(object, version);
    EXPECT_EQ(json::string_at(object, {"apiVersion"}), resource.group + "/" + version);
    EXPECT_EQ(test::subset_mismatch(one.at("shows"), &object, "object"), "");
    if (const json::Value* edit = json::find(one, "edit")) json::apply_merge_patch(object, *edit);
    const std::string before = json::text_at(from, {"apiVersion"});
    conversion->convert(object, before.substr(before.find('/') + 1));
    if (const json::Value* back = json::find(one, "back"))
      EXPECT_EQ(test::subset_mismatch(*back, &object, "object"), "");
    else
      EXPECT_TRUE(json::equal(object, from)) << json::serialize(object);
  }

  json::Value completed(json::Value object) const {
    json::Value& name = json::at_path(object, {"metadata", "name"});
    if (name.is_null()) name = "j";
    const std::string version = json::text_at(document_, {"version"});
    if (!version.empty()) object.get_object()["apiVersion"] = "kubeflow.org/" + version;
    return object;
  }

  Verdict admit(kube::Operation operation, const json::Value& given, const json::Value* from) {
    kube::Resource resource = *resource_of(json::string_at(document_, {"kind"}));
    if (const std::string version = json::text_at(document_, {"version"}); !version.empty())
      resource.version = version;
    Verdict verdict{completed(given), {}, {}};
    json::Value old = from ? completed(*from) : json::Value();
    kube::AdmissionRequest request;
    request.operation = operation;
    request.resource = resource;
    request.key = key_of(resource, verdict.object);
    request.old_object = from ? &old : nullptr;
    request.reader = &given_;
    request.warnings = &verdict.warnings;
    auto denied = [&](const kube::AdmissionStep& step, const Result<void>& done) {
      if (done) return false;
      EXPECT_EQ(http_status_of(done.error().code), json::int_at(document_, {"code"}, 400));
      verdict.denial = std::string(step.name) + ": " + done.error().message;
      return true;
    };
    for (const kube::AdmissionStep& step : steps_)
      if (step.mutate && step.matches(resource, operation, "") &&
          denied(step, step.mutate(request, verdict.object)))
        return verdict;
    for (const kube::AdmissionStep& step : steps_)
      if (step.validate && step.matches(resource, operation, "") &&
          denied(step, step.validate(request, verdict.object)))
        return verdict;
    return verdict;
  }

  const json::Value& document_;
  std::vector<kube::AdmissionStep> steps_;
  GivenObjects given_;
};

class AdmissionScenario : public ::testing::TestWithParam<std::string> {};

TEST_P(AdmissionScenario, Holds) {
  Result<std::string> text = read_file("test/scenarios/admission/" + GetParam() + ".yaml");
  ASSERT_TRUE(text) << "run from the source directory";
  Result<std::vector<json::YamlDocument>> documents = json::parse_yaml(*text);
  ASSERT_TRUE(documents) << documents.error().message;
  for (const json::YamlDocument& document : *documents) {
    SCOPED_TRACE(std::string(json::string_at(document.value, {"scenario"})));
    Scenario(document.value).run();
  }
}

std::vector<std::string> scenario_names() {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("test/scenarios/admission", error))
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Files, AdmissionScenario, ::testing::ValuesIn(scenario_names()),
                         [](const auto& info) { return info.param; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(AdmissionScenario);

TEST(Conversions, LeaveAloneWhatTheyHaveNotHeardOf) {
  const json::Value job =
      json::parse_yaml("{apiVersion: kubeflow.org/v9, spec: {a: 1}}")->at(0).value;
  json::Value converted = job;
  convert_tf_job(converted, "v1");
  EXPECT_TRUE(json::equal(converted, job));
  converted.get_object()["apiVersion"] = "kubeflow.org/v1";
  convert_tf_job(converted, "v9");
  EXPECT_EQ(json::string_at(converted, {"apiVersion"}), "kubeflow.org/v1");
}

TEST(AdmissionSteps, ServeAtUpstreamsPaths) {
  std::set<std::string_view> paths;
  for (const Step* step : all_steps()) paths.insert(step->path);
  EXPECT_EQ(paths, (std::set<std::string_view>{
                       "/apply-poddefault",
                       "/jobversions/mutate",
                       "/mpijobs/validate",
                       "/mutate-jobset-x-k8s-io-v1alpha2-jobset",
                       "/mutate-trainer-kubeflow-org-v1alpha1-trainjob",
                       "/validate-jobset-x-k8s-io-v1alpha2-jobset",
                       "/validate-kubeflow-org-v1-jaxjob",
                       "/validate-kubeflow-org-v1-paddlejob",
                       "/validate-kubeflow-org-v1-pytorchjob",
                       "/validate-kubeflow-org-v1-tfjob",
                       "/validate-kubeflow-org-v1-xgboostjob",
                       "/validate-trainer-kubeflow-org-v1alpha1-clustertrainingruntime",
                       "/validate-trainer-kubeflow-org-v1alpha1-trainingruntime",
                       "/validate-trainer-kubeflow-org-v1alpha1-trainjob",
                       "/cronjobs/validate",
                       "/hypernodes/validate",
                       "/jobflows/validate",
                       "/jobs/mutate",
                       "/jobs/validate",
                       "/podgroups/mutate",
                       "/podgroups/validate",
                       "/pods/mutate",
                       "/pods/validate",
                       "/queues/mutate",
                       "/queues/validate"}));
}

}  // namespace
}  // namespace hekla::admission
