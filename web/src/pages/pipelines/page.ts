import type { Page } from "../../app/page";

export default {
  path: ["/pipelines", "/pipelines/upload", "/pipeline"],
  menu: { section: "pipelines", order: 1, icon: "pipelines" },
  title: { en: "Pipelines", zh: "流水线" },
  load: () => import("./view"),
} satisfies Page;
