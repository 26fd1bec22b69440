#include "json/parse.h"
#include "pipelines/api/call.h"
#include "pipelines/api/listing.h"
#include "pipelines/api/upload.h"
#include "pipelines/argo/workflow.h"
#include "pipelines/ir/fields.h"
#include "pipelines/ir/read.h"
#include "pipelines/store/schema.h"

namespace hekla::pipelines::api {
namespace {

constexpr std::size_t kNameMax = 128, kVersionNameMax = 127, kTagsMax = 20, kTagMax = 63;
constexpr const char* kPipelineColumns =
    "name, display_name, description, namespace, created, tags";
constexpr const char* kVersionColumns =
    "pipeline_id, name, display_name, description, created, code_source_url, package_url, tags,"
    " spec";

std::unexpected<Error> invalid(std::string reason) {
  return fail(Code::bad_request, "Invalid input error: " + std::move(reason));
}

void put(json::Object& object, std::string_view name, const std::string& text) {
  if (!text.empty()) object.emplace(name, text);
}

void put_tags(json::Object& object, const std::string& text) {
  Result<json::Value> tags = json::parse(text);
  if (tags && tags->is_object() && !tags->get_object().empty())
    object.emplace("tags", std::move(*tags));
}

json::Value pipeline_json(const records::Statement& row, int id, int at) {
  json::Object made{{"pipeline_id", row.text(id)}};
  put(made, "display_name", row.text(at + 1));
  put(made, "name", row.text(at));
  put(made, "description", row.text(at + 2));
  made.emplace("created_at", time_text(row.integer(at + 4)));
  put(made, "namespace", row.text(at + 3));
  put_tags(made, row.text(at + 5));
  return made;
}

Result<json::Value> version_json(const records::Statement& row, int id, int at) {
  json::Object made{{"pipeline_id", row.text(at)}, {"pipeline_version_id", row.text(id)}};
  put(made, "display_name", row.text(at + 2));
  put(made, "name", row.text(at + 1));
  put(made, "description", row.text(at + 3));
  made.emplace("created_at", time_text(row.integer(at + 4)));
  if (std::string url = row.text(at + 6); !url.empty())
    made.emplace("package_url", json::Object{{"pipeline_url", url}});
  put(made, "code_source_url", row.text(at + 5));
  made.emplace("pipeline_spec", TRY(json::parse(row.text(at + 8))));
  put_tags(made, row.text(at + 7));
  return made;
}

Result<json::Value> read_pipeline_row(Call& call, const std::string& id) {
  records::Statement* row = TRY(call.database.query(
      "SELECT id, " + std::string(kPipelineColumns) + " FROM pipelines WHERE id = ?1", {id}));
  if (!TRY(row->step())) return fail(Code::not_found, "Pipeline " + id + " not found");
  return pipeline_json(*row, 0, 1);
}

Result<json::Value> read_version_row(Call& call, const std::string& pipeline,
                                     const std::string& id) {
  records::Statement* row =
      TRY(call.database.query("SELECT id, " + std::string(kVersionColumns) +
                                  " FROM versions WHERE id = ?1 AND pipeline_id = ?2",
                              {id, pipeline}));
  if (!TRY(row->step())) return fail(Code::not_found, "PipelineVersion " + id + " not found");
  return version_json(*row, 0, 1);
}

Result<std::string> checked_tags(const json::Object& tags) {
  if (tags.size() > kTagsMax)
    return invalid("at most " + std::to_string(kTagsMax) + " tags are allowed");
  for (const auto& tag : tags) {
    const bool text = tag.value().is_string();
    if (!text || tag.key().empty() || tag.key().size() > kTagMax ||
        tag.value().get_string().size() > kTagMax || tag.key().find('.') != std::string_view::npos)
      return invalid("tag \"" + std::string(tag.key()) +
                     "\": keys and values are texts of at most 63 characters, keys without dots");
  }
  return json::serialize(tags);
}

Result<std::string> tags_of_query(const net::Query& query) {
  const std::string_view text = query.get("tags");
  if (text.empty()) return std::string("{}");
  Result<json::Value> tags = json::parse(text);
  if (!tags || !tags->is_object()) return invalid("tags must be a JSON object of texts");
  return checked_tags(tags->get_object());
}

struct NewPipeline {
  std::string name, display_name, description, tags = "{}";
};

Result<std::string> insert_pipeline(Call& call, const NewPipeline& wanted) {
  if (wanted.name.empty()) return invalid("pipeline's name cannot be empty");
  if (wanted.name.size() > kNameMax)
    return invalid("pipeline's name is longer than " + std::to_string(kNameMax) + " characters");
  std::string id = uuid(call.rng);
  Result<void> made = call.database.run(
      "INSERT INTO pipelines (id, name, display_name, description, namespace, created, tags)"
      " VALUES (?1, ?2, ?3, ?4, '', ?5, ?6)",
      {id, wanted.name, wanted.display_name.empty() ? wanted.name : wanted.display_name,
       wanted.description, store::to_millis(call.now), wanted.tags});
  if (!made && made.error().code == Code::already_exists)
    return fail(Code::already_exists,
                "Already exist error: Failed to create a new pipeline. The name " + wanted.name +
                    " already exist. Please specify a new name");
  TRY(std::move(made));
  return id;
}

Result<std::string> insert_version(Call& call, const std::string& pipeline,
                                   const NewPipeline& wanted, const ir::Package& package) {
  if (wanted.name.empty()) return invalid("pipeline version's name cannot be empty");
  if (wanted.name.size() > kVersionNameMax)
    return invalid("pipeline version's name is longer than " + std::to_string(kVersionNameMax) +
                   " characters");
  TRY(argo::read_pipeline(package));
  std::string id = uuid(call.rng);
  Result<void> made = call.database.run(
      "INSERT INTO versions (id, pipeline_id, name, display_name, description, created,"
      " code_source_url, package_url, tags, spec) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, '', ?8, ?9)",
      {id, pipeline, wanted.name, wanted.display_name.empty() ? wanted.name : wanted.display_name,
       wanted.description, store::to_millis(call.now),
       std::string(call.request.query.get("code_source_url")), wanted.tags,
       json::serialize(package.to_json())});
  if (!made && made.error().code == Code::already_exists)
    return fail(Code::already_exists,
                "Already exist error: Failed to create a new pipeline version. The name " +
                    wanted.name + " already exist. Please specify a new name");
  TRY(std::move(made));
  return id;
}

Result<ir::Package> uploaded_package(Call& call, std::string* file_name) {
  const UploadedFile file =
      TRY(uploaded_file(call.request.headers.get("Content-Type"), call.request.body));
  *file_name = file.name;
  const std::string text = TRY(pipeline_text(file));
  return ir::read_package(text);
}

// The query's name, else its display name, else the file's.
Result<NewPipeline> named_by(const net::Query& query, const std::string& file_name) {
  NewPipeline wanted;
  wanted.name = query.get("name");
  wanted.display_name = query.get("display_name");
  if (wanted.name.empty()) wanted.name = wanted.display_name;
  if (wanted.name.empty()) wanted.name = file_name;
  wanted.description = query.get("description");
  wanted.tags = TRY(tags_of_query(query));
  return wanted;
}

Result<void> patch_row(Call& call, const char* table, const std::string& id) {
  const json::Value body = TRY(call.body());
  if (const json::Value* name = json::find(body, "display_name")) {
    if (!name->is_string()) return invalid("display_name is no text");
    TRY(call.database.run("UPDATE " + std::string(table) + " SET display_name = ?2 WHERE id = ?1",
                          {id, std::string(json::sv(name->get_string()))}));
  }
  if (const json::Value* tags = json::find(body, "tags")) {
    if (!tags->is_object()) return invalid("tags are no object");
    TRY(call.database.run("UPDATE " + std::string(table) + " SET tags = ?2 WHERE id = ?1",
                          {id, TRY(checked_tags(tags->get_object()))}));
  }
  return {};
}

}  // namespace

Answer list_pipelines(Call& call) {
  Listing listing{.table = "pipelines", .columns = kPipelineColumns, .member = "pipelines"};
  listing.has_tags = true;
  listing.fields = {{"pipeline_id", "id"},
                    {"id", "id"},
                    {"name", "name"},
                    {"display_name", "display_name"},
                    {"created_at", "created", true},
                    {"description", "description"},
                    {"namespace", "namespace"}};
  listing.row_of = [](const records::Statement& row) -> Result<json::Value> {
    return pipeline_json(row, 1, 2);
  };
  return list(call.database, call.request.query, listing);
}

Answer create_pipeline(Call& call) {
  const json::Value body = TRY(call.body());
  ir::Fields fields(&body, "Pipeline");
  NewPipeline wanted;
  wanted.display_name = fields.text("displayName");
  wanted.name = fields.text("name");
  if (wanted.name.empty()) wanted.name = wanted.display_name;
  wanted.description = fields.text("description");
  if (const json::Object* tags = fields.object("tags")) wanted.tags = TRY(checked_tags(*tags));
  for (const char* ignored : {"namespace", "pipelineId", "createdAt"}) fields.take(ignored);
  TRY(fields.finish());
  return read_pipeline_row(call, TRY(insert_pipeline(call, wanted)));
}

Answer upload_pipeline(Call& call) {
  std::string file;
  const ir::Package package = TRY(uploaded_package(call, &file));
  const NewPipeline wanted = TRY(named_by(call.request.query, file));
  const std::string id = TRY(insert_pipeline(call, wanted));
  TRY(insert_version(call, id, wanted, package));
  return read_pipeline_row(call, id);
}

Answer get_pipeline(Call& call) { return read_pipeline_row(call, call.name()); }

Answer get_pipeline_by_name(Call& call) {
  records::Statement* row = TRY(call.database.query(
      "SELECT id FROM pipelines WHERE name = ?1 AND namespace = ''", {call.name()}));
  if (!TRY(row->step())) return fail(Code::not_found, "Pipeline " + call.name() + " not found");
  const std::string id = row->text(0);
  return read_pipeline_row(call, id);
}

Answer patch_pipeline(Call& call) {
  TRY(read_pipeline_row(call, call.name()));
  TRY(patch_row(call, "pipelines", call.name()));
  return read_pipeline_row(call, call.name());
}

Answer delete_pipeline(Call& call) {
  TRY(read_pipeline_row(call, call.name()));
  if (call.request.query.get("cascade") != "true") {
    records::Statement* row = TRY(call.database.query(
        "SELECT 1 FROM versions WHERE pipeline_id = ?1 LIMIT 1", {call.name()}));
    if (TRY(row->step()))
      return invalid(
          "Failed to delete pipeline as it has existing pipeline versions: pipeline_id: " +
          call.name());
  }
  TRY(call.database.run("DELETE FROM pipelines WHERE id = ?1", {call.name()}));
  return json::Object{};
}

Answer list_versions(Call& call) {
  TRY(read_pipeline_row(call, call.name()));
  Listing listing{.table = "versions", .columns = kVersionColumns, .member = "pipeline_versions"};
  listing.has_tags = true;
  listing.fields = {{"pipeline_version_id", "id"},
                    {"id", "id"},
                    {"name", "name"},
                    {"display_name", "display_name"},
                    {"created_at", "created", true},
                    {"description", "description"},
                    {"pipeline_spec", "spec"}};
  listing.where = {{"pipeline_id", call.name()}};
  listing.row_of = [](const records::Statement& row) { return version_json(row, 1, 2); };
  return list(call.database, call.request.query, listing);
}

Answer upload_version(Call& call) {
  const std::string pipeline(call.request.query.get("pipelineid"));
  if (pipeline.empty()) return invalid("Please specify a pipeline id when creating versions");
  std::string file;
  const ir::Package package = TRY(uploaded_package(call, &file));
  TRY(read_pipeline_row(call, pipeline));
  const NewPipeline wanted = TRY(named_by(call.request.query, file));
  return read_version_row(call, pipeline, TRY(insert_version(call, pipeline, wanted, package)));
}

Answer get_version(Call& call) { return read_version_row(call, call.name(0), call.name(1)); }

Answer patch_version(Call& call) {
  TRY(read_version_row(call, call.name(0), call.name(1)));
  TRY(patch_row(call, "versions", call.name(1)));
  return read_version_row(call, call.name(0), call.name(1));
}

Answer delete_version(Call& call) {
  TRY(read_version_row(call, call.name(0), call.name(1)));
  TRY(call.database.run("DELETE FROM versions WHERE id = ?1", {call.name(1)}));
  return json::Object{};
}

}  // namespace hekla::pipelines::api
