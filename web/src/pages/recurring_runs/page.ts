import type { Page } from "../../app/page";

export default {
  path: ["/recurringruns"],
  menu: { section: "pipelines", order: 4, icon: "refresh" },
  title: { en: "Recurring runs", zh: "周期运行" },
  load: () => import("./view"),
} satisfies Page;
