import type { Page } from "../../app/page";

export default {
  path: ["/runs", "/archive/runs"],
  menu: { section: "pipelines", order: 3, icon: "runs" },
  title: { en: "Runs", zh: "运行" },
  load: () => import("./view"),
} satisfies Page;
