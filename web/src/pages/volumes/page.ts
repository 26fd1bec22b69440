import type { Page } from "../../app/page";

export default {
  path: ["/volumes/", "/volumes/new", "/_/volumes"],
  menu: { section: "workbench", order: 3, icon: "volumes" },
  title: { en: "Volumes", zh: "存储卷" },
  load: () => import("./view"),
} satisfies Page;
