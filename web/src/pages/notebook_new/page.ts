import type { Page } from "../../app/page";

export default {
  path: ["/jupyter/new", "/_/jupyter/new"],
  title: { en: "New notebook", zh: "新建笔记本" },
  load: () => import("./view"),
} satisfies Page;
