// hekla image: the images of this machine, in the store that the node agent runs pods from; with
// the platform running or not.
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>

#include "agent/images.h"
#include "agent/rootless.h"
#include "cli/cluster_install/image_context.h"
#include "cli/end_signal.h"
#include "cli/platform_choice.h"
#include "cli/shared_flags.h"
#include "cli/verb.h"
#include "json/value.h"
#include "model/time.h"

namespace hekla::cli {
namespace {

using agent::ImageReference;
using agent::ImageStore;
using agent::RegistryLogin;
using agent::StoredImage;

struct ImageOptions {
  std::string data_dir;
  std::vector<std::string> insecure, mirrors, authorities;
  bool quiet = false;

  std::vector<std::string> names;
  std::string name, target, file = "-", registry, user, password, older_than, output;
  bool password_stdin = false;
  std::string dockerfile;
  std::vector<std::string> arguments, secrets, image_maps;
  bool pull = false, skip_built_in = false;
  std::function<bool(std::string_view image)> is_built_in;
};
using SharedImageOptions = std::shared_ptr<ImageOptions>;

std::string image_size_text(std::int64_t bytes) {
  const char* units[] = {"B", "kB", "MB", "GB", "TB"};
  auto size = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; size >= 1000 && unit + 1 < std::size(units); ++unit) size /= 1000;
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f%s" : "%.3g%s", size, units[unit]);
  return text;
}

Result<agent::RegistryOptions> registry_options(const ImageOptions& options) {
  agent::RegistryOptions out;
  out.insecure = options.insecure;
  out.mirrors = TRY(agent::parse_mirrors(options.mirrors));
  out.authorities = TRY(agent::parse_authorities(options.authorities));
  return out;
}

Result<std::unique_ptr<ImageStore>> open_image_store(const ImageOptions& options) {
  // Layers have files that their owner may not write; in a namespace of his own he may.
  if (::geteuid() != 0)
    if (Result<void> entered = agent::enter_rootless(); !entered)
      return fail(Code::forbidden,
                  "images without root need user namespaces, which do not work here (" +
                      entered.error().message + "): use sudo hekla image");
  std::error_code error;
  agent::ImageStoreOptions store;
  store.directory =
      std::filesystem::absolute(options.data_dir, error).lexically_normal() / "images";
  store.registries = TRY(registry_options(options));
  if (!options.quiet)
    store.say = [](const std::string& text) { std::fprintf(stderr, "%s\n", text.c_str()); };
  auto out = std::make_unique<ImageStore>(std::move(store));
  TRY(out->prepare());
  return out;
}

Result<StoredImage> find_image(const ImageStore& store, const std::string& name) {
  ImageReference reference = TRY(agent::parse_reference(name));
  auto found = TRY(store.find(reference));
  if (!found)
    return fail(Code::not_found,
                "no image named " + reference.canonical() + " here (see hekla image list)");
  return std::move(*found);
}

auto images_in_use(const ImageOptions& options) {
  return [pods = options.data_dir + "/pods"] { return agent::images_of_pods(pods); };
}

Result<void> pull_images(const ImageOptions& options) {
  auto store = TRY(open_image_store(options));
  agent::RegistryLogins logins = TRY(agent::read_logins(options.data_dir));
  for (const std::string& name : options.names) {
    if (options.skip_built_in && options.is_built_in && options.is_built_in(name)) {
      std::printf("%s: built into Hekla, not pulled\n", name.c_str());
      continue;
    }
    StoredImage image = TRY(store->pull(TRY(agent::parse_reference(name)), logins));
    std::printf("%s\n", image.id.c_str());
  }
  return {};
}

Result<void> push_image(const ImageOptions& options) {
  auto store = TRY(open_image_store(options));
  agent::RegistryLogins logins = TRY(agent::read_logins(options.data_dir));
  StoredImage image = TRY(find_image(*store, options.name));
  ImageReference target =
      TRY(agent::parse_reference(options.target.empty() ? options.name : options.target));
  if (!target.digest.empty())
    return fail(Code::bad_request, "an image is pushed under a tag, not a digest");
  TRY(store->push(image, target, logins));
  std::printf("%s@%s\n", target.repository_name().c_str(), image.manifest.c_str());
  return {};
}

// Reads a line from standard input, without an echo where that is a terminal.
Result<std::string> ask_password() {
  termios before{};
  const bool terminal = ::tcgetattr(STDIN_FILENO, &before) == 0;
  if (terminal) {
    std::fprintf(stderr, "Password: ");
    termios silent = before;
    silent.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent);
  }
  std::string text;
  std::getline(std::cin, text);
  if (terminal) {
    ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
    std::fprintf(stderr, "\n");
  }
  while (text.ends_with('\r')) text.pop_back();
  if (text.empty()) return fail(Code::bad_request, "no password given");
  return text;
}

// The registry alone, as a reference names it.
Result<ImageReference> registry_named(const std::string& text) {
  if (text.empty() || text == "docker.io") return ImageReference{"docker.io", "", "", ""};
  ImageReference out = TRY(agent::parse_reference(text + "/x"));
  if (out.registry != text)
    return fail(Code::bad_request, "\"" + text + "\" is no registry: expected HOST[:PORT]");
  out.repository.clear();
  return out;
}

Result<void> log_in(const ImageOptions& options) {
  ImageReference registry = TRY(registry_named(options.registry));
  RegistryLogin login{options.user, options.password};
  if (login.user.empty()) {
    std::fprintf(stderr, "Username: ");
    std::getline(std::cin, login.user);
  }
  if (login.user.empty()) return fail(Code::bad_request, "name the user with -u");
  if (login.password.empty()) login.password = TRY(ask_password());
  agent::RegistrySession session(TRY(registry_options(options)), registry, login);
  TRY(session.check_login());
  TRY(agent::add_login(options.data_dir, registry.registry, login));
  std::printf("Login Succeeded\n");
  return {};
}

Result<void> log_out(const ImageOptions& options) {
  ImageReference registry = TRY(registry_named(options.registry));
  if (!TRY(agent::remove_login(options.data_dir, registry.registry)))
    return fail(Code::not_found, "not logged in to " + registry.registry);
  std::printf("Removed login credentials for %s\n", registry.registry.c_str());
  return {};
}

using ImageRow = std::array<std::string, 5>;

void print_columns(const std::vector<ImageRow>& rows) {
  std::array<std::size_t, 5> widths{};
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i)
      line += row[i] + (i + 1 < row.size() ? std::string(widths[i] - row[i].size() + 3, ' ') : "");
    std::printf("%s\n", line.c_str());
  }
}

std::string short_id(const std::string& digest) { return digest.substr(digest.find(':') + 1, 12); }

// As docker lists them.
void print_as_docker(const std::vector<StoredImage>& images, bool ids_alone) {
  std::vector<ImageRow> rows{{"REPOSITORY", "TAG", "IMAGE ID", "CREATED", "SIZE"}};
  const WallTime now = real_clock().wall();
  for (const StoredImage& image : images) {
    Result<ImageReference> name = agent::parse_reference(image.name);
    if (!name) continue;
    if (ids_alone) std::printf("%s\n", short_id(image.digest).c_str());
    std::string repository = name->repository_name();
    for (std::string_view usual : {"docker.io/library/", "docker.io/"})
      if (repository.starts_with(usual)) repository.erase(0, usual.size());
    rows.push_back({repository, name->tag.empty() ? "<none>" : name->tag, short_id(image.digest),
                    model::human_duration(now - WallTime(Nanos(image.added_ns))) + " ago",
                    image_size_text(image.size)});
  }
  if (!ids_alone) print_columns(rows);
}

void print_images(const std::vector<StoredImage>& images) {
  std::vector<ImageRow> rows{{"NAME", "TAG", "DIGEST", "SIZE", "AGE"}};
  const WallTime now = real_clock().wall();
  for (const StoredImage& image : images) {
    Result<ImageReference> name = agent::parse_reference(image.name);
    if (!name) continue;
    rows.push_back({name->repository_name(), name->tag.empty() ? "<none>" : name->tag,
                    short_id(image.digest),
                    image_size_text(image.size) + (image.host ? "+host" : ""),
                    model::human_duration(now - WallTime(Nanos(image.added_ns)))});
  }
  print_columns(rows);
}

Result<void> list_images(const ImageOptions& options) {
  auto store = TRY(open_image_store(options));
  std::vector<StoredImage> images = TRY(store->list());
  if (options.output == "name") {
    for (const StoredImage& image : images) std::printf("%s\n", image.name.c_str());
  } else if (options.output == "json") {
    json::Array out;
    for (const StoredImage& image : images) {
      json::Object entry;
      entry["name"] = image.name;
      entry["id"] = image.id;
      entry["digest"] = image.digest;
      entry["size"] = image.size;
      entry["host"] = image.host;
      entry["added"] = model::format_rfc3339(WallTime(Nanos(image.added_ns)));
      entry["lastUsed"] = model::format_rfc3339(image.last_used);
      out.emplace_back(std::move(entry));
    }
    std::printf("%s\n", json::serialize_pretty(out).c_str());
  } else if (options.output == "docker") {
    print_as_docker(images, options.quiet);
  } else {
    print_images(images);
  }
  return {};
}

Result<void> import_image(const ImageOptions& options) {
  auto store = TRY(open_image_store(options));
  std::optional<ImageReference> name;
  if (!options.name.empty()) name = TRY(agent::parse_reference(options.name));
  for (const StoredImage& image : TRY(store->import(options.file, name)))
    std::printf("%s\n", image.name.c_str());
  return {};
}

Result<void> save_images(const ImageOptions& options) {
  auto store = TRY(open_image_store(options));
  if (options.file == "-" && ::isatty(STDOUT_FILENO) != 0)
    return fail(Code::bad_request, "an archive is no text for a terminal: name a file with -o");
  std::vector<StoredImage> images;
  for (const std::string& name : options.names) images.push_back(TRY(find_image(*store, name)));
  return store->save(images, options.file);
}

Result<void> tag_image(const ImageOptions& options) {
  auto store = TRY(open_image_store(options));
  StoredImage image = TRY(find_image(*store, options.name));
  TRY(store->tag(image, TRY(agent::parse_reference(options.target))));
  return {};
}

void print_removed(const agent::Removed& removed) {
  for (const std::string& name : removed.names) std::printf("removed %s\n", name.c_str());
  std::printf("%s freed\n", image_size_text(removed.bytes).c_str());
}

Result<void> remove_images(const ImageOptions& options) {
  auto store = TRY(open_image_store(options));
  std::vector<std::string> names;
  for (const std::string& name : options.names)
    names.push_back(TRY(agent::parse_reference(name)).canonical());
  print_removed(TRY(store->remove(names, images_in_use(options))));
  return {};
}

Result<void> prune_images(const ImageOptions& options) {
  auto store = TRY(open_image_store(options));
  WallTime before = real_clock().wall();
  if (!options.older_than.empty()) {
    Result<Nanos> age = model::parse_go_duration(options.older_than);
    if (!age)
      return fail(Code::bad_request,
                  "--older-than \"" + options.older_than + "\": expected a duration like 24h");
    before -= *age;
  }
  print_removed(TRY(store->prune(images_in_use(options), before)));
  return {};
}

// "id=NAME,src=FILE".
Result<std::pair<std::string, std::string>> secret_file(const std::string& text) {
  std::string id, source;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string one = text.substr(at, end - at);
    at = end + 1;
    const std::string value = one.substr(std::min(one.find('=') + 1, one.size()));
    if (one.starts_with("id="))
      id = value;
    else if (one.starts_with("src=") || one.starts_with("source="))
      source = value;
    else if (one != "type=file")
      return fail(Code::bad_request, "--secret \"" + text + "\": \"" + one + "\" is not supported");
  }
  std::error_code error;
  const std::filesystem::path file = std::filesystem::absolute(source, error);
  if (id.empty() || source.empty())
    return fail(Code::bad_request, "--secret \"" + text + "\": expected id=NAME,src=FILE");
  if (!std::filesystem::is_regular_file(file, error))
    return fail(Code::bad_request, "--secret: no file " + source);
  return std::pair(id, file.string());
}

// A build that is told to end takes its container with it.
Result<void> run_build(ImageStore& store, agent::BuildRequest& request, bool quiet) {
  EndSignal signals;
  std::atomic<bool> cancelled = false;
  signals.on_signal([&](int, int) { cancelled = true; });
  request.cancelled = &cancelled;
  if (quiet)
    request.print = [](std::string_view) {};
  else
    request.print = [](std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); };
  Result<StoredImage> image = agent::build_image(store, request);
  signals.on_signal(nullptr);
  if (!image) return std::unexpected(image.error());
  std::printf("%s\n", image->name.c_str());
  return {};
}

std::string absolute_data_dir(const ImageOptions& options) {
  std::error_code error;
  return std::filesystem::absolute(options.data_dir, error).lexically_normal().string();
}

// hekla image build RECIPE.
Result<void> build_recipe(const ImageOptions& options, const agent::Recipe& recipe) {
  auto store = TRY(open_image_store(options));
  const ImageReference name = agent::recipe_reference(recipe);
  if (TRY(store->find(name)) && !options.pull) {
    std::printf("%s\n", name.canonical().c_str());
    return {};
  }
  if (std::vector<std::string> missing = agent::missing_packages(recipe); !missing.empty()) {
    std::string packages;
    for (const std::string& one : missing) packages += " " + one;
    return fail(Code::unavailable, "the recipe " + recipe.name +
                                       " needs packages that this machine lacks: apt install" +
                                       packages);
  }
  if (!options.quiet)
    std::fprintf(stderr, "recipe %s: %s\n", recipe.name.c_str(), recipe.cost().c_str());
  agent::BuildRequest request;
  request.store_dir = absolute_data_dir(options) + "/images";
  request.context = TRY(store->temporary("recipe-" + recipe.name));
  TRY(agent::lay_out_recipe(recipe, request.context));
  request.names = {name};
  request.arguments["DEVICE"] = agent::recipe_device();
  request.images = TRY(agent::ImageMap::parse({}));
  request.hidden_paths = agent::paths_hidden_from_builds(absolute_data_dir(options));
  Result<void> done = run_build(*store, request, options.quiet);
  std::error_code error;
  std::filesystem::remove_all(request.context, error);
  return done;
}

Result<void> list_recipes(const ImageOptions& options) {
  auto store = TRY(open_image_store(options));
  std::printf("%-18s %-7s %-10s %-8s %s\n", "RECIPE", "BUILT", "DOWNLOAD", "DISK", "WHAT");
  for (const agent::Recipe& recipe : agent::all_recipes()) {
    const bool built = TRY(store->find(agent::recipe_reference(recipe))).has_value();
    std::printf("%-18s %-7s %-10s %-8s %s\n", recipe.name.c_str(), built ? "yes" : "no",
                recipe.download.c_str(), recipe.disk.c_str(), recipe.about.c_str());
  }
  std::printf("\nImage names that stand for a recipe, unless an image of that name is here:\n");
  for (const std::string& line : agent::default_image_map()) std::printf("  %s\n", line.c_str());
  return {};
}

Result<void> build(const ImageOptions& options) {
  if (options.names.empty()) {
    Result<agent::Recipe> recipe = agent::find_recipe(options.file);
    if (recipe) return build_recipe(options, *recipe);
    return fail(Code::bad_request,
                "name the image with -t NAME, or a recipe: " + recipe.error().message);
  }
  auto store = TRY(open_image_store(options));
  std::error_code error;
  const std::string data_dir = absolute_data_dir(options);
  agent::BuildRequest request;
  request.store_dir = data_dir + "/images";
  request.context =
      std::filesystem::absolute(options.file, error).string();  // commands run somewhere else
  if (!std::filesystem::is_directory(request.context, error))
    return fail(Code::bad_request, "the build context " + request.context + " is no directory");
  request.dockerfile = options.dockerfile;
  request.target = options.target;
  request.pull = options.pull;
  for (const std::string& name : options.names)
    request.names.push_back(TRY(agent::parse_reference(name)));
  for (const std::string& argument : options.arguments) {
    std::size_t equals = argument.find('=');
    if (equals == 0 || equals == std::string::npos)
      return fail(Code::bad_request, "--build-arg \"" + argument + "\": expected NAME=VALUE");
    request.arguments[argument.substr(0, equals)] = argument.substr(equals + 1);
  }
  for (const std::string& text : options.secrets) {
    const auto [id, source] = TRY(secret_file(text));
    request.secrets[id] = source;
  }
  request.images = TRY(agent::ImageMap::parse(options.image_maps));
  request.hidden_paths = agent::paths_hidden_from_builds(data_dir);
  request.logins = TRY(agent::read_logins(options.data_dir));
  return run_build(*store, request, options.quiet);
}

int work_on_images(ImageOptions& options, Result<void> (*work)(const ImageOptions&)) {
  auto run = [&]() -> Result<void> {
    options.data_dir = TRY(choose_data_dir(options.data_dir));
    return work(options);
  };
  Result<void> done = run();
  if (done) return 0;
  complain(done.error().message);
  return done.error().code == Code::bad_request ? kUsage : kFailed;
}

Command image_command(const char* name, const char* summary, const SharedImageOptions& options,
                      std::vector<Flag> flags, Result<void> (*work)(const ImageOptions&)) {
  Command command{
      .name = name,
      .summary = summary,
      .flags = {chosen_data_dir_flag(options->data_dir),
                Flag("-q,--quiet", options->quiet, "print the outcome alone")},
      .run = [options, work] { return work_on_images(*options, work); },
  };
  append(command.flags, std::move(flags));
  return command;
}

// A command that speaks with registries.
Command registry_command(const char* name, const char* summary, const SharedImageOptions& options,
                         std::vector<Flag> flags, Result<void> (*work)(const ImageOptions&)) {
  Command command = image_command(name, summary, options, std::move(flags), work);
  append(command.flags, registry_flags(options->insecure, options->mirrors, options->authorities));
  return command;
}

std::vector<Command> registry_commands(const Context& context) {
  auto pull = std::make_shared<ImageOptions>(), push = std::make_shared<ImageOptions>(),
       login = std::make_shared<ImageOptions>(), logout = std::make_shared<ImageOptions>();
  pull->is_built_in = context.is_built_in;
  constexpr const char* registry = "HOST[:PORT] (default: docker.io)";
  return {
      registry_command(
          "pull", "fetch images from their registries", pull,
          {Flag("names", pull->names, "[HOST/]REPOSITORY[:TAG][@DIGEST]").must_be_given(),
           Flag("--skip-built-in", pull->skip_built_in,
                "leave out those that stand for a part of hekla, which no pod needs")},
          pull_images),
      registry_command(
          "push", "send an image to a registry", push,
          {Flag("name", push->name, "the image").must_be_given(),
           Flag("target", push->target, "the name it shall have there (default: its own)")},
          push_image),
      registry_command(
          "login", "keep user and password for a registry; pods use them too", login,
          {Flag("registry", login->registry, registry),
           Flag("-u,--username", login->user, "the user; without it, it is asked for as well"),
           Flag("-p,--password", login->password,
                "the password; without it, it is asked for on standard input"),
           Flag("--password-stdin", login->password_stdin,
                "read it from standard input (the default)")},
          log_in),
      image_command("logout", "forget the password for a registry", logout,
                    {Flag("registry", logout->registry, registry)}, log_out),
  };
}

Command list_command() {
  auto options = std::make_shared<ImageOptions>();
  Command command = image_command("list", "list the images that are here", options,
                                  {Flag("-o,--output", options->output, "for programs")
                                       .with(one_of({"json", "name", "docker"}))},
                                  list_images);
  command.aliases = {"ls"};
  return command;
}

Command import_command() {
  auto options = std::make_shared<ImageOptions>();
  Command command = image_command(
      "import",
      "take images from a file: an archive of docker save or of an OCI layout (or the layout's "
      "directory), or a root file system as a tar file",
      options,
      {Flag("file", options->file, "the file, - for standard input").must_be_given(),
       Flag("name", options->name, "the image's name, where the file has none or another")},
      import_image);
  command.aliases = {"load"};
  return command;
}

Command remove_command() {
  auto options = std::make_shared<ImageOptions>();
  Command command =
      image_command("rm", "remove images; those that pods use are refused", options,
                    {Flag("names", options->names, "the images").must_be_given()}, remove_images);
  command.aliases = {"rmi"};
  return command;
}

std::vector<Command> store_commands() {
  auto save = std::make_shared<ImageOptions>(), tag = std::make_shared<ImageOptions>(),
       prune = std::make_shared<ImageOptions>();
  return {
      list_command(),
      import_command(),
      image_command("save", "write images into an archive that import and docker load understand",
                    save,
                    {Flag("names", save->names, "the images").must_be_given(),
                     Flag("-o,--output", save->file, "the file").with_default("standard output")},
                    save_images),
      image_command("tag", "give an image one more name", tag,
                    {Flag("name", tag->name, "the image").must_be_given(),
                     Flag("target", tag->target, "the new name").must_be_given()},
                    tag_image),
      remove_command(),
      image_command("prune", "remove all images that no pod uses", prune,
                    {Flag("--older-than", prune->older_than,
                          "only those that were not used for this long, e.g. 24h")},
                    prune_images),
  };
}

Command build_command() {
  auto options = std::make_shared<ImageOptions>();
  Command command = registry_command(
      "build", "build an image from a Dockerfile, or one of the recipes", options,
      {
          Flag("context", options->file,
               "the directory that COPY and ADD take files from; without -t, a recipe's name")
              .must_be_given(),
          Flag("-t,--tag", options->names, "the image's name; repeatable"),
          Flag("-f,--file", options->dockerfile, "the Dockerfile (default: in the context)"),
          Flag("--build-arg", options->arguments, "NAME=VALUE for an ARG; repeatable"),
          Flag("--secret", options->secrets,
               "id=NAME,src=FILE for a RUN --mount=type=secret,id=NAME; repeatable"),
          Flag("--target", options->target, "the stage to stop at"),
          Flag("--pull", options->pull, "ask for base images even if they are here"),
          Flag("--image-map", options->image_maps,
               "'PATTERN=host' takes this machine's own file system for matching base images "
               "('FROM host' always does); repeatable"),
      },
      build);
  command.footer =
      "RUN runs in a container with this machine's network. All steps end up in one layer.\n"
      "Example:\n"
      "  hekla image build -t my/train:1 --image-map 'tensorflow/*=host' .\n"
      "  hekla image build pytorch            # hekla image recipes lists them";
  return command;
}

// For those who build the image of `hekla install --push` themselves.
Command context_command() {
  auto directory = std::make_shared<std::string>();
  return {
      .name = "context",
      .summary = "write the directory that the image of this program is built from",
      .flags = {Flag("directory", *directory, "a new or empty directory").must_be_given()},
      .run =
          [directory] {
            Result<void> done = write_image_context(*directory);
            if (!done) complain(done.error().message);
            return done ? 0 : kFailed;
          },
      .footer =
          "Example:\n"
          "  hekla image context /tmp/hekla && hekla image build -t hekla:1 /tmp/hekla",
  };
}

Command recipes_command() {
  auto options = std::make_shared<ImageOptions>();
  return image_command("recipes",
                       "list the recipes, and the image names that stand for them by default",
                       options, {}, list_recipes);
}

std::vector<Command> image_commands(const Context& context) {
  Command group{
      .name = "image",
      .summary = "the images of this machine, which pods are run from",
      .footer =
          "Works on the data directory itself, whether the platform runs or not.\n"
          "Examples:\n"
          "  hekla image pull python:3.12-slim\n"
          "  docker save my/app:1 | hekla image import -\n"
          "  hekla image push my/app:1 registry.example.com/my/app:1",
      .commands = registry_commands(context),
  };
  for (Command& command : store_commands()) group.commands.push_back(std::move(command));
  group.commands.push_back(build_command());
  group.commands.push_back(recipes_command());
  group.commands.push_back(context_command());
  return {std::move(group)};
}

}  // namespace

extern const Verb verb_image;
const Verb verb_image{"image", image_commands};

}  // namespace hekla::cli
