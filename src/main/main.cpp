// The only place that knows everyone: the command line, and the embedded platform behind `hekla
// up`.
#include <filesystem>

#include "cli/verb.h"
#include "dashboard/dashboard.h"
#include "main/api_only.h"
#include "main/cluster/components.h"
#include "main/cluster/operator.h"
#include "main/cluster/web_process.h"
#include "main/doctor.h"
#include "main/standin/component_table.h"
#include "main/up.h"

int main(int argc, char** argv) {
  hekla::cli::Context context;
  context.up = hekla::run_up;
  context.apiserver = hekla::run_apiserver;
  context.etcd = hekla::run_etcd_stand_in;
  context.controllers = hekla::run_controllers;
  context.scheduler = hekla::run_scheduler;
  context.webhook = hekla::run_webhook;
  context.operate = hekla::run_operator;
  context.web = hekla::run_web;
  context.doctor = hekla::run_doctor;
  context.has_page = hekla::dashboard::has_page();
  context.is_built_in = hekla::is_built_in;
  std::error_code error;
  context.executable = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) context.executable = argv[0];
  return hekla::cli::run(argc, argv, context);
}
