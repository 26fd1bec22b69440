import type { Page } from "../../app/page";

export default {
  path: "/submit",
  menu: { section: "overview", order: 2, icon: "submit" },
  title: { en: "Submit", zh: "提交" },
  load: () => import("./view"),
} satisfies Page;
