// Pipeline files as clients send them: a multipart body with one file, which is YAML, JSON, a zip
// or a tar.gz.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace hekla::pipelines::api {

// Of a file, packed or not.
inline constexpr std::size_t kPipelineFileMax = std::size_t{32} << 20;

struct UploadedFile {
  std::string name, content;
};

// The part `uploadfile` of a multipart/form-data body.
Result<UploadedFile> uploaded_file(std::string_view content_type, std::string_view body);
// The text of the pipeline: pipeline.yaml of an archive, or the only YAML file in it.
Result<std::string> pipeline_text(const UploadedFile& file);

}  // namespace hekla::pipelines::api
