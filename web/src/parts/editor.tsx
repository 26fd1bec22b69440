// An editor for YAML, loaded when it is first shown. It lives in a shadow root: there CodeMirror's styles are
// adopted sheets, which the page's policy allows.
import { useEffect, useRef } from "preact/hooks";
import type { Completer } from "./yaml/schema";

interface Props { text: string; on_change?: (text: string) => void; read_only?: boolean; complete?: Completer; on_save?: () => void; label: string }

export function Editor({ text, on_change, read_only, complete, on_save, label }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const handle = useRef<{ set: (text: string) => void; end: () => void } | null>(null);
  const latest = useRef({ text, on_change, complete, on_save });
  latest.current = { text, on_change, complete, on_save };  // the text may change while the editor is loaded
  useEffect(() => {
    let gone = false;
    import("./yaml/codemirror").then(({ open_editor }) => {
      if (gone || !place.current) return;
      const root = place.current.shadowRoot ?? place.current.attachShadow({ mode: "open" });
      handle.current = open_editor(root, latest.current.text, { read_only: !!read_only, label, change: (now) => latest.current.on_change?.(now), save: () => latest.current.on_save?.(), complete: (doc, at) => latest.current.complete?.(doc, at) ?? Promise.resolve([]) });
    });
    return () => { gone = true; handle.current?.end(); };
  }, []);
  useEffect(() => handle.current?.set(text), [text]);
  return <div class="editor"><div class="place" ref={place} /></div>;
}
