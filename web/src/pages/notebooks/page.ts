import type { Page } from "../../app/page";

export default {
  path: ["/jupyter/", "/_/jupyter"],
  menu: { section: "workbench", order: 1, icon: "notebooks" },
  title: { en: "Notebooks", zh: "笔记本" },
  load: () => import("./view"),
  needs: "kubeflow.org/v1/notebooks",
} satisfies Page;
