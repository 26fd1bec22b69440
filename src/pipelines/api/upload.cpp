#include "pipelines/api/upload.h"

#include <optional>
#include <vector>

#include "base/bytes.h"
#include "net/gzip.h"

namespace hekla::pipelines::api {
namespace {

std::unexpected<Error> invalid(std::string reason) {
  return fail(Code::bad_request, "Invalid input error: " + std::move(reason));
}

// attribute="value" of a header.
std::string attribute(std::string_view header, std::string_view name) {
  const std::string wanted = std::string(name) + "=";
  std::size_t at = 0;
  while ((at = header.find(wanted, at)) != std::string_view::npos) {
    const bool begins = at == 0 || header[at - 1] == ' ' || header[at - 1] == ';';
    at += wanted.size();
    if (!begins) continue;
    std::string_view rest = header.substr(at);
    if (rest.starts_with('"')) {
      rest.remove_prefix(1);
      return std::string(rest.substr(0, rest.find('"')));
    }
    return std::string(rest.substr(0, rest.find_first_of("; \r\n")));
  }
  return {};
}

bool is_yaml(std::string_view name) {
  return name.ends_with(".yaml") || name.ends_with(".yml") || name.ends_with(".json");
}

Result<std::string> chosen(const std::vector<UploadedFile>& files) {
  const UploadedFile* only = nullptr;
  int found = 0;
  for (const UploadedFile& file : files) {
    const std::size_t slash = file.name.rfind('/');
    const std::string base = slash == std::string::npos ? file.name : file.name.substr(slash + 1);
    if (base == "pipeline.yaml") return file.content;
    if (!is_yaml(base)) continue;
    ++found;
    only = &file;
  }
  if (found == 1) return only->content;
  if (found == 0) return invalid("Invalid archive. Could not find a YAML file in the archive");
  return invalid(
      "Invalid archive. Multiple YAML files are in the archive and none is pipeline.yaml");
}

Result<std::string> gunzip(std::string_view packed) {
  net::GzipReader reader;
  std::string out;
  if (Result<void> fed = reader.feed(packed, out, kPipelineFileMax); !fed)
    return invalid("the archive cannot be unpacked: " + fed.error().message);
  if (!reader.complete()) return invalid("the archive ends early");
  return out;
}

std::optional<std::size_t> octal(std::string_view field) {
  std::size_t number = 0;
  for (char c : field) {
    if (c == '\0' || c == ' ') continue;
    if (c < '0' || c > '7' || number > kPipelineFileMax) return std::nullopt;
    number = number * 8 + static_cast<std::size_t>(c - '0');
  }
  return number;
}

Result<std::vector<UploadedFile>> files_in_tar(std::string_view tar) {
  constexpr std::size_t kBlock = 512;
  std::vector<UploadedFile> files;
  while (tar.size() >= kBlock && tar.front() != '\0') {
    const std::string_view header = tar.substr(0, kBlock);
    const std::optional<std::size_t> size = octal(header.substr(124, 12));
    if (!size || *size > tar.size() - kBlock) return invalid("the tar file is damaged");
    const char type = header[156];
    if (type == '0' || type == '\0')
      files.push_back({std::string(header.substr(0, std::min<std::size_t>(header.find('\0'), 100))),
                       std::string(tar.substr(kBlock, *size))});
    const std::size_t whole = kBlock + (*size + kBlock - 1) / kBlock * kBlock;
    tar.remove_prefix(std::min(whole, tar.size()));
  }
  return files;
}

// One member by its entry in the central directory.
Result<std::string> zip_content(std::string_view zip, std::string_view entry) {
  const auto method = load_le<std::uint16_t>(entry.data() + 10);
  const auto crc = load_le<std::uint32_t>(entry.data() + 16);
  const auto packed = load_le<std::uint32_t>(entry.data() + 20);
  const auto size = load_le<std::uint32_t>(entry.data() + 24);
  const std::size_t offset = load_le<std::uint32_t>(entry.data() + 42);
  if (size > kPipelineFileMax) return invalid("a file of the archive is too large");
  if (offset + 30 > zip.size()) return invalid("the zip file is damaged");
  const std::size_t skip = std::size_t{30} + load_le<std::uint16_t>(zip.data() + offset + 26) +
                           load_le<std::uint16_t>(zip.data() + offset + 28);
  if (offset + skip + packed > zip.size()) return invalid("the zip file is damaged");
  const std::string_view data = zip.substr(offset + skip, packed);
  if (method == 0) return std::string(data);
  if (method != 8) return invalid("the zip file's compression is unknown");
  // Deflated bytes between gzip's head and tail, which hold what the directory says.
  std::string framed("\x1f\x8b\x08\0\0\0\0\0\0\xff", 10);
  framed += data;
  append_le(framed, crc);
  append_le(framed, size);
  return gunzip(framed);
}

Result<std::vector<UploadedFile>> files_in_zip(std::string_view zip) {
  const std::size_t end = zip.rfind(std::string_view("PK\5\6", 4));
  if (end == std::string_view::npos || end + 22 > zip.size())
    return invalid("Not a valid zip file");
  std::size_t at = load_le<std::uint32_t>(zip.data() + end + 16);
  std::vector<UploadedFile> files;
  const auto count = load_le<std::uint16_t>(zip.data() + end + 10);
  for (std::uint16_t i = 0; i < count; ++i) {
    if (at + 46 > zip.size() || zip.substr(at, 4) != std::string_view("PK\1\2", 4))
      return invalid("the zip file is damaged");
    const std::size_t name = load_le<std::uint16_t>(zip.data() + at + 28);
    const std::size_t more = std::size_t{load_le<std::uint16_t>(zip.data() + at + 30)} +
                             load_le<std::uint16_t>(zip.data() + at + 32);
    if (at + 46 + name > zip.size()) return invalid("the zip file is damaged");
    UploadedFile file{std::string(zip.substr(at + 46, name)), ""};
    if (is_yaml(file.name)) {
      file.content = TRY(zip_content(zip, zip.substr(at)));
      files.push_back(std::move(file));
    }
    at += 46 + name + more;
  }
  return files;
}

}  // namespace

Result<UploadedFile> uploaded_file(std::string_view content_type, std::string_view body) {
  const std::string boundary = attribute(content_type, "boundary");
  if (!content_type.starts_with("multipart/form-data") || boundary.empty())
    return invalid(
        "Failed to read pipeline from file: request Content-Type isn't "
        "multipart/form-data");
  const std::string mark = "--" + boundary, next = "\r\n" + mark;
  std::size_t at = body.find(mark);
  while (at != std::string_view::npos) {
    at += mark.size();
    if (body.substr(at, 2) == "--") break;
    const std::size_t head = body.find("\r\n\r\n", at);
    const std::size_t end = head == std::string_view::npos ? head : body.find(next, head + 2);
    if (end == std::string_view::npos) return invalid("the multipart body has no end");
    const std::string_view headers = body.substr(at, head - at);
    if (attribute(headers, "name") == "uploadfile")
      return UploadedFile{attribute(headers, "filename"),
                          std::string(body.substr(head + 4, end < head + 4 ? 0 : end - head - 4))};
    at = end + 2;
  }
  return invalid("Failed to read pipeline from file: http: no such file");
}

Result<std::string> pipeline_text(const UploadedFile& file) {
  const std::string& content = file.content;
  if (content.size() > kPipelineFileMax)
    return invalid("File size too large. Maximum supported file size: 32MB");
  if (content.starts_with("PK")) return chosen(TRY(files_in_zip(content)));
  if (content.starts_with("\x1f\x8b")) {
    const std::string tar = TRY(gunzip(content));
    return chosen(TRY(files_in_tar(tar)));
  }
  if (is_yaml(file.name)) return content;
  return invalid("Unexpected pipeline file format. Support .zip, .tar.gz, .json or YAML");
}

}  // namespace hekla::pipelines::api
