import type { Page } from "../../app/page";

export default {
  path: ["/experiments", "/experiments/new", "/archive/experiments", "/experiments/details/:id"],
  menu: { section: "pipelines", order: 2, icon: "folder" },
  title: { en: "Experiments", zh: "实验" },
  load: () => import("./view"),
} satisfies Page;
