// A Notebook as the flags of `hekla notebook create` describe it, in the form of the web form's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "json/value.h"
#include "kube/client.h"

namespace hekla::cli {

struct NotebookWishes {
  std::string image = "kubeflownotebookswg/jupyter-scipy:v1.10.0";
  std::string cpu = "0.5", memory = "1Gi";
  int gpus = 0;
  std::string workspace = "5Gi";     // size of the home's claim; "none": the home goes with the pod
  std::vector<std::string> volumes;  // CLAIM:/PATH or CLAIM:/PATH:ro
  std::vector<std::string> configurations;  // labels of PodDefaults
};

// The claim of the home directory.
json::Object workspace_claim(const std::string& name, const NotebookWishes& wishes);
// bad_request names the flag that cannot be read.
Result<json::Object> notebook_object(const kube::Key& key, const NotebookWishes& wishes);

}  // namespace hekla::cli
