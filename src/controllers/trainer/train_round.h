// One look at a TrainJob: from the job, its runtime and its JobSet to an outcome. Pure, and told by
// the API alone what earlier looks have done.
//
// The runtime is noted in a ConfigMap before anything is made of it, so that later changes of it
// mean nothing to a job that runs. The JobSet is made from both, and again while the job is held
// back; the job's conditions are those of the JobSet.
#pragma once

#include "controllers/trainer/options.h"
#include "controllers/trainer/plan.h"
#include "framework/condition.h"
#include "framework/outcome.h"
#include "framework/view.h"

namespace hekla::controllers::trainer {

class TrainRound {
 public:
  // The arguments outlive it.
  TrainRound(const Options& options, const framework::AnyObject& job, const framework::View& view);

  framework::Outcome run();

 private:
  bool finished() const;
  void note_suspension();
  // True when the time is over.
  bool pass_deadline();
  void remove_set();
  void want_objects();
  // Null when it is not there, or not noted yet.
  Result<json::Value> noted_runtime();
  void want_mpi(Plan& plan);
  void want_set(Plan& plan);
  void read_set();
  void refuse(const Error& error);

  const Options& options_;
  const framework::AnyObject& job_;
  const framework::View& view_;
  const bool suspended_;
  framework::Conditions conditions_;
  json::Object status_;
  framework::AnyRef set_;  // null without one
  framework::Outcome outcome_;
};

Result<framework::Outcome> reconcile_train_job(const Options& options,
                                               const framework::AnyObject& job,
                                               const framework::View& view);

}  // namespace hekla::controllers::trainer
