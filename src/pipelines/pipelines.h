// The face of pipelines: what main puts together.
#pragma once

#include "pipelines/api/api.h"
#include "pipelines/api/workflow_objects.h"
#include "pipelines/driver/driver.h"
#include "pipelines/driver/launch_server.h"
#include "pipelines/page/page_routes.h"
#include "pipelines/page/run_topic.h"
#include "pipelines/store/schema.h"

namespace hekla::pipelines {

using api::Api, api::ApiOptions;
using api::WorkflowObjects, api::WorkflowOptions;
using driver::Driver, driver::DriverOptions, driver::LaunchServer;
using page::PageOptions, page::PageRoutes, page::RunTopic, page::StepLogs;
using store::migrations;

}  // namespace hekla::pipelines
