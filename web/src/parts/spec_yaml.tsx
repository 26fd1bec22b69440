// A document as YAML to read.
import { useEffect, useState } from "preact/hooks";
import { t } from "../text/text";
import { Editor } from "./editor";

export function SpecYaml({ spec, name }: { spec: unknown; name: string }) {
  const [text, set_text] = useState("");
  useEffect(() => { import("./yaml/yaml").then(({ to_yaml }) => set_text(to_yaml(spec as never))); }, [spec]);
  return text ? <Editor text={text} read_only label={t("YAML of {name}", { name })} /> : null;
}
