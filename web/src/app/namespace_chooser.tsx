// The namespace that lists show, or all of them.
import { useEffect, useRef, useState } from "preact/hooks";
import { choose_namespace, namespace, session } from "../data/session";
import { Icon } from "../parts/icon";
import { t } from "../text/text";

const ROLES: Record<string, string> = { owner: "(Owner)", contributor: "(Contributor)", viewer: "(Viewer)" };

export function NamespaceChooser() {
  const [open, set_open] = useState(false);
  const [typed, set_typed] = useState("");
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!open) return;
    set_typed("");
    box.current?.querySelector("input")?.focus();
    const outside = (event: Event) => { if (!box.current?.contains(event.target as Node)) set_open(false); };
    document.addEventListener("mousedown", outside);
    return () => document.removeEventListener("mousedown", outside);
  }, [open]);
  const mine = session.value?.namespaces ?? [];
  const shown = mine.filter((one) => one.namespace.includes(typed));
  const choose = (to: string) => { choose_namespace(to); set_open(false); box.current?.querySelector("button")?.focus(); };
  const now = namespace.value || (mine.length ? t("All namespaces") : t("No namespaces"));
  return (
    <div class="anchor" ref={box} onKeyDown={(event) => { if (event.key === "Escape") set_open(false); }}>
      <button class="button" aria-haspopup="listbox" aria-expanded={open} onClick={() => set_open(!open)} data-namespace={namespace.value}>
        <Icon name="namespace" /><span class="sr">{t("Namespace")}: </span><span class="cut" style={{ maxWidth: "200px" }}>{now}</span><Icon name="chevron" size={12} />
      </button>
      {open && (
        <div class="popover" style={{ top: "38px", left: 0, width: "280px" }}>
          <input class="input" placeholder={t("Find a namespace")} aria-label={t("Find a namespace")} value={typed}
            onInput={(event) => set_typed(event.currentTarget.value)}
            onKeyDown={(event) => { if (event.key === "Enter" && shown.length) choose(shown[0].namespace); }} />
          <div role="listbox" aria-label={t("Namespace")} style={{ marginTop: "4px" }}>
            {!typed && <button class="option" role="option" aria-selected={!namespace.value} onClick={() => choose("")}>{t("All namespaces")}</button>}
            {shown.slice(0, 200).map((one) => (
              <button key={one.namespace} class="option" role="option" aria-selected={namespace.value === one.namespace} onClick={() => choose(one.namespace)}>
                <span class="grow cut">{one.namespace}</span>{ROLES[one.role] && <span class="faint">{t(ROLES[one.role])}</span>}
              </button>
            ))}
          </div>
        </div>
      )}
    </div>
  );
}
