// The answers of v1beta1, by object and HTTP method; see ../api.cpp for the routes.
#pragma once

#include "pipelines/api/call.h"

namespace hekla::pipelines::api::v1beta1 {

Answer list_experiments(Call& call);
Answer create_experiment(Call& call);
Answer get_experiment(Call& call);

Answer list_pipelines(Call& call);
Answer create_pipeline(Call& call);
Answer upload_pipeline(Call& call);
Answer get_pipeline(Call& call);
Answer get_pipeline_by_name(Call& call);
Answer delete_pipeline(Call& call);
Answer get_pipeline_template(Call& call);
Answer set_default_version(Call& call);
Answer list_versions(Call& call);
Answer upload_version(Call& call);
Answer get_version(Call& call);
Answer delete_version(Call& call);
Answer get_version_template(Call& call);

Answer list_runs(Call& call);
Answer create_run(Call& call);
Answer get_run(Call& call);
Answer terminate_run(Call& call);
Answer retry_run(Call& call);

Answer list_jobs(Call& call);
Answer create_job(Call& call);
Answer get_job(Call& call);
Answer enable_job(Call& call);
Answer disable_job(Call& call);

}  // namespace hekla::pipelines::api::v1beta1
