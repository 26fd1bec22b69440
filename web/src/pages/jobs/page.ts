import type { Page } from "../../app/page";

export default {
  path: "/jobs",
  menu: { section: "compute", order: 1, icon: "jobs" },
  title: { en: "Jobs", zh: "作业" },
  load: () => import("./view"),
} satisfies Page;
