// Tabs whose choice is the URL's `tab`.
import type { ComponentChildren } from "preact";
import { parameter, place } from "../app/router";
import { t } from "../text/text";

export interface Tab { key: string; title: string; body: () => ComponentChildren; off?: boolean }

export function Tabs({ tabs }: { tabs: Tab[] }) {
  const shown = tabs.filter((tab) => !tab.off);
  const current = shown.find((tab) => tab.key === parameter("tab")) ?? shown[0];
  return (
    <>
      <div class="tabs" role="tablist">
        {shown.map((tab) => (
          <a key={tab.key} role="tab" aria-selected={tab === current} href={`${place.value.path}${tab === shown[0] ? "" : `?tab=${tab.key}`}`}>{t(tab.title)}</a>
        ))}
      </div>
      <div key={current.key} role="tabpanel" class="col grow" style={{ minHeight: 0 }}>{current.body()}</div>
    </>
  );
}
