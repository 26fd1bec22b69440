// The face of `hekla up`: a view that is drawn anew on a terminal, plain lines elsewhere;
// and the facts it leaves in the data directory while it runs.
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "cli/end_signal.h"
#include "cli/up_options.h"

namespace hekla::cli {

struct UpFacts {
  std::string url, kubeconfig, nodes, web, objects;
  std::string notice;  // a bound of this platform that its user should know; may be empty
  Nanos took{};
};

class UpFront {
 public:
  // After the signals are blocked, for it makes a thread. From now on log lines go through the view
  // where there is one.
  explicit UpFront(const UpOptions& options);
  // The facts are forgotten.
  ~UpFront();

  // Says where everything is, and writes it down; merges the kubeconfig where that was asked for.
  void ready(const UpFacts& facts);
  // The platform could not start: the view makes way for the complaint.
  void failed();
  // Pods are ending, or left alone.
  void stopping(bool keep_pods);
  void hurried();

 private:
  class View;

  const UpOptions& options_;
  std::unique_ptr<View> view_;  // null: plain lines
  bool told_ = false;
};

}  // namespace hekla::cli
