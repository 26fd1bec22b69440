import type { Page } from "../../app/page";

export default {
  path: "/jobs/:kind/:ns/:name",
  title: { en: "Job", zh: "作业" },
  load: () => import("./view"),
} satisfies Page;
