import type { Page } from "../../app/page";

export default {
  path: ["/jupyter/notebook/details/:ns/:name", "/_/jupyter/notebook/details/:ns/:name"],
  title: { en: "Notebook", zh: "笔记本" },
  load: () => import("./view"),
} satisfies Page;
