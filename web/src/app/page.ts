// What a page is: a folder of src/pages with a page.ts that exports one of these as default.
import type { ComponentType } from "preact";
import type { Title } from "../text/text";

export interface ViewProps { params: Record<string, string> }
export type View = ComponentType<ViewProps>;

export type Section = "overview" | "compute" | "workbench" | "pipelines" | "tuning" | "cluster" | "account";

export interface Page {
  // Patterns like "/jobs/:kind/:ns/:name"; the first is the one the menu leads to.
  path: string | string[];
  // Its place in the menu: section, order within it, an icon of parts/icon.tsx. Absent: it is reached by links.
  menu?: { section: Section; order: number; icon: string };
  title: Title;
  load: () => Promise<{ default: View }>;
  // "kubeflow.org/v1/notebooks": without it the menu shows the page greyed.
  needs?: string;
}
