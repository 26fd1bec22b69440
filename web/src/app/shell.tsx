// The frame of every page: menu, head with the namespace, theme and language, bars for what must be said.
import { effect, signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { pages } from "../../generated/pages";
import { is_served, load_session, session } from "../data/session";
import { connected } from "../data/stream";
import { Icon } from "../parts/icon";
import { Toasts } from "../parts/toast";
import { Dialogs } from "../parts/dialog";
import { Refused, Waiting } from "../parts/states";
import { language, set_language, t, title_of } from "../text/text";
import { NamespaceChooser } from "./namespace_chooser";
import { Palette, open_palette } from "./palette";
import type { Page, Section, View } from "./page";
import { go, match_path, path, place } from "./router";

const SECTIONS: Array<[Section, string]> = [
  ["overview", ""], ["compute", "Compute"], ["workbench", "Workbench"], ["pipelines", "Pipelines"], ["tuning", "Tuning and serving"],
  ["cluster", "Cluster"], ["account", "Access"],
];

export const paths_of = (page: Page): string[] => typeof page.path === "string" ? [page.path] : page.path;
const menu_open = signal(false);

export const theme = signal(document.documentElement.dataset.theme ?? "light");
function toggle_theme(): void {
  theme.value = theme.value === "dark" ? "light" : "dark";
  document.documentElement.dataset.theme = theme.value;
  localStorage.setItem("hekla.theme", theme.value);
}

function find_page(at: string): { page: Page; params: Record<string, string> } | null {
  for (const page of pages as Page[])
    for (const pattern of paths_of(page)) {
      const found = match_path(pattern, at);
      if (found) return { page, params: found.params };
    }
  return null;
}

function Menu() {
  const at = path.value;
  return (
    <aside class={`side${menu_open.value ? " open" : ""}`}>
      <a class="brand" href="/"><img src="/hekla/assets/favicon.svg" alt="" />Hekla</a>
      <nav aria-label={t("Menu")} onClick={() => { menu_open.value = false; }}>
        {SECTIONS.map(([section, head]) => {
          const items = (pages as Page[]).filter((page) => page.menu?.section === section)
            .sort((a, b) => a.menu!.order - b.menu!.order);
          if (!items.length) return null;
          return (
            <div key={section} role="group" aria-label={head ? t(head) : undefined}>
              {head && <div class="head">{t(head)}</div>}
              {items.map((page) => {
                const to = paths_of(page)[0];
                const current = to === "/" ? at === "/" : at === to || at.startsWith(to.endsWith("/") ? to : `${to}/`);
                return (
                  <a key={to} class={`item${page.needs && !is_served(page.needs) ? " off" : ""}`} href={to} aria-current={current ? "page" : undefined}
                    title={page.needs && !is_served(page.needs) ? t("Not installed on this cluster") : undefined}>
                    <Icon name={page.menu!.icon} />{title_of(page.title)}
                  </a>
                );
              })}
            </div>
          );
        })}
      </nav>
      <div class="foot">Hekla {session.value?.version}</div>
    </aside>
  );
}

function Top() {
  return (
    <header class="top">
      <button class="button plain icon menu-button" aria-label={t("Menu")} onClick={() => { menu_open.value = !menu_open.value; }}><Icon name="menu" /></button>
      <NamespaceChooser />
      <button class="button grow" style={{ maxWidth: "340px", justifyContent: "flex-start", color: "var(--muted)", fontWeight: 400 }} onClick={open_palette}>
        <Icon name="search" /><span class="grow cut" style={{ textAlign: "left" }}>{t("Go to…")}</span><kbd>Ctrl K</kbd>
      </button>
      <span class="grow" />
      <button class="button plain" onClick={() => set_language(language.value === "en" ? "zh" : "en")} lang={language.value === "en" ? "zh-CN" : "en"}
        title={language.value === "en" ? "切换到中文" : "Switch to English"}>{language.value === "en" ? "中文" : "English"}</button>
      <button class="button plain icon" onClick={toggle_theme} aria-label={theme.value === "dark" ? t("Light theme") : t("Dark theme")}>
        <Icon name={theme.value === "dark" ? "sun" : "moon"} />
      </button>
      <span class="muted cut" title={session.value?.user}>{session.value?.user}</span>
      {session.value?.logoutUrl && <a class="button small" href={session.value.logoutUrl} target="_top">{t("Log out")}</a>}
    </header>
  );
}

function Bars() {
  return (
    <>
      {connected.value === "lost" && <div class="bar lost" role="status"><span class="spinner" />{t("The connection is lost. What you see is from before; trying again…")}</div>}
      {session.value?.warnings.map((warning) => <div key={warning} class="bar warn" role="status">{t(warning)}</div>)}
    </>
  );
}

const views = new Map<Page, View>();

function Content() {
  const found = find_page(path.value);
  const [, loaded] = useState(0);
  const [failure, set_failure] = useState("");
  const page = found?.page;
  useEffect(() => {
    if (!page) return;
    document.title = `${title_of(page.title)} · Hekla`;
    if (views.has(page)) return;
    page.load().then((module) => { views.set(page, module.default); loaded(Date.now()); }, (error) => set_failure(String(error)));
  }, [page, language.value]);
  if (!found) return <NotFound />;
  const View = views.get(found.page);
  if (!View) return failure ? <Refused refusal={{ code: 0, reason: "", message: failure }} /> : <Waiting />;
  return <View key={path.value} params={found.params} />;
}

function NotFound() {
  return (
    <div class="note">
      <h1>{t("There is no such page")}</h1>
      <p style={{ marginTop: "6px" }}><code>{place.value.path}</code> · <a href="/">{t("Home")}</a></p>
    </div>
  );
}

export function Shell() {
  const [problem, set_problem] = useState("");
  useEffect(() => { load_session().catch((error) => set_problem(String(error.message ?? error))); }, []);
  useEffect(keyboard, []);
  if (!session.value) return <div class="content">{problem ? <Refused refusal={{ code: 0, reason: "", message: problem }} /> : <Waiting />}</div>;
  return (
    <div class="shell">
      <a class="skip" href="#content" onClick={(event) => { event.preventDefault(); document.getElementById("content")?.focus(); }}>{t("Skip to the content")}</a>
      <Menu />
      <div class="main">
        <Top />
        <Bars />
        <main class="content" id="content" tabIndex={-1}><Content /></main>
      </div>
      <Palette />
      <Dialogs />
      <Toasts />
    </div>
  );
}

// Ctrl-K or "g" opens the palette, "/" goes to the filter of a list, "t" changes the theme.
function keyboard(): () => void {
  const on_key = (event: KeyboardEvent) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") { event.preventDefault(); open_palette(); return; }
    const target = event.target as HTMLElement;
    if (event.ctrlKey || event.metaKey || event.altKey || /^(input|select|textarea)$/i.test(target.tagName) || target.isContentEditable || target.shadowRoot) return;
    if (event.key === "/") {
      const filter = document.querySelector<HTMLInputElement>("[data-filter]");
      if (filter) { event.preventDefault(); filter.focus(); }
    } else if (event.key === "g") { event.preventDefault(); open_palette(); }
  };
  addEventListener("keydown", on_key);
  return () => removeEventListener("keydown", on_key);
}

effect(() => { document.documentElement.dataset.theme = theme.value; });
export { go };
