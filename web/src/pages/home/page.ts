import type { Page } from "../../app/page";

export default {
  path: "/",
  menu: { section: "overview", order: 1, icon: "home" },
  title: { en: "Home", zh: "首页" },
  load: () => import("./view"),
} satisfies Page;
