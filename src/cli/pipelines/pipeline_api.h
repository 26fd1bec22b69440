// The REST API of pipelines, as the command line uses it: through the API server's proxy, so that
// whoever has a kubeconfig has it. Blocking.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/api_session.h"

namespace hekla::cli {

class PipelineApi {
 public:
  explicit PipelineApi(ApiSession& session) : session_(session) {}

  // `path` below /apis/v2beta1. not_found with what to do where pipelines are not served.
  Result<json::Value> call(const std::string& method, const std::string& path,
                           const json::Value& body = {});

  // Runs, newest first, at most `count`.
  Result<std::vector<json::Value>> runs(int count);
  // The run of that id, or the newest one of that name.
  Result<json::Value> find_run(const std::string& name);
  Result<std::vector<json::Value>> tasks(const std::string& run_id);
  // The id of the experiment of that name, made when there is none.
  Result<std::string> experiment(const std::string& name);

  // A package becomes a version of the pipeline of its name, or is found to be the newest one. The
  // answer is the version.
  Result<json::Value> publish(const std::string& name, const std::string& file,
                              const std::string& package);

  // A step's log, as it grows until the pod has ended when `follow` says so.
  Result<void> log(const std::string& run_id, const std::string& pod, bool follow,
                   const std::function<void(std::string_view)>& piece);

 private:
  ApiSession& session_;
};

// Of a version or a run: the document with root and components; null where there is none.
const json::Value& spec_of(const json::Value& holder);

}  // namespace hekla::cli
