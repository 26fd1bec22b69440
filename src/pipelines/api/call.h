// One request of the API, taken apart, and what its handler may use. Handlers run on the records'
// loop inside a transaction.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/rng.h"
#include "json/value.h"
#include "net/http.h"
#include "records/database.h"

namespace hekla::pipelines::api {

struct Call {
  const net::Request& request;
  records::Database& database;
  WallTime now;
  Rng& rng;
  // Variable parts of the path, in order; the verb behind a colon, without it.
  std::vector<std::string> names;
  std::string verb;
  // Runs that the driver shall look at when the transaction is durable.
  std::vector<std::string> touched = {};
  // Whether the time of the next recurring run may be another now.
  bool rescheduled = false;

  const std::string& name(std::size_t index = 0) const { return names[index]; }
  Result<json::Value> body() const;  // an object
};

using Answer = Result<json::Value>;

// Times as the API has them.
std::string time_text(std::int64_t millis);

// Objects, each by its HTTP method; see api.cpp for the routes.
Answer list_experiments(Call& call);
Answer create_experiment(Call& call);
Answer get_experiment(Call& call);
Answer delete_experiment(Call& call);
Answer act_on_experiment(Call& call);

Answer list_pipelines(Call& call);
Answer create_pipeline(Call& call);
Answer upload_pipeline(Call& call);
Answer get_pipeline(Call& call);
Answer get_pipeline_by_name(Call& call);
Answer patch_pipeline(Call& call);
Answer delete_pipeline(Call& call);
Answer list_versions(Call& call);
Answer upload_version(Call& call);
Answer get_version(Call& call);
Answer patch_version(Call& call);
Answer delete_version(Call& call);

Answer list_runs(Call& call);
Answer create_run(Call& call);
Answer get_run(Call& call);
Answer delete_run(Call& call);
Answer act_on_run(Call& call);

Answer list_recurring(Call& call);
Answer create_recurring(Call& call);
Answer get_recurring(Call& call);
Answer delete_recurring(Call& call);
Answer act_on_recurring(Call& call);

Answer list_tasks(Call& call);
Answer list_artifacts(Call& call);
Answer get_artifact(Call& call);

// The default experiment's id, made when it is missing.
Result<std::string> default_experiment(Call& call);

}  // namespace hekla::pipelines::api
