import type { Page } from "../../app/page";

export default {
  path: ["/manage-users", "/profiles"],
  menu: { section: "account", order: 1, icon: "people" },
  title: { en: "Profiles and people", zh: "用户与权限" },
  load: () => import("./view"),
} satisfies Page;
