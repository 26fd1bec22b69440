// The package of a pipeline's file: YAML as it is, Python compiled by the kfp that the user's
// Python has.
#pragma once

#include <string>

#include "base/result.h"

namespace hekla::cli {

struct PipelineFile {
  std::string path;
  std::string python = "python3";  // with kfp in it
  std::string function;            // of a Python file with several pipelines
};

// The package's text. Errors say what to do: kfp is missing, the file is, the compiler's own words
// stand on stderr.
Result<std::string> read_pipeline_file(const PipelineFile& file);

// The pipeline's name in a package: of pipelineInfo, or of a Workflow; empty: it says none.
std::string package_name(const std::string& package);

}  // namespace hekla::cli
