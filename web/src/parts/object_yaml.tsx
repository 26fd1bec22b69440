// An object's YAML: read, and, on request, edited with the schema's completion, tried by a server-side dry run and
// saved.
import { useEffect, useState } from "preact/hooks";
import { kube } from "../data/api";
import { path_of, type KubeObject, type Resource } from "../data/resource";
import { t } from "../text/text";
import { Editor } from "./editor";
import { Icon } from "./icon";
import { toast } from "./toast";
import { complete_by_schema } from "./yaml/schema";

export function ObjectYaml({ object, resource }: { object: KubeObject; resource: Resource }) {
  const [text, set_text] = useState("");
  const [editing, set_editing] = useState(false);
  const [said, set_said] = useState<{ tone: string; text: string } | null>(null);
  const path = path_of(resource, object.metadata.namespace, object.metadata.name);
  useEffect(() => {
    if (!editing) import("./yaml/yaml").then(({ to_yaml }) => set_text(to_yaml(object)));
  }, [object.metadata.resourceVersion, editing]);
  const put = async (dry: boolean) => {
    set_said(null);
    try {
      const { from_yaml, to_yaml } = await import("./yaml/yaml");
      const [wanted] = from_yaml(text);
      const made = await kube<KubeObject>(path, { method: "PUT", body: wanted, query: { dryRun: dry ? "All" : undefined, fieldManager: "hekla-page", fieldValidation: "Strict" } });
      if (dry) return set_said({ tone: "run", text: t("The server accepts it. Nothing was written.") });
      toast(t("Saved."), "run");
      set_text(to_yaml(made));
      set_editing(false);
    } catch (error) { set_said({ tone: "fail", text: (error as Error).message }); }
  };
  return (
    <>
      <div class="tools">
        {!editing && <button class="button" onClick={() => set_editing(true)}><Icon name="edit" />{t("Edit")}</button>}
        {editing && <>
          <button class="button" onClick={() => put(true)}>{t("Try it (dry run)")}</button>
          <button class="button primary" onClick={() => put(false)}>{t("Save")}</button>
          <button class="button plain" onClick={() => { set_editing(false); set_said(null); }}>{t("Cancel")}</button>
        </>}
        <button class="button plain" onClick={() => { navigator.clipboard?.writeText(text); toast(t("Copied.")); }}><Icon name="copy" />{t("Copy")}</button>
      </div>
      {said && <div class={`note ${said.tone}`} role="alert">{said.text}</div>}
      {text && <Editor key={String(editing)} text={text} read_only={!editing} on_change={set_text} complete={complete_by_schema} on_save={() => put(false)} label={t("YAML of {name}", { name: object.metadata.name })} />}
    </>
  );
}
